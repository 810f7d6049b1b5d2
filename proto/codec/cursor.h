/* Cursors: the strict pull parser through which every request is decoded. JSON and CBOR are two
 * implementations of it (json_in.c, cbor_in.c), so no decoder is written twice.
 *
 * A cursor stands before a value or inside a container. Calls move it forward. A call that fails
 * returns false and notes the fault, and every later call fails too, so a decoder may check late. A
 * fault is only a place in the bytes: wire_cursor_explain (walk.h) walks the document again to make
 * a JSON pointer of the place. Only requests that fail pay for this. */
#ifndef WIRE_CURSOR_H
#define WIRE_CURSOR_H

#include "core/obb.h"
#include "proto/base/bignum.h"
#include "proto/problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* The most containers within each other, the outermost included. A value that is `data` has as
     * many of its own: so whatever is accepted as data fits into every document that can hold
     * it. */
    WIRE_DEPTH = 64,
    WIRE_LEVELS = 2 * WIRE_DEPTH, /* of a document and the data in it */
    WIRE_NUMBER_ROOM = 1 + WIRE_BIGNUM_DIGITS,
    WIRE_POLLED_BYTES = 1 << 16, /* of a string, number or white space between two polls */
    WIRE_EASY_DIGITS = 24,       /* bytes of the longest number that %.17g writes */
    WIRE_EASY = 30000            /* the most effort of work that is not postponed: 0.3 ms */
};

/* In place of the index of an element: the value itself, the key of the value, and the length of
 * the string that is the value. */
#define WIRE_NO_ITEM  SIZE_MAX
#define WIRE_ITS_KEY  (SIZE_MAX - 1)
#define WIRE_ITS_TEXT (SIZE_MAX - 2)

typedef enum wire_kind {
    WIRE_KIND_NONE, /* no value begins here */
    WIRE_KIND_NULL,
    WIRE_KIND_BOOL,
    WIRE_KIND_NUMBER,
    WIRE_KIND_STRING,
    WIRE_KIND_ARRAY,
    WIRE_KIND_OBJECT,
    WIRE_KIND_OTHER /* well-formed, but JSON has no such value (byte strings and tags of CBOR) */
} wire_kind;

/* A fault: the cause and the value. */
struct wire_fault {
    wire_cause cause;
    const char *detail; /* what is allowed, constant or in the arena; NULL: the cause's own */
    size_t place;       /* byte offset of the value; of the bad byte for WIRE_MALFORMED */
    size_t item;        /* the element of the array at that place, or a constant of the three */
};

struct wire_cursor_ops;

/* An open container of CBOR. */
struct wire_level {
    uint64_t left; /* items, or members, that were not read yet */
    int typed;     /* the tag of a typed array, else 0 */
};

/* After opening, next_key and next_item `at` is the first byte of the next value. */
struct wire_cursor {
    const struct wire_cursor_ops *ops;
    const char *start, *at, *end;
    const char *first; /* where the value of the document begins */
    struct obb_arena *arena;
    unsigned depth, most;      /* open containers, and how many there may be here */
    bool fresh;                /* JSON: no item of the innermost container was read yet */
    bool failed;               /* then `fault` says why */
    bool *postponed;           /* the one of the wire_body */
    unsigned effort;           /* spent on numbers that take long to read, in about 10 ns */
    const atomic_bool *cancel; /* the one of the wire_body; may be NULL */
    struct wire_fault fault;
    struct wire_level levels[WIRE_LEVELS]; /* CBOR */
    char number[WIRE_NUMBER_ROOM];         /* CBOR: the text that read_number_text returned last */
};

/* A place to return to with wire_rewind. It must lie in a container that is still open. */
struct wire_mark {
    const char *at;
    unsigned depth;
    bool fresh;
    struct wire_level level;
};

/* An array of numbers as it was sent: doubles in the arena, or the bytes of a typed array,
 * little-endian and unaligned. */
typedef enum wire_column_type { WIRE_DOUBLES, WIRE_F64LE, WIRE_F32LE, WIRE_U32LE } wire_column_type;
struct wire_column {
    wire_column_type type;
    const void *values;
    size_t count;
};

