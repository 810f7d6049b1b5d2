#include "proto/request/request_box.h"

#include "proto/codec/walk.h"
#include "proto/problem/detail.h"
#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/orientation.h"
#include "proto/request/request_body.h"
#include "proto/request/request_box_body.h"
#include "proto/request/value.h"

/* Returns false if this fit is slow work that the caller wants to postpone: a tight fit takes 1 ms
 * for 50 points, 90 ms for 500 on a ball. */
static bool fit_now(struct wire_cursor *c, int fit, size_t place)
{
    if (c->postponed == NULL || fit != OBB_FIT_TIGHT)
        return true;
    *c->postponed = true;
    return wire_fail_at(c, (wire_cause)OBB_CANCELLED, place, NULL);
}

/* ---- Forms ----------------------------------------------------------------------------------- */

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
    FRAME,
    LOCAL,
    TTL,
    NAME, /* this and those that follow: only in lines of an import */
    ID,
    SINCE,
    BOX_FIELDS
};

static const obb_str box_fields[BOX_FIELDS] = {
    [CENTER] = WIRE_FIELD("center"),
    [HALF_EXTENTS] = WIRE_FIELD("half_extents"),
    [ROTATION] = WIRE_FIELD("rotation"),
    [CATEGORY] = WIRE_FIELD("category"),
    [MASK] = WIRE_FIELD("mask"),
    [GROUP] = WIRE_FIELD("group"),
    [ENTITY] = WIRE_FIELD("entity"),
    [DATA] = WIRE_FIELD("data"),
    [AXES] = WIRE_FIELD("axes"),
    [AXIS_ANGLE] = WIRE_FIELD("axis_angle"),
    [ANGLE] = WIRE_FIELD("angle"),
    [MIN] = WIRE_FIELD("min"),
    [MAX] = WIRE_FIELD("max"),
    [POSITION] = WIRE_FIELD("position"),
    [MATRIX] = WIRE_FIELD("matrix"),
    [POINTS] = WIRE_FIELD("points"),
    [FIT] = WIRE_FIELD("fit"),
    [CORNERS] = WIRE_FIELD("corners"),
    [FRAME] = WIRE_FIELD("frame"),
    [LOCAL] = WIRE_FIELD("local"),
    [TTL] = WIRE_FIELD("ttl"),
    [NAME] = WIRE_FIELD("name"),
    [ID] = WIRE_FIELD("id"),
    [SINCE] = WIRE_FIELD("since"),
};

obb_str wire_nearest_box_field(obb_str key) { return wire_nearest(key, box_fields, NAME); }

/* The forms of a box. Each field rules out the forms that it does not belong to. The field that
 * rules out the last one is at fault. */
enum {
    POSE_FORM = 1,
    MIN_MAX_FORM = 2,
    MATRIX_FORM = 4,
    POINTS_FORM = 8,
    CORNERS_FORM = 16,
    LOCAL_FORM = 32 /* as the pose form, with `local` in place of centre and rotation */
};
#define ALL_FORMS (POSE_FORM | MIN_MAX_FORM | MATRIX_FORM | POINTS_FORM | CORNERS_FORM | LOCAL_FORM)

static unsigned forms_with(enum box_field field)
{
    switch (field) {
    case CENTER:
        return POSE_FORM;
    case HALF_EXTENTS:
        return POSE_FORM | MATRIX_FORM | LOCAL_FORM;
    case LOCAL:
        return LOCAL_FORM;
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
    case FRAME:
    case TTL:
    case NAME:
    case ID:
    case SINCE:
    case BOX_FIELDS:
        break;
    }
    return ALL_FORMS;
}

/* The geometry that was read, in any form. */
struct parts {
    obb_vec3 center, half_extents, min, max, position;
    struct wire_orientation orientation;
    double matrix[16];
    const obb_vec3 *points;
    size_t point_count;
    obb_vec3 corners[8];
    int fit;
    bool local_center; /* `local` states a centre */
};

/* Reads {"center","rotation"} of a box in its frame, with any form of the rotation. */
static bool read_local(struct wire_cursor *c, int dimensions, struct parts *parts)
{
    enum { LOCAL_CENTER, LOCAL_ROTATION, LOCAL_AXES, LOCAL_AXIS_ANGLE, LOCAL_ANGLE, COUNT };
    static const obb_str fields[COUNT] = {[LOCAL_CENTER] = WIRE_FIELD("center"),
                                          [LOCAL_ROTATION] = WIRE_FIELD("rotation"),
                                          [LOCAL_AXES] = WIRE_FIELD("axes"),
                                          [LOCAL_AXIS_ANGLE] = WIRE_FIELD("axis_angle"),
                                          [LOCAL_ANGLE] = WIRE_FIELD("angle")};
    static const enum wire_orientation_field orientations[COUNT] = {
        [LOCAL_ROTATION] = WIRE_ORIENTATION_ROTATION,
        [LOCAL_AXES] = WIRE_ORIENTATION_AXES,
        [LOCAL_AXIS_ANGLE] = WIRE_ORIENTATION_AXIS_ANGLE,
        [LOCAL_ANGLE] = WIRE_ORIENTATION_ANGLE};
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == LOCAL_CENTER
                ? !wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->center)
                : !wire_read_orientation(c, orientations[field], dimensions, &parts->orientation))
            return false;
    parts->local_center = wire_object_has(&o, LOCAL_CENTER);
    return !c->failed;
}

