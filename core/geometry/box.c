#include "core/geometry/box.h"

#include "core/geometry/angle.h"
#include "core/geometry/exact.h"

#include <assert.h>
#include <math.h>

/* A quaternion whose squared length is this near to 1 is kept as it came. Rounding four parts alone makes up to 2.3e-16
 * of it, so normalising can always get there, and what this service wrote reads back to the same bits. */
static const double kept_excess = 4e-16;
static const double near_excess = 4e-15; /* what a plain sum of squares may make of that, amply */
static const double shortest_rotation = 1e-6; /* length of a quaternion or an axis */

/* Components of axes below this are rounding: those of a quaternion for a multiple of 90 degrees, made by a few
 * products of others, are off by a few 1e-16. Three decades below what any verdict depends on. */
static const double axis_noise = 1e-15;

static const double largest_shear =
    1e-6; /* cosine between two axes, and deviation of their lengths from 1 */

/* A column of a matrix this much shorter than the longest may be the rounding of zero: it need not be at right angles. */
static const double column_noise = 1e-12;

/* ---- Numbers --------------------------------------------------------------------------------------------- */

static bool in_range(double v) { return fabs(v) <= OBB_MAX_COORDINATE; } /* false for NaN */

static bool finite3(obb_vec3 v) { return isfinite(v.x) && isfinite(v.y) && isfinite(v.z); }

int obb_bad_coordinate(obb_vec3 v)
{
    return !in_range(v.x) ? 0 : !in_range(v.y) ? 1 : !in_range(v.z) ? 2 : -1;
}

int obb_bad_extent(obb_vec3 v) { return v.x < 0.0 ? 0 : v.y < 0.0 ? 1 : v.z < 0.0 ? 2 : -1; }

/* The length, also where squares would over- or underflow. */
static double length_of(obb_vec3 v)
{
    const double largest = fmax(fabs(v.x), fmax(fabs(v.y), fabs(v.z)));
    if (largest == 0.0 || (largest > 1e-140 && largest < 1e140))
        return obb_length(v);
    return obb_length((obb_vec3){v.x / largest, v.y / largest, v.z / largest}) * largest;
}

static obb_vec3 divided(obb_vec3 v, double by) { return (obb_vec3){v.x / by, v.y / by, v.z / by}; }

/* x * a[0] + y * a[1] + z * a[2]: from coordinates along axes to the frame of the axes. */
static obb_vec3 along(const obb_vec3 a[static 3], double x, double y, double z)
{
    return (obb_vec3){a[0].x * x + a[1].x * y + a[2].x * z, a[0].y * x + a[1].y * y + a[2].y * z,
                      a[0].z * x + a[1].z * y + a[2].z * z};
}

/* ---- Rotations ------------------------------------------------------------------------------------------- */