/* What an implementation provides. The contracts are those of the functions below that call
 * these. */
struct wire_cursor_ops {
    wire_kind (*peek)(struct wire_cursor *c);
    bool (*enter_object)(struct wire_cursor *c);
    bool (*next_key)(struct wire_cursor *c, obb_str *out_key);
    bool (*enter_array)(struct wire_cursor *c);
    bool (*next_item)(struct wire_cursor *c);
    bool (*read_null)(struct wire_cursor *c);
    bool (*read_bool)(struct wire_cursor *c, bool *out);
    bool (*read_number)(struct wire_cursor *c, double *out);
    bool (*read_string)(struct wire_cursor *c, obb_str *out); /* out NULL: only moves past it */
    size_t (*read_raw_texts)(struct wire_cursor *c, obb_str *out, size_t room);
    bool (*read_numbers)(struct wire_cursor *c, double *out, size_t room, size_t *out_count);
    bool (*read_column)(struct wire_cursor *c, struct wire_column *out);
    /* Reads a number of any size as JSON text, which lies in the body, or in the cursor until the
     * next call. The text is empty if JSON has no such number. out NULL: only moves past it. */
    bool (*read_number_text)(struct wire_cursor *c, obb_str *out);
    /* Moves past a value of WIRE_KIND_OTHER, or past the tag before a value. */
    bool (*enter_other)(struct wire_cursor *c, bool *out_value_follows);
    bool (*finish)(struct wire_cursor *c);
};

/* Open a cursor in the caller's memory. The bytes must outlive everything that is read, because
 * strings point into them. */
void wire_json_open(struct wire_cursor *cursor, const char *bytes, size_t length,
                    struct obb_arena *arena);

/* Likewise, of work that can be cancelled: white space before the value may be long. */
void wire_json_open_for(struct wire_cursor *cursor, const char *bytes, size_t length,
                        struct obb_arena *arena, const atomic_bool *cancel);
void wire_cbor_open(struct wire_cursor *cursor, const char *bytes, size_t length,
                    struct obb_arena *arena);

bool wire_fail_cancelled(struct wire_cursor *c); /* notes OBB_CANCELLED and returns false */

/* ---- Reading --------------------------------------------------------------------------------- */

/* Returns the kind of the next value, judged by its first byte. The value itself may still be
 * malformed. */
static inline wire_kind wire_peek(struct wire_cursor *c) { return c->ops->peek(c); }

/* Returns the byte offset of the next value. */
static inline size_t wire_place(const struct wire_cursor *c) { return (size_t)(c->at - c->start); }

/* Polls. If the work is cancelled, notes OBB_CANCELLED and returns false. */
static inline bool wire_goes_on(struct wire_cursor *c)
{
    return c->cancel == NULL || !obb_cancel_poll(c->cancel) || wire_fail_cancelled(c);
}

/* Counts effort. If the work is one that postpones slow parts, and this is too much, notes that it
 * is postponed, fails as if it were cancelled, and returns false. */
bool wire_spend(struct wire_cursor *c, size_t effort);

/* Likewise, the effort of a number of `length` bytes of JSON: a tie of two doubles has up to 770
 * digits and takes 16 us. Short numbers are free. */
static inline bool wire_spend_digits(struct wire_cursor *c, size_t length)
{
    return length <= WIRE_EASY_DIGITS || wire_spend(c, 2 * length);
}

/* Returns the end of the bytes from `at` on that are looked at before the next poll. */
static inline const char *wire_poll_end(const struct wire_cursor *c, const char *at)
{
    return c->end - at > WIRE_POLLED_BYTES ? at + WIRE_POLLED_BYTES : c->end;
}

/* Read an object: enter it, then call next_key, and read the value after each key. next_key returns
 * false at the end, which leaves the object, and after a fault. The caller must look for duplicate
 * keys: see wire_check_keys, and object.h for objects of known fields. Keys and strings point into
 * the body or, if they have escapes, into the arena. */
static inline bool wire_enter_object(struct wire_cursor *c) { return c->ops->enter_object(c); }
static inline bool wire_next_key(struct wire_cursor *c, obb_str *key)
{
    return wire_goes_on(c) && c->ops->next_key(c, key);
}

