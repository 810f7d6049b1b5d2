/* The cursor over JSON (RFC 8259): strict, in one pass, without a tree. */
#include "proto/codec/cursor.h"

#include "proto/base/number.h"
#include "proto/codec/long_number.h"
#include "proto/codec/unescape.h"

#include <math.h>
#include <string.h>

static inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* Returns the first byte that is not white space, or the end of the body if the work is cancelled,
 * which is noted. Not inlined: most white space is short. */
__attribute__((noinline)) static const char *past_long_space(struct wire_cursor *c, const char *at)
{
    while (at < c->end && is_space(*at)) {
        if (!wire_goes_on(c))
            return c->end;
        const char *const stop = wire_poll_end(c, at);
        while (at < stop && is_space(*at))
            at++;
    }
    return at;
}

/* Returns the first byte that is not white space: the next value or punctuation. After open,
 * next_key and next_item the cursor already stands there. */
static inline const char *past_space(struct wire_cursor *c, const char *at, const char *end)
{
    enum { SHORT = 64 };
    if (at < end && (unsigned char)*at > ' ')
        return at;
    const char *const stop = end - at > SHORT ? at + SHORT : end;
    while (at < stop && is_space(*at))
        at++;
    return at == stop && stop < end ? past_long_space(c, at) : at;
}

static wire_kind json_peek(struct wire_cursor *c)
{
    if (c->at == c->end)
        return WIRE_KIND_NONE;
    switch (*c->at) {
    case '{':
        return WIRE_KIND_OBJECT;
    case '[':
        return WIRE_KIND_ARRAY;
    case '"':
        return WIRE_KIND_STRING;
    case 't':
    case 'f':
        return WIRE_KIND_BOOL;
    case 'n':
        return WIRE_KIND_NULL;
    case '-':
        return WIRE_KIND_NUMBER;
    default:
        return *c->at >= '0' && *c->at <= '9' ? WIRE_KIND_NUMBER : WIRE_KIND_NONE;
    }
}

/* Notes that the next value is of another type than `wanted`, or is no value at all. */
static bool wrong_type(struct wire_cursor *c, const char *wanted)
{
    const wire_kind kind = json_peek(c);
    if (kind == WIRE_KIND_NONE)
        return wire_fail_malformed(c, c->at,
                                   c->at == c->end ? "a value is missing" : "not a value");
    return wire_fail_at(c, WIRE_WRONG_TYPE, wire_place(c), wanted);
}

/* ---- Strings --------------------------------------------------------------------------------- */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Returns how many of the next eight bytes are plain before the first that is not. A plain byte is
 * ASCII and neither a control character nor a quote nor a backslash. */
static inline unsigned plain_bytes(const char *at)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t v;
    memcpy(&v, at, sizeof v);
    const uint64_t quote = v ^ ones * '"', backslash = v ^ ones * '\\';
    /* a borrow can only mark bytes above one that is rightly marked, and the lowest mark counts */
    const uint64_t special = ((v - ones * 0x20) | (quote - ones) | (backslash - ones) | v) & tops;
    return special == 0 ? 8 : (unsigned)__builtin_ctzll(special) / 8;
}
#else
static inline unsigned plain_bytes(const char *at)
{
    unsigned n = 0;
    while (n < 8 && (unsigned char)at[n] >= 0x20 && at[n] != '"' && at[n] != '\\' &&
           (unsigned char)at[n] < 0x80)
        n++;
    return n;
}
#endif

/* Returns the first byte that is not plain. */
static inline const char *past_plain(const char *at, const char *end)
{
    while (end - at >= 8) {
        const unsigned plain = plain_bytes(at);
        at += plain;
        if (plain < 8)
            return at;
    }
    while (at < end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\' &&
           (unsigned char)*at < 0x80)
        at++;
    return at;
}

/* Returns the quote that ends the string in which `at` lies, or where there is none, the end of the
 * body or a byte before it. Returns NULL if the work is cancelled. */
static const char *closing_quote(struct wire_cursor *c, const char *at)
{
    const char *stop = wire_poll_end(c, at);
    while (c->end - at > 1 && *at != '"') {
        at += *at == '\\' && c->end - at > 2 ? 2 : 1;
        if (at > stop) {
            if (!wire_goes_on(c))
                return NULL;
            stop = wire_poll_end(c, at);
        }
    }
    return at;
}

