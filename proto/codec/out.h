/* Writers: a reply is written once, as a sequence of these calls, and comes out as JSON or as CBOR
 * (RFC 8949, definite lengths, shortest heads).
 *
 * The caller opens and closes objects and arrays in order, and writes a key before each member. If
 * a count is given beforehand, the caller must write that many. Everything is appended to the
 * buffer. If the buffer failed, calls do nothing (see buf.h). Keys are constant ASCII without
 * quotes or backslashes. */
#ifndef WIRE_OUT_H
#define WIRE_OUT_H

#include "core/obb.h"
#include "proto/base/buf.h"

struct wire_out {
    struct wire_buf *buf;
    bool cbor;
    bool comma;    /* JSON: the next value at this level needs a comma before it */
    size_t fields; /* CBOR: members of the innermost object so far */
    bool narrow;   /* CBOR: the open list of ids is a typed array */
};

/* What must be restored when an object closes; returned at its opening. */
typedef struct wire_out_scope {
    size_t head;
    size_t fields;
} wire_out_scope;

/* The numbers of a column, as typed arrays of CBOR have them. In JSON all are written as they
 * are. */
typedef enum wire_out_type {
    WIRE_OUT_F64, /* tag 86 */
    WIRE_OUT_F32, /* tag 85 */
    WIRE_OUT_U8   /* tag 64 */
} wire_out_type;

static inline struct wire_out wire_out_json(struct wire_buf *buf)
{
    return (struct wire_out){.buf = buf};
}

static inline struct wire_out wire_out_cbor(struct wire_buf *buf)
{
    return (struct wire_out){.buf = buf, .cbor = true};
}

/* ---- The two media, called by the functions below -------------------------------------------- */

wire_out_scope wire_json_object(struct wire_out *out);
void wire_json_object_end(struct wire_out *out);
void wire_json_array(struct wire_out *out);
void wire_json_array_end(struct wire_out *out);
void wire_json_key(struct wire_out *out, const char *key, size_t length);
void wire_json_name_key(struct wire_out *out, obb_str key);
void wire_json_double(struct wire_out *out, double value);
void wire_json_integer(struct wire_out *out, uint64_t value);
void wire_json_negative(struct wire_out *out, uint64_t magnitude);
void wire_json_word(struct wire_out *out, const char *word, size_t length);
void wire_json_string(struct wire_out *out, obb_str text);
void wire_json_strings(struct wire_out *out, obb_str a, obb_str b);
void wire_json_data(struct wire_out *out, obb_str json);
void wire_json_doubles(struct wire_out *out, const double *values, size_t count);
void wire_json_column_part(struct wire_out *out, const double *values, size_t count);

wire_out_scope wire_cbor_object(struct wire_out *out);
void wire_cbor_object_end(struct wire_out *out, wire_out_scope object);
void wire_cbor_map(struct wire_out *out, size_t count);
void wire_cbor_array(struct wire_out *out, size_t count);
void wire_cbor_double(struct wire_out *out, double value);
void wire_cbor_integer(struct wire_out *out, uint64_t value);
void wire_cbor_negative(struct wire_out *out, uint64_t magnitude);
void wire_cbor_bool(struct wire_out *out, bool value);
void wire_cbor_null(struct wire_out *out);
void wire_cbor_string(struct wire_out *out, obb_str text);
void wire_cbor_data(struct wire_out *out, obb_str json);
void wire_cbor_doubles(struct wire_out *out, const double *values, size_t count);
void wire_cbor_column(struct wire_out *out, wire_out_type type, size_t count);
void wire_cbor_column_part(struct wire_out *out, wire_out_type type, const double *values,
                           size_t count);
void wire_cbor_ids(struct wire_out *out, size_t count, uint64_t largest);
void wire_cbor_ids_part(struct wire_out *out, const uint64_t *ids, size_t count);
void wire_cbor_id_pairs(struct wire_out *out, uint64_t base, const uint64_t *halves, size_t count);

/* ---- The face -------------------------------------------------------------------------------- */

/* Opens an object of at most 23 members. Their number need not be known yet. */
static inline wire_out_scope wire_out_object(struct wire_out *out)
{
    return out->cbor ? wire_cbor_object(out) : wire_json_object(out);
}

static inline void wire_out_object_end(struct wire_out *out, wire_out_scope object)
{
    if (out->cbor)
        wire_cbor_object_end(out, object);
    else
        wire_json_object_end(out);
}

/* Opens an object of `count` members, whose keys are written by wire_out_name_key. */
static inline void wire_out_map(struct wire_out *out, size_t count)
{
    if (out->cbor)
        wire_cbor_map(out, count);
    else
        (void)wire_json_object(out);
}

static inline void wire_out_map_end(struct wire_out *out)
{
    if (!out->cbor)
        wire_json_object_end(out);
}

static inline void wire_out_array(struct wire_out *out, size_t count)
{
    if (out->cbor)
        wire_cbor_array(out, count);
    else
        wire_json_array(out);
}

static inline void wire_out_array_end(struct wire_out *out)
{
    if (!out->cbor)
        wire_json_array_end(out);
}

