/* The oriented bounding box: how it is stored, and what is computed from it. box_forms.h makes
 * boxes. */
#ifndef OBB_BOX_H
#define OBB_BOX_H

#include "core/base/status.h"
#include "core/geometry/rotation.h"
#include "core/geometry/vec.h"

#include <stdbool.h>

#define OBB_MAX_COORDINATE 1e9 /* scene units; larger magnitudes are refused */

/* Components of unit axes below this are rounding errors and are taken as 0. A quaternion for a
 * multiple of 90 degrees that is the product of a few others is off by a few 1e-16. The value is
 * three decades below what any verdict depends on. */
#define OBB_AXIS_NOISE 1e-15

/* A box as it is stored: exactly the numbers that were sent, so that they read back to the same
 * bits.
 *
 * In a planar (2-D) scene z of center and half_extents is 0, rotation is the identity, and angle
 * holds the rotation. In a 3-D scene angle is 0. */
typedef struct obb_box {
    obb_vec3 center;       /* scene units, scene frame */
    obb_vec3 half_extents; /* scene units, along the box's own axes, each >= 0 */
    obb_quat rotation;     /* unit quaternion, box -> scene; q and -q are the same box */
    double angle;          /* degrees, counter-clockwise, planar scenes only */
} obb_box;

/* The same box as queries compute with it: a centre, extents, and three unit axes. Axes within
 * rounding of the coordinate axes are exactly those, so that axis-parallel contact is exact (see
 * obb_solid_from_box). */
typedef struct obb_solid {
    obb_vec3 center;
    obb_vec3 half_extents;
    /* Orthonormal up to rounding, right-handed. In the plane axis[2] is (0, 0, 1). */
    obb_vec3 axis[3];
    int dimensions; /* 2 or 3 */
} obb_solid;

typedef struct obb_bounds {
    obb_vec3 min, max; /* scene units, axis-aligned; empty when min > max */
} obb_bounds;

/* ---- Checks ---------------------------------------------------------------------------------- */

/* Returns the number (0 to 2) of the first component of v that is not finite or whose magnitude
 * exceeds OBB_MAX_COORDINATE, or -1 if there is none. */
int obb_bad_coordinate(obb_vec3 v);

/* Returns the number (0 to 2) of the first component of v that is negative, or -1 if there is
 * none. */
int obb_bad_extent(obb_vec3 v);

/* Returns whether center and half_extents have no bad coordinate. */
bool obb_box_in_range(const obb_box *box);

/* Returns whether all numbers of the two boxes have the same bits: -0.0 is another number than
 * 0.0. */
bool obb_box_same_bits(const obb_box *a, const obb_box *b);

/* ---- What is computed from a box ------------------------------------------------------------- */

/* Returns the solid of a box: its axes are computed from the rotation, or in the plane from the
 * angle.
 *
 * Each component is within 2e-15 of that of the exact rotation (in the plane within 1 ulp), and the
 * axes are orthonormal within the same. Components below OBB_AXIS_NOISE are taken as 0, and an axis
 * whose other two components are 0 is exactly a coordinate axis. So contact of boxes turned by
 * multiples of 90 degrees is exact, whatever rounding is in their quaternions.
 *
 * Cost     about 60 flops in 3-D, 130 in the plane. */
obb_solid obb_solid_from_box(const obb_box *box, int dimensions);

/* Writes the corners of the solid, in the scene frame.
 *
 * Bits 0, 1 and 2 of a corner's number are the signs of x, y and z in the box's own frame (0 is
 * minus). In the plane the corners are 0 to 3, and 4 to 7 repeat them. Each coordinate is within
 * 4 ulp of the exact corner of the solid, or within 4e-16 of the extents if that is more. */
void obb_solid_corners(const obb_solid *solid, obb_vec3 out_corners[static 8]);

/* Returns axis-aligned bounds, rounded outwards: they hold every point of the solid in exact
 * arithmetic.
 *
 * If the axes are coordinate axes and the faces are representable, the bounds are exactly the
 * solid's. Otherwise they are larger by at most 3e-15 of the extents and 2 ulp. */
obb_bounds obb_solid_bounds(const obb_solid *solid);

/* Returns the volume, or the area in the plane; scene units to the third or second power. */
double obb_solid_volume(const obb_solid *solid);

/* Writes the column-major 4x4 matrix that maps the cube [-1,1]^3 onto the box. */
void obb_solid_matrix(const obb_solid *solid, double out_matrix[static 16]);

/* Returns half the length of the solid's projection on `axis`, times the length of `axis`. */
static inline double obb_solid_radius(const obb_solid *solid, obb_vec3 axis)
{
    return solid->half_extents.x * fabs(obb_dot(axis, solid->axis[0])) +
           solid->half_extents.y * fabs(obb_dot(axis, solid->axis[1])) +
           solid->half_extents.z * fabs(obb_dot(axis, solid->axis[2]));
}

/* Returns the box at t between two poses: centre and half extents linear, rotation by
 * obb_quat_slerp, and angle along the shorter way. Half a turn follows the sign of the difference
 * of the two angles.
 *
 * t        in [0, 1]; exactly a at 0 and b at 1. Numbers that are equal in both keep their bits,
 *          except that between the ends a centre or extent of -0.0 is 0.0.
 * Accuracy the rotation as obb_quat_slerp. If the angles differ by more than whole turns, the angle
 *          is reduced to (-540, 540) and within 2e-13 degrees of the exact one, however many turns
 *          the ends have.
 * Cost     about 150 flops for a rotation of a few degrees, 500 at most. */
obb_box obb_box_interpolate(const obb_box *a, const obb_box *b, double t, int dimensions);

#endif
