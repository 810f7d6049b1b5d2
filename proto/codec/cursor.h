/* The one face over which every request is decoded: a strict pull parser. JSON and CBOR are two implementations of it
 * (json_in.c, cbor_in.c), so no request type is written twice.
 *
 * A cursor stands before a value or inside a container. Calls move it forward; when one fails it returns false, notes
 * the fault, and every later call fails too, so decoders may check late. What is fast does not say where: a fault is a
 * place in the bytes, and wire_cursor_explain walks the document again to tell whether it is well-formed at all (if not, that
 * is the answer) and to turn the place into a JSON pointer. Only requests that fail pay for it. */
#ifndef WIRE_CURSOR_H
#define WIRE_CURSOR_H

#include "core/obb.h"
#include "proto/base/bignum.h"
#include "proto/problem/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WIRE_DEPTH = 64, /* containers within each other, the outermost counted */
    WIRE_NUMBER_ROOM = 1 + WIRE_BIGNUM_DIGITS
};

#define WIRE_NO_ITEM SIZE_MAX

typedef enum wire_kind {
    WIRE_KIND_NONE, /* nothing that could begin a value */
    WIRE_KIND_NULL,
    WIRE_KIND_BOOL,
    WIRE_KIND_NUMBER,
    WIRE_KIND_STRING,
    WIRE_KIND_ARRAY,
    WIRE_KIND_OBJECT,
    WIRE_KIND_OTHER /* well-formed, but nothing that JSON has (CBOR's byte strings and tags) */
} wire_kind;

/* What is wrong and at which value. */
struct wire_fault {
    wire_cause cause;
    const char *detail; /* a sentence, constant or in the arena; NULL: the cause's own */
    size_t place;       /* byte offset of the value; of the bad byte for WIRE_MALFORMED */
    size_t item; /* the element of the array at that place, or WIRE_NO_ITEM: the value itself */
};

struct wire_cursor_ops;

/* An open container: JSON needs just to know whether an item came before, CBOR how many are left. */
struct wire_level {
    uint64_t left;
    int typed; /* the tag of a typed array, else 0 */
};

/* After opening, next_key and next_item `at` is the first byte of the next value. */
struct wire_cursor {
    const struct wire_cursor_ops *ops;
    const char *start, *at, *end;
    const char *first; /* the document's value */
    struct obb_arena *arena;
    unsigned depth;
    bool fresh;      /* JSON: no item of the innermost container was read yet */
    bool failed;     /* then fault says why */
    bool *postponed; /* of the wire_body, for decoders */
    struct wire_fault fault;
    struct wire_level levels[WIRE_DEPTH]; /* CBOR */
    char number[WIRE_NUMBER_ROOM];        /* CBOR: as text, see read_number_text */
};

/* A place to return to, by wire_rewind; it must lie in a container that is still open. */
struct wire_mark {
    const char *at;
    unsigned depth;
    bool fresh;
    struct wire_level level;
};

/* A run of numbers as it came: doubles in the arena, or a typed array's bytes, which are little-endian and unaligned. */
typedef enum wire_column_type { WIRE_DOUBLES, WIRE_F64LE, WIRE_F32LE, WIRE_U32LE } wire_column_type;
struct wire_column {
    wire_column_type type;
    const void *values;
    size_t count;
};

/* What an implementation gives; the contracts are those of the functions below that call them. */
struct wire_cursor_ops {
    wire_kind (*peek)(struct wire_cursor *c);
    bool (*enter_object)(struct wire_cursor *c);
    bool (*next_key)(struct wire_cursor *c, obb_str *out_key);
    bool (*enter_array)(struct wire_cursor *c);
    bool (*next_item)(struct wire_cursor *c);
    bool (*read_null)(struct wire_cursor *c);
    bool (*read_bool)(struct wire_cursor *c, bool *out);
    bool (*read_number)(struct wire_cursor *c, double *out);
    bool (*read_string)(struct wire_cursor *c, obb_str *out); /* NULL: just past it */
    bool (*read_numbers)(struct wire_cursor *c, double *out, size_t room, size_t *out_count);
    bool (*read_column)(struct wire_cursor *c, struct wire_column *out);
    /* A number of any size as JSON text, empty for one that JSON has not, in the body or in the cursor until the next;
     * out NULL: just past it. */
    bool (*read_number_text)(struct wire_cursor *c, obb_str *out);
    /* Past a value of WIRE_KIND_OTHER, or past the tag before one. */
    bool (*enter_other)(struct wire_cursor *c, bool *out_value_follows);
    bool (*finish)(struct wire_cursor *c);
};