/* |q|^2 - 1, for q near unit length: squares and sums with what they lose to rounding. */
static double excess(obb_quat q)
{
    const double part[4] = {q.x, q.y, q.z, q.w};
    double square[4], lost[4];
    for (int i = 0; i < 4; i++) { /* apart from the sum, so that vectors are made of it */
        square[i] = part[i] * part[i];
        lost[i] = obb_exact_rest(part[i], part[i], square[i]);
    }
    double sum = -1.0, rest = 0.0;
    for (int i = 0; i < 4; i++) {
        const double next = sum + square[i], taken = next - sum;
        rest += (sum - (next - taken)) + (square[i] - taken); /* exactly what the sum lost */
        rest += lost[i];
        sum = next;
    }
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

obb_status obb_quat_normalise(obb_quat q, obb_quat *out)
{
    double square = quat_dot(q, q);
    if (!(square < 0x1p+1000)) { /* huge, or not a number */
        if (!isfinite(q.x) || !isfinite(q.y) || !isfinite(q.z) || !isfinite(q.w))
            return OBB_BAD_NUMBER;
        const double largest = fmax(fmax(fabs(q.x), fabs(q.y)), fmax(fabs(q.z), fabs(q.w)));
        if (largest > 0x1p+500)
            q = quat_scaled(q, 0x1p-515); /* a power of two: nothing is rounded that counts */
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
        /* One correction by the exact excess leaves just the rounding of the four parts: 2 * 2^-53 of 1. */
        const double f = 0.5 * e;
        q = (obb_quat){q.x - q.x * f, q.y - q.y * f, q.z - q.z * f, q.w - q.w * f};
    }
    *out = q;
    return OBB_OK;
}

obb_status obb_quat_from_axis_angle(obb_vec3 axis, double degrees, obb_quat *out)
{
    if (!finite3(axis) || !isfinite(degrees))
        return OBB_BAD_NUMBER;
    const double length = length_of(axis);
    if (length < shortest_rotation)
        return OBB_BAD_ROTATION;
    double s, c;
    obb_sin_cos(0.5 * degrees, &s, &c);
    const obb_vec3 u = divided(axis, length);
    return obb_quat_normalise((obb_quat){u.x * s, u.y * s, u.z * s, c}, out);
}

/* Axes within 1e-6 of orthonormal made so, all giving way alike: each step of Bjorck and Bowie, "An Iterative Algorithm
 * for Computing the Best Estimate of an Orthogonal Matrix", SIAM J. Numer. Anal. 8(2), 1971, squares the error. */
static void orthonormalise(obb_vec3 u[static 3])
{
    for (int step = 0; step < 2; step++) {
        const double xy = 0.5 * obb_dot(u[0], u[1]), yz = 0.5 * obb_dot(u[1], u[2]),
                     zx = 0.5 * obb_dot(u[2], u[0]);
        const double x = 1.5 - 0.5 * obb_dot(u[0], u[0]), y = 1.5 - 0.5 * obb_dot(u[1], u[1]),
                     z = 1.5 - 0.5 * obb_dot(u[2], u[2]);
        const obb_vec3 v[3] = {along(u, x, -xy, -zx), along(u, -xy, y, -yz), along(u, -zx, -yz, z)};
        for (int i = 0; i < 3; i++)
            u[i] = v[i];
    }
}

/* The rotation with these orthonormal right-handed columns. The largest part is computed from a sum of positive terms
 * and divides the others: Shepperd, "Quaternion from Rotation Matrix", J. Guidance and Control 1(3), 1978. */
static obb_quat quat_from_orthonormal(const obb_vec3 u[static 3])
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
    const obb_status st = obb_quat_normalise(q, &q);
    assert(st == OBB_OK); /* its largest part is at least 1 */
    (void)st;
    return q;
}

static bool left_handed(const obb_vec3 u[static 3])
{
    return obb_dot(obb_cross(u[0], u[1]), u[2]) < 0.0;
}

obb_status obb_quat_from_axes(const obb_vec3 axes[static 3], obb_quat *out)
{
    obb_vec3 u[3];
    for (int i = 0; i < 3; i++) {
        if (!finite3(axes[i]))
            return OBB_BAD_NUMBER;
        u[i] = axes[i];
    }
    for (int i = 0; i < 3; i++)
        if (!(fabs(length_of(u[i]) - 1.0) <= largest_shear))
            return OBB_NOT_ORTHONORMAL;
    for (int i = 0; i < 3; i++)
        if (fabs(obb_dot(u[i], u[(i + 1) % 3])) > largest_shear)
            return OBB_NOT_ORTHONORMAL;
    if (left_handed(u))
        u[2] = obb_negate(u[2]);
    orthonormalise(u);
    *out = quat_from_orthonormal(u);
    return OBB_OK;
}

/* ---- Forms ----------------------------------------------------------------------------------------------- */

obb_status obb_box_from_pose(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation,
                             double angle, int dimensions, obb_box *out)
{
    assert(dimensions == 2 || dimensions == 3);
    obb_box box = {.center = center, .half_extents = half_extents, .rotation = {.w = 1.0}};
    if (dimensions == 2)
        box.center.z = box.half_extents.z = 0.0;
    if (obb_bad_coordinate(box.center) >= 0 || obb_bad_coordinate(box.half_extents) >= 0)
        return OBB_BAD_NUMBER;
    obb_status st = OBB_OK;
    if (dimensions == 3)
        st = obb_quat_normalise(rotation, &box.rotation);
    else if (isfinite(angle))
        box.angle = angle;
    else
        st = OBB_BAD_NUMBER;
    if (st == OBB_BAD_NUMBER)
        return st;
    if (obb_bad_extent(box.half_extents) >= 0)
        return OBB_BAD_EXTENT;
    if (st == OBB_OK)
        *out = box;
    return st;
}

