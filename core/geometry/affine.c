#include "core/geometry/affine.h"

#include "core/geometry/angle.h"

#include <float.h>
#include <math.h>

/* A column of a matrix this much shorter than the longest may be the rounding of zero, so it
 * need not be perpendicular. */
static const double column_noise = 1e-12;

/* Returns v / |v| for v other than zero. A length that is denormal has too few digits to divide by,
 * so v is scaled first.
 *
 * length  |v|, by obb_length_scaled. */
static obb_vec3 unit(obb_vec3 v, double length)
{
    if (length >= DBL_MIN)
        return obb_divide(v, length);
    v = obb_divide(v, obb_largest_part(v));
    return obb_divide(v, obb_length(v));
}

/* Returns whether the given axes are perpendicular to each other within OBB_LARGEST_SHEAR. */
static bool square(const obb_vec3 u[static 3], const bool given[static 3])
{
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        if (given[i] && given[j] && fabs(obb_dot(u[i], u[j])) > OBB_LARGEST_SHEAR)
            return false;
    }
    return true;
}

/* Returns a unit vector at right angles to u, from the coordinate axis of u's least part. If u
 * is a coordinate axis, so is the result. */
static obb_vec3 perpendicular_by_least_part(obb_vec3 u)
{
    const double x = fabs(u.x), y = fabs(u.y), z = fabs(u.z);
    const obb_vec3 least = x <= y && x <= z ? (obb_vec3){.x = 1.0}
                           : y <= z         ? (obb_vec3){.y = 1.0}
                                            : (obb_vec3){.z = 1.0};
    const obb_vec3 v = obb_cross(least, u);
    return obb_divide(v, obb_length(v));
}

/* Fills in the unit axes that are not given. */
static void complete(obb_vec3 u[static 3], const bool given[static 3])
{
    const int count = given[0] + given[1] + given[2];
    if (count == 2) {
        const int k = !given[0] ? 0 : !given[1] ? 1 : 2;
        const obb_vec3 v = obb_cross(u[(k + 1) % 3], u[(k + 2) % 3]);
        u[k] = obb_divide(v, obb_length(v));
    } else if (count == 1) {
        const int k = given[0] ? 0 : given[1] ? 1 : 2;
        u[(k + 1) % 3] = perpendicular_by_least_part(u[k]);
        u[(k + 2) % 3] = obb_cross(u[k], u[(k + 1) % 3]);
    } else if (count == 0) {
        u[0] = (obb_vec3){.x = 1.0};
        u[1] = (obb_vec3){.y = 1.0};
        u[2] = (obb_vec3){.z = 1.0};
    }
}

/* Writes orthonormal right-handed axes made of d, the images of a box's axes, and their lengths.
 * half_extents shows the axes that the box's points do not depend on. */
static obb_status axes_from_images(const obb_vec3 d[static 3], const double length[static 3],
                                   obb_vec3 half_extents, obb_vec3 out[static 3])
{
    const double longest = fmax(length[0], fmax(length[1], length[2]));
    bool given[3];
    int count = 0;
    for (int i = 0; i < 3; i++) {
        given[i] = length[i] > 0.0;
        count += given[i];
        out[i] = given[i] ? unit(d[i], length[i]) : d[i];
    }
    if (count < 2)
        return OBB_SINGULAR;
    if (!square(out, given)) {
        for (int i = 0; i < 3; i++)
            if (obb_component(half_extents, i) == 0.0 || length[i] <= column_noise * longest)
                given[i] = false;
        if (!square(out, given))
            return OBB_SHEARED;
    }
    complete(out, given);
    if (obb_axes_left_handed(out))
        out[2] = obb_negate(out[2]);
    obb_axes_orthonormalise(out);
    return OBB_OK;
}

obb_status obb_box_linear_image(const obb_box *box, const obb_vec3 columns[static 3],
                                int dimensions, obb_box *out)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    obb_vec3 d[3];
    double length[3], gain[3];
    bool turned = false;
    for (int i = 0; i < 3; i++) {
        d[i] = obb_combine(columns, solid.axis[i]);
        length[i] = obb_length_scaled(d[i]);
        if (!isfinite(length[i]))
            return OBB_BAD_NUMBER;
    }
    if (dimensions == 2) /* the third axis must be neither singular nor noise */
        d[2] = (obb_vec3){.z = length[2] = fmax(length[0], length[1])};
    for (int i = 0; i < 3; i++) {
        /* As a ratio the gain of an identity is exactly 1, and that of a rotation counts as 1. */
        gain[i] = length[i] / obb_length(solid.axis[i]);
        if (fabs(gain[i] - 1.0) <= OBB_AXIS_NOISE)
            gain[i] = 1.0;
        const obb_vec3 u = length[i] > 0.0 ? unit(d[i], length[i]) : solid.axis[i];
        turned = turned || obb_length(obb_cross(u, solid.axis[i])) > OBB_AXIS_NOISE;
    }
    obb_vec3 u[3];
    const obb_status st = axes_from_images(d, length, box->half_extents, u);
    if (st != OBB_OK)
        return st;
    obb_box image = *box;
    image.center = obb_combine(columns, box->center);
    image.half_extents = (obb_vec3){box->half_extents.x * gain[0], box->half_extents.y * gain[1],
                                    dimensions == 2 ? 0.0 : box->half_extents.z * gain[2]};
    if (turned && dimensions == 3)
        image.rotation = obb_quat_from_orthonormal(u);
    else if (turned)
        image.angle = obb_arc_tangent(u[0].y, u[0].x);
    *out = image;
    return OBB_OK;
}

obb_status obb_box_affine_image(const obb_box *box, const double m[static 16], obb_box *out)
{
    for (int i = 0; i < 16; i++)
        if (!isfinite(m[i]))
            return OBB_BAD_NUMBER;
    if (m[3] != 0.0 || m[7] != 0.0 || m[11] != 0.0 || m[15] != 1.0)
        return OBB_BAD_VALUE;
    const obb_vec3 columns[3] = {{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}};
    const obb_status st = obb_box_linear_image(box, columns, 3, out);
    if (st == OBB_OK)
        out->center = obb_add(out->center, (obb_vec3){m[12], m[13], m[14]});
    return st;
}