/* Both work in the caller's memory; bytes must live as long as what is read. */
void wire_json_open(struct wire_cursor *cursor, const char *bytes, size_t length,
                    struct obb_arena *arena);
void wire_cbor_open(struct wire_cursor *cursor, const char *bytes, size_t length,
                    struct obb_arena *arena);

/* ---- Reading --------------------------------------------------------------------------------------- */

/* The kind of the next value, from its first byte; the value itself may yet turn out malformed. */
static inline wire_kind wire_peek(struct wire_cursor *c) { return c->ops->peek(c); }

/* Where the next value begins. */
static inline size_t wire_place(const struct wire_cursor *c) { return (size_t)(c->at - c->start); }

/* Into an object, then key after key, each to be followed by reading its value. next_key is false at the end, which leaves
 * the object, and after a fault. Duplicate keys are the caller's to find: see keys.h, and request.h for objects of known
 * fields. Keys and strings point into the body or, where they had escapes, into the arena. */
static inline bool wire_enter_object(struct wire_cursor *c) { return c->ops->enter_object(c); }
static inline bool wire_next_key(struct wire_cursor *c, obb_str *key)
{
    return c->ops->next_key(c, key);
}

static inline bool wire_enter_array(struct wire_cursor *c) { return c->ops->enter_array(c); }
static inline bool wire_next_item(struct wire_cursor *c) { return c->ops->next_item(c); }

static inline bool wire_read_null(struct wire_cursor *c) { return c->ops->read_null(c); }
static inline bool wire_read_bool(struct wire_cursor *c, bool *out)
{
    return c->ops->read_bool(c, out);
}
/* Finite; a number out of range is OBB_BAD_NUMBER. */
static inline bool wire_read_number(struct wire_cursor *c, double *out)
{
    return c->ops->read_number(c, out);
}
static inline bool wire_read_string(struct wire_cursor *c, obb_str *out)
{
    return c->ops->read_string(c, out);
}

/* An array of at most `room` finite numbers; more are WIRE_BAD_LENGTH. */
static inline bool wire_read_numbers(struct wire_cursor *c, double *out, size_t room,
                                     size_t *out_count)
{
    return c->ops->read_numbers(c, out, room, out_count);
}

/* An array of any number of numbers. Costs no copy for a typed array, else 8 bytes a number. Those of a typed array
 * have not been looked at yet and may be NaN or infinite. */
static inline bool wire_read_column(struct wire_cursor *c, struct wire_column *out)
{
    return c->ops->read_column(c, out);
}
void wire_column_get(const struct wire_column *column, size_t first, size_t count, double *out);

/* True when nothing follows. */
static inline bool wire_finish(struct wire_cursor *c) { return c->ops->finish(c); }

/* The keys of the object at `place` must differ (WIRE_MALFORMED); they lie `stride` bytes apart. */
bool wire_check_keys(struct wire_cursor *c, size_t place, const obb_str *first, size_t count,
                     size_t stride);

struct wire_mark wire_mark(struct wire_cursor *c);
void wire_rewind(struct wire_cursor *c, const struct wire_mark *mark);

/* ---- Faults ---------------------------------------------------------------------------------------- */

/* Each notes the fault unless there is one already, and returns false. */
bool wire_fail_at(struct wire_cursor *c, wire_cause cause, size_t place, const char *detail);
bool wire_fail_item(struct wire_cursor *c, wire_cause cause, size_t place, size_t item,
                    const char *detail);
bool wire_fail_memory(struct wire_cursor *c);

/* Notes WIRE_MALFORMED at the byte `at` of the body. */
static inline bool wire_fail_malformed(struct wire_cursor *c, const char *at, const char *detail)
{
    return wire_fail_at(c, WIRE_MALFORMED, (size_t)(at - c->start), detail);
}

#endif