obb_status obb_box_from_min_max(obb_vec3 min, obb_vec3 max, obb_vec3 position, obb_quat rotation,
                                double angle, int dimensions, obb_box *out)
{
    if (dimensions == 2)
        min.z = max.z = position.z = 0.0;
    if (obb_bad_coordinate(min) >= 0 || obb_bad_coordinate(max) >= 0 ||
        obb_bad_coordinate(position) >= 0)
        return OBB_BAD_NUMBER;
    obb_box box;
    const obb_vec3 half_extents = obb_scale(obb_sub(max, min), 0.5);
    const obb_status st =
        obb_box_from_pose(position, half_extents, rotation, angle, dimensions, &box);
    if (st != OBB_OK)
        return st;
    const obb_vec3 local = obb_scale(obb_add(min, max), 0.5);
    const obb_solid solid = obb_solid_from_box(&box, dimensions);
    box.center = obb_add(position, along(solid.axis, local.x, local.y, local.z));
    if (obb_bad_coordinate(box.center) >= 0)
        return OBB_BAD_NUMBER;
    *out = box;
    return OBB_OK;
}

static bool square(const obb_vec3 u[static 3], const bool said[static 3])
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        if (said[i] && said[j] && fabs(obb_dot(u[i], u[j])) > largest_shear)
            return false;
    }
    return true;
}

/* A unit vector at right angles to u; a coordinate axis where u is one. */
static obb_vec3 perpendicular(obb_vec3 u)
{
    const double x = fabs(u.x), y = fabs(u.y), z = fabs(u.z);
    const obb_vec3 least = x <= y && x <= z ? (obb_vec3){.x = 1.0}
                           : y <= z         ? (obb_vec3){.y = 1.0}
                                            : (obb_vec3){.z = 1.0};
    const obb_vec3 v = obb_cross(least, u);
    return divided(v, obb_length(v));
}

/* Fills in the unit axes that are not said. */
static void complete(obb_vec3 u[static 3], const bool said[static 3])
{
    const int count = said[0] + said[1] + said[2];
    if (count == 2) {
        const int k = !said[0] ? 0 : !said[1] ? 1 : 2;
        const obb_vec3 v = obb_cross(u[(k + 1) % 3], u[(k + 2) % 3]);
        u[k] = divided(v, obb_length(v));
    } else if (count == 1) {
        const int k = said[0] ? 0 : said[1] ? 1 : 2;
        u[(k + 1) % 3] = perpendicular(u[k]);
        u[(k + 2) % 3] = obb_cross(u[k], u[(k + 1) % 3]);
    } else if (count == 0) {
        u[0] = (obb_vec3){.x = 1.0};
        u[1] = (obb_vec3){.y = 1.0};
        u[2] = (obb_vec3){.z = 1.0};
    }
}

/* Orthonormal right-handed axes from the images of a box's axes, d, of lengths `length`; half_extents tells which of them
 * the box's points do not depend on. */
static obb_status axes_from_images(const obb_vec3 d[static 3], const double length[static 3],
                                   obb_vec3 half_extents, obb_vec3 out[static 3])
{
    const double longest = fmax(length[0], fmax(length[1], length[2]));
    bool said[3];
    int count = 0;
    for (int i = 0; i < 3; i++) {
        said[i] = length[i] > 0.0;
        count += said[i];
        out[i] = said[i] ? divided(d[i], length[i]) : d[i];
    }
    if (count < 2)
        return OBB_SINGULAR;
    if (!square(out, said)) {
        for (int i = 0; i < 3; i++)
            if (obb_component(half_extents, i) == 0.0 || length[i] <= column_noise * longest)
                said[i] = false;
        if (!square(out, said))
            return OBB_SHEARED;
    }
    complete(out, said);
    if (left_handed(out))
        out[2] = obb_negate(out[2]);
    orthonormalise(out);
    return OBB_OK;
}

