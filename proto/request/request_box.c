/* Boxes in requests: the forms of a box, its attributes, how it is turned and transformed. */
#include "proto/request/request.h"

#include <string.h>

static const char *const planar_only = "this is for 2-D scenes, and this scene has 3 dimensions";
static const char *const spatial_only = "this is for 3-D scenes, and this scene has 2 dimensions";

/* Notes a status of core as a fault of the value at `place`; true for OBB_OK. */
static bool passed(struct wire_cursor *c, obb_status status, size_t place)
{
    if (status == OBB_OK)
        return true;
    return status == OBB_NO_MEMORY ? wire_fail_memory(c)
                                   : wire_fail_at(c, (wire_cause)status, place, NULL);
}

const char *wire_matrix_detail(obb_status status)
{
    return status == OBB_BAD_VALUE  ? "the bottom row of the matrix is 0 0 0 1"
           : status == OBB_SINGULAR ? "at least two columns of the matrix have a length"
                                    : NULL;
}

/* False where what takes long shall not be done: a tight fit of 50 points takes a millisecond, of 500 on a ball 90. */
static bool fit_now(struct wire_cursor *c, int fit, size_t place)
{
    if (c->postponed == NULL || fit != OBB_FIT_TIGHT)
        return true;
    *c->postponed = true;
    return wire_fail_at(c, (wire_cause)OBB_CANCELLED, place, NULL);
}

/* ---- Turning --------------------------------------------------------------------------------------- */

static bool read_axes(struct wire_cursor *c, obb_quat *out)
{
    const size_t place = wire_place(c);
    obb_vec3 axes[3];
    int count = 0;
    if (!wire_enter_array(c))
        return false;
    for (; wire_next_item(c); count++)
        if (count == 3 ? !wire_fail_at(c, WIRE_BAD_LENGTH, place, "axes are two or three vectors")
                       : !wire_read_vector(c, 3, WIRE_ANY, &axes[count]))
            return false;
    if (c->failed)
        return false;
    if (count < 2)
        return wire_fail_at(c, WIRE_BAD_LENGTH, place, "axes are two or three vectors");
    if (count == 2)
        axes[2] = obb_cross(axes[0], axes[1]);
    return passed(c, obb_quat_from_axes(axes, out), place);
}

static bool read_axis_angle(struct wire_cursor *c, obb_quat *out)
{
    enum { AXIS, DEGREES, COUNT };
    static const obb_str fields[COUNT] = {
        [AXIS] = WIRE_FIELD("axis"), [DEGREES] = WIRE_FIELD("degrees")};
    struct wire_object o;
    obb_vec3 axis = {0};
    double degrees = 0.0;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == AXIS ? !wire_read_vector(c, 3, WIRE_ANY, &axis)
                          : !wire_read_real(c, WIRE_ANY, &degrees))
            return false;
    return !c->failed && wire_object_need(&o, AXIS) && wire_object_need(&o, DEGREES) &&
           passed(c, obb_quat_from_axis_angle(axis, degrees, out), o.where[AXIS]);
}

static bool read_quaternion(struct wire_cursor *c, obb_quat *out)
{
    double q[4];
    if (!wire_read_reals(c, WIRE_ANY, q, 4))
        return false;
    *out = (obb_quat){q[0], q[1], q[2], q[3]};
    return true;
}