static bool read_points(struct wire_cursor *c, int dimensions, struct parts *parts)
{
    const size_t place = wire_place(c);
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_vec3));
    while (wire_next_item(c)) {
        if (list.count == OBB_MAX_POINTS)
            return wire_fail_at(c, WIRE_OBB_BAD_COUNT, place,
                                "a box is fitted to 1 to 100000 points");
        obb_vec3 *point = wire_list_add(&list);
        if (point == NULL || !wire_read_vector(c, dimensions, WIRE_COORDINATE, point))
            return false;
    }
    if (c->failed)
        return false;
    if (list.count == 0)
        return wire_fail_at(c, WIRE_OBB_BAD_COUNT, place, "a box is fitted to 1 to 100000 points");
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

/* Reads a name, or null: none. */
static bool read_name_or_null(struct wire_cursor *c, obb_str *out)
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

/* Reads a ttl, or null: none. */
static bool read_ttl(struct wire_cursor *c, obb_attributes *out)
{
    out->has_ttl = wire_peek(c) != WIRE_KIND_NULL;
    return out->has_ttl ? wire_read_real(c, WIRE_TTL, &out->ttl) : wire_read_null(c);
}

static bool read_field(struct wire_cursor *c, enum box_field field, int dimensions,
                       struct parts *parts, obb_put *put)
{
    static const obb_str fits[] = {[OBB_FIT_PCA] = WIRE_FIELD("pca"),
                                   [OBB_FIT_TIGHT] = WIRE_FIELD("tight"),
                                   [OBB_FIT_AABB] = WIRE_FIELD("aabb")};
    double whole;
    switch (field) {
    case CENTER:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->center);
    case HALF_EXTENTS:
        return wire_read_vector(c, dimensions, WIRE_HALF_EXTENT, &parts->half_extents);
    case ROTATION:
        return wire_read_orientation(c, WIRE_ORIENTATION_ROTATION, dimensions, &parts->orientation);
    case AXES:
        return wire_read_orientation(c, WIRE_ORIENTATION_AXES, dimensions, &parts->orientation);
    case AXIS_ANGLE:
        return wire_read_orientation(c, WIRE_ORIENTATION_AXIS_ANGLE, dimensions,
                                     &parts->orientation);
    case ANGLE:
        return wire_read_orientation(c, WIRE_ORIENTATION_ANGLE, dimensions, &parts->orientation);
    case MIN:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->min);
    case MAX:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->max);
    case POSITION:
        return wire_read_vector(c, dimensions, WIRE_COORDINATE, &parts->position);
    case MATRIX:
        return dimensions == 3
                   ? wire_read_reals(c, WIRE_ANY, parts->matrix, 16)
                   : wire_fail_at(c, WIRE_UNKNOWN_FIELD, wire_place(c), WIRE_SPATIAL_ONLY);
    case POINTS:
        return read_points(c, dimensions, parts);
    case FIT:
        return wire_read_word(c, fits, 3, &parts->fit);
    case CORNERS:
        return read_corners(c, dimensions, parts);
    case CATEGORY:
        if (!wire_read_whole(c, 0, (double)UINT32_MAX, &whole))
            return false;
        put->attributes.category = (uint32_t)whole;
        return true;
    case MASK:
        if (!wire_read_whole(c, 0, (double)UINT32_MAX, &whole))
            return false;
        put->attributes.mask = (uint32_t)whole;
        return true;
    case GROUP:
        if (!wire_read_whole(c, (double)INT32_MIN, (double)INT32_MAX, &whole))
            return false;
        put->attributes.group = (int32_t)whole;
        return true;
    case ENTITY:
        return read_name_or_null(c, &put->attributes.entity);
    case FRAME:
        return read_name_or_null(c, &put->frame);
    case LOCAL:
        return read_local(c, dimensions, parts);
    case DATA:
        return read_data(c, &put->attributes.data);
    case TTL:
        return read_ttl(c, &put->attributes);
    case SINCE: /* in the exported scene; of an imported box the ttl counts from the import */
        return wire_read_real(c, WIRE_TIME, &put->since);
    case NAME:
        return wire_read_name(c, &put->target.name);
    case ID: /* the id in the exported scene; an imported box gets a new one */
        if (!wire_read_whole(c, 1, OBB_MAX_WHOLE, &whole))
            return false;
        put->target.id = (uint64_t)whole;
        return true;
    case BOX_FIELDS:
        break;
    }
    return false;
}

