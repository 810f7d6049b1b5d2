#include "proto/request/query_items.h"

#include "proto/problem/detail.h"
#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/ray_columns.h"
#include "proto/request/request_box_body.h"
#include "proto/request/value.h"

#include <math.h>
#include <string.h>

enum { POLLED = 64 }; /* points of a flat array that are read between two polls */

/* ---- References ------------------------------------------------------------------------------ */

bool wire_read_item_id(struct wire_query_reading *r, uint64_t *out)
{
    if (!r->has_id) {
        r->has_id = true;
        r->id_place = wire_place(r->c);
    }
    double whole;
    if (!wire_read_whole(r->c, 1, OBB_MAX_WHOLE, &whole))
        return false;
    *out = (uint64_t)whole;
    return true;
}

static bool read_ref(struct wire_query_reading *r, obb_ref *out)
{
    struct wire_cursor *c = r->c;
    const wire_kind kind = wire_peek(c);
    if (kind == WIRE_KIND_NUMBER) {
        *out = (obb_ref){.kind = OBB_REF_ID};
        return wire_read_item_id(r, &out->id);
    }
    if (kind == WIRE_KIND_OBJECT) {
        obb_put put;
        if (!wire_read_put(c, r->dimensions, false, &put))
            return false;
        if (put.frame.length > 0) {
            obb_framed_box *framed = obb_arena_alloc(c->arena, 1, sizeof *framed);
            if (framed == NULL)
                return wire_fail_memory(c);
            *framed = (obb_framed_box){.frame = put.frame, .local = put.box};
            *out = (obb_ref){.kind = OBB_REF_FRAMED, .framed = framed};
            return true;
        }
        obb_box *box = obb_arena_alloc(c->arena, 1, sizeof *box);
        if (box == NULL)
            return wire_fail_memory(c);
        *box = put.box;
        *out = (obb_ref){.kind = OBB_REF_INLINE, .box = box};
        return true;
    }
    *out = (obb_ref){.kind = OBB_REF_NAME};
    if (kind != WIRE_KIND_STRING && kind != WIRE_KIND_NONE)
        return wire_fail_at(
            c, WIRE_WRONG_TYPE, wire_place(c),
            "a box is meant by its name, or its id with \"by\":\"id\", or written out");
    return wire_read_name(c, &out->name);
}

/* ---- Items ----------------------------------------------------------------------------------- */

bool wire_read_pairs(struct wire_query_reading *r)
{
    struct wire_cursor *c = r->c;
    const size_t place = wire_place(c);
    if (!wire_enter_array(c))
        return false;
    struct wire_list refs = wire_list_begin(c, sizeof(obb_ref));
    for (bool first = true; wire_next_item(c); first = false) {
        const size_t item = wire_place(c), end = refs.count + 2;
        if (first)
            r->flat_pairs = wire_peek(c) != WIRE_KIND_ARRAY;
        if (r->flat_pairs) {
            obb_ref *ref = wire_list_add(&refs);
            if (ref == NULL || !read_ref(r, ref))
                return false;
            continue;
        }
        if (!wire_enter_array(c))
            return false;
        while (wire_next_item(c)) {
            if (refs.count == end)
                return wire_fail_at(c, WIRE_BAD_LENGTH, item, "a pair is two boxes");
            obb_ref *ref = wire_list_add(&refs);
            if (ref == NULL || !read_ref(r, ref))
                return false;
        }
        if (!c->failed && refs.count != end)
            return wire_fail_at(c, WIRE_BAD_LENGTH, item, "a pair is two boxes");
    }
    if (c->failed)
        return false;
    if (refs.count % 2 != 0)
        return wire_fail_at(c, WIRE_BAD_LENGTH, place, "pairs by id are an even number of ids");
    r->query->items.pairs = (const obb_ref(*)[2])(void *)refs.items;
    r->query->count = refs.count / 2;
    return true;
}