static obb_vec3 times(const obb_vec3 columns[static 3], obb_vec3 v)
{
    return along(columns, v.x, v.y, v.z);
}

/* The image of the box under the linear map with these columns. */
static obb_status image(const obb_box *box, const obb_vec3 columns[static 3], int dimensions,
                        obb_box *out)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    obb_vec3 d[3];
    double length[3], gain[3];
    bool turned = false;
    for (int i = 0; i < 3; i++) {
        d[i] = times(columns, solid.axis[i]);
        length[i] = length_of(d[i]);
        if (!isfinite(length[i]))
            return OBB_BAD_NUMBER;
    }
    if (dimensions == 2) /* no third axis to be singular or noise in */
        d[2] = (obb_vec3){.z = length[2] = fmax(length[0], length[1])};
    for (int i = 0; i < 3; i++) {
        /* As a ratio the gain of an identity is exactly 1, and that of a rotation is taken for 1. */
        gain[i] = length[i] / obb_length(solid.axis[i]);
        if (fabs(gain[i] - 1.0) <= axis_noise)
            gain[i] = 1.0;
        const obb_vec3 u = length[i] > 0.0 ? divided(d[i], length[i]) : solid.axis[i];
        turned = turned || obb_length(obb_cross(u, solid.axis[i])) > axis_noise;
    }
    obb_vec3 u[3];
    const obb_status st = axes_from_images(d, length, box->half_extents, u);
    if (st != OBB_OK)
        return st;
    obb_box image = *box;
    image.center = times(columns, box->center);
    image.half_extents = (obb_vec3){box->half_extents.x * gain[0], box->half_extents.y * gain[1],
                                    dimensions == 2 ? 0.0 : box->half_extents.z * gain[2]};
    if (turned && dimensions == 3)
        image.rotation = quat_from_orthonormal(u);
    else if (turned)
        image.angle = obb_arc_tangent(u[0].y, u[0].x);
    *out = image;
    return OBB_OK;
}

static obb_status transform_by_matrix(const obb_box *box, const double m[static 16], obb_box *out)
{
    for (int i = 0; i < 16; i++)
        if (!isfinite(m[i]))
            return OBB_BAD_NUMBER;
    if (m[3] != 0.0 || m[7] != 0.0 || m[11] != 0.0 || m[15] != 1.0)
        return OBB_BAD_VALUE;
    const obb_vec3 columns[3] = {{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}};
    const obb_status st = image(box, columns, 3, out);
    if (st == OBB_OK)
        out->center = obb_add(out->center, (obb_vec3){m[12], m[13], m[14]});
    return st;
}

static bool box_in_range(const obb_box *box)
{
    return obb_bad_coordinate(box->center) < 0 && obb_bad_coordinate(box->half_extents) < 0;
}

obb_status obb_box_from_matrix(const double matrix[static 16], const obb_vec3 *half_extents,
                               obb_box *out)
{
    const obb_vec3 h = half_extents != NULL ? *half_extents : (obb_vec3){1.0, 1.0, 1.0};
    obb_box box;
    obb_status st = obb_box_from_pose((obb_vec3){0}, h, (obb_quat){.w = 1.0}, 0.0, 3, &box);
    if (st == OBB_OK)
        st = transform_by_matrix(&box, matrix, &box);
    if (st == OBB_OK && !box_in_range(&box))
        st = OBB_BAD_NUMBER;
    if (st == OBB_OK)
        *out = box;
    return st;
}

/* ---- What follows ---------------------------------------------------------------------------------------- */

static bool noisy(obb_vec3 a)
{
    return fabs(a.x) < axis_noise || fabs(a.y) < axis_noise || fabs(a.z) < axis_noise;
}

static double without_noise(double v) { return fabs(v) < axis_noise ? 0.0 : v; }

static obb_vec3 snapped(obb_vec3 a)
{
    a = (obb_vec3){without_noise(a.x), without_noise(a.y), without_noise(a.z)};
    if (a.y == 0.0 && a.z == 0.0)
        a.x = a.x < 0.0 ? -1.0 : 1.0;
    else if (a.z == 0.0 && a.x == 0.0)
        a.y = a.y < 0.0 ? -1.0 : 1.0;
    else if (a.x == 0.0 && a.y == 0.0)
        a.z = a.z < 0.0 ? -1.0 : 1.0;
    return a;
}

