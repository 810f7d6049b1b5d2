/* The writer of CBOR (RFC 8949): definite lengths, shortest heads, typed arrays of RFC 8746. */
#include "proto/base/bignum.h"
#include "proto/base/le.h"
#include "proto/base/number.h"
#include "proto/codec/cbor_tags.h"
#include "proto/codec/out.h"
#include "proto/codec/unescape.h"

#include <assert.h>
#include <cbor/encoding.h>
#include <math.h>

enum { HEAD = 9 /* bytes of the longest head */ };

static unsigned char *room(struct wire_out *out, size_t size)
{
    return (unsigned char *)wire_buf_room(out->buf, size);
}

static void added(struct wire_out *out, size_t size)
{
    assert(size > 0); /* an encoder returns 0 if it has no room */
    wire_buf_added(out->buf, size);
}

/* Keeps a byte for the head of a map or array whose members are counted while they are written.
 * Returns where it lies. */
static size_t keep_head(struct wire_out *out)
{
    const size_t head = out->buf->length;
    if (room(out, 1) != NULL)
        added(out, 1);
    return head;
}

/* Writes the head that the byte was kept for. One byte can count 23 members: for more, what was
 * written behind the byte is moved. */
static void set_head(struct wire_out *out, size_t head, bool map, size_t members)
{
    unsigned char bytes[HEAD];
    const size_t size = map ? cbor_encode_map_start(members, bytes, sizeof bytes)
                            : cbor_encode_array_start(members, bytes, sizeof bytes);
    if (room(out, size) == NULL)
        return;
    unsigned char *at = (unsigned char *)out->buf->bytes + head;
    if (size > 1) {
        memmove(at + size, at + 1, out->buf->length - head - 1);
        added(out, size - 1);
    }
    memcpy(at, bytes, size);
}

wire_out_scope wire_cbor_object(struct wire_out *out)
{
    const wire_out_scope object = {.fields = out->fields, .head = keep_head(out)};
    out->fields = 0;
    return object;
}

void wire_cbor_object_end(struct wire_out *out, wire_out_scope object)
{
    set_head(out, object.head, true, out->fields);
    out->fields = object.fields;
}

void wire_cbor_map(struct wire_out *out, size_t count)
{
    unsigned char *at = room(out, HEAD);
    if (at != NULL)
        added(out, cbor_encode_map_start(count, at, HEAD));
}

void wire_cbor_array(struct wire_out *out, size_t count)
{
    unsigned char *at = room(out, HEAD);
    if (at != NULL)
        added(out, cbor_encode_array_start(count, at, HEAD));
}

void wire_cbor_double(struct wire_out *out, double value)
{
    unsigned char *at = room(out, HEAD);
    if (at != NULL)
        added(out, cbor_encode_double(value, at, HEAD));
}

void wire_cbor_integer(struct wire_out *out, uint64_t value)
{
    unsigned char *at = room(out, HEAD);
    if (at != NULL)
        added(out, cbor_encode_uint(value, at, HEAD));
}

void wire_cbor_negative(struct wire_out *out, uint64_t magnitude)
{
    unsigned char *at = room(out, HEAD);
    if (at != NULL)
        added(out, cbor_encode_negint(magnitude - 1, at, HEAD));
}

void wire_cbor_bool(struct wire_out *out, bool value)
{
    unsigned char *at = room(out, 1);
    if (at != NULL)
        added(out, cbor_encode_bool(value, at, 1));
}

void wire_cbor_null(struct wire_out *out)
{
    unsigned char *at = room(out, 1);
    if (at != NULL)
        added(out, cbor_encode_null(at, 1));
}

void wire_cbor_string(struct wire_out *out, obb_str text)
{
    unsigned char *at = text.length <= SIZE_MAX - HEAD ? room(out, HEAD + text.length) : NULL;
    if (at == NULL)
        return;
    const size_t head = cbor_encode_string_start(text.length, at, HEAD);
    if (text.length != 0)
        memcpy(at + head, text.bytes, text.length);
    added(out, head + text.length);
}

/* ---- Typed arrays ---------------------------------------------------------------------------- */

/* Writes the heads of a byte string of `size` bytes under a tag. Returns room for the bytes, or
 * NULL. */
static unsigned char *tagged_bytes(struct wire_out *out, unsigned tag, size_t size)
{
    unsigned char *at = room(out, (size_t)2 * HEAD + size);
    if (at == NULL)
        return NULL;
    size_t head = cbor_encode_tag(tag, at, HEAD);
    head += cbor_encode_bytestring_start(size, at + head, HEAD);
    added(out, head);
    return at + head;
}