/* Copies bytes of a string. */
static bool copy(struct wire_cursor *c, char *to, const char *from, size_t length)
{
    for (; length > WIRE_POLLED_BYTES; length -= WIRE_POLLED_BYTES) {
        if (!wire_goes_on(c))
            return false;
        memcpy(to, from, WIRE_POLLED_BYTES);
        to += WIRE_POLLED_BYTES;
        from += WIRE_POLLED_BYTES;
    }
    memcpy(to, from, length);
    return true;
}

/* Reads the rest of a string that is not plain, or long. It began at `begin` and is plain up to
 * `at`. out NULL: only checks it. */
static bool read_rest_of_string(struct wire_cursor *c, const char *begin, const char *at,
                                obb_str *out)
{
    /* The decoded string is never longer than the written one, which ends at a quote without a
     * backslash. */
    char *text = NULL;
    size_t length = 0;
    const char *copied = begin, *stop = wire_poll_end(c, at);
    for (;;) {
        at = past_plain(at, stop);
        if (at == c->end)
            return wire_fail_malformed(c, at, "a string does not end");
        if (at >= stop) {
            if (!wire_goes_on(c))
                return false;
            stop = wire_poll_end(c, at);
            continue;
        }
        if ((unsigned char)*at >= 0x80) {
            const size_t sequence = obb_utf8_length(at, c->end);
            if (sequence == 0)
                return wire_fail_malformed(c, at, "not UTF-8");
            at += sequence;
            continue;
        }
        if (*at != '"' && *at != '\\')
            return wire_fail_malformed(c, at, "a control character in a string is not escaped");
        if (out != NULL && (*at == '\\' || text != NULL)) {
            if (text == NULL) {
                const char *const close = closing_quote(c, at);
                if (close == NULL)
                    return false;
                text = obb_arena_alloc(c->arena, (size_t)(close - begin), 1);
                if (text == NULL)
                    return wire_fail_memory(c);
            }
            if (!copy(c, text + length, copied, (size_t)(at - copied)))
                return false;
            length += (size_t)(at - copied);
        }
        if (*at == '"')
            break;
        char decoded[4];
        size_t decoded_length;
        const char *next = wire_json_unescape(at + 1, c->end, decoded, &decoded_length);
        if (next == NULL)
            return wire_fail_malformed(c, at, "not an escape, or half of a surrogate pair");
        if (text != NULL) {
            memcpy(text + length, decoded, decoded_length);
            length += decoded_length;
        }
        at = copied = next;
    }
    c->at = at + 1;
    if (out != NULL)
        *out = text != NULL ? (obb_str){.bytes = text, .length = length}
                            : (obb_str){.bytes = begin, .length = (size_t)(at - begin)};
    return true;
}

/* Reads the string whose quote is at c->at. */
static inline bool read_string_here(struct wire_cursor *c, obb_str *out)
{
    const char *begin = c->at + 1, *at = past_plain(begin, wire_poll_end(c, begin));
    if (at == c->end || *at != '"')
        return read_rest_of_string(c, begin, at, out);
    c->at = at + 1;
    if (out != NULL)
        *out = (obb_str){.bytes = begin, .length = (size_t)(at - begin)};
    return true;
}

static bool json_read_string(struct wire_cursor *c, obb_str *out)
{
    if (c->failed)
        return false;
    if (c->at == c->end || *c->at != '"')
        return wrong_type(c, "a string is needed here");
    return read_string_here(c, out);
}

/* ---- Containers ------------------------------------------------------------------------------ */

static bool enter(struct wire_cursor *c, char bracket, const char *wanted)
{
    if (c->failed)
        return false;
    if (c->at == c->end || *c->at != bracket)
        return wrong_type(c, wanted);
    if (!wire_level_left(c, c->depth))
        return false;
    c->depth++;
    c->at++;
    c->fresh = true;
    return true;
}

static bool json_enter_object(struct wire_cursor *c)
{
    return enter(c, '{', "an object is needed here");
}

static bool json_enter_array(struct wire_cursor *c)
{
    return enter(c, '[', "an array is needed here");
}

