/* The oriented bounding box: the forms it may be written in, what it is stored as, and what follows from it. */
#ifndef OBB_BOX_H
#define OBB_BOX_H

#include "core/base/status.h"
#include "core/geometry/vec.h"

#include <stdbool.h>
#include <stddef.h>

#define OBB_MAX_COORDINATE 1e9 /* scene units; larger magnitudes are refused */

/* A box as it is stored: just the numbers that came in, so that they read back to the same bits.
 *
 * In a planar (2-D) scene z of center and half_extents is 0, rotation is the identity, and angle says the
 * turn; in a 3-D scene angle is 0. */
typedef struct obb_box {
    obb_vec3 center;       /* scene units, scene frame */
    obb_vec3 half_extents; /* scene units, along the box's own axes, each >= 0 */
    obb_quat rotation;     /* unit quaternion, box -> scene; q and -q are the same box */
    double angle;          /* degrees, counter-clockwise, planar scenes only */
} obb_box;

/* The same box as queries compute with it: a centre, extents, and three unit axes. Axes within rounding of
 * the coordinate axes are exactly those, so that axis-parallel contact is exact (see obb_solid_from_box). */
typedef struct obb_solid {
    obb_vec3 center;
    obb_vec3 half_extents;
    obb_vec3
        axis[3];    /* orthonormal up to rounding, right-handed; axis[2] is (0,0,1) in the plane */
    int dimensions; /* 2 or 3 */
} obb_solid;

typedef struct obb_bounds {
    obb_vec3 min, max; /* scene units, axis-aligned; empty when min > max */
} obb_bounds;

/* ---- Making boxes: every number is checked; *out is written on OBB_OK alone ---------------------------
 *
 * Statuses say what kind of number is at fault, these two which one: the first component that is not finite or larger
 * than OBB_MAX_COORDINATE, and the first that is negative; -1 when there is none. */
int obb_bad_coordinate(obb_vec3 v);
int obb_bad_extent(obb_vec3 v);

/* The quaternion as it is kept: unchanged where its squared length, in exact arithmetic, is within 4e-16 of 1, else
 * normalised to within that: normalising twice is normalising once, to the bit.
 * OBB_BAD_NUMBER (not finite), or OBB_BAD_ROTATION for a length below 1e-6. */
obb_status obb_quat_normalise(obb_quat q, obb_quat *out);

/* The rotation by `degrees` about `axis` (any length >= 1e-6, else OBB_BAD_ROTATION), right-handed. Exact for multiples
 * of 90 about a coordinate axis, up to the rounding of sqrt(1/2); the same bits on every CPU (no libm but sqrt
 * and fmod). OBB_BAD_NUMBER (not finite). */
obb_status obb_quat_from_axis_angle(obb_vec3 axis, double degrees, obb_quat *out);

/* The rotation whose columns are the given axes: lengths and right angles within 1e-6 (then made exactly so, each
 * axis giving way alike). Left-handed axes are accepted and the third is negated: they are a mirrored frame, a box is
 * its own mirror image in each of its middle planes, so both frames are axes of the same box; only the numbering of
 * its corners differs. To complete two axes give their obb_cross as the third.
 * OBB_BAD_NUMBER (not finite), OBB_NOT_ORTHONORMAL. */
obb_status obb_quat_from_axes(const obb_vec3 axes[static 3], obb_quat *out);

/* Checks ranges and extents and normalises the rotation: the one door through which a pose comes in.
 * dimensions is 2 or 3. In the plane z of center and half_extents and the rotation are not looked at, in space
 * the angle is not. Checked in this order:
 * OBB_BAD_NUMBER (center, half_extents, angle, rotation), OBB_BAD_EXTENT (half_extents), OBB_BAD_ROTATION. */
obb_status obb_box_from_pose(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation,
                             double angle, int dimensions, obb_box *out);

/* Local corners min and max, turned by rotation (or angle) and then moved to position:
 * corners are position + R * local. Checked in this order: OBB_BAD_NUMBER (min, max, position; angle, rotation;
 * a center that leaves the range), OBB_BAD_EXTENT when min > max somewhere, OBB_BAD_ROTATION. */
obb_status obb_box_from_min_max(obb_vec3 min, obb_vec3 max, obb_vec3 position, obb_quat rotation,
                                double angle, int dimensions, obb_box *out);

