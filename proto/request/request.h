/* What the decoders of requests share: objects of known fields, scalars with ranges, vectors, boxes.
 *
 * Each reads one value at the cursor, and returns false when the cursor failed. Outputs are written on success. */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include "proto/codec/cursor.h"
#include "proto/wire.h"

/* ---- Bodies ---------------------------------------------------------------------------------------- */

/* Opens the body; one of length 0 reads as {}. */
void wire_body_open(struct wire_cursor *c, const wire_body *body, struct obb_arena *arena);

/* The end of every decoder: true when `ok` and nothing follows, else the problem. */
bool wire_body_close(struct wire_cursor *c, bool ok, wire_problem *problem);

/* ---- Objects of known fields ----------------------------------------------------------------------- */

enum { WIRE_FIELDS = 24 };

#define WIRE_FIELD(text)      \
    {                         \
        text, sizeof text - 1 \
    }

struct wire_object {
    struct wire_cursor *c;
    const obb_str *fields; /* at most WIRE_FIELDS, in the order in which they mostly come */
    int count;
    int likely;                /* the field after the last one */
    uint32_t seen;             /* bit i: field i was there */
    size_t place;              /* of the object */
    size_t where[WIRE_FIELDS]; /* of the value of each field that was seen */
};

bool wire_object_enter(struct wire_object *object, struct wire_cursor *c, const obb_str *fields,
                       int count);

/* The next field, whose value is to be read then; -1 at the end and after a fault. Unknown fields are WIRE_UNKNOWN_FIELD. */
int wire_object_next(struct wire_object *object);

static inline bool wire_object_has(const struct wire_object *object, int field)
{
    return (object->seen >> field & 1) != 0;
}

/* WIRE_MISSING_FIELD at the object unless the field was seen. */
bool wire_object_need(const struct wire_object *object, int field);

/* ---- Lists ----------------------------------------------------------------------------------------- */

/* The items of an array or object while they are read. */
struct wire_list {
    struct wire_cursor *c;
    size_t size;  /* bytes of an item */
    size_t start; /* place of the first */
    size_t count, room;
    char *items; /* in the arena */
};

/* The cursor stands before the first item. */
static inline struct wire_list wire_list_begin(struct wire_cursor *c, size_t item_size)
{
    return (struct wire_list){.c = c, .size = item_size, .start = wire_place(c)};
}

/* Room for one more item, not zeroed; NULL after a fault. Lists double, and towards their end grow to what the bytes that
 * remain promise, so they take at most a constant times the bytes that their items took in the body. */
void *wire_list_add(struct wire_list *list);

/* ---- Scalars and vectors --------------------------------------------------------------------------- */

typedef enum wire_range {
    WIRE_ANY,        /* any finite number */
    WIRE_COORDINATE, /* at most 1e9 in magnitude */
    WIRE_LENGTH,     /* 0 to 1e9 */
    WIRE_TIME        /* at most 2^53 in magnitude */
} wire_range;

bool wire_read_real(struct wire_cursor *c, wire_range range, double *out);

/* A whole number from low to high, both within 2^53. */
bool wire_read_whole(struct wire_cursor *c, double low, double high, double *out);

/* One of `count` words; its index. */
bool wire_read_word(struct wire_cursor *c, const obb_str *words, int count, int *out);

/* A name by the rules of api.md; OBB_BAD_NAME. The next key as one, as wire_next_key. */
bool wire_read_name(struct wire_cursor *c, obb_str *out);
bool wire_next_name(struct wire_cursor *c, obb_str *out_key);

/* An array of exactly `count` numbers, each in the range; faults name the element. */
bool wire_read_reals(struct wire_cursor *c, wire_range range, double *out, size_t count);

/* Two or three numbers, as many as the scene has dimensions; z is 0 in the plane. */
bool wire_read_vector(struct wire_cursor *c, int dimensions, wire_range range, obb_vec3 *out);

/* Arrays of any number of strings, or of names. As targets these are boxes, which need not be there. */
bool wire_read_strings(struct wire_cursor *c, const obb_str **out, size_t *out_count);
bool wire_read_names(struct wire_cursor *c, const obb_str **out, size_t *out_count);
bool wire_read_targets(struct wire_cursor *c, const obb_target **out, size_t *out_count);

/* The range alone, for numbers that came in other ways; WIRE_OK or what is wrong. */
obb_status wire_range_check(wire_range range, double value);

/* ---- Boxes ----------------------------------------------------------------------------------------- */

/* How a box is turned: at most one of rotation, axes, axis_angle and angle. */
struct wire_turning {
    bool given;
    size_t place; /* of the field that said so */
    obb_quat
        rotation; /* as it was sent or made; to be normalised, which may find it has no length */
    double angle; /* degrees, in the plane */
};
enum wire_turning_field {
    WIRE_TURNING_ROTATION,
    WIRE_TURNING_AXES,
    WIRE_TURNING_AXIS_ANGLE,
    WIRE_TURNING_ANGLE
};
bool wire_read_turning(struct wire_cursor *c, enum wire_turning_field field, int dimensions,
                       struct wire_turning *out);

/* A box with attributes, in any of its forms; patch: any subset of the pose form is enough. Everything but out->target. */
bool wire_read_put(struct wire_cursor *c, int dimensions, bool patch, obb_put *out);

/* A box that says its name too, and may say an id, which is passed over: a line of an import. */
bool wire_read_named_put(struct wire_cursor *c, int dimensions, obb_put *out);

/* What is wrong with a matrix that core made no box of; NULL where the status says it all. */
const char *wire_matrix_detail(obb_status status);

/* The transform of one box, without its target. */
bool wire_read_transform_members(struct wire_cursor *c, int dimensions, obb_transform *out);

/* A scene's history; what is not named stays as it is in *settings. *out_fields: 1 for the span, 2 for the commits. */
bool wire_read_history(struct wire_cursor *c, obb_settings *settings, unsigned *out_fields);

/* ---- Queries --------------------------------------------------------------------------------------- */

/* One query object; kind NULL: the object itself says its kind, as those of a commit do. */
bool wire_read_query_object(struct wire_cursor *c, const obb_query_kind *kind, int dimensions,
                            obb_query *out);

#endif
