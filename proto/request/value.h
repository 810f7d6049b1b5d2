/* Single values of a request: numbers with ranges, words, names, vectors, and lists of names.
 *
 * Each function reads one value at the cursor and returns false if the cursor failed. Outputs are
 * written on success only. */
#ifndef WIRE_VALUE_H
#define WIRE_VALUE_H

#include "proto/codec/cursor.h"

typedef enum wire_range {
    WIRE_ANY,        /* any finite number */
    WIRE_COORDINATE, /* at most 1e9 in magnitude, like the two that follow */
    WIRE_FACTOR,
    WIRE_MARGIN,
    WIRE_HALF_EXTENT, /* 0 to 1e9, like the two that follow */
    WIRE_RADIUS,
    WIRE_DISTANCE,
    WIRE_TIME, /* at most 2^53 in magnitude, milliseconds */
    WIRE_SPAN, /* 0 to 2^53 */
    WIRE_TTL   /* likewise, milliseconds */
} wire_range;

/* What a range allows. */
struct wire_limits {
    double low, high;
    obb_status below; /* of a negative number, if `low` is 0 */
    const char *rule; /* a sentence that says which numbers the range has */
};
extern const struct wire_limits wire_limits[];

/* Checks the range of a number that came in another way. Returns OBB_OK, OBB_BAD_NUMBER, or the
 * range's status of negative numbers. */
static inline obb_status wire_range_check(wire_range range, double value)
{
    const struct wire_limits *limits = &wire_limits[range];
    if (value >= limits->low && value <= limits->high)
        return OBB_OK;
    return value < 0 && limits->low == 0 ? limits->below : OBB_BAD_NUMBER;
}

/* Returns whether the cursor failed at a number beyond those of doubles, and nobody has said yet
 * which numbers are allowed. */
static inline bool wire_beyond_doubles(const struct wire_cursor *c)
{
    return c->failed && c->fault.cause == WIRE_OBB_BAD_NUMBER && c->fault.detail == NULL;
}

/* Reads a number of the range. */
bool wire_read_real(struct wire_cursor *c, wire_range range, double *out);

/* Reads a whole number from low to high, both within 2^53. Other values are OBB_BAD_VALUE. */
bool wire_read_whole(struct wire_cursor *c, double low, double high, double *out);

/* Reads one of `count` words; *out is its index. Other strings are OBB_BAD_VALUE, with a detail
 * that lists the words. */
bool wire_read_word(struct wire_cursor *c, const obb_str *words, int count, int *out);

/* Reads a name (see obb_name_valid). Other strings are OBB_BAD_NAME. */
bool wire_read_name(struct wire_cursor *c, obb_str *out);

/* Reads the hash of a state: 16 hexadecimal digits in lower case. Other strings are
 * OBB_BAD_VALUE. */
bool wire_read_hash(struct wire_cursor *c, uint64_t *out);

/* Reads a name as the target of an edit. */
bool wire_read_target(struct wire_cursor *c, obb_target *out);

/* Reads the next key, which must be a name. Returns false at the end of the object too, as
 * wire_next_key. */
bool wire_next_name(struct wire_cursor *c, obb_str *out_key);

/* Reads an array of exactly `count` numbers of the range. A fault names the element. */
bool wire_read_reals(struct wire_cursor *c, wire_range range, double *out, size_t count);

/* Reads a vector: as many numbers as the scene has dimensions. In the plane z is 0. */
bool wire_read_vector(struct wire_cursor *c, int dimensions, wire_range range, obb_vec3 *out);

/* Read an array of any number of strings, of names, or of names as targets of an edit. The arrays
 * live in the arena. */
bool wire_read_strings(struct wire_cursor *c, const obb_str **out, size_t *out_count);
bool wire_read_names(struct wire_cursor *c, const obb_str **out, size_t *out_count);
bool wire_read_targets(struct wire_cursor *c, const obb_target **out, size_t *out_count);

/* Returns true for OBB_OK. Otherwise notes the status of core as the fault of the value at `place`
 * and returns false. */
static inline bool wire_check_status(struct wire_cursor *c, obb_status status, size_t place)
{
    if (status == OBB_OK)
        return true;
    return status == OBB_NO_MEMORY ? wire_fail_memory(c)
                                   : wire_fail_at(c, (wire_cause)status, place, NULL);
}

/* Returns the detail of a matrix that core refused with this status, or NULL if the status says
 * enough. Constant. */
const char *wire_matrix_detail(obb_status status);

#define WIRE_PLANAR_ONLY  "this is for 2-D scenes, and this scene has 3 dimensions"
#define WIRE_SPATIAL_ONLY "this is for 3-D scenes, and this scene has 2 dimensions"

#endif