static inline void wire_out_key(struct wire_out *out, const char *key)
{
    const size_t length = strlen(key);
    if (out->cbor) {
        out->fields++;
        wire_cbor_string(out, (obb_str){key, length});
    } else {
        wire_json_key(out, key, length);
    }
}

/* Writes a key that a client chose: any UTF-8. */
static inline void wire_out_name_key(struct wire_out *out, obb_str key)
{
    if (out->cbor)
        wire_cbor_string(out, key);
    else
        wire_json_name_key(out, key);
}

/* Writes a finite number. In CBOR it is always a float64. */
static inline void wire_out_double(struct wire_out *out, double value)
{
    if (out->cbor)
        wire_cbor_double(out, value);
    else
        wire_json_double(out, value);
}

static inline void wire_out_integer(struct wire_out *out, uint64_t value)
{
    if (out->cbor)
        wire_cbor_integer(out, value);
    else
        wire_json_integer(out, value);
}

static inline void wire_out_signed(struct wire_out *out, int64_t value)
{
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value >= 0)
        wire_out_integer(out, magnitude);
    else if (out->cbor)
        wire_cbor_negative(out, magnitude);
    else
        wire_json_negative(out, magnitude);
}

static inline void wire_out_bool(struct wire_out *out, bool value)
{
    if (out->cbor)
        wire_cbor_bool(out, value);
    else
        wire_json_word(out, value ? "true" : "false", value ? 4 : 5);
}

static inline void wire_out_null(struct wire_out *out)
{
    if (out->cbor)
        wire_cbor_null(out);
    else
        wire_json_word(out, "null", 4);
}

/* Writes a string of UTF-8. */
static inline void wire_out_string(struct wire_out *out, obb_str text)
{
    if (out->cbor)
        wire_cbor_string(out, text);
    else
        wire_json_string(out, text);
}

/* Writes an array of two strings in one step. Long answers consist of such pairs. */
static inline void wire_out_strings(struct wire_out *out, obb_str a, obb_str b)
{
    if (out->cbor) {
        wire_cbor_array(out, 2);
        wire_cbor_string(out, a);
        wire_cbor_string(out, b);
    } else {
        wire_json_strings(out, a, b);
    }
}

/* Writes a value given as valid compact JSON text. In CBOR the text is translated: a number with a
 * point or an exponent becomes a float64, any other number an integer, beyond 64 bits a bignum
 * (tags 2 and 3). */
static inline void wire_out_data(struct wire_out *out, obb_str json)
{
    if (out->cbor)
        wire_cbor_data(out, json);
    else
        wire_json_data(out, json);
}

/* Writes an array of finite doubles. In CBOR it is a typed array of RFC 8746, tag 86 (float64,
 * little-endian). */
static inline void wire_out_doubles(struct wire_out *out, const double *values, size_t count)
{
    if (out->cbor)
        wire_cbor_doubles(out, values, count);
    else
        wire_json_doubles(out, values, count);
}

/* Opens an array of `count` finite numbers, which are written in parts by wire_out_column_part. In
 * CBOR it is a typed array of RFC 8746. */
static inline void wire_out_column(struct wire_out *out, wire_out_type type, size_t count)
{
    if (out->cbor)
        wire_cbor_column(out, type, count);
    else
        wire_json_array(out);
}

static inline void wire_out_column_part(struct wire_out *out, wire_out_type type,
                                        const double *values, size_t count)
{
    if (out->cbor)
        wire_cbor_column_part(out, type, values, count);
    else
        wire_json_column_part(out, values, count);
}

static inline void wire_out_column_end(struct wire_out *out) { wire_out_array_end(out); }

/* Opens an array of `count` ids, none above `largest`, which are written one by one or in parts. In
 * CBOR it is a typed array, tag 70 (unsigned 32 bits, little-endian), or a plain array if `largest`
 * needs more bits. */
static inline void wire_out_ids(struct wire_out *out, size_t count, uint64_t largest)
{
    if (out->cbor)
        wire_cbor_ids(out, count, largest);
    else
        wire_json_array(out);
}

static inline void wire_out_ids_part(struct wire_out *out, const uint64_t *ids, size_t count)
{
    if (out->cbor)
        wire_cbor_ids_part(out, ids, count);
    else
        for (size_t i = 0; i < count; i++)
            wire_json_integer(out, ids[i]);
}

static inline void wire_out_id(struct wire_out *out, uint64_t id)
{
    wire_out_ids_part(out, &id, 1);
}

/* Writes two ids for each number: `base` and its high half, then `base` and its low half. */
static inline void wire_out_id_pairs(struct wire_out *out, uint64_t base, const uint64_t *halves,
                                     size_t count)
{
    if (out->cbor && out->narrow) {
        wire_cbor_id_pairs(out, base, halves, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t ids[2] = {base + (halves[i] >> 32), base + (uint32_t)halves[i]};
        wire_out_ids_part(out, ids, 2);
    }
}

static inline void wire_out_ids_end(struct wire_out *out) { wire_out_array_end(out); }

/* Writes the first `dimensions` coordinates as an array of doubles. */
static inline void wire_out_vector(struct wire_out *out, obb_vec3 v, int dimensions)
{
    wire_out_doubles(out, (const double[3]){v.x, v.y, v.z}, (size_t)dimensions);
}

#endif
