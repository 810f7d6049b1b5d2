/* Rotations as unit quaternions: how the service keeps one, the forms it is made from, product and
 * interpolation. The same bits on every CPU: no libm except sqrt, fabs, fmax and fmod. */
#ifndef OBB_ROTATION_H
#define OBB_ROTATION_H

#include "core/base/status.h"
#include "core/geometry/vec.h"

#include <stdbool.h>
#include <stddef.h>

/* x i + y j + z k + w. q and -q are the same rotation. */
typedef struct obb_quat {
    double x, y, z, w;
} obb_quat;

/* The largest cosine between two axes that are accepted as perpendicular, and the largest
 * deviation of their lengths from 1. */
#define OBB_LARGEST_SHEAR 1e-6

/* ---- Forms of a rotation: every number is checked, *out is written only on OBB_OK ------------ */

/* Returns in *out the quaternion as it is kept. If the squared length of q, in exact arithmetic, is
 * within 4e-16 of 1, *out is q. Otherwise q is normalised to within that, so normalising twice
 * gives the bits of normalising once. A quaternion that is normalised has no -0.0.
 *
 * Errors   OBB_BAD_NUMBER if a component is not finite; OBB_BAD_ROTATION if the length is below
 *          1e-6. */
obb_status obb_quat_normalise(obb_quat q, obb_quat *out);

/* Returns the status of obb_quat_normalise. Cost: a dot product, unless q is very short or huge. */
obb_status obb_quat_check(obb_quat q);

/* Normalises quaternions in place, each to the bits of obb_quat_normalise.
 *
 * quats    obb_quat_check returns OBB_OK for each.
 * Cost     of 16 that are rotated and not yet normalised, half of that of obb_quat_normalise. */
void obb_quats_normalise(obb_quat *quats, size_t count);

/* Returns a computed quaternion as obb_quat_normalise keeps it, without -0.0.
 *
 * q        finite, not shorter than 1e-6. */
obb_quat obb_quat_normalise_computed(obb_quat q);

/* Returns in *out the right-handed rotation by `degrees` about `axis`.
 *
 * axis     any length >= 1e-6.
 * Errors   OBB_BAD_NUMBER if a number is not finite; OBB_BAD_ROTATION if the axis is shorter than
 *          1e-6.
 * Accuracy multiples of 90 degrees about a coordinate axis are exact up to the rounding of
 *          sqrt(1/2). */
obb_status obb_quat_from_axis_angle(obb_vec3 axis, double degrees, obb_quat *out);

/* Returns in *out the rotation whose columns are the given axes.
 *
 * axes     lengths and right angles within OBB_LARGEST_SHEAR. They are made orthonormal first, and
 *          all three axes share the correction. To complete two axes, pass their obb_cross as the
 *          third. Left-handed axes are accepted and the third is negated: a box is its own mirror
 *          image in each of its middle planes, so both frames are axes of the same box. Only the
 *          numbering of the corners differs.
 * Errors   OBB_BAD_NUMBER if a number is not finite; OBB_NOT_ORTHONORMAL. */
obb_status obb_quat_from_axes(const obb_vec3 axes[static 3], obb_quat *out);

/* ---- Frames: three axes that are nearly orthonormal ------------------------------------------ */

/* Returns whether the third axis points against the cross product of the first two. */
static inline bool obb_axes_left_handed(const obb_vec3 axes[static 3])
{
    return obb_dot(obb_cross(axes[0], axes[1]), axes[2]) < 0.0;
}

/* Makes the axes u orthonormal, which are so within OBB_LARGEST_SHEAR. All share the correction.
 *
 * Source   two steps, each of which squares the error, of Bjorck and Bowie, "An Iterative
 *          Algorithm for Computing the Best Estimate of an Orthogonal Matrix", SIAM J. Numer.
 *          Anal. 8(2), 1971. */
void obb_axes_orthonormalise(obb_vec3 u[static 3]);

/* Returns the rotation whose columns are u, which are orthonormal and right-handed.
 *
 * Source   Shepperd, "Quaternion from Rotation Matrix", J. Guidance and Control 1(3), 1978. */
obb_quat obb_quat_from_orthonormal(const obb_vec3 u[static 3]);

/* ---- Two rotations --------------------------------------------------------------------------- */

/* Returns a b, the rotation by b followed by the rotation by a. The product is not normalised. */
obb_quat obb_quat_product(obb_quat a, obb_quat b);

/* Returns the rotation at t on the shorter arc from a to b.
 *
 * a, b     unit quaternions as obb_quat_normalise keeps them. If they are the same rotation, a is
 *          returned.
 * t        in (0, 1).
 * Accuracy within 2e-15 of the exact slerp.
 * Cost     most of that of obb_box_interpolate.
 * Source   the slerp by a series in 1 - cos of David Eberly, "A Fast and Accurate Algorithm for
 *          Computing SLERP", Journal of Graphics, GPU, and Game Tools 15(3), 2011, with as many
 *          terms as a double can represent. */
obb_quat obb_quat_slerp(obb_quat a, obb_quat b, double t);

#endif
