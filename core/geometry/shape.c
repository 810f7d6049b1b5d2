#include "core/geometry/shape.h"

#include "core/geometry/closest.h"
#include "core/geometry/exact.h"
#include "core/geometry/sat.h"

#define LARGEST_CORNER 1e15 /* scene units; a frustum that reaches farther counts as infinite */

/* ---- Making ---------------------------------------------------------------------------------- */

obb_status obb_shape_capsule(obb_vec3 a, obb_vec3 b, double radius, obb_shape *out)
{
    if (obb_bad_coordinate(a) >= 0 || obb_bad_coordinate(b) >= 0 ||
        !(fabs(radius) <= OBB_MAX_COORDINATE))
        return OBB_BAD_NUMBER;
    if (radius < 0.0)
        return OBB_BAD_EXTENT;
    *out = (obb_shape){.kind = OBB_SHAPE_CAPSULE, .a = a, .b = b, .radius = radius};
    return OBB_OK;
}

obb_status obb_shape_sphere(obb_vec3 center, double radius, obb_shape *out)
{
    const obb_status st = obb_shape_capsule(center, center, radius, out);
    if (st == OBB_OK)
        out->kind = OBB_SHAPE_SPHERE;
    return st;
}

obb_shape obb_shape_box(const obb_solid *box)
{
    return (obb_shape){.kind = OBB_SHAPE_BOX, .box = *box};
}

/* Inside is dot(normal, x) + offset >= 0. */
struct plane {
    obb_vec3 normal;
    double offset;
};

/* Returns the point where three planes meet. If they do not meet in one point, its components
 * are not finite. */
static obb_vec3 meeting(const struct plane *a, const struct plane *b, const struct plane *c)
{
    const obb_vec3 bc = obb_cross(b->normal, c->normal);
    const obb_vec3 ca = obb_cross(c->normal, a->normal);
    const obb_vec3 ab = obb_cross(a->normal, b->normal);
    const double volume = obb_dot(a->normal, bc);
    if (volume == 0.0)
        return (obb_vec3){HUGE_VAL, HUGE_VAL, HUGE_VAL};
    const obb_vec3 sum = obb_add(obb_add(obb_scale(bc, -a->offset), obb_scale(ca, -b->offset)),
                                 obb_scale(ab, -c->offset));
    return obb_divide(sum, volume);
}