static inline uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint32_t bits_of_float(double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static size_t width_of(wire_out_type type)
{
    return type == WIRE_OUT_F64 ? 8 : type == WIRE_OUT_F32 ? 4 : 1;
}

void wire_cbor_column(struct wire_out *out, wire_out_type type, size_t count)
{
    static const unsigned tags[] = {[WIRE_OUT_F64] = WIRE_TAG_F64LE,
                                    [WIRE_OUT_F32] = WIRE_TAG_F32LE,
                                    [WIRE_OUT_U8] = WIRE_TAG_U8};
    (void)tagged_bytes(out, tags[type], count * width_of(type));
}

void wire_cbor_column_part(struct wire_out *out, wire_out_type type, const double *values,
                           size_t count)
{
    const size_t size = count * width_of(type);
    unsigned char *at = room(out, size);
    if (at == NULL)
        return;
    if (type == WIRE_OUT_F64)
        for (size_t i = 0; i < count; i++)
            at = wire_put_u64le(at, bits_of_double(values[i]));
    else if (type == WIRE_OUT_F32)
        for (size_t i = 0; i < count; i++)
            at = wire_put_u32le(at, bits_of_float(values[i]));
    else
        for (size_t i = 0; i < count; i++)
            *at++ = (unsigned char)values[i];
    wire_buf_added(out->buf, size);
}

void wire_cbor_doubles(struct wire_out *out, const double *values, size_t count)
{
    wire_cbor_column(out, WIRE_OUT_F64, count);
    wire_cbor_column_part(out, WIRE_OUT_F64, values, count);
}

void wire_cbor_ids(struct wire_out *out, size_t count, uint64_t largest)
{
    out->narrow = largest <= UINT32_MAX;
    if (out->narrow)
        (void)tagged_bytes(out, WIRE_TAG_U32LE, count * 4);
    else
        wire_cbor_array(out, count);
}

void wire_cbor_ids_part(struct wire_out *out, const uint64_t *ids, size_t count)
{
    if (!out->narrow) {
        for (size_t i = 0; i < count; i++)
            wire_cbor_integer(out, ids[i]);
        return;
    }
    unsigned char *at = room(out, count * 4);
    if (at == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        at = wire_put_u32le(at, (uint32_t)ids[i]);
    wire_buf_added(out->buf, count * 4);
}

void wire_cbor_id_pairs(struct wire_out *out, uint64_t base, const uint64_t *halves, size_t count)
{
    unsigned char *at = room(out, count * 8);
    if (at == NULL)
        return;
    const uint64_t bases = base << 32 | base; /* no id needs more than 32 bits: no half overflows */
    for (size_t i = 0; i < count; i++)
        at = wire_put_u64le(at, (halves[i] << 32 | halves[i] >> 32) + bases);
    wire_buf_added(out->buf, count * 8);
}

/* ---- JSON text to CBOR ----------------------------------------------------------------------- */

/* The text was checked when it was received: it is one compact value, not deeper than the decoder
 * allows. */

static const char *translate(struct wire_out *out, const char *at, const char *end);

/* Returns the first byte after the string whose opening quote is at `at`. */
static const char *string_end(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

static const char *translate_string(struct wire_out *out, const char *at)
{
    const char *end = string_end(at);
    const size_t most = (size_t)(end - at) - 2; /* an escape is longer than its character */

    /* The text is written after room for the longest head, and moved when the length of its head is
     * known. */
    char *head = wire_buf_room(out->buf, HEAD + most);
    if (head == NULL)
        return end;
    char *text = head + HEAD, *to = text;
    for (at++; at < end - 1;) {
        if (*at == '\\') {
            char decoded[4];
            size_t size = 0;
            at = wire_json_unescape(at + 1, end, decoded, &size);
            assert(at != NULL);
            memcpy(to, decoded, size);
            to += size;
        } else {
            *to++ = *at++;
        }
    }
    const size_t length = (size_t)(to - text);
    const size_t size = cbor_encode_string_start(length, (unsigned char *)head, HEAD);
    memmove(head + size, text, length);
    added(out, size + length);
    return end;
}

static void put_whole(struct wire_out *out, obb_str digits, bool negative)
{
    unsigned char bytes[WIRE_BIGNUM_BYTES];
    const size_t length = wire_bignum_bytes(digits, negative, bytes);
    uint64_t value = 0;
    if (length > sizeof value) {
        unsigned char *at =
            tagged_bytes(out, negative ? WIRE_TAG_NEGATIVE_BIGNUM : WIRE_TAG_BIGNUM, length);
        if (at == NULL)
            return;
        memcpy(at, bytes, length);
        added(out, length);
        return;
    }
    for (size_t i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    unsigned char *at = room(out, HEAD);
    if (at != NULL)
        added(out,
              negative ? cbor_encode_negint(value, at, HEAD) : cbor_encode_uint(value, at, HEAD));
}

static const char *translate_number(struct wire_out *out, const char *at, const char *end)
{
    double number = 0.0;
    const char *stop = wire_number_read(at, end, &number);
    assert(stop != NULL && isfinite(number));
    const bool negative = *at == '-';
    const char *const first = at + negative;
    bool whole = !negative || *first != '0'; /* -0 is not an integer of CBOR */
    for (const char *digit = first; digit < stop && whole; digit++)
        whole = *digit >= '0' && *digit <= '9';
    if (whole)
        put_whole(out, (obb_str){first, (size_t)(stop - first)}, negative);
    else
        wire_cbor_double(out, number);
    return stop;
}

/* Translates the array or object that opens at `at`. */
static const char *translate_members(struct wire_out *out, const char *at, const char *end)
{
    const bool object = *at == '{';
    const size_t head = keep_head(out);
    size_t members = 0;
    at++;
    if (*at == ']' || *at == '}') {
        at++;
    } else {
        do {
            if (object)
                at = translate_string(out, at) + 1; /* and the colon */
            at = translate(out, at, end);
            members++;
        } while (*at++ == ','); /* the last time it is the closing bracket */
    }
    set_head(out, head, object, members);
    return at;
}

static const char *translate(struct wire_out *out, const char *at, const char *end)
{
    switch (*at) {
    case '"':
        return translate_string(out, at);
    case '[':
    case '{':
        return translate_members(out, at, end);
    case 't':
        wire_cbor_bool(out, true);
        return at + 4;
    case 'f':
        wire_cbor_bool(out, false);
        return at + 5;
    case 'n':
        wire_cbor_null(out);
        return at + 4;
    default:
        return translate_number(out, at, end);
    }
}

void wire_cbor_data(struct wire_out *out, obb_str json)
{
    const char *end = json.bytes + json.length;
    const char *stop = translate(out, json.bytes, end);
    assert(stop == end);
    (void)stop;
}
