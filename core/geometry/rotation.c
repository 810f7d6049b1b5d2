#include "core/geometry/rotation.h"

#include "core/geometry/angle.h"
#include "core/geometry/exact.h"

#include <assert.h>
#include <math.h>

/* A quaternion whose squared length is this near to 1 is kept as it came. Rounding the four
 * parts changes it by up to 2.3e-16, so normalising can always reach this bound, and a rotation
 * that the service wrote reads back to the same bits. */
static const double kept_excess = 4e-16;
static const double near_excess =
    4e-15; /* kept_excess and ample rounding of a plain sum of squares */
static const double shortest_rotation = 1e-6; /* length of a quaternion or an axis */

/* Adds the square of a part to `sum`, and the rounding errors of the square and of the sum, each
 * exact, to `rest`. */
static inline void add_square(double part, double *sum, double *rest)
{
    const double square = part * part, next = *sum + square, taken = next - *sum;
    *rest += (*sum - (next - taken)) + (square - taken);
    *rest += obb_exact_rest(part, part, square);
    *sum = next;
}

/* Returns |q|^2 - 1 for q near unit length. Squares and sums are taken with their rounding
 * errors. */
static inline double excess(obb_quat q)
{
    double sum = -1.0, rest = 0.0;
    add_square(q.x, &sum, &rest);
    add_square(q.y, &sum, &rest);
    add_square(q.z, &sum, &rest);
    add_square(q.w, &sum, &rest);
    return sum + rest;
}

static obb_quat quat_scaled(obb_quat q, double s)
{
    return (obb_quat){q.x * s, q.y * s, q.z * s, q.w * s};
}

