/* The cursor over CBOR (RFC 8949), with bignums and typed arrays of numbers (RFC 8746). libcbor
 * decodes one head at a time, without a tree and without allocating. Every length is checked
 * against the bytes that remain before it is used. Indefinite lengths are refused: a client that
 * knows its data does not need them. */
#include "proto/codec/cursor.h"

#include "proto/base/double.h"
#include "proto/base/le.h"
#include "proto/base/number.h"
#include "proto/codec/cbor_tags.h"

#include <cbor.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Heads ----------------------------------------------------------------------------------- */

enum head_type {
    UNSIGNED,
    NEGATIVE, /* -1 - value */
    BYTES,
    TEXT,
    ARRAY,
    MAP,
    TAG,
    REAL,
    BOOLEAN,
    NOTHING,
    UNDEFINED,
    INDEFINITE /* a start or a break */
};

struct head {
    enum head_type type;
    uint64_t value;
    double number;
    bool truth;
    const char *bytes;
    const char *after; /* after the head, and after the bytes of a string */
};

static void take(void *context, enum head_type type, uint64_t value)
{
    struct head *head = context;
    head->type = type;
    head->value = value;
}

static void take_u8(void *context, uint8_t v) { take(context, UNSIGNED, v); }
static void take_u16(void *context, uint16_t v) { take(context, UNSIGNED, v); }
static void take_u32(void *context, uint32_t v) { take(context, UNSIGNED, v); }
static void take_u64(void *context, uint64_t v) { take(context, UNSIGNED, v); }
static void take_n8(void *context, uint8_t v) { take(context, NEGATIVE, v); }
static void take_n16(void *context, uint16_t v) { take(context, NEGATIVE, v); }
static void take_n32(void *context, uint32_t v) { take(context, NEGATIVE, v); }
static void take_n64(void *context, uint64_t v) { take(context, NEGATIVE, v); }
static void take_array(void *context, size_t n) { take(context, ARRAY, n); }
static void take_map(void *context, size_t n) { take(context, MAP, n); }
static void take_tag(void *context, uint64_t v) { take(context, TAG, v); }
static void take_null(void *context) { take(context, NOTHING, 0); }
static void take_undefined(void *context) { take(context, UNDEFINED, 0); }
static void take_indefinite(void *context) { take(context, INDEFINITE, 0); }

static void take_bytes(void *context, cbor_data bytes, size_t length)
{
    take(context, BYTES, length);
    ((struct head *)context)->bytes = (const char *)bytes;
}

static void take_text(void *context, cbor_data bytes, size_t length)
{
    take(context, TEXT, length);
    ((struct head *)context)->bytes = (const char *)bytes;
}

static void take_double(void *context, double number)
{
    take(context, REAL, 0);
    ((struct head *)context)->number = number;
}

static void take_float(void *context, float number) { take_double(context, (double)number); }

static void take_bool(void *context, bool truth)
{
    take(context, BOOLEAN, 0);
    ((struct head *)context)->truth = truth;
}

/* Reads a head of one byte, which holds its number: the most common kind. Returns false for all
 * other heads. */
static inline bool short_head(const char *at, const char *end, struct head *out)
{
    static const enum head_type types[] = {UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG};
    const unsigned first = (unsigned char)*at, number = first & 31;
    if (number > 23 || first >> 5 > 6)
        return false;
    const enum head_type type = types[first >> 5];
    const bool is_string = type == BYTES || type == TEXT;
    const size_t rest = (size_t)(end - at) - 1;
    *out = (struct head){.type = type,
                         .value = number,
                         .bytes = at + 1,
                         .after = at + 1 + (is_string && number <= rest ? number : 0)};
    return (is_string || type == ARRAY ? number : type == MAP ? 2 * number : 0) <= rest;
}

/* Reads a simple value that is neither a boolean nor null nor undefined. RFC 8949 gives such a
 * value no meaning yet, but the value is well-formed. libcbor refuses it. Returns false for all
 * other heads. */