static bool read_sphere(struct wire_query_reading *r, obb_shape *out)
{
    enum { CENTER, RADIUS, COUNT };
    static const obb_str fields[COUNT] = {
        [CENTER] = WIRE_FIELD("center"), [RADIUS] = WIRE_FIELD("radius")};
    struct wire_cursor *c = r->c;
    struct wire_object o;
    obb_vec3 center = {0};
    double radius = 0.0;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == CENTER ? !wire_read_vector(c, r->dimensions, WIRE_COORDINATE, &center)
                            : !wire_read_real(c, WIRE_RADIUS, &radius))
            return false;
    if (c->failed || !wire_object_need(&o, CENTER) || !wire_object_need(&o, RADIUS))
        return false;
    const obb_status status = obb_shape_sphere(center, radius, out);
    return status == OBB_OK || wire_fail_at(c, (wire_cause)status, o.place, NULL);
}

static bool read_capsule(struct wire_query_reading *r, obb_shape *out)
{
    enum { A, B, RADIUS, COUNT };
    static const obb_str fields[COUNT] = {
        [A] = WIRE_FIELD("a"), [B] = WIRE_FIELD("b"), [RADIUS] = WIRE_FIELD("radius")};
    struct wire_cursor *c = r->c;
    struct wire_object o;
    obb_vec3 end[2] = {{0}};
    double radius = 0.0;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == RADIUS
                ? !wire_read_real(c, WIRE_RADIUS, &radius)
                : !wire_read_vector(c, r->dimensions, WIRE_COORDINATE, &end[field == B]))
            return false;
    if (c->failed || !wire_object_need(&o, A) || !wire_object_need(&o, B) ||
        !wire_object_need(&o, RADIUS))
        return false;
    const obb_status status = obb_shape_capsule(end[0], end[1], radius, out);
    return status == OBB_OK || wire_fail_at(c, (wire_cause)status, o.place, NULL);
}

static bool read_frustum(struct wire_query_reading *r, obb_shape *out)
{
    struct wire_cursor *c = r->c;
    const size_t place = wire_place(c);
    double matrix[16];
    if (r->dimensions == 2)
        return wire_fail_at(c, WIRE_UNKNOWN_FIELD, place, "a frustum is for 3-D scenes");
    if (!wire_read_reals(c, WIRE_ANY, matrix, 16))
        return false;
    const obb_status status = obb_shape_frustum(matrix, out);
    return status == OBB_OK ||
           wire_fail_at(c, (wire_cause)status, place,
                        status == OBB_SINGULAR
                            ? "a frustum has eight finite corners: no far plane at infinity"
                            : NULL);
}

enum { SPHERE, CAPSULE, FRUSTUM, SHAPE_KINDS };
static const obb_str shape_kinds[SHAPE_KINDS] = {[SPHERE] = WIRE_FIELD("sphere"),
                                                 [CAPSULE] = WIRE_FIELD("capsule"),
                                                 [FRUSTUM] = WIRE_FIELD("frustum")};

/* Tells whether a key that names no shape is no field of a box either, and nearer to a shape. */
static bool is_misspelt_shape(obb_str key)
{
    obb_str known[1 + SHAPE_KINDS] = {wire_nearest_box_field(key)};
    memcpy(known + 1, shape_kinds, sizeof shape_kinds);
    return wire_nearest(key, known, 1 + SHAPE_KINDS).bytes != known[0].bytes;
}

/* Tells whether the next object is a shape: its first key is the name of one, or nearer to one than
 * to any field of a box. Otherwise it is a box that is written out. */
static bool begins_a_shape(struct wire_cursor *c)
{
    const struct wire_mark mark = wire_mark(c);
    obb_str key;
    bool found = false;
    if (wire_enter_object(c) && wire_next_key(c, &key)) {
        for (int i = 0; i < SHAPE_KINDS; i++)
            found = found || obb_str_equal(shape_kinds[i], key);
        found = found || is_misspelt_shape(key);
    }
    if (!c->failed)
        wire_rewind(c, &mark);
    return found;
}