obb_solid obb_solid_from_box(const obb_box *box, int dimensions)
{
    assert(dimensions == 2 || dimensions == 3);
    obb_solid solid = {
        .center = box->center, .half_extents = box->half_extents, .dimensions = dimensions};
    if (dimensions == 2) {
        double s, c;
        obb_sin_cos(box->angle, &s, &c);
        solid.axis[0] = snapped((obb_vec3){c, s, 0.0});
        solid.axis[1] = (obb_vec3){0.0 - solid.axis[0].y, solid.axis[0].x, 0.0};
        solid.axis[2] = (obb_vec3){0.0, 0.0, 1.0};
        return solid;
    }
    /* Squares on the diagonal, not 1 - 2(yy + zz): columns then stay orthogonal and equally long however far the squared
     * length is from 1, and equal squares cancel exactly. Each component is off by at most 4e-16 of its value for that
     * length, and 4 * 2^-53 for rounding. */
    const obb_quat q = box->rotation;
    const double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, ww = q.w * q.w;
    const double xy = q.x * q.y, yz = q.y * q.z, zx = q.z * q.x;
    const double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    solid.axis[0] = (obb_vec3){(ww - yy) + (xx - zz), 2.0 * (xy + wz), 2.0 * (zx - wy)};
    solid.axis[1] = (obb_vec3){2.0 * (xy - wz), (ww - zz) + (yy - xx), 2.0 * (yz + wx)};
    solid.axis[2] = (obb_vec3){2.0 * (zx + wy), 2.0 * (yz - wx), (ww - xx) + (zz - yy)};
    if (noisy(solid.axis[0]) || noisy(solid.axis[1]) || noisy(solid.axis[2]))
        for (int i = 0; i < 3; i++)
            solid.axis[i] = snapped(solid.axis[i]);
    return solid;
}

void obb_solid_corners(const obb_solid *solid, obb_vec3 out_corners[static 8])
{
    const obb_vec3 h = solid->half_extents;
    for (unsigned i = 0; i < 8; i++)
        out_corners[i] =
            obb_add(solid->center, along(solid->axis, (i & 1) != 0 ? h.x : -h.x,
                                         (i & 2) != 0 ? h.y : -h.y, (i & 4) != 0 ? h.z : -h.z));
}

/* At least h.x * |x| + h.y * |y| + h.z * |z|, and exactly that for a coordinate axis. */
static double reach(obb_vec3 h, double x, double y, double z)
{
    x = fabs(x);
    y = fabs(y);
    z = fabs(z);
    const double sum = h.x * x + h.y * y + h.z * z;
    const bool exact = (x == 0.0 || x == 1.0) && (y == 0.0 || y == 1.0) && (z == 0.0 || z == 1.0);
    if (exact || (h.x == 0.0 && h.y == 0.0 && h.z == 0.0))
        return sum;
    /* Three roundings of 2^-53 each went down at most; 2^-50 and its own rounding make up for them, and the last term
     * for products that underflowed. */
    return sum * (1.0 + 0x1p-50) + 0x1p-1070;
}

obb_bounds obb_solid_bounds(const obb_solid *solid)
{
    const obb_vec3 c = solid->center, h = solid->half_extents, *a = solid->axis;
    const obb_vec3 r = {reach(h, a[0].x, a[1].x, a[2].x), reach(h, a[0].y, a[1].y, a[2].y),
                        reach(h, a[0].z, a[1].z, a[2].z)};
    return (obb_bounds){
        .min = {obb_exact_below(c.x, r.x), obb_exact_below(c.y, r.y), obb_exact_below(c.z, r.z)},
        .max = {-obb_exact_below(-c.x, r.x), -obb_exact_below(-c.y, r.y),
                -obb_exact_below(-c.z, r.z)},
    };
}

double obb_solid_volume(const obb_solid *solid)
{
    const obb_vec3 h = solid->half_extents;
    return solid->dimensions == 2 ? 4.0 * h.x * h.y : 8.0 * h.x * h.y * h.z;
}