static bool simple_head(const char *at, const char *end, struct head *out)
{
    enum { FIRST = 0xe0, ONE_BYTE_END = 0xf4, NUMBER_FOLLOWS = 0xf8, LEAST_NUMBER = 32 };
    const unsigned first = (unsigned char)*at;
    const bool two =
        first == NUMBER_FOLLOWS && end - at > 1 && (unsigned char)at[1] >= LEAST_NUMBER;
    if (!two && (first < FIRST || first >= ONE_BYTE_END))
        return false;
    *out = (struct head){.type = UNDEFINED, .after = at + (two ? 2 : 1)};
    return true;
}

/* Reads the head at `at`. If it is incomplete or not accepted, notes the fault and returns
 * false. */
static bool read_head(struct wire_cursor *c, const char *at, struct head *out)
{
    static const struct cbor_callbacks callbacks = {.uint8 = take_u8,
                                                    .uint16 = take_u16,
                                                    .uint32 = take_u32,
                                                    .uint64 = take_u64,
                                                    .negint8 = take_n8,
                                                    .negint16 = take_n16,
                                                    .negint32 = take_n32,
                                                    .negint64 = take_n64,
                                                    .byte_string_start = take_indefinite,
                                                    .byte_string = take_bytes,
                                                    .string = take_text,
                                                    .string_start = take_indefinite,
                                                    .indef_array_start = take_indefinite,
                                                    .array_start = take_array,
                                                    .indef_map_start = take_indefinite,
                                                    .map_start = take_map,
                                                    .tag = take_tag,
                                                    .float2 = take_float,
                                                    .float4 = take_float,
                                                    .float8 = take_double,
                                                    .undefined = take_undefined,
                                                    .null = take_null,
                                                    .boolean = take_bool,
                                                    .indef_break = take_indefinite};
    struct head head = {.type = UNSIGNED};
    const size_t left = (size_t)(c->end - at);
    if (left > 0 && (short_head(at, c->end, out) || simple_head(at, c->end, out)))
        return true;
    const struct cbor_decoder_result result =
        left > 0 ? cbor_stream_decode((cbor_data)(const void *)at, left, &callbacks, &head)
                 : (struct cbor_decoder_result){.status = CBOR_DECODER_NEDATA};
    if (result.status == CBOR_DECODER_NEDATA)
        return wire_fail_malformed(c, at, "the body ends within a value");
    if (result.status != CBOR_DECODER_FINISHED)
        return wire_fail_malformed(c, at, "not CBOR");
    if (head.type == INDEFINITE)
        return wire_fail_malformed(c, at, "indefinite lengths are not accepted");
    head.after = at + result.read;
    /* Each item takes at least one byte, each member of a map two. */
    const size_t rest = (size_t)(c->end - head.after);
    if ((head.type == ARRAY && head.value > rest) || (head.type == MAP && head.value > rest / 2))
        return wire_fail_malformed(c, at, "a length goes beyond the body");
    *out = head;
    return true;
}

/* ---- Bytes under a tag ----------------------------------------------------------------------- */

static size_t width_of(uint64_t tag)
{
    return tag == WIRE_TAG_F64LE ? 8 : tag == WIRE_TAG_F32LE || tag == WIRE_TAG_U32LE ? 4 : 0;
}

/* Tells whether the next value is a byte string under a tag, and reads both heads. Never notes a
 * fault. */
static bool tagged_bytes(const struct wire_cursor *c, uint64_t *tag, struct head *bytes)
{
    struct wire_cursor ahead;
    ahead.start = c->start;
    ahead.end = c->end;
    ahead.failed = false;
    struct head head;
    if (c->at == c->end || (unsigned char)*c->at >> 5 != 6 || !read_head(&ahead, c->at, &head) ||
        !read_head(&ahead, head.after, bytes) || bytes->type != BYTES)
        return false;
    *tag = head.value;
    return true;
}

static bool is_typed_array(uint64_t tag, const struct head *bytes)
{
    return width_of(tag) != 0 && bytes->value % width_of(tag) == 0;
}

