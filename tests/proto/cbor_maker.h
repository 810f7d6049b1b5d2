/* CBOR for tests, written apart from ours: bytes by hand, or a JSON text carried over. */
#ifndef TEST_PROTO_CBOR_MAKER_H
#define TEST_PROTO_CBOR_MAKER_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cbor_maker {
    unsigned char *bytes; /* owned */
    size_t length, room;
};

static inline void maker_put(struct cbor_maker *m, const void *bytes, size_t length)
{
    if (m->room - m->length < length) {
        m->room = (m->length + length) * 2;
        m->bytes = realloc(m->bytes, m->room);
        if (m->bytes == NULL)
            abort();
    }
    if (length != 0)
        memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

static inline void maker_big_endian(struct cbor_maker *m, uint64_t value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        const unsigned char byte = (unsigned char)(value >> (8 * i));
        maker_put(m, &byte, 1);
    }
}

/* The head of an item: its major type and number in the shortest form. */
static inline void maker_head(struct cbor_maker *m, unsigned major, uint64_t value)
{
    const int width = value < 24            ? 0
                      : value <= 0xff       ? 1
                      : value <= 0xffff     ? 2
                      : value <= 0xffffffff ? 4
                                            : 8;
    const unsigned info = width == 0   ? (unsigned)value
                          : width == 1 ? 24
                          : width == 2 ? 25
                          : width == 4 ? 26
                                       : 27;
    const unsigned char first = (unsigned char)(major << 5 | info);
    maker_put(m, &first, 1);
    maker_big_endian(m, value, width);
}

static inline void maker_double(struct cbor_maker *m, double value)
{
    const float narrow = (float)value;
    const unsigned char wide_head = 0xfb, narrow_head = 0xfa;
    uint64_t bits;
    uint32_t narrow_bits;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    if ((double)narrow == value) {
        maker_put(m, &narrow_head, 1);
        maker_big_endian(m, narrow_bits, 4);
    } else {
        maker_put(m, &wide_head, 1);
        maker_big_endian(m, bits, 8);
    }
}

static inline void maker_text(struct cbor_maker *m, const char *text, size_t length)
{
    maker_head(m, 3, length);
    maker_put(m, text, length);
}

static inline void maker_number(struct cbor_maker *m, double value)
{
    if (value == floor(value) && fabs(value) < 0x1p53 && !(value == 0.0 && signbit(value))) {
        if (value >= 0.0)
            maker_head(m, 0, (uint64_t)value);
        else
            maker_head(m, 1, (uint64_t)(-1.0 - value));
    } else {
        maker_double(m, value);
    }
}

enum { MAKER_F32 = 85, MAKER_F64 = 86, MAKER_U32 = 70 };

/* A typed array of numbers that its type can hold. */
static inline void maker_typed(struct cbor_maker *m, unsigned tag, const double *values,
                               size_t count)
{
    const size_t width = tag == MAKER_F64 ? 8 : 4;
    maker_head(m, 6, tag);
    maker_head(m, 2, count * width);
    for (size_t i = 0; i < count; i++) {
        const float narrow = (float)values[i];
        uint64_t bits = 0;
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
        if (tag == MAKER_F64)
            memcpy(&bits, &values[i], sizeof bits);
        else
            bits = tag == MAKER_F32 ? narrow_bits : (uint32_t)values[i];
        for (size_t k = 0; k < width; k++) {
            const unsigned char byte = (unsigned char)(bits >> (8 * k));
            maker_put(m, &byte, 1);
        }
    }
}

/* The narrowest of the types that holds all items of an array of numbers; 0: they are not all
 * numbers. */
static inline unsigned maker_type_of(const json_t *array)
{
    bool f32 = true, u32 = true;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_number(item))
            return 0;
        const double value = json_number_value(item);
        f32 = f32 && (double)(float)value == value;
        u32 = u32 && value >= 0.0 && value <= 4294967295.0 && value == floor(value) &&
              !signbit(value);
    }
    return u32 ? MAKER_U32 : f32 ? MAKER_F32 : MAKER_F64;
}

/* Carries a JSON value over; with `typed`, arrays of numbers become typed arrays. */
static inline void maker_json(struct cbor_maker *m, json_t *value, bool typed)
{
    static const unsigned char words[] = {
        [JSON_TRUE] = 0xf5, [JSON_FALSE] = 0xf4, [JSON_NULL] = 0xf6};
    switch (json_typeof(value)) {
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        maker_put(m, &words[json_typeof(value)], 1);
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        maker_number(m, json_number_value(value));
        break;
    case JSON_STRING:
        maker_text(m, json_string_value(value), json_string_length(value));
        break;
    case JSON_ARRAY: {
        const size_t count = json_array_size(value);
        const unsigned tag = typed ? maker_type_of(value) : 0;
        if (tag != 0) {
            double *values = malloc(count * sizeof *values + 1);
            if (values == NULL)
                abort();
            for (size_t i = 0; i < count; i++)
                values[i] = json_number_value(json_array_get(value, i));
            maker_typed(m, tag, values, count);
            free(values);
            break;
        }
        maker_head(m, 4, count);
        for (size_t i = 0; i < count; i++)
            maker_json(m, json_array_get(value, i), typed);
        break;
    }
    case JSON_OBJECT: {
        maker_head(m, 5, json_object_size(value));
        void *iter = json_object_iter(value);
        for (; iter != NULL; iter = json_object_iter_next(value, iter)) {
            maker_text(m, json_object_iter_key(iter), json_object_iter_key_len(iter));
            maker_json(m, json_object_iter_value(iter), typed);
        }
        break;
    }
    }
}

/* False when the text is not JSON. The caller frees m->bytes. */
static inline bool maker_from_json(struct cbor_maker *m, const char *text, size_t length,
                                   bool typed)
{
    if (length > 0 && memchr(text, '\0', length) != NULL)
        return false; /* jansson 2.14 loses a zero byte behind a number, and so takes it */
    json_t *value = json_loadb(
        text, length,
        JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    if (value == NULL)
        return false;
    maker_json(m, value, typed);
    json_decref(value);
    return true;
}

#endif
