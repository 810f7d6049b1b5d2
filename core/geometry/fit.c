#include "core/geometry/fit.h"

#include "core/geometry/angle.h"
#include "core/geometry/eigen.h"
#include "core/geometry/exact.h"
#include "core/geometry/hull.h"
#include "core/geometry/tight.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* A cloud whose points deviate from a point, line or plane by less than this share of its size
 * counts as one. The deviation is the rounding error of coordinates and projections. */
static const double flat = 4e-15;

/* An oblique box's extent below this share of its largest is the rounding error of its points
 * and axes, and is taken as 0. */
static const double thin = 1e-14;

/* A later frame is preferred only if its box is smaller by this share. */
static const double gain = 1e-12;

static const double corner_slack = 1e-6; /* of a box's diagonal */

enum { POLLED = 16384 }; /* points between two polls: 0.2 ms */

struct cloud {
    const obb_vec3 *points;
    size_t count;
    int dimensions;
    const atomic_bool *cancel; /* may be NULL */
    struct obb_budget *budget; /* may be NULL */
    int rank;                  /* 0 a point, 1 a line, 2 a plane, 3 a volume */
    double size;               /* largest coordinate difference to the first point */
    obb_vec3 axis[3];          /* orthonormal; the points lie in the span of the first `rank` */
};

static obb_vec3 point(const struct cloud *c, size_t i)
{
    obb_vec3 p = c->points[i];
    if (c->dimensions == 2)
        p.z = 0.0;
    return p;
}

/* Polls once every POLLED points. If the fit is cancelled, returns false, and a loop over the
 * points ends early: its numbers are those of a part of the cloud, and obb_fit_points drops
 * them. */
static bool goes_on(const struct cloud *c, size_t i)
{
    return i % POLLED != 0 || !obb_cancelled(c->cancel);
}

/* Returns point i relative to the first. */
static obb_vec3 offset(const struct cloud *c, size_t i)
{
    return obb_sub(point(c, i), point(c, 0));
}

/* Returns v / |v| for v other than zero, also if squares would underflow. Every division is
 * rounded. */
static obb_vec3 unit_of_any_length(obb_vec3 v)
{
    v = obb_divide(v, obb_largest_part(v));
    return obb_divide(v, obb_length(v));
}

/* Returns a unit vector at right angles to the unit vector n: the first or second coordinate
 * axis, projected on the plane across n. */
static obb_vec3 perpendicular_by_projection(obb_vec3 n)
{
    const obb_vec3 e = fabs(n.x) <= 0.75 ? (obb_vec3){.x = 1.0} : (obb_vec3){.y = 1.0};
    return unit_of_any_length(obb_sub(e, obb_scale(n, obb_dot(n, e))));
}

/* Finds rank, size and axes, from the farthest point from the first, the farthest point from
 * their line, and the farthest from the plane of the three. */