static bool is_bignum(uint64_t tag)
{
    return tag == WIRE_TAG_BIGNUM || tag == WIRE_TAG_NEGATIVE_BIGNUM;
}

/* Tells whether the next value is a typed array of an accepted type. */
static bool typed_array(const struct wire_cursor *c, uint64_t *tag, struct head *bytes)
{
    return tagged_bytes(c, tag, bytes) && is_typed_array(*tag, bytes);
}

/* Tells whether the next value is a bignum. */
static bool bignum(const struct wire_cursor *c, uint64_t *tag, struct head *bytes)
{
    return tagged_bytes(c, tag, bytes) && is_bignum(*tag);
}

/* Returns the tag of the typed array in which the cursor stands, or 0. */
static int typed_level(const struct wire_cursor *c)
{
    return c->depth > 0 ? c->levels[c->depth - 1].typed : 0;
}

static double typed_element(const char *at, int tag)
{
    return tag == WIRE_TAG_F64LE   ? wire_f64le(at)
           : tag == WIRE_TAG_F32LE ? wire_f32le(at)
                                   : (double)wire_u32le(at);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static wire_kind cbor_peek(struct wire_cursor *c)
{
    if (typed_level(c) != 0)
        return WIRE_KIND_NUMBER;
    if (c->at == c->end)
        return WIRE_KIND_NONE;
    const unsigned first = (unsigned char)*c->at;
    uint64_t tag;
    struct head bytes;
    switch (first >> 5) {
    case 0:
    case 1:
        return WIRE_KIND_NUMBER;
    case 2:
        return WIRE_KIND_OTHER;
    case 3:
        return WIRE_KIND_STRING;
    case 4:
        return WIRE_KIND_ARRAY;
    case 5:
        return WIRE_KIND_OBJECT;
    case 6:
        return !tagged_bytes(c, &tag, &bytes) ? WIRE_KIND_OTHER
               : is_typed_array(tag, &bytes)  ? WIRE_KIND_ARRAY
               : is_bignum(tag)               ? WIRE_KIND_NUMBER
                                              : WIRE_KIND_OTHER;
    default:
        break;
    }
    switch (first & 31) {
    case 20:
    case 21:
        return WIRE_KIND_BOOL;
    case 22:
        return WIRE_KIND_NULL;
    case 25:
    case 26:
    case 27:
        return WIRE_KIND_NUMBER;
    default:
        return WIRE_KIND_OTHER;
    }
}

static bool wrong_type(struct wire_cursor *c, const char *wanted)
{
    if (c->failed)
        return false;
    if (c->at == c->end)
        return wire_fail_malformed(c, c->at, "a value is missing");
    return wire_fail_at(c, WIRE_WRONG_TYPE, wire_place(c), wanted);
}

static bool push(struct wire_cursor *c, struct wire_level level)
{
    if (!wire_level_left(c, c->depth))
        return false;
    c->levels[c->depth++] = level;
    return true;
}

static bool cbor_enter_object(struct wire_cursor *c)
{
    struct head head;
    if (c->failed)
        return false;
    if (cbor_peek(c) != WIRE_KIND_OBJECT)
        return wrong_type(c, "an object is needed here");
    if (!read_head(c, c->at, &head) || !push(c, (struct wire_level){.left = head.value}))
        return false;
    c->at = head.after;
    return true;
}

static bool cbor_enter_array(struct wire_cursor *c)
{
    struct head head;
    uint64_t tag;
    if (c->failed)
        return false;
    if (cbor_peek(c) != WIRE_KIND_ARRAY)
        return wrong_type(
            c, !tagged_bytes(c, &tag, &head) || is_bignum(tag) ? "an array is needed here"
               : width_of(tag) != 0
                   ? "a typed array ends within a number"
                   : "an array is needed here; a typed array has the tag 70, 85 or 86");
    if (typed_array(c, &tag, &head)) {
        if (!push(c, (struct wire_level){.left = head.value / width_of(tag), .typed = (int)tag}))
            return false;
        c->at = head.bytes;
        return true;
    }
    if (!read_head(c, c->at, &head) || !push(c, (struct wire_level){.left = head.value}))
        return false;
    c->at = head.after;
    return true;
}

static bool cbor_next_item(struct wire_cursor *c)
{
    if (c->failed)
        return false;
    struct wire_level *level = &c->levels[c->depth - 1];
    if (level->left == 0) {
        c->depth--;
        return false;
    }
    level->left--;
    return true;
}

/* Checks that a text is UTF-8. */
static bool check_text(struct wire_cursor *c, obb_str text)
{
    while (text.length > WIRE_POLLED_BYTES) {
        size_t part = WIRE_POLLED_BYTES; /* up to the beginning of a sequence */
        for (int i = 0; i < 3 && ((unsigned char)text.bytes[part] & 0xc0) == 0x80; i++)
            part--;
        if (!wire_goes_on(c))
            return false;
        if (!obb_utf8_valid((obb_str){.bytes = text.bytes, .length = part}))
            return wire_fail_malformed(c, c->at, "not UTF-8");
        text.bytes += part;
        text.length -= part;
    }
    return obb_utf8_valid(text) || wire_fail_malformed(c, c->at, "not UTF-8");
}

static bool read_text(struct wire_cursor *c, obb_str *out)
{
    struct head head;
    if (!read_head(c, c->at, &head))
        return false;
    const obb_str text = {.bytes = head.bytes, .length = (size_t)head.value};
    if (!check_text(c, text))
        return false;
    if (out != NULL)
        *out = text;
    c->at = head.after;
    return true;
}

static bool cbor_next_key(struct wire_cursor *c, obb_str *out_key)
{
    if (!cbor_next_item(c))
        return false;
    if (cbor_peek(c) != WIRE_KIND_STRING)
        return wire_fail_malformed(c, c->at, "a key is a text");
    return read_text(c, out_key);
}

static bool cbor_read_string(struct wire_cursor *c, obb_str *out)
{
    if (c->failed)
        return false;
    return cbor_peek(c) == WIRE_KIND_STRING ? read_text(c, out)
                                            : wrong_type(c, "a string is needed here");
}

/* Of heads of one byte, and of two as texts of 24 bytes and more have. */
static size_t cbor_read_raw_texts(struct wire_cursor *c, obb_str *out, size_t room)
{
    if (c->failed || typed_level(c) != 0)
        return 0;
    enum { TEXT_BEGINS = 0x60, LENGTH_FOLLOWS = 24 };
    struct wire_level *level = &c->levels[c->depth - 1];
    const char *at = c->at;
    size_t count = 0;
    for (; count < room && count < level->left && c->end - at >= 2; count++) {
        size_t length = (unsigned char)*at - (size_t)TEXT_BEGINS, head = 1;
        if (length == LENGTH_FOLLOWS) {
            length = (unsigned char)at[1];
            head = 2;
        } else if (length > LENGTH_FOLLOWS) { /* another type, or a longer head */
            break;
        }
        if (length > (size_t)(c->end - at) - head)
            break;
        out[count] = (obb_str){.bytes = at + head, .length = length};
        at += head + length;
    }
    level->left -= count;
    c->at = at;
    return count;
}

static bool cbor_read_null(struct wire_cursor *c)
{
    if (c->failed)
        return false;
    if (cbor_peek(c) != WIRE_KIND_NULL)
        return wrong_type(c, "null is needed here");
    c->at++;
    return true;
}

static bool cbor_read_bool(struct wire_cursor *c, bool *out)
{
    struct head head;
    if (c->failed)
        return false;
    if (cbor_peek(c) != WIRE_KIND_BOOL)
        return wrong_type(c, "true or false is needed here");
    if (!read_head(c, c->at, &head))
        return false;
    *out = head.truth;
    c->at = head.after;
    return true;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static double number_of(const struct head *head)
{
    if (head->type == REAL)
        return head->number;
    if (head->type == UNSIGNED)
        return (double)head->value;
    return head->value == UINT64_MAX ? -0x1p64 : -(double)(head->value + 1);
}

/* Counts the effort of making digits of a bignum: 7 us for 128 bytes. */
static bool spend_bignum(struct wire_cursor *c, const struct head *bytes)
{
    const size_t length = bytes->value < WIRE_BIGNUM_BYTES ? bytes->value : WIRE_BIGNUM_BYTES;
    return wire_spend(c, length * length / 20);
}

/* Returns a bignum as JSON text, which is empty if the number is beyond every double. */
static obb_str bignum_text(uint64_t tag, const struct head *bytes,
                           char room[static WIRE_NUMBER_ROOM])
{
    const bool negative = tag == WIRE_TAG_NEGATIVE_BIGNUM;
    const size_t length =
        wire_bignum_digits(bytes->bytes, (size_t)bytes->value, negative, room + 1);
    room[0] = '-';
    return negative && length > 0 ? (obb_str){room, 1 + length} : (obb_str){room + 1, length};
}

static double number_of_bignum(uint64_t tag, const struct head *bytes)
{
    char room[WIRE_NUMBER_ROOM];
    const obb_str text = bignum_text(tag, bytes, room);
    double number = (double)INFINITY;
    (void)wire_number_read(text.bytes, text.bytes + text.length, &number);
    return number;
}

/* Reads any number, also NaN and infinity. */
static bool read_any_number(struct wire_cursor *c, double *out)
{
    struct head head;
    uint64_t tag_ahead;
    if (c->failed)
        return false;
    const int tag = typed_level(c);
    if (tag != 0) {
        *out = typed_element(c->at, tag);
        c->at += width_of((uint64_t)tag);
        return true;
    }
    if (cbor_peek(c) != WIRE_KIND_NUMBER)
        return wrong_type(c, "a number is needed here");
    if (bignum(c, &tag_ahead, &head)) {
        if (!spend_bignum(c, &head))
            return false;
        *out = number_of_bignum(tag_ahead, &head);
    } else if (read_head(c, c->at, &head)) {
        *out = number_of(&head);
    } else {
        return false;
    }
    c->at = head.after;
    return true;
}

static bool cbor_read_number(struct wire_cursor *c, double *out)
{
    const size_t place = (size_t)(c->at - c->start);
    double number = 0.0;
    if (!read_any_number(c, &number))
        return false;
    if (!isfinite(number))
        return wire_fail_at(c, WIRE_OBB_BAD_NUMBER, place, NULL);
    *out = number;
    return true;
}

static bool cbor_read_number_text(struct wire_cursor *c, obb_str *out)
{
    struct head head = {.type = REAL};
    uint64_t tag;
    double number;
    const char *at = c->at;
    if (!c->failed && typed_level(c) == 0 && bignum(c, &tag, &head)) {
        if (out != NULL && !spend_bignum(c, &head))
            return false;
        if (out != NULL)
            *out = bignum_text(tag, &head, c->number);
        c->at = head.after;
        return true;
    }
    if (typed_level(c) == 0 && cbor_peek(c) == WIRE_KIND_NUMBER && !read_head(c, at, &head))
        return false;
    if (!read_any_number(c, &number))
        return false;
    if (out == NULL)
        return true;
    int length = 0;
    if (head.type == UNSIGNED)
        length = snprintf(c->number, sizeof c->number, "%llu", (unsigned long long)head.value);
    else if (head.type == NEGATIVE && head.value == UINT64_MAX)
        length = snprintf(c->number, sizeof c->number, "-18446744073709551616");
    else if (head.type == NEGATIVE)
        length = snprintf(c->number, sizeof c->number, "-%llu", (unsigned long long)head.value + 1);
    else if (isfinite(number))
        length = (int)wire_double_write(number, c->number);
    *out = (obb_str){.bytes = c->number, .length = (size_t)length};
    return true;
}

static bool cbor_read_numbers(struct wire_cursor *c, double *out, size_t room, size_t *out_count)
{
    const size_t place = (size_t)(c->at - c->start);
    struct head head;
    uint64_t tag;
    if (!c->failed && typed_level(c) == 0 && typed_array(c, &tag, &head)) {
        const size_t count = (size_t)head.value / width_of(tag);
        if (count > room)
            return wire_fail_at(c, WIRE_BAD_LENGTH, place, NULL);
        for (size_t i = 0; i < count; i++) {
            out[i] = typed_element(head.bytes + i * width_of(tag), (int)tag);
            if (!isfinite(out[i]))
                return wire_fail_item(c, WIRE_OBB_BAD_NUMBER, place, i, NULL);
        }
        *out_count = count;
        c->at = head.after;
        return true;
    }
    if (!cbor_enter_array(c))
        return false;
    size_t count = 0;
    for (; cbor_next_item(c); count++) {
        if (count == room)
            return wire_fail_at(c, WIRE_BAD_LENGTH, place, NULL);
        if (!cbor_read_number(c, &out[count]))
            return false;
    }
    *out_count = count;
    return !c->failed;
}

enum { POLLED = 64 }; /* numbers of a column that are read between two polls */

static bool cbor_read_column(struct wire_cursor *c, struct wire_column *out)
{
    struct head head;
    uint64_t tag;
    if (!c->failed && typed_level(c) == 0 && typed_array(c, &tag, &head)) {
        *out = (struct wire_column){.type = tag == WIRE_TAG_F64LE   ? WIRE_F64LE
                                            : tag == WIRE_TAG_F32LE ? WIRE_F32LE
                                                                    : WIRE_U32LE,
                                    .values = head.bytes,
                                    .count = (size_t)head.value / width_of(tag)};
        c->at = head.after;
        return true;
    }
    if (!cbor_enter_array(c))
        return false;
    /* each number takes at least one byte of the body, so this is bounded */
    double *values = obb_arena_alloc(c->arena, c->levels[c->depth - 1].left, sizeof *values);
    if (values == NULL)
        return wire_fail_memory(c);
    size_t count = 0;
    for (; cbor_next_item(c); count++)
        if ((count % POLLED == 0 && !wire_goes_on(c)) || !cbor_read_number(c, &values[count]))
            return false;
    *out = (struct wire_column){.type = WIRE_DOUBLES, .values = values, .count = count};
    return !c->failed;
}

/* ---- The rest -------------------------------------------------------------------------------- */

static bool cbor_enter_other(struct wire_cursor *c, bool *out_value_follows)
{
    struct head head;
    if (c->failed || !read_head(c, c->at, &head))
        return false;
    *out_value_follows = head.type == TAG;
    c->at = head.after;
    return true;
}

static bool cbor_finish(struct wire_cursor *c)
{
    if (c->failed)
        return false;
    return c->at == c->end || wire_fail_malformed(c, c->at, "something follows the value");
}

void wire_cbor_open(struct wire_cursor *cursor, const char *bytes, size_t length,
                    struct obb_arena *arena)
{
    static const struct wire_cursor_ops ops = {.peek = cbor_peek,
                                               .enter_object = cbor_enter_object,
                                               .next_key = cbor_next_key,
                                               .enter_array = cbor_enter_array,
                                               .next_item = cbor_next_item,
                                               .read_null = cbor_read_null,
                                               .read_bool = cbor_read_bool,
                                               .read_number = cbor_read_number,
                                               .read_string = cbor_read_string,
                                               .read_raw_texts = cbor_read_raw_texts,
                                               .read_numbers = cbor_read_numbers,
                                               .read_column = cbor_read_column,
                                               .read_number_text = cbor_read_number_text,
                                               .enter_other = cbor_enter_other,
                                               .finish = cbor_finish};
    cursor->ops = &ops;
    cursor->start = cursor->first = cursor->at = bytes;
    cursor->end = bytes + length;
    cursor->arena = arena;
    cursor->depth = 0;
    cursor->most = WIRE_DEPTH;
    cursor->postponed = NULL;
    cursor->effort = 0;
    cursor->cancel = NULL;
    cursor->fresh = false;
    cursor->failed = false;
}
