/* Objects of known fields: reading them in any order, refusing unknown and repeated fields. */
#ifndef WIRE_OBJECT_H
#define WIRE_OBJECT_H

#include "proto/codec/cursor.h"

enum { WIRE_FIELDS = 25 }; /* the most fields of one kind of object */

/* A string literal as an obb_str, for tables of fields and words. */
#define WIRE_FIELD(text)      \
    {                         \
        text, sizeof text - 1 \
    }

/* An object while it is read. */
struct wire_object {
    struct wire_cursor *c;
    const obb_str *fields; /* at most WIRE_FIELDS, in the order in which clients mostly send them */
    int count;
    /* NULL, or a set of bits for each field: a field that has none of the bits of `kinds` is not
     * named as the nearest to an unknown one */
    const unsigned *kinds_with;
    unsigned kinds;
    int likely;                /* the field after the last one read: tried first */
    uint32_t seen;             /* bit i: field i was read */
    size_t place;              /* of the object, as wire_place */
    size_t where[WIRE_FIELDS]; /* of the value of each field that was read */
};

/* Enters the object at the cursor. The caller may set `kinds_with` and `kinds` then. Returns false
 * if the cursor failed. */
bool wire_object_enter(struct wire_object *object, struct wire_cursor *c, const obb_str *fields,
                       int count);

/* Moves to the next field, whose value the caller then reads. Returns its index, or -1 at the end
 * of the object and after a fault. An unknown field is a fault (WIRE_UNKNOWN_FIELD), and so is a
 * repeated one (WIRE_MALFORMED). */
int wire_object_next(struct wire_object *object);

static inline bool wire_object_has(const struct wire_object *object, int field)
{
    return (object->seen >> field & 1) != 0;
}

/* Returns true if the field was read. Otherwise notes WIRE_MISSING_FIELD at the object and returns
 * false. */
bool wire_object_need(const struct wire_object *object, int field);

#endif