bool wire_read_turning(struct wire_cursor *c, enum wire_turning_field field, int dimensions,
                       struct wire_turning *out)
{
    struct wire_turning turning = {
        .given = true, .place = wire_place(c), .rotation = {0.0, 0.0, 0.0, 1.0}};
    if (out->given)
        return wire_fail_at(c, WIRE_FIELD_CONFLICT, turning.place, "a box is turned in one way");
    if ((field == WIRE_TURNING_ANGLE) != (dimensions == 2))
        return wire_fail_at(c, WIRE_UNKNOWN_FIELD, turning.place,
                            dimensions == 2 ? spatial_only : planar_only);
    bool read = false;
    switch (field) {
    case WIRE_TURNING_ROTATION:
        read = read_quaternion(c, &turning.rotation);
        break;
    case WIRE_TURNING_AXES:
        read = read_axes(c, &turning.rotation);
        break;
    case WIRE_TURNING_AXIS_ANGLE:
        read = read_axis_angle(c, &turning.rotation);
        break;
    case WIRE_TURNING_ANGLE:
        read = wire_read_real(c, WIRE_ANY, &turning.angle);
        break;
    }
    if (read)
        *out = turning;
    return read;
}

/* ---- Forms ----------------------------------------------------------------------------------------- */

enum box_field {
    CENTER,
    HALF_EXTENTS,
    ROTATION,
    CATEGORY,
    MASK,
    GROUP,
    ENTITY,
    DATA,
    AXES,
    AXIS_ANGLE,
    ANGLE,
    MIN,
    MAX,
    POSITION,
    MATRIX,
    POINTS,
    FIT,
    CORNERS,
    NAME, /* of the lines of an import alone */
    ID,
    BOX_FIELDS
};

static const obb_str box_fields[BOX_FIELDS] = {
    [CENTER] = WIRE_FIELD("center"),     [HALF_EXTENTS] = WIRE_FIELD("half_extents"),
    [ROTATION] = WIRE_FIELD("rotation"), [CATEGORY] = WIRE_FIELD("category"),
    [MASK] = WIRE_FIELD("mask"),         [GROUP] = WIRE_FIELD("group"),
    [ENTITY] = WIRE_FIELD("entity"),     [DATA] = WIRE_FIELD("data"),
    [AXES] = WIRE_FIELD("axes"),         [AXIS_ANGLE] = WIRE_FIELD("axis_angle"),
    [ANGLE] = WIRE_FIELD("angle"),       [MIN] = WIRE_FIELD("min"),
    [MAX] = WIRE_FIELD("max"),           [POSITION] = WIRE_FIELD("position"),
    [MATRIX] = WIRE_FIELD("matrix"),     [POINTS] = WIRE_FIELD("points"),
    [FIT] = WIRE_FIELD("fit"),           [CORNERS] = WIRE_FIELD("corners"),
    [NAME] = WIRE_FIELD("name"),         [ID] = WIRE_FIELD("id"),
};

/* Each field leaves the forms that it may stand in; when none is left, it is the one at fault. */
enum { POSE_FORM = 1, MIN_MAX_FORM = 2, MATRIX_FORM = 4, POINTS_FORM = 8, CORNERS_FORM = 16 };
#define ALL_FORMS (POSE_FORM | MIN_MAX_FORM | MATRIX_FORM | POINTS_FORM | CORNERS_FORM)

static unsigned forms_with(enum box_field field)
{
    switch (field) {
    case CENTER:
        return POSE_FORM;
    case HALF_EXTENTS:
        return POSE_FORM | MATRIX_FORM;
    case ROTATION:
    case AXES:
    case AXIS_ANGLE:
    case ANGLE:
        return POSE_FORM | MIN_MAX_FORM;
    case MIN:
    case MAX:
    case POSITION:
        return MIN_MAX_FORM;
    case MATRIX:
        return MATRIX_FORM;
    case POINTS:
    case FIT:
        return POINTS_FORM;
    case CORNERS:
        return CORNERS_FORM;
    case CATEGORY:
    case MASK:
    case GROUP:
    case ENTITY:
    case DATA:
    case NAME:
    case ID:
    case BOX_FIELDS:
        break;
    }
    return ALL_FORMS;
}

/* What was read of the geometry, whatever the form. */
struct parts {
    obb_vec3 center, half_extents, min, max, position;
    struct wire_turning turning;
    double matrix[16];
    const obb_vec3 *points;
    size_t point_count;
    obb_vec3 corners[8];
    int fit;
};