/* The image of the cube [-h, h] (h = half_extents, 1 each when NULL) under a column-major 4x4 affine matrix. 3-D only.
 *
 * A mirror is accepted (see obb_quat_from_axes). A column shorter than 1e-12 of the longest says no axis: the box is
 * flat, and the axis is the cross product of the others. So does one whose half extent is 0 where it leans.
 * OBB_BAD_NUMBER (matrix, half_extents, or a box that leaves the range), OBB_BAD_EXTENT, OBB_BAD_VALUE (the
 * bottom row is not 0 0 0 1), OBB_SINGULAR (fewer than two columns say an axis), OBB_SHEARED (the cosine between
 * two columns exceeds 1e-6). */
obb_status obb_box_from_matrix(const double matrix[static 16], const obb_vec3 *half_extents,
                               obb_box *out);

/* ---- What follows from a box --------------------------------------------------------------------------- */

/* The axes from the rotation or the angle; about 60 flops in 3-D, and 130 in the plane.
 *
 * Each component is within 2e-15 of that of the exact rotation (within 1 ulp in the plane), and the axes are orthonormal
 * as well as that. Components below 1e-15 are taken as 0, and an axis whose other two components are 0 is exactly a
 * coordinate axis: whatever rounding is in a quaternion for multiples of 90 degrees, contact of such boxes is exact. */
obb_solid obb_solid_from_box(const obb_box *box, int dimensions);

/* Corner i: bit 0 is the sign of x, bit 1 of y, bit 2 of z (0 is minus), in the box's own frame. In the plane
 * corners 0 to 3 count (4 to 7 repeat them). Each coordinate is within 4 ulp of the exact corner of the solid, or
 * 4e-16 of the extents where that is more. */
void obb_solid_corners(const obb_solid *solid, obb_vec3 out_corners[static 8]);

/* Axis-aligned bounds, rounded outwards: they hold every point of the solid in exact arithmetic too. They are exactly
 * the solid's where its axes are coordinate axes and its faces are representable, and else at most 3e-15 of the extents
 * and 2 ulp larger. */
obb_bounds obb_solid_bounds(const obb_solid *solid);

/* Volume, or area in the plane; scene units to the third or second power. */
double obb_solid_volume(const obb_solid *solid);

/* Column-major 4x4 matrix that maps the cube [-1,1]^3 onto the box. */
void obb_solid_matrix(const obb_solid *solid, double out_matrix[static 16]);

/* ---- Changes -------------------------------------------------------------------------------------------- */

typedef struct obb_transform {
    bool has_matrix; /* alone: a column-major world matrix, with scale; 3-D only */
    double matrix[16];
    bool has_translate, has_rotate, has_scale; /* scale first, then rotate, then translate */
    obb_vec3 translate;                        /* scene units */
    obb_quat rotate;                           /* need not be normalised */
    double angle;                              /* degrees, planar scenes, in place of rotate */
    obb_vec3 scale;                            /* factors; negative ones mirror */
    bool local; /* along and about the box's own axes and centre, else the scene's and the origin */
} obb_transform;

/* The box after the transform. In the plane z of translate and scale is not looked at.
 *
 * What a transform does not change keeps its bits: a translation the extents and the rotation, a rotation the extents,
 * a scale that does not turn the box (uniform, or along its own axes) the rotation; and mirrors are exact. Local
 * translation is along the axes that the box had before.
 * World scale and matrices must not shear the box (OBB_SHEARED beyond a cosine of 1e-6); axes along which it has no
 * extent may lean. OBB_SINGULAR as for obb_box_from_matrix; a local scale may be 0.
 * OBB_BAD_NUMBER when a number is not finite or the result leaves the range, OBB_BAD_ROTATION, OBB_BAD_VALUE for the
 * matrix's bottom row and for a matrix that does not come alone. */
obb_status obb_box_transform(const obb_box *box, const obb_transform *transform, int dimensions,
                             obb_box *out);

/* Between two poses of a box: centre and extents linear, rotation by shortest-arc slerp, angle along the
 * shorter way (half a turn goes the way the numbers go); t in [0, 1], exactly a at 0 and b at 1. What is equal in both
 * keeps its bits. The rotation is within 2e-15 of the exact slerp; no libm but sqrt and fmod. About 150 flops
 * for a turn of a few degrees, 500 at most.
 * Source: the slerp by series in 1 - cos of David Eberly, "A Fast and Accurate Algorithm for Computing SLERP",
 * Journal of Graphics, GPU, and Game Tools 15(3), 2011, with as many terms as a double can tell. */
obb_box obb_box_interpolate(const obb_box *a, const obb_box *b, double t, int dimensions);

#endif