static double quat_dot(obb_quat a, obb_quat b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* Returns q with 0.0 for -0.0. */
static obb_quat quat_without_negative_zeros(obb_quat q)
{
    return (obb_quat){q.x + 0.0, q.y + 0.0, q.z + 0.0, q.w + 0.0};
}

obb_status obb_quat_normalise(obb_quat q, obb_quat *out)
{
    /* Most boxes of most scenes are not rotated. The checks below would keep these bits, too, at
     * ten times the cost. */
    if (q.x == 0.0 && q.y == 0.0 && q.z == 0.0 && fabs(q.w) == 1.0) {
        *out = q;
        return OBB_OK;
    }
    double square = quat_dot(q, q);
    if (!(square < 0x1p+1000)) { /* huge, or not a number */
        if (!isfinite(q.x) || !isfinite(q.y) || !isfinite(q.z) || !isfinite(q.w))
            return OBB_BAD_NUMBER;
        const double largest = fmax(fmax(fabs(q.x), fabs(q.y)), fmax(fabs(q.z), fabs(q.w)));
        if (largest > 0x1p+500)
            q = quat_scaled(q, 0x1p-515); /* a power of two: rounds nothing that counts */
        square = quat_dot(q, q);
    }
    if (fabs(square - 1.0) <= near_excess && fabs(excess(q)) <= kept_excess) {
        *out = q;
        return OBB_OK;
    }
    const double length = sqrt(square);
    if (length < shortest_rotation)
        return OBB_BAD_ROTATION;
    q = (obb_quat){q.x / length, q.y / length, q.z / length, q.w / length};
    const double e = excess(q); /* up to 8 roundings */
    if (fabs(e) > kept_excess) {
        /* One correction by the exact excess leaves only the rounding of the four parts: 2 *
         * 2^-53 of 1. */
        const double f = 0.5 * e;
        q = (obb_quat){q.x - q.x * f, q.y - q.y * f, q.z - q.z * f, q.w - q.w * f};
    }
    *out = quat_without_negative_zeros(q);
    return OBB_OK;
}

/* So many quaternions are normalised at once. At -O2 compilers turn a loop into vector instructions
 * only if the number of its steps is a constant. */
#define TOGETHER 16

/* Returns whether each quaternion goes the way of most: neither kept as it is nor refused, nor so
 * large that it is scaled first. */
static bool all_go_one_way(const obb_quat *quats)
{
    for (size_t i = 0; i < TOGETHER; i++) {
        const double square = quat_dot(quats[i], quats[i]);
        if (!(square > 0x1p-30 && square < 0x1p+1000 && fabs(square - 1.0) > near_excess))
            return false;
    }
    return true;
}

/* The same steps as in obb_quat_normalise, without a branch. Lengths and comparisons, which
 * compilers do not turn into vector instructions, have loops of their own. */
static void normalise_together(obb_quat *quats)
{
    double x[TOGETHER], y[TOGETHER], z[TOGETHER], w[TOGETHER], length[TOGETHER], f[TOGETHER];
    for (size_t i = 0; i < TOGETHER; i++)
        length[i] = sqrt(quat_dot(quats[i], quats[i]));
    for (size_t i = 0; i < TOGETHER; i++) {
        x[i] = quats[i].x / length[i];
        y[i] = quats[i].y / length[i];
        z[i] = quats[i].z / length[i];
        w[i] = quats[i].w / length[i];
        f[i] = excess((obb_quat){x[i], y[i], z[i], w[i]});
    }
    for (size_t i = 0; i < TOGETHER; i++)
        f[i] = fabs(f[i]) > kept_excess ? 0.5 * f[i] : 0.0;
    for (size_t i = 0; i < TOGETHER; i++) {
        quats[i] = (obb_quat){x[i] - x[i] * f[i] + 0.0, y[i] - y[i] * f[i] + 0.0,
                              z[i] - z[i] * f[i] + 0.0, w[i] - w[i] * f[i] + 0.0};
    }
}

void obb_quats_normalise(obb_quat *quats, size_t count)
{
    size_t i = 0;
    while (i < count) {
        if (count - i >= TOGETHER && all_go_one_way(quats + i)) {
            normalise_together(quats + i);
            i += TOGETHER;
            continue;
        }
        const size_t end = count - i < TOGETHER ? count : i + TOGETHER;
        for (; i < end; i++) {
            const obb_status st = obb_quat_normalise(quats[i], &quats[i]);
            assert(st == OBB_OK);
            (void)st;
        }
    }
}

obb_status obb_quat_check(obb_quat q)
{
    const double square = quat_dot(q, q); /* NaN fails both comparisons */
    return square > 0x1p-30 && square < 0x1p+1000 ? OBB_OK : obb_quat_normalise(q, &q);
}

obb_quat obb_quat_normalise_computed(obb_quat q)
{
    const obb_status st = obb_quat_normalise(quat_without_negative_zeros(q), &q);
    assert(st == OBB_OK);
    (void)st;
    return q;
}

obb_status obb_quat_from_axis_angle(obb_vec3 axis, double degrees, obb_quat *out)
{
    if (!obb_is_finite(axis) || !isfinite(degrees))
        return OBB_BAD_NUMBER;
    const double length = obb_length_scaled(axis);
    if (length < shortest_rotation)
        return OBB_BAD_ROTATION;
    double s, c;
    obb_sin_cos(0.5 * degrees, &s, &c);
    const obb_vec3 u = obb_divide(axis, length);
    *out = obb_quat_normalise_computed((obb_quat){u.x * s, u.y * s, u.z * s, c});
    return OBB_OK;
}

void obb_axes_orthonormalise(obb_vec3 u[static 3])
{
    for (int step = 0; step < 2; step++) {
        const double xy = 0.5 * obb_dot(u[0], u[1]), yz = 0.5 * obb_dot(u[1], u[2]),
                     zx = 0.5 * obb_dot(u[2], u[0]);
        const double x = 1.5 - 0.5 * obb_dot(u[0], u[0]), y = 1.5 - 0.5 * obb_dot(u[1], u[1]),
                     z = 1.5 - 0.5 * obb_dot(u[2], u[2]);
        const obb_vec3 v[3] = {obb_combine(u, (obb_vec3){x, -xy, -zx}),
                               obb_combine(u, (obb_vec3){-xy, y, -yz}),
                               obb_combine(u, (obb_vec3){-zx, -yz, z})};
        for (int i = 0; i < 3; i++)
            u[i] = v[i];
    }
}

/* The largest part is computed from a sum of positive terms, and normalising divides the others
 * by it. */
obb_quat obb_quat_from_orthonormal(const obb_vec3 u[static 3])
{
    const double w = 1.0 + u[0].x + u[1].y + u[2].z, x = 1.0 + u[0].x - u[1].y - u[2].z,
                 y = 1.0 - u[0].x + u[1].y - u[2].z, z = 1.0 - u[0].x - u[1].y + u[2].z;
    const double wx = u[1].z - u[2].y, wy = u[2].x - u[0].z, wz = u[0].y - u[1].x;
    const double xy = u[0].y + u[1].x, yz = u[1].z + u[2].y, zx = u[2].x + u[0].z;
    obb_quat q;
    if (w >= x && w >= y && w >= z)
        q = (obb_quat){wx, wy, wz, w};
    else if (x >= y && x >= z)
        q = (obb_quat){x, xy, zx, wx};
    else if (y >= z)
        q = (obb_quat){xy, y, yz, wy};
    else
        q = (obb_quat){zx, yz, z, wz};
    return obb_quat_normalise_computed(q); /* its largest part is at least 1 */
}

obb_status obb_quat_from_axes(const obb_vec3 axes[static 3], obb_quat *out)
{
    obb_vec3 u[3];
    for (int i = 0; i < 3; i++) {
        if (!obb_is_finite(axes[i]))
            return OBB_BAD_NUMBER;
        u[i] = axes[i];
    }
    for (int i = 0; i < 3; i++)
        if (!(fabs(obb_length_scaled(u[i]) - 1.0) <= OBB_LARGEST_SHEAR))
            return OBB_NOT_ORTHONORMAL;
    for (int i = 0; i < 3; i++)
        if (fabs(obb_dot(u[i], u[(i + 1) % 3])) > OBB_LARGEST_SHEAR)
            return OBB_NOT_ORTHONORMAL;
    if (obb_axes_left_handed(u))
        u[2] = obb_negate(u[2]);
    obb_axes_orthonormalise(u);
    *out = obb_quat_from_orthonormal(u);
    return OBB_OK;
}

obb_quat obb_quat_product(obb_quat a, obb_quat b)
{
    return (obb_quat){
        a.w * b.x + a.x * b.w + (a.y * b.z - a.z * b.y),
        a.w * b.y + a.y * b.w + (a.z * b.x - a.x * b.z),
        a.w * b.z + a.z * b.w + (a.x * b.y - a.y * b.x),
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    };
}

/* Returns sin(t a) / sin(a), where x = cos(a) - 1 and -0.3 <= x <= 0. About 20 terms at most, 5
 * for a few degrees. */
static double slerp_weight(double t, double x)
{
    double sum = t, term = t;
    for (int n = 1; fabs(term) > 0x1p-58 * sum; n++) {
        const double i = n;
        term *= x * (t * t - i * i) / (i * (2.0 * i + 1.0));
        sum += term;
    }
    return sum;
}

static obb_quat quat_added(obb_quat a, obb_quat b)
{
    return (obb_quat){a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

/* Returns the rotation at t in (0, 1) from a to b, which are at most 90 degrees apart as vectors
 * of four. */
static obb_quat slerp(obb_quat a, obb_quat b, double t)
{
    obb_quat apart = quat_added(b, quat_scaled(a, -1.0));
    double x = -0.5 * quat_dot(apart, apart); /* cos - 1 without cancellation */
    if (x < -0.3) {
        /* The two are too far apart for the series: take the half of the arc that holds t. */
        obb_quat middle = quat_added(a, b);
        middle = quat_scaled(middle, 1.0 / sqrt(quat_dot(middle, middle)));
        if (t < 0.5)
            b = middle;
        else
            a = middle;
        t = t < 0.5 ? 2.0 * t : 2.0 * t - 1.0;
        apart = quat_added(b, quat_scaled(a, -1.0));
        x = -0.5 * quat_dot(apart, apart);
    }
    return obb_quat_normalise_computed(
        quat_added(quat_scaled(a, slerp_weight(1.0 - t, x)), quat_scaled(b, slerp_weight(t, x))));
}

obb_quat obb_quat_slerp(obb_quat a, obb_quat b, double t)
{
    /* b and -b are one rotation: take the nearer. */
    const obb_quat sum = quat_added(a, b), difference = quat_added(a, quat_scaled(b, -1.0));
    const double s = quat_dot(sum, sum), d = quat_dot(difference, difference);
    if (s == 0.0 || d == 0.0)
        return a;
    return slerp(a, s < d ? quat_scaled(b, -1.0) : b, t);
}