static bool read_points(struct wire_cursor *c, int dimensions, struct parts *parts)
{
    const size_t place = wire_place(c);
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_vec3));
    while (wire_next_item(c)) {
        if (list.count == OBB_MAX_POINTS)
            return wire_fail_at(c, WIRE_OBB_BAD_COUNT, place, "at most 100000 points");
        obb_vec3 *point = wire_list_add(&list);
        if (point == NULL || !wire_read_vector(c, dimensions, WIRE_COORDINATE, point))
            return false;
    }
    if (c->failed)
        return false;
    if (list.count == 0)
        return wire_fail_at(c, WIRE_OBB_BAD_COUNT, place, "at least one point");
    parts->points = (const obb_vec3 *)(const void *)list.items;
    parts->point_count = list.count;
    return true;
}

static bool read_corners(struct wire_cursor *c, int dimensions, struct parts *parts)
{
    const size_t place = wire_place(c);
    const int wanted = dimensions == 2 ? 4 : 8;
    const char *const detail =
        dimensions == 2 ? "a box has four corners" : "a box has eight corners";
    int count = 0;
    if (!wire_enter_array(c))
        return false;
    for (; wire_next_item(c); count++)
        if (count == wanted
                ? !wire_fail_at(c, WIRE_BAD_LENGTH, place, detail)
                : !wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->corners[count]))
            return false;
    return !c->failed && (count == wanted || wire_fail_at(c, WIRE_BAD_LENGTH, place, detail));
}

static bool read_entity(struct wire_cursor *c, obb_str *out)
{
    if (wire_peek(c) != WIRE_KIND_NULL)
        return wire_read_name(c, out);
    *out = (obb_str){0};
    return wire_read_null(c);
}

static bool read_data(struct wire_cursor *c, obb_str *out)
{
    if (wire_peek(c) != WIRE_KIND_NULL)
        return wire_capture(c, out);
    *out = (obb_str){0};
    return wire_read_null(c);
}

static bool read_field(struct wire_cursor *c, enum box_field field, int dimensions,
                       struct parts *parts, obb_attributes *attributes, obb_target *target)
{
    static const obb_str fits[] = {[OBB_FIT_PCA] = WIRE_FIELD("pca"),
                                   [OBB_FIT_TIGHT] = WIRE_FIELD("tight"),
                                   [OBB_FIT_AABB] = WIRE_FIELD("aabb")};
    double whole;
    switch (field) {
    case CENTER:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->center);
    case HALF_EXTENTS:
        return wire_read_vector(c, dimensions, WIRE_LENGTH, &parts->half_extents);
    case ROTATION:
        return wire_read_turning(c, WIRE_TURNING_ROTATION, dimensions, &parts->turning);
    case AXES:
        return wire_read_turning(c, WIRE_TURNING_AXES, dimensions, &parts->turning);
    case AXIS_ANGLE:
        return wire_read_turning(c, WIRE_TURNING_AXIS_ANGLE, dimensions, &parts->turning);
    case ANGLE:
        return wire_read_turning(c, WIRE_TURNING_ANGLE, dimensions, &parts->turning);
    case MIN:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->min);
    case MAX:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->max);
    case POSITION:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->position);
    case MATRIX:
        return dimensions == 3 ? wire_read_reals(c, WIRE_ANY, parts->matrix, 16)
                               : wire_fail_at(c, WIRE_UNKNOWN_FIELD, wire_place(c), spatial_only);
    case POINTS:
        return read_points(c, dimensions, parts);
    case FIT:
        return wire_read_word(c, fits, 3, &parts->fit);
    case CORNERS:
        return read_corners(c, dimensions, parts);
    case CATEGORY:
        if (!wire_read_whole(c, 0, (double)UINT32_MAX, &whole))
            return false;
        attributes->category = (uint32_t)whole;
        return true;
    case MASK:
        if (!wire_read_whole(c, 0, (double)UINT32_MAX, &whole))
            return false;
        attributes->mask = (uint32_t)whole;
        return true;
    case GROUP:
        if (!wire_read_whole(c, (double)INT32_MIN, (double)INT32_MAX, &whole))
            return false;
        attributes->group = (int32_t)whole;
        return true;
    case ENTITY:
        return read_entity(c, &attributes->entity);
    case DATA:
        return read_data(c, &attributes->data);
    case NAME:
        return wire_read_name(c, &target->name);
    case ID: /* of the scene that was exported; the box gets one of its own */
        return wire_read_whole(c, 1, OBB_MAX_WHOLE, &whole);
    case BOX_FIELDS:
        break;
    }
    return false;
}