static bool read_shape(struct wire_query_reading *r, obb_query_shape *out)
{
    struct wire_cursor *c = r->c;
    *out = (obb_query_shape){.is_ref = true};
    if (wire_peek(c) != WIRE_KIND_OBJECT || !begins_a_shape(c))
        return read_ref(r, &out->ref);
    struct wire_object o;
    if (!wire_object_enter(&o, c, shape_kinds, SHAPE_KINDS))
        return false;
    obb_shape *shape = obb_arena_alloc(c->arena, 1, sizeof *shape);
    if (shape == NULL)
        return wire_fail_memory(c);
    *out = (obb_query_shape){.shape = shape};
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        if ((o.seen & (o.seen - 1)) != 0)
            return wire_fail_at(c, WIRE_FIELD_CONFLICT, o.where[field], "one shape an object");
        if (field == SPHERE    ? !read_sphere(r, shape)
            : field == CAPSULE ? !read_capsule(r, shape)
                               : !read_frustum(r, shape))
            return false;
    }
    return !c->failed;
}

static bool read_ray(struct wire_query_reading *r, obb_ray *out)
{
    enum { ORIGIN, DIRECTION, DISTANCE, FROM, TO, COUNT };
    static const obb_str fields[COUNT] = {[ORIGIN] = WIRE_FIELD("origin"),
                                          [DIRECTION] = WIRE_FIELD("direction"),
                                          [DISTANCE] = WIRE_FIELD("max_distance"),
                                          [FROM] = WIRE_FIELD("from"),
                                          [TO] = WIRE_FIELD("to")};
    struct wire_cursor *c = r->c;
    struct wire_object o;
    obb_vec3 vector[COUNT] = {{0}};
    double distance = (double)INFINITY;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        const bool by_ends = wire_object_has(&o, FROM) || wire_object_has(&o, TO);
        const bool by_direction = wire_object_has(&o, ORIGIN) || wire_object_has(&o, DIRECTION) ||
                                  wire_object_has(&o, DISTANCE);
        if (by_ends && by_direction)
            return wire_fail_at(c, WIRE_FIELD_CONFLICT, o.where[field],
                                "a ray is origin and direction, or from and to");
        if (field == DISTANCE ? !wire_read_real(c, WIRE_DISTANCE, &distance)
                              : !wire_read_vector(c, r->dimensions,
                                                  field == DIRECTION ? WIRE_ANY : WIRE_COORDINATE,
                                                  &vector[field]))
            return false;
    }
    if (c->failed)
        return false;
    const bool by_ends = wire_object_has(&o, FROM) || wire_object_has(&o, TO);
    const int start = by_ends ? FROM : ORIGIN, way = by_ends ? TO : DIRECTION;
    if (!wire_object_need(&o, start) || !wire_object_need(&o, way))
        return false;
    obb_vec3 direction = vector[way];
    if (by_ends) {
        direction = obb_sub(vector[TO], vector[FROM]);
        distance = obb_length(direction);
    }
    const obb_status status = obb_ray_make(vector[start], direction, distance, out);
    return status == OBB_OK ||
           wire_fail_at(c, (wire_cause)status, o.where[way],
                        status == OBB_BAD_VALUE ? "a ray has a length above 0" : NULL);
}

static bool read_sweep(struct wire_query_reading *r, obb_query_sweep *out)
{
    enum { BOX, MOTION, COUNT };
    static const obb_str fields[COUNT] = {
        [BOX] = WIRE_FIELD("box"), [MOTION] = WIRE_FIELD("motion")};
    struct wire_cursor *c = r->c;
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == BOX ? !read_ref(r, &out->ref)
                         : !wire_read_vector(c, r->dimensions, WIRE_COORDINATE, &out->motion))
            return false;
    return !c->failed && wire_object_need(&o, BOX) && wire_object_need(&o, MOTION);
}