/* Moves to the next item of a container that `bracket` closes. Returns false at its end. */
static inline bool next(struct wire_cursor *c, char bracket)
{
    if (c->failed)
        return false;
    const char *at = past_space(c, c->at, c->end);
    if (at == c->end)
        return wire_fail_malformed(c, at, "an object or array does not end");
    if (*at == bracket) {
        c->at = at + 1;
        c->depth--;
        c->fresh = false;
        return false;
    }
    if (!c->fresh) {
        if (*at != ',')
            return wire_fail_malformed(c, at, "a comma is missing");
        at = past_space(c, at + 1, c->end);
        if (at < c->end && *at == bracket)
            return wire_fail_malformed(c, at, "a comma has nothing after it");
    }
    c->fresh = false;
    c->at = at;
    return true;
}

static bool json_next_key(struct wire_cursor *c, obb_str *out_key)
{
    if (!next(c, '}'))
        return false;
    if (c->at == c->end || *c->at != '"')
        return wire_fail_malformed(c, c->at, "a key is missing");
    if (!read_string_here(c, out_key))
        return false;
    c->at = past_space(c, c->at, c->end);
    if (c->at == c->end || *c->at != ':')
        return wire_fail_malformed(c, c->at, "a colon is missing");
    c->at = past_space(c, c->at + 1, c->end);
    return true;
}

static bool json_next_item(struct wire_cursor *c) { return next(c, ']'); }

/* ---- Scalars --------------------------------------------------------------------------------- */

static bool word(struct wire_cursor *c, const char *text, size_t length)
{
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0)
        return wire_fail_malformed(c, c->at, "not a value");
    c->at += length;
    return true;
}

static bool json_read_null(struct wire_cursor *c)
{
    if (c->failed)
        return false;
    if (json_peek(c) != WIRE_KIND_NULL)
        return wrong_type(c, "null is needed here");
    return word(c, "null", 4);
}

static bool json_read_bool(struct wire_cursor *c, bool *out)
{
    if (c->failed)
        return false;
    if (json_peek(c) != WIRE_KIND_BOOL)
        return wrong_type(c, "true or false is needed here");
    *out = *c->at == 't';
    return *out ? word(c, "true", 4) : word(c, "false", 5);
}

/* Reads a number as wire_number_read does. Returns NULL too if the work is cancelled or postponed,
 * which is noted. */
static inline const char *read_digits(struct wire_cursor *c, const char *at, const char *end,
                                      double *out)
{
    const char *const stop = end - at > WIRE_POLLED_BYTES ? at + WIRE_POLLED_BYTES : end;
    const char *after = wire_number_read(at, stop, out);
    if (stop < end && (after == NULL || after == stop))
        after = wire_long_number_read(c, at, out);
    return after != NULL && wire_spend_digits(c, (size_t)(after - at)) ? after : NULL;
}

static const char *const number_wanted = "a number is needed here";

static bool json_read_number(struct wire_cursor *c, double *out)
{
    if (c->failed)
        return false;
    double value;
    const char *after = read_digits(c, c->at, c->end, &value);
    if (after == NULL)
        return wrong_type(c, number_wanted);
    if (!isfinite(value))
        return wire_fail_at(c, WIRE_OBB_BAD_NUMBER, (size_t)(c->at - c->start), NULL);
    *out = value;
    c->at = after;
    return true;
}

static bool json_read_number_text(struct wire_cursor *c, obb_str *out)
{
    if (c->failed)
        return false;
    const char *at = c->at;
    double value;
    const char *after = read_digits(c, at, c->end, &value);
    if (after == NULL)
        return wire_fail_malformed(c, at, "not a number");
    if (out != NULL)
        *out = (obb_str){.bytes = at, .length = (size_t)(after - at)};
    c->at = after;
    return true;
}

/* Strings of JSON may have escapes: they are read one by one. */
static size_t json_read_raw_texts(struct wire_cursor *c, obb_str *out, size_t room)
{
    (void)c;
    (void)out;
    (void)room;
    return 0;
}

/* Enters an array of numbers. The caller then calls read_run until *more is false, and
 * leave_run. */
static bool enter_run(struct wire_cursor *c, bool *more)
{
    if (!json_enter_array(c))
        return false;
    c->at = past_space(c, c->at, c->end);
    *more = c->at == c->end || *c->at != ']';
    return true;
}

/* Reads numbers until the room or the array ends. The hottest loop of all decoders: it keeps its
 * place in a register and writes to the cursor only at the end or at a fault. */