void obb_solid_matrix(const obb_solid *solid, double out_matrix[static 16])
{
    for (int i = 0; i < 3; i++) {
        const obb_vec3 column = obb_scale(solid->axis[i], obb_component(solid->half_extents, i));
        double *out = out_matrix + (ptrdiff_t)4 * i;
        out[0] = column.x;
        out[1] = column.y;
        out[2] = column.z;
        out[3] = 0.0;
    }
    out_matrix[12] = solid->center.x;
    out_matrix[13] = solid->center.y;
    out_matrix[14] = solid->center.z;
    out_matrix[15] = 1.0;
}

/* ---- Changes --------------------------------------------------------------------------------------------- */

static obb_quat product(obb_quat a, obb_quat b)
{
    return (obb_quat){
        a.w * b.x + a.x * b.w + (a.y * b.z - a.z * b.y),
        a.w * b.y + a.y * b.w + (a.z * b.x - a.x * b.z),
        a.w * b.z + a.z * b.w + (a.x * b.y - a.y * b.x),
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    };
}

static double sign_of(double v) { return v < 0.0 ? -1.0 : 1.0; }

/* v, negated where sign is negative; zeros stay positive. */
static double flipped(double v, double sign) { return sign < 0.0 ? 0.0 - v : v; }

/* Scaled about the origin along the scene's axes. */
static obb_status scaled(const obb_box *box, obb_vec3 s, int dimensions, obb_box *out)
{
    if (dimensions == 2)
        s.z = fabs(s.x);
    if (fabs(s.x) != fabs(s.y) || fabs(s.y) != fabs(s.z) || s.x == 0.0) {
        const obb_vec3 columns[3] = {{.x = s.x}, {.y = s.y}, {.z = s.z}};
        return image(box, columns, dimensions, out);
    }
    /* The same factor along all axes, some of them mirrored. A mirror M turns the rotation R into M R M, as the box is
     * its own mirror image: an axis of rotation is a cross product, and changes sign where the other two factors do. */
    const double factor = fabs(s.x), x = sign_of(s.x), y = sign_of(s.y), z = sign_of(s.z);
    obb_box b = *box;
    b.center = (obb_vec3){flipped(b.center.x * factor, x), flipped(b.center.y * factor, y),
                          flipped(b.center.z * factor, z)};
    b.half_extents = obb_scale(b.half_extents, factor);
    b.rotation.x = flipped(b.rotation.x, y * z);
    b.rotation.y = flipped(b.rotation.y, z * x);
    b.rotation.z = flipped(b.rotation.z, x * y);
    b.angle = flipped(b.angle, x * y);
    *out = b;
    return OBB_OK;
}

/* Turned by a further rotation on the left (about the scene's axes) or on the right (its own); the centre stays. */
static void turn(obb_box *box, obb_quat rotate, double angle, bool local, int dimensions)
{
    if (dimensions == 2) {
        box->angle = fmod(fmod(box->angle, 360.0) + fmod(angle, 360.0), 360.0);
        return;
    }
    const obb_quat q = local ? product(box->rotation, rotate) : product(rotate, box->rotation);
    const obb_status st = obb_quat_normalise(q, &box->rotation);
    assert(st == OBB_OK); /* the product of unit quaternions is one */
    (void)st;
}

static obb_status transform_locally(const obb_box *box, const obb_transform *t, obb_quat rotate,
                                    int dimensions, obb_box *out)
{
    obb_box b = *box;
    if (t->has_scale)
        b.half_extents =
            (obb_vec3){b.half_extents.x * fabs(t->scale.x), b.half_extents.y * fabs(t->scale.y),
                       b.half_extents.z * fabs(t->scale.z)};
    if (t->has_rotate)
        turn(&b, rotate, t->angle, true, dimensions);
    if (t->has_translate) {
        const obb_solid solid = obb_solid_from_box(box, dimensions);
        b.center = obb_add(b.center, times(solid.axis, t->translate));
    }
    *out = b;
    return OBB_OK;
}