/* Read an array in the same way: enter it, then call next_item, and read an item after each. Both
 * poll for cancelling. */
static inline bool wire_enter_array(struct wire_cursor *c) { return c->ops->enter_array(c); }
static inline bool wire_next_item(struct wire_cursor *c)
{
    return wire_goes_on(c) && c->ops->next_item(c);
}

static inline bool wire_read_null(struct wire_cursor *c) { return c->ops->read_null(c); }
static inline bool wire_read_bool(struct wire_cursor *c, bool *out)
{
    return c->ops->read_bool(c, out);
}
/* Reads a finite number. A number out of range is OBB_BAD_NUMBER. */
static inline bool wire_read_number(struct wire_cursor *c, double *out)
{
    return c->ops->read_number(c, out);
}
static inline bool wire_read_string(struct wire_cursor *c, obb_str *out)
{
    return c->ops->read_string(c, out);
}

/* Reads items of the array in which the cursor stands, as many as are strings that lie in the body
 * as they are, `room` at most. Returns how many it read. It stops before any other item and never
 * fails. Nobody has checked that the strings are UTF-8: the caller goes back to a mark and calls
 * next_item and read_string if one of them may not be. JSON has no such strings. */
static inline size_t wire_read_raw_texts(struct wire_cursor *c, obb_str *out, size_t room)
{
    return c->ops->read_raw_texts(c, out, room);
}

/* Reads an array of at most `room` finite numbers. More are WIRE_BAD_LENGTH. */
static inline bool wire_read_numbers(struct wire_cursor *c, double *out, size_t room,
                                     size_t *out_count)
{
    return c->ops->read_numbers(c, out, room, out_count);
}

/* Reads an array of any number of numbers. A typed array is not copied; other arrays take 8 bytes
 * of the arena a number. The numbers of a typed array are not checked yet and may be NaN or
 * infinite. */
static inline bool wire_read_column(struct wire_cursor *c, struct wire_column *out)
{
    return c->ops->read_column(c, out);
}

/* Copies `count` numbers of the column from index `first` on. */
void wire_column_get(const struct wire_column *column, size_t first, size_t count, double *out);

/* Returns true if nothing follows the value. */
static inline bool wire_finish(struct wire_cursor *c) { return c->ops->finish(c); }

/* Checks that the keys of the object at `place` differ; repeated keys are WIRE_MALFORMED. The keys
 * lie `stride` bytes apart. Polls for cancelling. */
bool wire_check_keys(struct wire_cursor *c, size_t place, const obb_str *first, size_t count,
                     size_t stride);

/* Counts the levels of the next value on their own, because it is `data`. After the value, read or
 * not, the caller passes what this returns to wire_data_end. */
static inline unsigned wire_data_begin(struct wire_cursor *c)
{
    const unsigned before = c->most, most = c->depth + WIRE_DEPTH;
    if (most > before)
        c->most = most < WIRE_LEVELS ? most : WIRE_LEVELS;
    return before;
}
static inline void wire_data_end(struct wire_cursor *c, unsigned before) { c->most = before; }

/* Notes WIRE_MALFORMED if no further level may be opened at the cursor. */
bool wire_level_left(struct wire_cursor *c, unsigned depth);

/* Remember a place, and go back to it. */
struct wire_mark wire_mark(struct wire_cursor *c);
void wire_rewind(struct wire_cursor *c, const struct wire_mark *mark);

/* ---- Faults ---------------------------------------------------------------------------------- */

/* Each notes the fault, unless there is one already, and returns false. `item` is the index of an
 * element of the array at `place`. */
bool wire_fail_at(struct wire_cursor *c, wire_cause cause, size_t place, const char *detail);
bool wire_fail_item(struct wire_cursor *c, wire_cause cause, size_t place, size_t item,
                    const char *detail);
bool wire_fail_memory(struct wire_cursor *c);

/* Notes WIRE_MALFORMED at the byte `at` of the body. */
static inline bool wire_fail_malformed(struct wire_cursor *c, const char *at, const char *detail)
{
    (void)wire_fail_at(c, WIRE_MALFORMED, (size_t)(at - c->start), detail);
    return false;
}

#endif
