#include "core/geometry/box.h"

#include "core/geometry/angle.h"
#include "core/geometry/exact.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Returns false also for NaN. */
static bool in_range(double v) { return fabs(v) <= OBB_MAX_COORDINATE; }

int obb_bad_coordinate(obb_vec3 v)
{
    return !in_range(v.x) ? 0 : !in_range(v.y) ? 1 : !in_range(v.z) ? 2 : -1;
}

int obb_bad_extent(obb_vec3 v) { return v.x < 0.0 ? 0 : v.y < 0.0 ? 1 : v.z < 0.0 ? 2 : -1; }

bool obb_box_in_range(const obb_box *box)
{
    return obb_bad_coordinate(box->center) < 0 && obb_bad_coordinate(box->half_extents) < 0;
}

/* Compares the bits: -0.0 is another number than 0.0. */
static bool same_double(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static bool same_vector(obb_vec3 a, obb_vec3 b)
{
    return same_double(a.x, b.x) && same_double(a.y, b.y) && same_double(a.z, b.z);
}

bool obb_box_same_bits(const obb_box *a, const obb_box *b)
{
    return same_vector(a->center, b->center) && same_vector(a->half_extents, b->half_extents) &&
           same_double(a->rotation.x, b->rotation.x) && same_double(a->rotation.y, b->rotation.y) &&
           same_double(a->rotation.z, b->rotation.z) && same_double(a->rotation.w, b->rotation.w) &&
           same_double(a->angle, b->angle);
}

static bool noisy(obb_vec3 a)
{
    return fabs(a.x) < OBB_AXIS_NOISE || fabs(a.y) < OBB_AXIS_NOISE || fabs(a.z) < OBB_AXIS_NOISE;
}

static double without_noise(double v) { return fabs(v) < OBB_AXIS_NOISE ? 0.0 : v; }

/* Returns the axis without noise: exactly a coordinate axis if the other two components are
 * noise. */
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
    /* The diagonal is made of squares, not of 1 - 2(yy + zz). So columns are orthogonal and
     * equally long however far the squared length is from 1, and equal squares cancel exactly.
     * Each component is off by at most 4e-16 of its value for that length, and 4 * 2^-53 for
     * rounding. */
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
            obb_add(solid->center, obb_combine(solid->axis, (obb_vec3){(i & 1) != 0 ? h.x : -h.x,
                                                                       (i & 2) != 0 ? h.y : -h.y,
                                                                       (i & 4) != 0 ? h.z : -h.z}));
}

/* Returns at least h.x * |x| + h.y * |y| + h.z * |z|, and exactly this sum for a coordinate
 * axis. */
static double reach(obb_vec3 h, double x, double y, double z)
{
    x = fabs(x);
    y = fabs(y);
    z = fabs(z);
    const double sum = h.x * x + h.y * y + h.z * z;
    const bool exact = (x == 0.0 || x == 1.0) && (y == 0.0 || y == 1.0) && (z == 0.0 || z == 1.0);
    if (exact || (h.x == 0.0 && h.y == 0.0 && h.z == 0.0))
        return sum;
    /* At most three roundings of 2^-53 each went down. 2^-50 and its own rounding make up for
     * them, and the last term makes up for products that underflowed. */
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

static obb_vec3 linear(obb_vec3 a, obb_vec3 b, double t)
{
    return obb_without_negative_zeros(
        (obb_vec3){a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t});
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
        /* A share of a turn added to a large angle would be rounded to the angle's last place. */
        const double from = fmod(a->angle, 360.0);
        double turn = fmod(fmod(b->angle, 360.0) - from, 360.0);
        if (fabs(turn) > 180.0)
            turn -= turn < 0.0 ? -360.0 : 360.0;
        if (turn != 0.0)
            box.angle = from + turn * t + 0.0;
        return box;
    }
    box.rotation = obb_quat_slerp(a->rotation, b->rotation, t);
    return box;
}