static obb_status transform_in_world(const obb_box *box, const obb_transform *t, obb_quat rotate,
                                     int dimensions, obb_box *out)
{
    obb_box b = *box;
    if (t->has_scale) {
        const obb_status st = scaled(box, t->scale, dimensions, &b);
        if (st != OBB_OK)
            return st;
    }
    if (t->has_rotate) {
        const obb_box frame = {.rotation = rotate, .angle = t->angle};
        const obb_solid solid = obb_solid_from_box(&frame, dimensions);
        turn(&b, rotate, t->angle, false, dimensions);
        b.center = times(solid.axis, b.center);
    }
    if (t->has_translate)
        b.center = obb_add(b.center, t->translate);
    *out = b;
    return OBB_OK;
}

obb_status obb_box_transform(const obb_box *box, const obb_transform *transform, int dimensions,
                             obb_box *out)
{
    const obb_transform *t = transform;
    obb_box b;
    obb_status st;
    if (t->has_matrix) {
        if (t->has_translate || t->has_rotate || t->has_scale || t->local || dimensions == 2)
            return OBB_BAD_VALUE;
        st = transform_by_matrix(box, t->matrix, &b);
    } else {
        obb_transform flat = *t;
        if (dimensions == 2)
            flat.translate.z = flat.scale.z = 0.0;
        obb_quat rotate = {.w = 1.0};
        if ((t->has_translate && !finite3(flat.translate)) ||
            (t->has_scale && !finite3(flat.scale)) ||
            (t->has_rotate && dimensions == 2 && !isfinite(t->angle)))
            return OBB_BAD_NUMBER;
        if (t->has_rotate && dimensions == 3) {
            st = obb_quat_normalise(t->rotate, &rotate);
            if (st != OBB_OK)
                return st;
        }
        st = t->local ? transform_locally(box, &flat, rotate, dimensions, &b)
                      : transform_in_world(box, &flat, rotate, dimensions, &b);
    }
    if (st == OBB_OK && !box_in_range(&b))
        st = OBB_BAD_NUMBER;
    if (st == OBB_OK)
        *out = b;
    return st;
}

/* sin(t a) / sin(a), where x = cos(a) - 1 and -0.3 <= x <= 0: about 20 terms at the most, 5 for a few degrees. */
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

/* From a to b by t in (0, 1); a and b at most 90 degrees apart as vectors of four. */
static obb_quat slerp(obb_quat a, obb_quat b, double t)
{
    obb_quat apart = quat_added(b, quat_scaled(a, -1.0));
    double x = -0.5 * quat_dot(apart, apart); /* cos - 1 without cancellation */
    if (x < -0.3) {
        /* Too far apart for the series: meet half way. */
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
    obb_quat q =
        quat_added(quat_scaled(a, slerp_weight(1.0 - t, x)), quat_scaled(b, slerp_weight(t, x)));
    const obb_status st = obb_quat_normalise(q, &q);
    assert(st == OBB_OK);
    (void)st;
    return q;
}

static obb_vec3 linear(obb_vec3 a, obb_vec3 b, double t)
{
    return (obb_vec3){a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t};
}

obb_box obb_box_interpolate(const obb_box *a, const obb_box *b, double t, int dimensions)
{
    if (t <= 0.0)
        return *a;
    if (t >= 1.0)
        return *b;
    obb_box box = *a;
    box.center = linear(a->center, b->center, t);
    box.half_extents = linear(a->half_extents, b->half_extents, t);
    if (dimensions == 2) {
        double turn = fmod(fmod(b->angle, 360.0) - fmod(a->angle, 360.0), 360.0);
        if (fabs(turn) > 180.0)
            turn -= 360.0 * sign_of(turn);
        box.angle = a->angle + turn * t;
        return box;
    }
    /* Of b and -b, which are one rotation, the nearer. */
    const obb_quat sum = quat_added(a->rotation, b->rotation),
                   difference = quat_added(a->rotation, quat_scaled(b->rotation, -1.0));
    const double s = quat_dot(sum, sum), d = quat_dot(difference, difference);
    if (s != 0.0 && d != 0.0)
        box.rotation = slerp(a->rotation, s < d ? quat_scaled(b->rotation, -1.0) : b->rotation, t);
    return box;
}