/* Reads points as one flat array. */
static bool read_flat_points(struct wire_query_reading *r)
{
    struct wire_cursor *c = r->c;
    const size_t place = wire_place(c), dimensions = (size_t)r->dimensions;
    struct wire_column column;
    if (!wire_read_column(c, &column)) {
        if (wire_beyond_doubles(c))
            c->fault.detail = wire_limits[WIRE_COORDINATE].rule;
        return false;
    }
    if (column.count % dimensions != 0)
        return wire_fail_at(
            c, WIRE_BAD_LENGTH, place,
            wire_detail(c->arena, "points in a flat array are %zu numbers each", dimensions));
    const size_t count = column.count / dimensions;
    obb_vec3 *points = obb_arena_alloc(c->arena, count, sizeof *points);
    if (points == NULL)
        return wire_fail_memory(c);
    for (size_t i = 0; i < count; i++) {
        double v[3] = {0.0, 0.0, 0.0};
        if (i % POLLED == 0 && !wire_goes_on(c))
            return false;
        wire_column_get(&column, i * dimensions, dimensions, v);
        for (size_t k = 0; k < dimensions; k++)
            if (wire_range_check(WIRE_COORDINATE, v[k]) != OBB_OK)
                return wire_fail_item(c, WIRE_OBB_BAD_NUMBER, place, i * dimensions + k,
                                      wire_limits[WIRE_COORDINATE].rule);
        points[i] = (obb_vec3){v[0], v[1], v[2]};
    }
    r->query->items.points = points;
    r->query->count = count;
    return true;
}

/* Tells whether the next value is a flat array: its first item is a number. */
static bool begins_with_a_number(struct wire_cursor *c)
{
    const struct wire_mark mark = wire_mark(c);
    const bool found = wire_enter_array(c) && wire_next_item(c) && wire_peek(c) == WIRE_KIND_NUMBER;
    if (!c->failed)
        wire_rewind(c, &mark);
    return found;
}

bool wire_read_points(struct wire_query_reading *r)
{
    if (begins_with_a_number(r->c))
        return read_flat_points(r);
    return !r->c->failed && wire_read_items(r, WIRE_ITEM_POINT);
}

bool wire_read_rays(struct wire_query_reading *r)
{
    return wire_peek(r->c) == WIRE_KIND_OBJECT
               ? wire_read_ray_columns(r->c, r->dimensions, r->query)
               : wire_read_items(r, WIRE_ITEM_RAY);
}

bool wire_read_items(struct wire_query_reading *r, enum wire_item_kind kind)
{
    static const size_t sizes[WIRE_ITEM_KINDS] = {[WIRE_ITEM_SHAPE] = sizeof(obb_query_shape),
                                                  [WIRE_ITEM_POINT] = sizeof(obb_vec3),
                                                  [WIRE_ITEM_RAY] = sizeof(obb_ray),
                                                  [WIRE_ITEM_SWEEP] = sizeof(obb_query_sweep),
                                                  [WIRE_ITEM_BOX] = sizeof(obb_ref)};
    struct wire_cursor *c = r->c;
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizes[kind]);
    while (wire_next_item(c)) {
        void *item = wire_list_add(&list);
        if (item == NULL)
            return false;
        if (kind == WIRE_ITEM_SHAPE   ? !read_shape(r, item)
            : kind == WIRE_ITEM_POINT ? !wire_read_vector(c, r->dimensions, WIRE_COORDINATE, item)
            : kind == WIRE_ITEM_RAY   ? !read_ray(r, item)
            : kind == WIRE_ITEM_SWEEP ? !read_sweep(r, item)
                                      : !read_ref(r, item))
            return false;
    }
    obb_query *q = r->query;
    const void *items = list.items;
    q->count = list.count;
    switch (kind) {
    case WIRE_ITEM_SHAPE:
        q->items.shapes = items;
        break;
    case WIRE_ITEM_POINT:
        q->items.points = items;
        break;
    case WIRE_ITEM_RAY:
        q->items.rays = items;
        break;
    case WIRE_ITEM_SWEEP:
        q->items.sweeps = items;
        break;
    case WIRE_ITEM_BOX:
    case WIRE_ITEM_KINDS:
        q->items.boxes = items;
        q->of_boxes = true;
        break;
    }
    return !c->failed;
}