static void find_shape(struct cloud *c)
{
    c->rank = 0;
    c->size = 0.0;
    c->axis[0] = (obb_vec3){.x = 1.0};
    c->axis[1] = (obb_vec3){.y = 1.0};
    c->axis[2] = (obb_vec3){.z = 1.0};
    obb_vec3 far = {0};
    for (size_t i = 0; i < c->count && goes_on(c, i); i++) {
        const obb_vec3 d = offset(c, i);
        const double part = obb_largest_part(d);
        if (part > c->size) {
            c->size = part;
            far = d;
        }
    }
    if (c->size == 0.0)
        return;
    const double scale = 1.0 / c->size;
    if (!isfinite(scale)) /* the points are too close to be told apart */
        return;
    const obb_vec3 line = unit_of_any_length(obb_scale(far, scale));
    double deviation = 0.0;
    for (size_t i = 0; i < c->count && goes_on(c, i); i++) {
        const obb_vec3 d = obb_scale(offset(c, i), scale), off = obb_cross(line, d);
        const double part = obb_length(off);
        if (part > deviation) {
            deviation = part;
            far = d;
        }
    }
    c->rank = 1;
    if (deviation <= flat) {
        c->axis[0] = line;
        c->axis[1] = c->dimensions == 2 ? (obb_vec3){-line.y, line.x, 0.0}
                                        : perpendicular_by_projection(line);
        c->axis[2] = obb_cross(line, c->axis[1]);
        return;
    }
    c->rank = 2;
    if (c->dimensions == 2)
        return;
    obb_vec3 side = unit_of_any_length(obb_sub(far, obb_scale(line, obb_dot(line, far))));
    side = unit_of_any_length(obb_sub(side, obb_scale(line, obb_dot(line, side))));
    const obb_vec3 normal = obb_cross(line, side);
    deviation = 0.0;
    for (size_t i = 0; i < c->count && goes_on(c, i); i++)
        deviation = fmax(deviation, fabs(obb_dot(normal, obb_scale(offset(c, i), scale))));
    if (deviation <= flat) {
        c->axis[0] = perpendicular_by_projection(normal);
        c->axis[1] = obb_cross(normal, c->axis[0]);
        c->axis[2] = normal;
        return;
    }
    c->rank = 3;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Turns the frame within the cloud's span to the axes of the covariance. Returns the ratio of
 * the smallest to the largest eigenvalue there. */
static double turn_to_covariance(const struct cloud *c, obb_vec3 frame[static 3])
{
    const double scale = 1.0 / c->size, share = 1.0 / (double)c->count;
    const bool in_plane = c->rank < 3;
    obb_vec3 mean = {0};
    for (size_t i = 0; i < c->count && goes_on(c, i); i++)
        mean = obb_add(mean, obb_scale(offset(c, i), scale));
    mean = obb_scale(mean, share);
    obb_symmetric m = {0};
    for (size_t i = 0; i < c->count && goes_on(c, i); i++) {
        const obb_vec3 d = obb_sub(obb_scale(offset(c, i), scale), mean);
        const double x = obb_dot(d, frame[0]), y = obb_dot(d, frame[1]),
                     z = in_plane ? 0.0 : obb_dot(d, frame[2]);
        m.xx += x * x;
        m.yy += y * y;
        m.zz += z * z;
        m.xy += x * y;
        m.yz += y * z;
        m.zx += z * x;
    }
    obb_vec3 vector[3], turned[3];
    double value[3];
    obb_eigen_symmetric(&m, vector, value);
    double low = value[0], high = value[0];
    for (int i = 0; i < 3; i++) {
        turned[i] = obb_combine(frame, vector[i]);
        if (i < 2 || !in_plane) {
            low = fmin(low, value[i]);
            high = fmax(high, value[i]);
        }
    }
    memcpy(frame, turned, sizeof turned);
    return high > 0.0 ? low / high : 1.0; /* of a cancelled fit all sums may be 0 */
}

/* Writes the axes of the covariance. */
static void principal_frame(const struct cloud *c, obb_vec3 frame[static 3])
{
    memcpy(frame, c->axis, sizeof c->axis);
    if (c->rank < 2)
        return;
    /* In a long or thin cloud the rounding errors of the large eigenvalues exceed the small
     * ones. A second pass along the axes of the first separates them. */
    if (turn_to_covariance(c, frame) < 1e-4)
        (void)turn_to_covariance(c, frame);
}

/* Turns the frame to that of the smallest box, for a cloud in a plane. */
static obb_status flat_tight_frame(const struct cloud *c, obb_vec3 frame[static 3])
{
    obb_flat *shadow = obb_budget_malloc(c->budget, c->count, sizeof *shadow);
    obb_flat *outline = obb_budget_malloc(c->budget, c->count + 1, sizeof *outline);
    obb_status st = shadow != NULL && outline != NULL ? OBB_OK : OBB_NO_MEMORY;
    if (st == OBB_OK) {
        for (size_t i = 0; i < c->count; i++) {
            if (!goes_on(c, i)) {
                st = OBB_CANCELLED;
                break;
            }
            const obb_vec3 d = obb_scale(offset(c, i), 1.0 / c->size); /* no square underflows */
            shadow[i] = (obb_flat){obb_dot(d, frame[0]), obb_dot(d, frame[1])};
        }
    }
    if (st == OBB_OK) {
        const size_t corners = obb_hull_flat(shadow, c->count, c->cancel, outline);
        obb_flat side;
        double area;
        if (corners == 0 ||
            (corners >= 3 && !obb_hull_rectangle(outline, corners, c->cancel, &area, &side))) {
            st = OBB_CANCELLED;
        } else if (corners >= 3) {
            const obb_vec3 x = obb_combine(frame, (obb_vec3){side.x, side.y, 0.0}),
                           y = obb_combine(frame, (obb_vec3){-side.y, side.x, 0.0});
            frame[0] = x;
            frame[1] = y;
        }
    }
    obb_budget_free(shadow);
    obb_budget_free(outline);
    return st;
}

/* Replaces the frame, the axes of the covariance, by the axes of a small box. */
static obb_status tight_frame(const struct cloud *c, obb_vec3 frame[static 3])
{
    if (c->rank < 2)
        return OBB_OK;
    if (c->rank == 2)
        return flat_tight_frame(c, frame);
    obb_vec3 tight[3];
    const obb_status st = obb_tight_axes(c->points, c->count, frame, c->cancel, c->budget, tight);
    if (st == OBB_OK)
        memcpy(frame, tight, sizeof tight);
    return st;
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

/* Sets the rotation (or angle) nearest to the identity that lays a box along these axes. */
static void lay_along(obb_box *box, const obb_vec3 frame[static 3], int dimensions)
{
    if (dimensions == 2) {
        const obb_vec3 x = fabs(frame[0].x) >= fabs(frame[0].y)
                               ? frame[0]
                               : (obb_vec3){frame[0].y, -frame[0].x, 0.0};
        box->angle = obb_arc_tangent(x.x < 0.0 ? -x.y : x.y, fabs(x.x));
        return;
    }
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1},
                                    {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    obb_vec3 best[3] = {{0}};
    double best_trace = -HUGE_VAL;
    for (int o = 0; o < 6; o++) {
        obb_vec3 u[3];
        double trace = 0.0;
        int least = 0;
        for (int i = 0; i < 3; i++) {
            u[i] = frame[order[o][i]];
            if (obb_component(u[i], i) < 0.0)
                u[i] = obb_negate(u[i]);
            trace += obb_component(u[i], i);
            if (obb_component(u[i], i) < obb_component(u[least], least))
                least = i;
        }
        if (obb_axes_left_handed(u)) {
            trace -= 2.0 * obb_component(u[least], least);
            u[least] = obb_negate(u[least]);
        }
        if (trace > best_trace) {
            best_trace = trace;
            memcpy(best, u, sizeof u);
        }
    }
    const obb_status st = obb_quat_from_axes(best, &box->rotation);
    assert(st == OBB_OK); /* all frames are orthonormal up to rounding */
    (void)st;
}

static obb_vec3 moved(obb_vec3 from, const obb_vec3 axis[static 3], const double by[static 3])
{
    return obb_add(from, obb_combine(axis, (obb_vec3){by[0], by[1], by[2]}));
}

/* Sets center and extents to the smallest that hold all points, with the rotation that the box
 * has. */
static void enclose(const struct cloud *c, obb_box *box)
{
    const obb_solid solid = obb_solid_from_box(box, c->dimensions);
    double low[3] = {0}, high[3] = {0}, middle[3], half[3] = {0};
    for (size_t i = 0; i < c->count && goes_on(c, i); i++) {
        const obb_vec3 d = offset(c, i);
        for (int k = 0; k < c->dimensions; k++) {
            const double x = obb_dot(d, solid.axis[k]);
            low[k] = x < low[k] ? x : low[k];
            high[k] = x > high[k] ? x : high[k];
        }
    }
    for (int k = 0; k < 3; k++)
        middle[k] = 0.5 * (low[k] + high[k]);
    box->center = moved(point(c, 0), solid.axis, middle);
    /* Once more about the center as it was rounded. */
    for (size_t i = 0; i < c->count && goes_on(c, i); i++) {
        const obb_vec3 d = obb_sub(point(c, i), box->center);
        for (int k = 0; k < c->dimensions; k++)
            half[k] = fmax(half[k], fabs(obb_dot(d, solid.axis[k])));
    }
    const double largest = fmax(half[0], fmax(half[1], half[2]));
    for (int k = 0; k < 3; k++)
        half[k] = half[k] <= thin * largest ? 0.0 : half[k];
    box->half_extents = (obb_vec3){half[0], half[1], half[2]};
}

/* Returns the least half extent about the center that reaches low and high in exact arithmetic. */
static double exact_half(double low, double center, double high)
{
    return fmax(-obb_exact_below(low, center), -obb_exact_below(center, high)) + 0.0;
}

static obb_box enclose_along_coordinates(const struct cloud *c)
{
    obb_vec3 low = point(c, 0), high = low;
    for (size_t i = 1; i < c->count && goes_on(c, i); i++) {
        low = obb_min(low, point(c, i));
        high = obb_max(high, point(c, i));
    }
    obb_box box = {.rotation = {.w = 1.0}};
    box.center = obb_scale(obb_add(low, high), 0.5);
    box.half_extents =
        (obb_vec3){exact_half(low.x, box.center.x, high.x), exact_half(low.y, box.center.y, high.y),
                   exact_half(low.z, box.center.z, high.z)};
    return box;
}

static obb_box enclose_along(const struct cloud *c, const obb_vec3 frame[static 3])
{
    obb_box box = {.rotation = {.w = 1.0}};
    lay_along(&box, frame, c->dimensions);
    const obb_solid solid = obb_solid_from_box(&box, c->dimensions);
    if (solid.axis[0].x == 1.0 && solid.axis[1].y == 1.0) /* these bounds are exact */
        return enclose_along_coordinates(c);
    enclose(c, &box);
    return box;
}

/* Adds `term` to the sum of `count` parts without rounding, and writes the sum as count + 1 parts.
 * If all parts were made by such additions, the last part that is not 0 has the sign of the sum.
 *
 * Source   Shewchuk, "Adaptive Precision Floating-Point Arithmetic", Discrete & Computational
 *          Geometry 18, 1997, 2.4. */
static void add_exactly(double *parts, size_t count, double term)
{
    for (size_t i = 0; i < count; i++) {
        const double sum = parts[i] + term, taken = sum - parts[i];
        parts[i] = (parts[i] - (sum - taken)) + (term - taken);
        term = sum;
    }
    parts[count] = term;
}

/* Adds sign * v.x * v.y * v.z in four parts. Returns the new number of parts. */
static size_t add_product(double *parts, size_t count, double sign, obb_vec3 v)
{
    const double high = v.x * v.y, low = obb_exact_rest(v.x, v.y, high);
    const double a = high * v.z, b = low * v.z;
    add_exactly(parts, count++, sign * obb_exact_rest(low, v.z, b));
    add_exactly(parts, count++, sign * b);
    add_exactly(parts, count++, sign * obb_exact_rest(high, v.z, a));
    add_exactly(parts, count++, sign * a);
    return count;
}

/* Returns whether one of the extents is 0. */
static bool is_flat(obb_vec3 h) { return h.x == 0.0 || h.y == 0.0 || h.z == 0.0; }

/* Returns whether the volume (or area) of a is less than that of b, by exact arithmetic on the
 * stored extents. */
static bool less_volume(const obb_box *a, const obb_box *b, int dimensions)
{
    const obb_vec3 half[2] = {a->half_extents, b->half_extents};
    obb_vec3 mantissa[2];
    int exponent[2];
    for (int i = 0; i < 2; i++) {
        int x, y, z;
        mantissa[i].x = frexp(half[i].x, &x);
        mantissa[i].y = frexp(half[i].y, &y);
        mantissa[i].z = frexp(dimensions == 3 ? half[i].z : 1.0, &z);
        exponent[i] = x + y + z;
    }
    const bool none[2] = {is_flat(mantissa[0]), is_flat(mantissa[1])};
    if (none[0] || none[1])
        return none[0] && !none[1];
    /* Products of mantissas are between 1/8 and 1. */
    const int apart = exponent[0] - exponent[1];
    if (apart < -3 || apart > 3)
        return apart < 0;
    mantissa[0].x = ldexp(mantissa[0].x, apart);
    double parts[8];
    size_t count = add_product(parts, 0, 1.0, mantissa[0]);
    count = add_product(parts, count, -1.0, mantissa[1]);
    while (count > 1 && parts[count - 1] == 0.0)
        count--;
    return parts[count - 1] < 0.0;
}

/* Returns whether a is smaller than b by more than `gain`. Boxes without volume are compared by
 * area, and boxes without area by length. If products underflow, a volume may count as none: then a
 * must still be no larger than b. */
static bool smaller(const obb_box *a, const obb_box *b, int dimensions)
{
    if (!obb_box_in_range(a) || !obb_box_in_range(b))
        return obb_box_in_range(a);
    if (less_volume(b, a, dimensions))
        return false;
    const double largest =
        fmax(obb_largest_part(a->half_extents), obb_largest_part(b->half_extents));
    if (largest < DBL_MIN) /* nothing to choose, and nothing to divide by */
        return false;
    const obb_vec3 p = obb_divide(a->half_extents, largest),
                   q = obb_divide(b->half_extents, largest);
    const double sizes[3][2] = {
        {p.x * p.y * p.z, q.x * q.y * q.z},
        {p.x * p.y + p.y * p.z + p.z * p.x, q.x * q.y + q.y * q.z + q.z * q.x},
        {p.x + p.y + p.z, q.x + q.y + q.z},
    };
    for (int i = dimensions == 3 ? 0 : 1; i < 3; i++)
        if (sizes[i][0] != 0.0 || sizes[i][1] != 0.0)
            return sizes[i][0] < sizes[i][1] * (1.0 - gain);
    return false;
}

static obb_status finished(const obb_box *box, obb_box *out)
{
    if (!obb_box_in_range(box))
        return OBB_BAD_NUMBER;
    *out = *box;
    out->center = obb_without_negative_zeros(box->center);
    out->half_extents = obb_without_negative_zeros(box->half_extents);
    return OBB_OK;
}

/* Replaces the best box by this one if it is smaller. */
static void consider(const obb_box *box, int dimensions, obb_box *best)
{
    if (smaller(box, best, dimensions))
        *best = *box;
}

/* ---- Points ---------------------------------------------------------------------------------- */

obb_status obb_fit_points(const obb_vec3 *points, size_t count, obb_fit fit, int dimensions,
                          const atomic_bool *cancel, struct obb_budget *budget, obb_box *out)
{
    assert(dimensions == 2 || dimensions == 3);
    if (count < 1 || count > OBB_MAX_POINTS)
        return OBB_BAD_COUNT;
    struct cloud c = {.points = points,
                      .count = count,
                      .dimensions = dimensions,
                      .cancel = cancel,
                      .budget = budget};
    for (size_t i = 0; i < count && goes_on(&c, i); i++)
        if (obb_bad_coordinate(point(&c, i)) >= 0)
            return OBB_BAD_NUMBER;
    const obb_box along_coordinates = enclose_along_coordinates(&c);
    if (obb_cancelled(cancel))
        return OBB_CANCELLED;
    if (fit == OBB_FIT_AABB)
        return finished(&along_coordinates, out);
    obb_vec3 frame[3];
    find_shape(&c);
    if (obb_cancelled(cancel))
        return OBB_CANCELLED;
    principal_frame(&c, frame);
    if (obb_cancelled(cancel))
        return OBB_CANCELLED;
    obb_box best = enclose_along(&c, frame);
    if (obb_cancelled(cancel))
        return OBB_CANCELLED;
    if (!obb_box_in_range(&best))
        best = along_coordinates; /* in range for all points in range */
    if (fit == OBB_FIT_TIGHT) {
        /* The answer is no larger than either box to the last bit: the smaller one is found by
         * exact arithmetic, and any later box must gain more than rounding. */
        if (less_volume(&along_coordinates, &best, dimensions))
            best = along_coordinates;
        consider(&along_coordinates, dimensions, &best); /* if there is no volume, by area */
        const obb_status st = tight_frame(&c, frame);
        if (st != OBB_OK)
            return st;
        const obb_box tight = enclose_along(&c, frame);
        if (obb_cancelled(cancel))
            return OBB_CANCELLED;
        consider(&tight, dimensions, &best);
    }
    return finished(&best, out);
}

/* ---- Corners --------------------------------------------------------------------------------- */

struct corners {
    const obb_vec3 *at;
    size_t count; /* 8, or 4 in the plane */
    int dimensions;
};

/* Numbers the corners by the edges from corner 0 to the corners of `end`. order[i] is the unused
 * corner nearest to the sum of the edges in the bits of i. */
static void number_corners(const struct corners *c, const size_t end[static 3],
                           size_t order[static 8])
{
    bool used[8] = {false};
    for (size_t i = 0; i < c->count; i++) {
        obb_vec3 want = c->at[0];
        for (int k = 0; k < c->dimensions; k++)
            if ((i >> k & 1) != 0)
                want = obb_add(want, obb_sub(c->at[end[k]], c->at[0]));
        double nearest = HUGE_VAL;
        for (size_t j = 0; j < c->count; j++) {
            const double distance = obb_length(obb_sub(c->at[j], want));
            if (!used[j] && distance < nearest) {
                nearest = distance;
                order[i] = j;
            }
        }
        used[order[i]] = true;
    }
}

/* Makes orthonormal axes from half edges. The longest edge keeps its direction. Edges too short
 * to define an axis are completed. */
static void square_up(const obb_vec3 half[static 3], int dimensions, obb_vec3 out[static 3])
{
    double length[3];
    int order[3] = {0, 1, 2};
    for (int k = 0; k < 3; k++)
        length[k] = obb_length(half[k]);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (length[order[j]] < length[order[j + 1]]) {
                const int swap = order[j];
                order[j] = order[j + 1];
                order[j + 1] = swap;
            }
    const int x = order[0], y = order[1], z = order[2];
    obb_vec3 u = {0}, v;
    if (length[x] > 0.0)
        u = unit_of_any_length(half[x]);
    else
        u = x == 0 ? (obb_vec3){.x = 1.0} : (obb_vec3){.y = 1.0};
    v = obb_sub(half[y], obb_scale(u, obb_dot(u, half[y])));
    if (dimensions == 2)
        v = (obb_vec3){-u.y, u.x, 0.0};
    else if (obb_length(v) > gain * length[x])
        v = unit_of_any_length(obb_sub(v, obb_scale(u, obb_dot(u, v))));
    else
        v = perpendicular_by_projection(u);
    out[x] = u;
    out[y] = v;
    out[z] = (y - x + 3) % 3 == 1 ? obb_cross(u, v) : obb_cross(v, u);
}

/* Makes the box whose edges at corner 0 lead to the corners of `end`, with the axes in this
 * order if in_order. Returns how far the given corners are from the corners of the box at most. */
static double box_of_edges(const struct corners *c, const size_t end[static 3], bool in_order,
                           obb_box *out)
{
    size_t order[8] = {0};
    number_corners(c, end, order);
    obb_vec3 center = {0}, half[3] = {{0}}, frame[3];
    const double share = 1.0 / (double)c->count;
    for (size_t i = 0; i < c->count; i++) {
        const obb_vec3 d = obb_sub(c->at[order[i]], c->at[0]);
        center = obb_add(center, d);
        for (int k = 0; k < c->dimensions; k++)
            half[k] = (i >> k & 1) != 0 ? obb_add(half[k], d) : obb_sub(half[k], d);
    }
    center = obb_add(c->at[0], obb_scale(center, share));
    for (int k = 0; k < 3; k++)
        half[k] = obb_scale(half[k], share);
    square_up(half, c->dimensions, frame);
    obb_box box = {.center = center, .rotation = {.w = 1.0}};
    if (!in_order) {
        lay_along(&box, frame, c->dimensions);
    } else if (c->dimensions == 2) {
        box.angle = obb_arc_tangent(frame[0].y, frame[0].x);
    } else {
        const obb_status st = obb_quat_from_axes(frame, &box.rotation);
        assert(st == OBB_OK);
        (void)st;
    }
    const obb_solid solid = obb_solid_from_box(&box, c->dimensions);
    double extent[3] = {0};
    for (int k = 0; k < c->dimensions; k++)
        for (int j = 0; j < c->dimensions; j++)
            extent[k] = fmax(extent[k], fabs(obb_dot(half[j], solid.axis[k])));
    box.half_extents = (obb_vec3){extent[0], extent[1], extent[2]};
    *out = box;

    obb_solid laid = solid;
    laid.half_extents = box.half_extents;
    obb_vec3 own[8];
    obb_solid_corners(&laid, own);
    double farthest = 0.0;
    for (size_t i = 0; i < c->count; i++) {
        double nearest = HUGE_VAL, missed = HUGE_VAL;
        for (size_t j = 0; j < c->count; j++) {
            nearest = fmin(nearest, obb_length(obb_sub(own[j], c->at[i])));
            missed = fmin(missed, obb_length(obb_sub(own[i], c->at[j])));
        }
        farthest = fmax(farthest, fmax(nearest, missed));
    }
    return farthest;
}

/* Returns v times a power of two. */
static obb_vec3 shifted(obb_vec3 v, int exponent)
{
    return (obb_vec3){ldexp(v.x, exponent), ldexp(v.y, exponent), ldexp(v.z, exponent)};
}

obb_status obb_fit_corners(const obb_vec3 *corners, size_t count, int dimensions, obb_box *out)
{
    assert(dimensions == 2 || dimensions == 3);
    if (count != (dimensions == 3 ? 8u : 4u))
        return OBB_BAD_COUNT;
    obb_vec3 at[8];
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        at[i] = corners[i];
        if (dimensions == 2)
            at[i].z = 0.0;
        if (obb_bad_coordinate(at[i]) >= 0)
            return OBB_BAD_NUMBER;
        largest = fmax(largest, obb_largest_part(at[i]));
    }
    /* Small corners are scaled up, so that no square underflows. This rounds nothing. */
    int exponent;
    (void)frexp(largest, &exponent);
    const int up = exponent < 0 ? -exponent : 0;
    for (size_t i = 0; i < count; i++)
        at[i] = shifted(at[i], up);
    const struct corners c = {.at = at, .count = count, .dimensions = dimensions};
    obb_box best;
    const double rounding = 0x1p-48 * ldexp(largest, up); /* of the coordinates */
    double farthest = box_of_edges(&c, (const size_t[]){1, 2, 4}, true, &best);
    if (farthest > rounding) {
        /* Any three of the other corners (two in the plane) may be the ends of the edges at the
         * first. */
        obb_box other = best;
        double least = HUGE_VAL;
        for (size_t i = 1; i < count; i++)
            for (size_t j = i + 1; j < count; j++)
                for (size_t k = dimensions == 3 ? j + 1 : 3; k < count; k++) {
                    obb_box box;
                    const double f = box_of_edges(&c, (const size_t[]){i, j, k}, false, &box);
                    if (f < least) {
                        least = f;
                        other = box;
                    }
                }
        /* The given order was not that of a box, or the box is thin there. */
        if (least < 0.5 * farthest) {
            farthest = least;
            best = other;
        }
    }
    const double diagonal = 2.0 * obb_length(best.half_extents);
    best.center = shifted(best.center, -up);
    best.half_extents = shifted(best.half_extents, -up);
    return farthest <= corner_slack * diagonal + rounding ? finished(&best, out) : OBB_NOT_A_BOX;
}

/* ---- Merging --------------------------------------------------------------------------------- */

/* Grows the box along its own axes to hold the points. Returns false, and the same box, if it
 * holds them already. */
static bool grown(const obb_box *box, const obb_vec3 *points, size_t count, int dimensions,
                  obb_box *out)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    double low[3], high[3], middle[3], half[3];
    bool grew = false;
    for (int k = 0; k < 3; k++) {
        half[k] = obb_component(box->half_extents, k);
        high[k] = half[k];
        low[k] = -half[k];
    }
    for (size_t i = 0; i < count; i++) {
        const obb_vec3 d = obb_sub(points[i], box->center);
        /* Of the projection, and of a corner's own coordinates (see obb_solid_corners). */
        const double rounding = flat * obb_largest_part(d) + 0x1p-49 * obb_largest_part(points[i]);
        for (int k = 0; k < dimensions; k++) {
            const double x = obb_dot(d, solid.axis[k]);
            grew = grew || fabs(x) > half[k] + rounding;
            low[k] = fmin(low[k], x);
            high[k] = fmax(high[k], x);
        }
    }
    obb_box result = *box;
    if (!grew) {
        *out = result;
        return false;
    }
    for (int k = 0; k < 3; k++)
        middle[k] = 0.5 * (low[k] + high[k]);
    result.center = moved(box->center, solid.axis, middle);
    /* Once more about the center as it was rounded: the points, and the old box. */
    const obb_vec3 back = obb_sub(box->center, result.center);
    for (int k = 0; k < dimensions; k++) {
        half[k] += fabs(obb_dot(back, solid.axis[k]));
        for (size_t i = 0; i < count; i++)
            half[k] =
                fmax(half[k], fabs(obb_dot(obb_sub(points[i], result.center), solid.axis[k])));
    }
    result.half_extents = (obb_vec3){half[0], half[1], half[2]};
    *out = result;
    return true;
}