obb_status obb_shape_frustum(const double matrix[static 16], obb_shape *out)
{
    double largest = 0.0;
    for (int i = 0; i < 16; i++) {
        if (!isfinite(matrix[i]))
            return OBB_BAD_NUMBER;
        largest = fmax(largest, fabs(matrix[i]));
    }
    if (largest == 0.0)
        return OBB_SINGULAR;
    double row[4][4]; /* of the matrix, scaled so that nothing overflows; the frustum is the same */
    for (int i = 0; i < 16; i++)
        row[i % 4][i / 4] = matrix[i] / largest;

    struct plane planes[6];
    for (int k = 0; k < 6; k++) { /* -w <= clip and clip <= w */
        const double sign = k % 2 == 0 ? 1.0 : -1.0;
        const double *clip = row[k / 2], *w = row[3];
        planes[k] =
            (struct plane){{w[0] + sign * clip[0], w[1] + sign * clip[1], w[2] + sign * clip[2]},
                           w[3] + sign * clip[3]};
        const double length = obb_length(planes[k].normal);
        if (length == 0.0)
            return OBB_SINGULAR;
        planes[k].normal = obb_divide(planes[k].normal, length);
        planes[k].offset /= length;
    }

    obb_shape shape = {.kind = OBB_SHAPE_FRUSTUM};
    int in_front = 0, behind = 0;
    for (int i = 0; i < 8; i++) {
        const obb_vec3 corner =
            meeting(&planes[i & 1], &planes[2 + (i >> 1 & 1)], &planes[4 + (i >> 2 & 1)]);
        if (!(obb_length(corner) <= LARGEST_CORNER))
            return OBB_SINGULAR;
        const double w =
            row[3][0] * corner.x + row[3][1] * corner.y + row[3][2] * corner.z + row[3][3];
        in_front += w > 0.0;
        behind += w < 0.0;
        shape.corners[i] = corner;
    }
    if (in_front != 8 && behind != 8)
        return OBB_SINGULAR; /* the planes enclose nothing finite */
    for (int k = 0; k < 6; k++) {
        shape.normals[k] = behind == 0 ? obb_negate(planes[k].normal) : planes[k].normal;
        shape.offsets[k] = -HUGE_VAL;
        for (int i = 0; i < 8; i++)
            shape.offsets[k] = fmax(shape.offsets[k], obb_dot(shape.normals[k], shape.corners[i]));
    }
    *out = shape;
    return OBB_OK;
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

/* Returns bounds around a point that reach at least `reach` far, whatever the sums round to. */
static obb_bounds around(obb_vec3 p, double reach)
{
    const double slack = 0x1p-51;
    const obb_vec3 r = {reach + slack * (fabs(p.x) + reach), reach + slack * (fabs(p.y) + reach),
                        reach + slack * (fabs(p.z) + reach)};
    return (obb_bounds){obb_sub(p, r), obb_add(p, r)};
}

obb_bounds obb_shape_bounds(const obb_shape *shape, double margin)
{
    const double grow = margin > 0.0 ? margin : 0.0;
    obb_vec3 points[8];
    int count = 8;
    double reach = grow;
    switch (shape->kind) {
    case OBB_SHAPE_BOX: {
        const obb_bounds tight = obb_solid_bounds(&shape->box);
        points[0] = tight.min;
        points[1] = tight.max;
        count = 2;
        break;
    }
    case OBB_SHAPE_SPHERE:
    case OBB_SHAPE_CAPSULE:
        points[0] = shape->a;
        points[1] = shape->b;
        count = 2;
        reach = shape->radius + grow;
        break;
    case OBB_SHAPE_FRUSTUM:
        for (int i = 0; i < 8; i++)
            points[i] = shape->corners[i];
        break;
    }
    obb_bounds bounds = around(points[0], reach);
    for (int i = 1; i < count; i++) {
        const obb_bounds more = around(points[i], reach);
        bounds.min = obb_min(bounds.min, more.min);
        bounds.max = obb_max(bounds.max, more.max);
    }
    return bounds;
}

/* ---- Frustum against box --------------------------------------------------------------------- */

/* Both are given relative to the box's centre, so that no bits are lost far from the origin. */

/* Corners at the ends of each edge: those that differ in one bit. */
static const unsigned char edges[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                           {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};

/* The interval that the frustum covers on an axis. */
struct interval {
    double low, high;
};

static struct interval projected(const obb_shape *frustum, obb_vec3 axis)
{
    struct interval on = {HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < 8; i++) {
        const double at = obb_dot(axis, frustum->corners[i]);
        on.low = at < on.low ? at : on.low;
        on.high = at > on.high ? at : on.high;
    }
    return on;
}

/* Returns the gap between the projections, times the axis' length. */
static double gap_on(obb_vec3 axis, const obb_shape *frustum, const obb_solid *box)
{
    const struct interval on = projected(frustum, axis);
    return (on.low > -on.high ? on.low : -on.high) - obb_solid_radius(box, axis);
}

/* Returns the largest gap over the faces of both and the cross products of their edges, or the
 * first gap > enough. */
static double frustum_gap(const obb_shape *frustum, const obb_solid *box, double enough)
{
    double most = -HUGE_VAL;
    for (int i = 0; i < 9; i++) {
        most = fmax(most, gap_on(i < 3 ? box->axis[i] : frustum->normals[i - 3], frustum, box));
        if (most > enough)
            return most;
    }
    for (int edge = 0; edge < 12; edge++) {
        const obb_vec3 along =
            obb_sub(frustum->corners[edges[edge][1]], frustum->corners[edges[edge][0]]);
        const double size = obb_length(along);
        if (size == 0.0)
            continue;
        const obb_vec3 unit = obb_divide(along, size);
        for (int j = 0; j < 3; j++) {
            const obb_vec3 axis = obb_exact_cross(unit, box->axis[j]);
            const double length = obb_length(axis);
            if (length > 0.0)
                most = fmax(most, gap_on(axis, frustum, box) / length);
            if (most > enough)
                return most;
        }
    }
    return most;
}

/* Returns the distance of a frustum and a box that are apart: the least distance from an edge of
 * the frustum to the box or from a corner of the box to a face of the frustum. */
static double frustum_distance(const obb_shape *frustum, const obb_solid *box)
{
    double least = HUGE_VAL, offsets[6];
    for (int k = 0; k < 6; k++)
        offsets[k] = projected(frustum, frustum->normals[k]).high;
    for (int edge = 0; edge < 12; edge++)
        least = fmin(least, obb_closest_segment(frustum->corners[edges[edge][0]],
                                                frustum->corners[edges[edge][1]], box)
                                .distance);
    obb_vec3 corners[8];
    obb_solid_corners(box, corners);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 6; k++) {
            const double height = obb_dot(frustum->normals[k], corners[i]) - offsets[k];
            if (height < 0.0 || height >= least)
                continue;
            const obb_vec3 foot = obb_sub(corners[i], obb_scale(frustum->normals[k], height));
            bool over_face = true;
            for (int side = 0; side < 6 && over_face; side++)
                over_face =
                    side / 2 == k / 2 || obb_dot(frustum->normals[side], foot) <= offsets[side];
            if (over_face)
                least = height;
        }
    return least;
}

/* Returns the frustum relative to the centre of the box, without offsets. */
static obb_shape frustum_from(const obb_shape *shape, const obb_solid *box, obb_solid *out_centred)
{
    obb_shape frustum = *shape;
    *out_centred = *box;
    out_centred->center = (obb_vec3){0.0, 0.0, 0.0};
    for (int i = 0; i < 8; i++)
        frustum.corners[i] = obb_sub(shape->corners[i], box->center);
    return frustum;
}

static bool frustum_overlap(const obb_shape *shape, const obb_solid *box, double margin)
{
    obb_solid centred;
    const obb_shape frustum = frustum_from(shape, box, &centred);
    const double gap = frustum_gap(&frustum, &centred, margin);
    if (gap > margin || margin <= 0.0)
        return gap <= margin;
    return gap <= 0.0 || frustum_distance(&frustum, &centred) <= margin;
}

/* ---- A point or segment deep in a box -------------------------------------------------------- */

/* Returns the gap on an axis of unit length. If it is below 0, moving one of the two by that much
 * along the axis parts them. */
static double segment_gap_on(obb_vec3 axis, obb_vec3 middle, obb_vec3 half, const obb_solid *box)
{
    return fabs(obb_dot(axis, middle)) - (obb_solid_radius(box, axis) + fabs(obb_dot(axis, half)));
}

/* Returns the largest gap over the box's axes and their crosses with the segment. These are all the
 * face normals of the difference of the two, so for a segment that meets the box it is the depth,
 * negated. p may equal q. */
static double segment_gap(obb_vec3 p, obb_vec3 q, const obb_solid *box)
{
    const obb_vec3 from = obb_sub(p, box->center), half = obb_scale(obb_sub(q, p), 0.5);
    const obb_vec3 middle = obb_add(from, half);
    double most = -HUGE_VAL;
    for (int i = 0; i < box->dimensions; i++)
        most = fmax(most, segment_gap_on(box->axis[i], middle, half, box));
    const double length = obb_length(half);
    if (length == 0.0)
        return most;
    const obb_vec3 along = obb_divide(half, length);
    /* In the plane the only cross is that with the third axis. */
    for (int i = box->dimensions == 2 ? 2 : 0; i < 3; i++) {
        const obb_vec3 axis = obb_exact_cross(along, box->axis[i]);
        const double size = obb_length(axis);
        if (size > 0.0)
            most = fmax(most, segment_gap_on(obb_scale(axis, 1.0 / size), middle, half, box));
    }
    return most;
}

/* ---- The verdict ----------------------------------------------------------------------------- */

bool obb_shape_boxes(const obb_solid *a, const obb_solid *b, double margin)
{
    if (margin == 0.0)
        return obb_sat_overlap(a, b);
    const double gap = obb_sat_separation(a, b).gap;
    if (gap > margin || margin < 0.0)
        return gap <= margin;
    return gap <= 0.0 || obb_closest_boxes(a, b).distance <= margin;
}

bool obb_shape_overlap(const obb_shape *shape, const obb_solid *box, double margin)
{
    /* If negative, the least depth of the centre or segment in the box, negated. */
    const double reach = shape->radius + margin;
    switch (shape->kind) {
    case OBB_SHAPE_BOX:
        return obb_shape_boxes(&shape->box, box, margin);
    case OBB_SHAPE_SPHERE:
        return reach < 0.0 ? segment_gap(shape->a, shape->a, box) <= reach
                           : obb_closest_point(shape->a, box).distance <= reach;
    case OBB_SHAPE_CAPSULE:
        return reach < 0.0 ? segment_gap(shape->a, shape->b, box) <= reach
                           : obb_closest_segment(shape->a, shape->b, box).distance <= reach;
    case OBB_SHAPE_FRUSTUM:
        return frustum_overlap(shape, box, margin);
    }
    return false;
}

/* ---- The distance ---------------------------------------------------------------------------- */

static double beyond(double distance, double radius)
{
    return distance > radius ? distance - radius : 0.0;
}

double obb_shape_distance(const obb_shape *shape, const obb_solid *box)
{
    obb_solid centred;
    obb_shape frustum;
    switch (shape->kind) {
    case OBB_SHAPE_BOX:
        return obb_closest_boxes(&shape->box, box).distance;
    case OBB_SHAPE_SPHERE:
        return beyond(obb_closest_point(shape->a, box).distance, shape->radius);
    case OBB_SHAPE_CAPSULE:
        return beyond(obb_closest_segment(shape->a, shape->b, box).distance, shape->radius);
    case OBB_SHAPE_FRUSTUM:
        break;
    }
    frustum = frustum_from(shape, box, &centred);
    return frustum_gap(&frustum, &centred, 0.0) <= 0.0 ? 0.0 : frustum_distance(&frustum, &centred);
}
