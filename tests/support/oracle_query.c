#include "tests/support/oracle_query.h"

#include <math.h>

/* ---- Long double vectors --------------------------------------------------------------------- */

typedef struct vec3l {
    long double x, y, z;
} vec3l;

static long double wide(double v) { return (long double)v; }
static vec3l widened(obb_vec3 v) { return (vec3l){wide(v.x), wide(v.y), wide(v.z)}; }
static vec3l plus(vec3l a, vec3l b) { return (vec3l){a.x + b.x, a.y + b.y, a.z + b.z}; }
static vec3l minus(vec3l a, vec3l b) { return (vec3l){a.x - b.x, a.y - b.y, a.z - b.z}; }
static vec3l times(vec3l a, long double s) { return (vec3l){a.x * s, a.y * s, a.z * s}; }
static long double dot(vec3l a, vec3l b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static long double length(vec3l a) { return sqrtl(dot(a, a)); }
static vec3l cross(vec3l a, vec3l b)
{
    return (vec3l){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* ---- Random solids --------------------------------------------------------------------------- */

obb_vec3 slow_random_vector(test_rng *rng, int dimensions, double size)
{
    return (obb_vec3){test_uniform(rng, -size, size), test_uniform(rng, -size, size),
                      dimensions == 3 ? test_uniform(rng, -size, size) : 0.0};
}

obb_solid slow_solid(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation)
{
    long double x = wide(rotation.x), y = wide(rotation.y), z = wide(rotation.z),
                w = wide(rotation.w);
    const long double norm = sqrtl(x * x + y * y + z * z + w * w);
    x /= norm;
    y /= norm;
    z /= norm;
    w /= norm;
    return (obb_solid){
        .center = center,
        .half_extents = half_extents,
        .axis = {{(double)(1 - 2 * (y * y + z * z)), (double)(2 * (x * y + w * z)),
                  (double)(2 * (x * z - w * y))},
                 {(double)(2 * (x * y - w * z)), (double)(1 - 2 * (x * x + z * z)),
                  (double)(2 * (y * z + w * x))},
                 {(double)(2 * (x * z + w * y)), (double)(2 * (y * z - w * x)),
                  (double)(1 - 2 * (x * x + y * y))}},
        .dimensions = 3,
    };
}

obb_solid slow_random_solid(test_rng *rng, int dimensions, obb_vec3 about, double spread,
                            double size)
{
    const obb_vec3 center = obb_add(about, slow_random_vector(rng, dimensions, spread));
    double half[3];
    for (int i = 0; i < 3; i++)
        half[i] = test_below(rng, 16) == 0 ? 0.0 : test_uniform(rng, 0.05 * size, size);
    if (dimensions == 2)
        half[2] = 0.0;
    obb_quat turn = {0.0, 0.0, test_uniform(rng, -1.0, 1.0), test_uniform(rng, -1.0, 1.0)};
    if (dimensions == 3) {
        turn.x = test_uniform(rng, -1.0, 1.0);
        turn.y = test_uniform(rng, -1.0, 1.0);
    }
    if (test_below(rng, 3) == 0)
        turn = (obb_quat){0.0, 0.0, 0.0, 1.0};
    obb_solid solid = slow_solid(center, (obb_vec3){half[0], half[1], half[2]}, turn);
    solid.dimensions = dimensions;
    return solid;
}

void slow_corners(const obb_solid *solid, obb_vec3 out[static 8])
{
    for (int i = 0; i < 8; i++) {
        vec3l p = widened(solid->center);
        const double half[3] = {solid->half_extents.x, solid->half_extents.y,
                                solid->half_extents.z};
        for (int j = 0; j < 3; j++)
            p = plus(p,
                     times(widened(solid->axis[j]), wide((i >> j & 1) != 0 ? half[j] : -half[j])));
        out[i] = (obb_vec3){(double)p.x, (double)p.y, (double)p.z};
    }
}

/* ---- Convex functions of one variable -------------------------------------------------------- */

typedef long double convex(const void *context, long double t);

/* Where f is least on [low, high], by thirds. */
static long double argmin(convex *f, const void *context, long double low, long double high)
{
    for (int i = 0; i < 200; i++) {
        const long double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (f(context, a) <= f(context, b))
            high = b;
        else
            low = a;
    }
    return (low + high) / 2;
}

/* Where f passes 0 between `outside`, where it is > 0, and `inside`, where it is not. */
static long double crossing(convex *f, const void *context, long double outside, long double inside)
{
    if (f(context, outside) <= 0)
        return outside;
    for (int i = 0; i < 200; i++) {
        const long double middle = (outside + inside) / 2;
        if (f(context, middle) > 0)
            outside = middle;
        else
            inside = middle;
    }
    return inside;
}

static slow_span span_of(convex *f, const void *context, long double reach)
{
    long double best = argmin(f, context, 0, reach);
    if (f(context, 0) <= f(context, best))
        best = 0;
    if (f(context, reach) < f(context, best))
        best = reach;
    slow_span span = {.clearance = f(context, best)};
    if (span.clearance <= 0) {
        span.enter = crossing(f, context, 0, best);
        span.leave = crossing(f, context, reach, best);
    }
    return span;
}

/* ---- Rays and sweeps ------------------------------------------------------------------------- */

/* offset: of the point from the box's centre, taken first, so that nothing is lost far from the
 * origin. */
static long double excess(vec3l offset, const obb_solid *box)
{
    long double most = -HUGE_VALL;
    for (int i = 0; i < box->dimensions; i++)
        most = fmaxl(most, fabsl(dot(widened(box->axis[i]), offset)) -
                               wide(obb_component(box->half_extents, i)));
    return most;
}

long double slow_excess(obb_vec3 point, const obb_solid *box)
{
    return excess(minus(widened(point), widened(box->center)), box);
}

struct ray_context {
    vec3l offset, direction;
    const obb_solid *box;
};

static long double excess_on_ray(const void *context, long double t)
{
    const struct ray_context *c = context;
    return excess(plus(c->offset, times(c->direction, t)), c->box);
}

slow_span slow_ray(obb_vec3 origin, obb_vec3 direction, double reach, const obb_solid *box)
{
    const struct ray_context context = {minus(widened(origin), widened(box->center)),
                                        widened(direction), box};
    return span_of(excess_on_ray, &context, wide(reach));
}

static long double gap_on(vec3l axis, vec3l offset, const obb_solid *a, const obb_solid *b)
{
    long double gap = fabsl(dot(axis, offset));
    for (int i = 0; i < a->dimensions; i++)
        gap -= wide(obb_component(a->half_extents, i)) * fabsl(dot(axis, widened(a->axis[i]))) +
               wide(obb_component(b->half_extents, i)) * fabsl(dot(axis, widened(b->axis[i])));
    return gap / length(axis);
}

long double slow_moved_gap(const obb_solid *a, obb_vec3 motion, long double t, const obb_solid *b)
{
    const vec3l offset =
        plus(minus(widened(a->center), widened(b->center)), times(widened(motion), t));
    long double most = -HUGE_VALL;
    for (int i = 0; i < a->dimensions; i++) {
        most = fmaxl(most, gap_on(widened(a->axis[i]), offset, a, b));
        most = fmaxl(most, gap_on(widened(b->axis[i]), offset, a, b));
        for (int j = 0; j < 3 && a->dimensions == 3; j++) {
            const vec3l axis = cross(widened(a->axis[i]), widened(b->axis[j]));
            if (length(axis) >= 1e-9L)
                most = fmaxl(most, gap_on(axis, offset, a, b));
        }
    }
    return most;
}

long double slow_gap(const obb_solid *a, const obb_solid *b)
{
    return slow_moved_gap(a, (obb_vec3){0.0, 0.0, 0.0}, 0, b);
}

struct sweep_context {
    const obb_solid *a, *b;
    obb_vec3 motion;
};

static long double gap_on_way(const void *context, long double t)
{
    const struct sweep_context *c = context;
    return slow_moved_gap(c->a, c->motion, t, c->b);
}

slow_span slow_sweep(const obb_solid *a, obb_vec3 motion, const obb_solid *b)
{
    const struct sweep_context context = {a, b, motion};
    return span_of(gap_on_way, &context, 1);
}

/* ---- Distances ------------------------------------------------------------------------------- */

struct segment_context {
    vec3l offset, way; /* from the box's centre */
    const obb_solid *box;
};

static long double distance_on_segment(const void *context, long double t)
{
    const struct segment_context *c = context;
    const vec3l local = plus(c->offset, times(c->way, t));
    long double squares = 0;
    for (int i = 0; i < c->box->dimensions; i++) {
        const long double beyond = fmaxl(fabsl(dot(widened(c->box->axis[i]), local)) -
                                             wide(obb_component(c->box->half_extents, i)),
                                         0);
        squares += beyond * beyond;
    }
    return sqrtl(squares);
}

long double slow_segment_distance(obb_vec3 p, obb_vec3 q, const obb_solid *box)
{
    const struct segment_context context = {minus(widened(p), widened(box->center)),
                                            minus(widened(q), widened(p)), box};
    const long double best = argmin(distance_on_segment, &context, 0, 1);
    return fminl(distance_on_segment(&context, best),
                 fminl(distance_on_segment(&context, 0), distance_on_segment(&context, 1)));
}

/* The gap of the projections; axes that are mere rounding separate nothing. */
static long double hull_gap_on(vec3l axis, const vec3l a[static 8], const vec3l b[static 8])
{
    const long double norm = length(axis);
    if (!(norm > 1e-15L))
        return -HUGE_VALL;
    long double a_low = HUGE_VALL, a_high = -HUGE_VALL, b_low = HUGE_VALL, b_high = -HUGE_VALL;
    for (int i = 0; i < 8; i++) {
        const long double pa = dot(axis, a[i]) / norm, pb = dot(axis, b[i]) / norm;
        a_low = fminl(a_low, pa);
        a_high = fmaxl(a_high, pa);
        b_low = fminl(b_low, pb);
        b_high = fmaxl(b_high, pb);
    }
    return fmaxl(a_low - b_high, b_low - a_high);
}

static long double face_gap(const vec3l a[static 8], const vec3l b[static 8])
{
    long double most = -HUGE_VALL;
    for (int i = 0; i < 8; i++)
        for (int j = i + 1; j < 8; j++)
            for (int k = j + 1; k < 8; k++)
                most = fmaxl(most, hull_gap_on(cross(minus(a[j], a[i]), minus(a[k], a[i])), a, b));
    return most;
}

/* The axes from corners to corners, and from corners straight to lines through two others. Only
 * hulls without a volume need them: those have too few faces to part them sideways. */
static long double flat_gap(const vec3l a[static 8], const vec3l b[static 8])
{
    long double most = -HUGE_VALL;
    for (int p = 0; p < 8; p++)
        for (int i = 0; i < 8; i++) {
            const vec3l way = minus(b[p], a[i]);
            most = fmaxl(most, hull_gap_on(way, a, b));
            for (int j = i + 1; j < 8; j++) {
                const vec3l edge = minus(a[j], a[i]);
                most = fmaxl(most, hull_gap_on(cross(cross(edge, way), edge), a, b));
            }
        }
    return most;
}

static void widen_all(const obb_vec3 from[static 8], vec3l to[static 8])
{
    for (int i = 0; i < 8; i++)
        to[i] = widened(from[i]);
}

long double slow_hull_gap(const obb_vec3 a[static 8], const obb_vec3 b[static 8])
{
    vec3l pa[8], pb[8];
    widen_all(a, pa);
    widen_all(b, pb);
    long double most = fmaxl(face_gap(pa, pb), face_gap(pb, pa));
    for (int i = 0; i < 8; i++)
        for (int j = i + 1; j < 8; j++)
            for (int k = 0; k < 8; k++)
                for (int m = k + 1; m < 8; m++)
                    most = fmaxl(
                        most, hull_gap_on(cross(minus(pa[j], pa[i]), minus(pb[m], pb[k])), pa, pb));
    return most > 0 ? most : fmaxl(most, fmaxl(flat_gap(pa, pb), flat_gap(pb, pa)));
}

static long double clamped(long double t) { return fminl(fmaxl(t, 0), 1); }

/* Segments p + s * u and q + t * v by alternating projection from the unconstrained solution
 * (Ericson 5.1.9). */
static long double segment_to_segment(vec3l p, vec3l u, vec3l q, vec3l v)
{
    const vec3l r = minus(p, q);
    const long double a = dot(u, u), e = dot(v, v), b = dot(u, v), c = dot(u, r), f = dot(v, r);
    const long double det = a * e - b * b;
    long double s = det > 0 ? clamped((b * f - c * e) / det) : 0;
    const long double t = e > 0 ? clamped((b * s + f) / e) : 0;
    s = a > 0 ? clamped((b * t - c) / a) : 0;
    return length(minus(plus(p, times(u, s)), plus(q, times(v, t))));
}

/* The height of p over the triangle, infinite when it does not stand over it. */
static long double height_over(vec3l p, vec3l i, vec3l j, vec3l k)
{
    const vec3l normal = cross(minus(j, i), minus(k, i));
    const long double norm = length(normal);
    if (!(norm > 1e-15L) || dot(cross(minus(j, i), minus(p, i)), normal) < 0 ||
        dot(cross(minus(k, j), minus(p, j)), normal) < 0 ||
        dot(cross(minus(i, k), minus(p, k)), normal) < 0)
        return HUGE_VALL;
    return fabsl(dot(normal, minus(p, i))) / norm;
}

static long double over_faces(const vec3l points[static 8], const vec3l hull[static 8])
{
    long double least = HUGE_VALL;
    for (int p = 0; p < 8; p++)
        for (int i = 0; i < 8; i++)
            for (int j = i + 1; j < 8; j++)
                for (int k = j + 1; k < 8; k++)
                    least = fminl(least, height_over(points[p], hull[i], hull[j], hull[k]));
    return least;
}

long double slow_hull_distance(const obb_vec3 a[static 8], const obb_vec3 b[static 8])
{
    if (slow_hull_gap(a, b) <= 0)
        return 0;
    vec3l pa[8], pb[8];
    widen_all(a, pa);
    widen_all(b, pb);
    long double least = fminl(over_faces(pa, pb), over_faces(pb, pa));
    for (int i = 0; i < 8; i++)
        for (int j = i + 1; j < 8; j++)
            for (int k = 0; k < 8; k++)
                for (int m = k + 1; m < 8; m++)
                    least = fminl(least, segment_to_segment(pa[i], minus(pa[j], pa[i]), pb[k],
                                                            minus(pb[m], pb[k])));
    return least;
}