obb_status obb_fit_merge(const obb_box *box, const obb_box *others, size_t count, int dimensions,
                         struct obb_budget *budget, obb_box *out)
{
    assert(dimensions == 2 || dimensions == 3);
    const size_t each = dimensions == 3 ? 8 : 4;
    if (count >= SIZE_MAX / 16)
        return OBB_NO_MEMORY;
    obb_vec3 *corners = obb_budget_malloc(budget, (count + 1) * each, sizeof *corners);
    if (corners == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i <= count; i++) {
        const obb_solid solid = obb_solid_from_box(i == 0 ? box : &others[i - 1], dimensions);
        obb_vec3 corner[8];
        obb_solid_corners(&solid, corner);
        memcpy(&corners[i * each], corner, each * sizeof *corners);
    }
    struct cloud c = {
        .points = corners, .count = (count + 1) * each, .dimensions = dimensions, .budget = budget};
    obb_box best;
    obb_status st = OBB_OK;
    if (grown(box, corners + each, count * each, dimensions, &best)) {
        obb_vec3 frame[3];
        obb_box other = enclose_along_coordinates(&c);
        consider(&other, dimensions, &best);
        find_shape(&c);
        principal_frame(&c, frame);
        other = enclose_along(&c, frame);
        consider(&other, dimensions, &best);
        st = tight_frame(&c, frame);
        if (st == OBB_OK) {
            other = enclose_along(&c, frame);
            consider(&other, dimensions, &best);
            st = finished(&best, out);
        }
    } else {
        *out = best;
    }
    obb_budget_free(corners);
    return st;
}