/* The box of the form that is left, and what of it was given. */
static bool make_box(const struct wire_object *o, const struct parts *parts, unsigned forms,
                     int dimensions, bool patch, obb_put *out)
{
    struct wire_cursor *c = o->c;
    const unsigned whole = OBB_PUT_CENTER | OBB_PUT_HALF_EXTENTS | OBB_PUT_ROTATION;
    const size_t turning_place = parts->turning.given ? parts->turning.place : o->place;
    const obb_quat rotation =
        parts->turning.given ? parts->turning.rotation : (obb_quat){0.0, 0.0, 0.0, 1.0};
    out->parts = whole;
    if ((forms & POSE_FORM) != 0) {
        if (patch)
            out->parts = (wire_object_has(o, CENTER) ? (unsigned)OBB_PUT_CENTER : 0u) |
                         (wire_object_has(o, HALF_EXTENTS) ? (unsigned)OBB_PUT_HALF_EXTENTS : 0u) |
                         (parts->turning.given ? (unsigned)OBB_PUT_ROTATION : 0u);
        else if (!wire_object_need(o, CENTER) || !wire_object_need(o, HALF_EXTENTS))
            return false;
        return passed(c,
                      obb_box_from_pose(parts->center, parts->half_extents, rotation,
                                        parts->turning.angle, dimensions, &out->box),
                      turning_place);
    }
    if ((forms & MIN_MAX_FORM) != 0) {
        if (!wire_object_need(o, MIN) || !wire_object_need(o, MAX))
            return false;
        const obb_status status =
            obb_box_from_min_max(parts->min, parts->max, parts->position, rotation,
                                 parts->turning.angle, dimensions, &out->box);
        if (status == OBB_BAD_EXTENT)
            return wire_fail_at(c, WIRE_OBB_BAD_EXTENT, o->where[MAX], "max lies below min");
        return passed(c, status,
                      status == OBB_BAD_ROTATION     ? turning_place
                      : wire_object_has(o, POSITION) ? o->where[POSITION]
                                                     : o->where[MAX]);
    }
    if ((forms & MATRIX_FORM) != 0) {
        if (!wire_object_need(o, MATRIX))
            return false;
        const obb_status status = obb_box_from_matrix(
            parts->matrix, wire_object_has(o, HALF_EXTENTS) ? &parts->half_extents : NULL,
            &out->box);
        return status == OBB_OK ||
               wire_fail_at(c, (wire_cause)status, o->where[MATRIX], wire_matrix_detail(status));
    }
    if ((forms & POINTS_FORM) != 0)
        return wire_object_need(o, POINTS) && fit_now(c, parts->fit, o->where[POINTS]) &&
               passed(c,
                      obb_fit_points(parts->points, parts->point_count, (obb_fit)parts->fit,
                                     dimensions, &out->box),
                      o->where[POINTS]);
    return wire_object_need(o, CORNERS) &&
           passed(c,
                  obb_fit_corners(parts->corners, dimensions == 2 ? 4 : 8, dimensions, &out->box),
                  o->where[CORNERS]);
}

enum purpose { TO_PUT, TO_PATCH, TO_IMPORT };