static bool read_run(struct wire_cursor *c, double *out, size_t room, size_t *count, bool *more)
{
    const char *at = c->at, *const end = c->end;
    size_t n = 0;
    for (; *more && n < room; n++) {
        const char *after = read_digits(c, at, end, &out[n]);
        if (after == NULL || !isfinite(out[n])) {
            c->at = at;
            (void)json_read_number(c, &out[n]); /* notes the fault */
            return false;
        }
        at = past_space(c, after, end);
        *more = at < end && *at == ',';
        if (*more)
            at = past_space(c, at + 1, end);
    }
    c->at = at;
    *count += n;
    return true;
}

/* Moves past the bracket after the last of `count` numbers. */
static bool leave_run(struct wire_cursor *c, size_t count)
{
    c->fresh = count == 0;
    return !json_next_item(c) && !c->failed;
}

static bool json_read_numbers(struct wire_cursor *c, double *out, size_t room, size_t *out_count)
{
    const size_t place = wire_place(c);
    size_t count = 0;
    bool more;
    if (!enter_run(c, &more) || !read_run(c, out, room, &count, &more))
        return false;
    if (more)
        return wire_fail_at(c, WIRE_BAD_LENGTH, place, NULL);
    *out_count = count;
    return leave_run(c, count);
}

enum { POLLED = 64 }; /* numbers of a column that are read between two polls */

static bool json_read_column(struct wire_cursor *c, struct wire_column *out)
{
    double *values = NULL;
    size_t count = 0, room = 0;
    bool more;
    if (!enter_run(c, &more))
        return false;
    while (more) {
        const size_t larger = room == 0 ? 64 : room * 2;
        double *grown = obb_arena_grow(c->arena, values, room, larger, sizeof *values);
        if (grown == NULL)
            return wire_fail_memory(c);
        values = grown;
        room = larger;
        while (more && count < room) {
            const size_t left = room - count;
            if (!wire_goes_on(c) ||
                !read_run(c, values + count, left < POLLED ? left : POLLED, &count, &more))
                return false;
        }
    }
    *out = (struct wire_column){.type = WIRE_DOUBLES, .values = values, .count = count};
    return leave_run(c, count);
}

/* ---- The rest -------------------------------------------------------------------------------- */

static bool json_enter_other(struct wire_cursor *c, bool *out_value_follows)
{
    *out_value_follows = false;
    return wire_fail_malformed(c, c->at, "not a value"); /* peek never says WIRE_KIND_OTHER */
}

static bool json_finish(struct wire_cursor *c)
{
    if (c->failed)
        return false;
    c->at = past_space(c, c->at, c->end);
    if (c->at < c->end)
        return wire_fail_malformed(c, c->at, "something follows the value");
    return !c->failed; /* it may have been cancelled */
}

void wire_json_open_for(struct wire_cursor *cursor, const char *bytes, size_t length,
                        struct obb_arena *arena, const atomic_bool *cancel)
{
    static const struct wire_cursor_ops ops = {.peek = json_peek,
                                               .enter_object = json_enter_object,
                                               .next_key = json_next_key,
                                               .enter_array = json_enter_array,
                                               .next_item = json_next_item,
                                               .read_null = json_read_null,
                                               .read_bool = json_read_bool,
                                               .read_number = json_read_number,
                                               .read_string = json_read_string,
                                               .read_raw_texts = json_read_raw_texts,
                                               .read_numbers = json_read_numbers,
                                               .read_column = json_read_column,
                                               .read_number_text = json_read_number_text,
                                               .enter_other = json_enter_other,
                                               .finish = json_finish};
    cursor->ops = &ops;
    cursor->start = bytes;
    cursor->end = bytes + length;
    cursor->arena = arena;
    cursor->depth = 0; /* levels are written before they are read, and this cursor has no use for
                          them */
    cursor->most = WIRE_DEPTH;
    cursor->postponed = NULL;
    cursor->effort = 0;
    cursor->cancel = cancel;
    cursor->fresh = false;
    cursor->failed = false;
    cursor->first = cursor->at = past_space(cursor, bytes, cursor->end);
}

void wire_json_open(struct wire_cursor *cursor, const char *bytes, size_t length,
                    struct obb_arena *arena)
{
    wire_json_open_for(cursor, bytes, length, arena, NULL);
}