/* Makes the box of the first form that is left, and notes in out->parts which parts of it were
 * given. */
static bool make_box(const struct wire_object *o, const struct parts *parts, unsigned forms,
                     int dimensions, bool patch, obb_put *out)
{
    struct wire_cursor *c = o->c;
    const unsigned whole = OBB_PUT_CENTER | OBB_PUT_HALF_EXTENTS | OBB_PUT_ROTATION;
    const size_t orientation_place = parts->orientation.given ? parts->orientation.place : o->place;
    const obb_quat rotation =
        parts->orientation.given ? parts->orientation.rotation : (obb_quat){0.0, 0.0, 0.0, 1.0};
    out->parts = whole;
    if (wire_object_has(o, LOCAL) && out->frame.length == 0)
        return wire_fail_at(c, WIRE_FIELD_CONFLICT, o->where[LOCAL],
                            "a pose in a frame stands beside the name of that \"frame\"");
    if ((forms & (POSE_FORM | LOCAL_FORM)) != 0) {
        const bool local = (forms & POSE_FORM) == 0;
        const bool has_center = local ? parts->local_center : wire_object_has(o, CENTER);
        if (patch)
            out->parts = (has_center ? (unsigned)OBB_PUT_CENTER : 0u) |
                         (wire_object_has(o, HALF_EXTENTS) ? (unsigned)OBB_PUT_HALF_EXTENTS : 0u) |
                         (parts->orientation.given ? (unsigned)OBB_PUT_ROTATION : 0u);
        else if (local && !has_center)
            return wire_fail_at(c, WIRE_MISSING_FIELD, o->where[LOCAL], "\"center\" is missing");
        else if ((!local && !wire_object_need(o, CENTER)) || !wire_object_need(o, HALF_EXTENTS))
            return false;
        return wire_check_status(c,
                                 obb_box_from_pose(parts->center, parts->half_extents, rotation,
                                                   parts->orientation.angle, dimensions, &out->box),
                                 orientation_place);
    }
    if ((forms & MIN_MAX_FORM) != 0) {
        if (!wire_object_need(o, MIN) || !wire_object_need(o, MAX))
            return false;
        const obb_status status =
            obb_box_from_min_max(parts->min, parts->max, parts->position, rotation,
                                 parts->orientation.angle, dimensions, &out->box);
        if (status == OBB_BAD_EXTENT)
            return wire_fail_at(c, WIRE_OBB_BAD_EXTENT, o->where[MAX],
                                "max is not below min in any component");
        return wire_check_status(c, status,
                                 status == OBB_BAD_ROTATION     ? orientation_place
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
               wire_check_status(c,
                                 obb_fit_points(parts->points, parts->point_count,
                                                (obb_fit)parts->fit, dimensions, c->cancel,
                                                c->arena->budget, &out->box),
                                 o->where[POINTS]);
    return wire_object_need(o, CORNERS) &&
           wire_check_status(
               c, obb_fit_corners(parts->corners, dimensions == 2 ? 4 : 8, dimensions, &out->box),
               o->where[CORNERS]);
}

enum purpose { TO_PUT, TO_PATCH, TO_IMPORT };

static bool read_box(struct wire_cursor *c, int dimensions, enum purpose purpose, obb_put *out)
{
    const bool patch = purpose == TO_PATCH;
    struct wire_object o;
    if (!wire_object_enter(&o, c, box_fields, purpose == TO_IMPORT ? BOX_FIELDS : NAME))
        return false;
    struct parts
        parts; /* not zeroed as a whole, because it is large: o.seen tells which parts were read */
    parts.center = parts.half_extents = parts.position = (obb_vec3){0};
    parts.orientation = (struct wire_orientation){0};
    parts.fit = OBB_FIT_PCA;
    parts.local_center = false;
    out->frame = (obb_str){0};
    out->attributes = (obb_attributes){.category = 1, .mask = UINT32_MAX};
    out->since = 0.0;
    unsigned forms = ALL_FORMS;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        forms &= forms_with((enum box_field)field);
        if (forms == 0)
            return wire_fail_at(
                c, WIRE_FIELD_CONFLICT, o.where[field],
                "a box is written in exactly one form, and this belongs to another");
        if (!read_field(c, (enum box_field)field, dimensions, &parts, out))
            return false;
    }
    if (c->failed || (purpose == TO_IMPORT && !wire_object_need(&o, NAME)) ||
        !make_box(&o, &parts, forms, dimensions, patch, out))
        return false;
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
                  {DATA, OBB_PUT_DATA},
                  {FRAME, OBB_PUT_FRAME},
                  {TTL, OBB_PUT_TTL}};
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