static bool read_box(struct wire_cursor *c, int dimensions, enum purpose purpose, obb_put *out)
{
    const bool patch = purpose == TO_PATCH;
    struct wire_object o;
    if (!wire_object_enter(&o, c, box_fields, purpose == TO_IMPORT ? BOX_FIELDS : NAME))
        return false;
    struct parts parts; /* large, and what is read is known from the fields seen */
    parts.center = parts.half_extents = parts.position = (obb_vec3){0};
    parts.turning = (struct wire_turning){0};
    parts.fit = OBB_FIT_PCA;
    obb_attributes attributes = {.category = 1, .mask = UINT32_MAX};
    unsigned forms = ALL_FORMS;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        forms &= forms_with((enum box_field)field);
        if (forms == 0)
            return wire_fail_at(
                c, WIRE_FIELD_CONFLICT, o.where[field],
                "a box is written in exactly one form, and this belongs to another");
        if (!read_field(c, (enum box_field)field, dimensions, &parts, &attributes, &out->target))
            return false;
    }
    if (c->failed || (purpose == TO_IMPORT && !wire_object_need(&o, NAME)) ||
        !make_box(&o, &parts, forms, dimensions, patch, out))
        return false;
    out->attributes = attributes;
    if (!patch) {
        out->parts = OBB_PUT_ALL;
        return true;
    }
    static const struct {
        int field;
        unsigned part;
    } others[] = {{CATEGORY, OBB_PUT_CATEGORY},
                  {MASK, OBB_PUT_MASK},
                  {GROUP, OBB_PUT_GROUP},
                  {ENTITY, OBB_PUT_ENTITY},
                  {DATA, OBB_PUT_DATA}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (wire_object_has(&o, others[i].field))
            out->parts |= others[i].part;
    return true;
}

bool wire_read_put(struct wire_cursor *c, int dimensions, bool patch, obb_put *out)
{
    return read_box(c, dimensions, patch ? TO_PATCH : TO_PUT, out);
}

bool wire_read_named_put(struct wire_cursor *c, int dimensions, obb_put *out)
{
    out->target = (obb_target){0};
    return read_box(c, dimensions, TO_IMPORT, out);
}

bool wire_read_box(const wire_body *body, int dimensions, bool patch, obb_str name,
                   struct obb_arena *arena, obb_put *out, wire_problem *problem)
{
    struct wire_cursor c;
    obb_put put = {.target = {.name = name}};
    wire_body_open(&c, body, arena);
    if (!wire_body_close(&c, wire_read_put(&c, dimensions, patch, &put), problem))
        return false;
    *out = put;
    return true;
}

/* ---- Transforms ------------------------------------------------------------------------------------ */

/* In space a quaternion or axis and degrees; in the plane degrees, bare or as {"degrees":d}. */
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
        return is_object ? read_axis_angle(c, &out->rotate)
                         : read_quaternion(c, &out->rotate) &&
                               passed(c, obb_quat_normalise(out->rotate, &out->rotate), place);
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

/* A factor for each axis, or one for all. */
static bool read_scale(struct wire_cursor *c, int dimensions, obb_vec3 *out)
{
    const wire_kind kind = wire_peek(c);
    if (kind != WIRE_KIND_NUMBER && kind != WIRE_KIND_ARRAY && kind != WIRE_KIND_NONE)
        return wire_fail_at(c, WIRE_WRONG_TYPE, wire_place(c), "a factor, or one for each axis");
    if (kind != WIRE_KIND_NUMBER) {
        if (!wire_read_vector(c, dimensions, WIRE_COORDINATE, out))
            return false;
        out->z = dimensions == 2 ? 1.0 : out->z;
        return true;
    }
    double factor;
    if (!wire_read_real(c, WIRE_COORDINATE, &factor))
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
                return wire_fail_at(c, WIRE_UNKNOWN_FIELD, o.where[field], spatial_only);
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
