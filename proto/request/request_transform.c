#include "proto/request/request_transform.h"

#include "proto/request/object.h"
#include "proto/request/orientation.h"
#include "proto/request/request_body.h"
#include "proto/request/request_transform_body.h"
#include "proto/request/value.h"

/* Reads a rotation: in space a quaternion, or axis and degrees; in the plane degrees, bare or as
 * {"degrees":d}. */
static bool read_rotate(struct wire_cursor *c, int dimensions, obb_transform *out)
{
    static const obb_str fields[] = {WIRE_FIELD("degrees")};
    const wire_kind kind = wire_peek(c);
    const bool is_object = kind == WIRE_KIND_OBJECT;
    const size_t place = wire_place(c);
    if (!is_object && kind != (dimensions == 3 ? WIRE_KIND_ARRAY : WIRE_KIND_NUMBER) &&
        kind != WIRE_KIND_NONE)
        return wire_fail_at(c, WIRE_WRONG_TYPE, place,
                            dimensions == 3 ? "a quaternion, or an axis and degrees"
                                            : "degrees, bare or in an object");
    if (dimensions == 3)
        return is_object
                   ? wire_read_axis_angle(c, &out->rotate)
                   : wire_read_quaternion(c, &out->rotate) &&
                         wire_check_status(c, obb_quat_normalise(out->rotate, &out->rotate), place);
    if (!is_object)
        return wire_read_real(c, WIRE_ANY, &out->angle);
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, 1))
        return false;
    while (wire_object_next(&o) >= 0)
        if (!wire_read_real(c, WIRE_ANY, &out->angle))
            return false;
    return !c->failed && wire_object_need(&o, 0);
}

/* Reads a factor for each axis, or one for all. */
static bool read_scale(struct wire_cursor *c, int dimensions, obb_vec3 *out)
{
    const wire_kind kind = wire_peek(c);
    if (kind != WIRE_KIND_NUMBER && kind != WIRE_KIND_ARRAY && kind != WIRE_KIND_NONE)
        return wire_fail_at(c, WIRE_WRONG_TYPE, wire_place(c), "a factor, or one for each axis");
    if (kind != WIRE_KIND_NUMBER) {
        if (!wire_read_vector(c, dimensions, WIRE_FACTOR, out))
            return false;
        out->z = dimensions == 2 ? 1.0 : out->z;
        return true;
    }
    double factor;
    if (!wire_read_real(c, WIRE_FACTOR, &factor))
        return false;
    *out = (obb_vec3){factor, factor, dimensions == 2 ? 1.0 : factor};
    return true;
}

bool wire_read_transform_members(struct wire_cursor *c, int dimensions, obb_transform *out)
{
    enum { TRANSLATE, ROTATE, SCALE, SPACE, MATRIX_FIELD, COUNT };
    static const obb_str fields[COUNT] = {
        [TRANSLATE] = WIRE_FIELD("translate"), [ROTATE] = WIRE_FIELD("rotate"),
        [SCALE] = WIRE_FIELD("scale"),         [SPACE] = WIRE_FIELD("space"),
        [MATRIX_FIELD] = WIRE_FIELD("matrix"),
    };
    static const obb_str spaces[] = {WIRE_FIELD("world"), WIRE_FIELD("local")};
    obb_transform t = {.rotate = {0.0, 0.0, 0.0, 1.0}, .scale = {1.0, 1.0, 1.0}};
    int space = 0;
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        const bool others = t.has_translate || t.has_rotate || t.has_scale;
        if (field == MATRIX_FIELD ? others : field != SPACE && t.has_matrix)
            return wire_fail_at(c, WIRE_FIELD_CONFLICT, o.where[field], "a matrix stands alone");
        bool read = false;
        switch (field) {
        case TRANSLATE:
            read = t.has_translate = wire_read_vector(c, dimensions, WIRE_COORDINATE, &t.translate);
            break;
        case ROTATE:
            read = t.has_rotate = read_rotate(c, dimensions, &t);
            break;
        case SCALE:
            read = t.has_scale = read_scale(c, dimensions, &t.scale);
            break;
        case SPACE:
            read = wire_read_word(c, spaces, 2, &space);
            t.local = space == 1;
            break;
        default:
            if (dimensions == 2)
                return wire_fail_at(c, WIRE_UNKNOWN_FIELD, o.where[field], WIRE_SPATIAL_ONLY);
            read = t.has_matrix = wire_read_reals(c, WIRE_ANY, t.matrix, 16);
            break;
        }
        if (!read)
            return false;
    }
    if (c->failed)
        return false;
    if (!t.has_matrix && !t.has_translate && !t.has_rotate && !t.has_scale)
        return wire_fail_at(c, WIRE_MISSING_FIELD, o.place,
                            "\"matrix\", \"translate\", \"rotate\" or \"scale\" is missing");
    if (t.has_matrix && t.local)
        return wire_fail_at(c, WIRE_FIELD_CONFLICT, o.where[SPACE],
                            "a matrix is always of the world");
    *out = t;
    return true;
}

bool wire_read_transform(const wire_body *body, int dimensions, obb_str name,
                         struct obb_arena *arena, obb_transform_edit *out, wire_problem *problem)
{
    struct wire_cursor c;
    obb_transform_edit change = {.target = {.name = name}};
    wire_body_open(&c, body, arena);
    if (!wire_body_close(&c, wire_read_transform_members(&c, dimensions, &change.transform),
                         problem))
        return false;
    *out = change;
    return true;
}
