/* The oriented bounding box: the forms it may be written in, what it is stored as, and what follows from it. */
#ifndef OBB_BOX_H
#define OBB_BOX_H

#include "core/status.h"
#include "core/vec.h"

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
 * the coordinate axes are exactly those, so that axis-parallel contact is exact (see core/README.md). */
typedef struct obb_solid {
    obb_vec3 center;
    obb_vec3 half_extents;
    obb_vec3 axis[3]; /* orthonormal, right-handed; axis[2] is (0,0,1) in the plane */
    int dimensions;   /* 2 or 3 */
} obb_solid;

typedef struct obb_bounds {
    obb_vec3 min, max; /* scene units, axis-aligned; empty when min > max */
} obb_bounds;

/* ---- Making boxes: every number is checked; *out is written on OBB_OK alone --------------------------- */

/* The quaternion as it is kept: unchanged where its squared length is within 4e-16 of 1, else normalised.
 * OBB_BAD_NUMBER, or OBB_BAD_ROTATION for a length below 1e-6. */
obb_status obb_quat_normalise(obb_quat q, obb_quat *out);

/* The rotation by `degrees` about `axis` (any length >= 1e-6), right-handed. Exact for multiples of 90 about a
 * coordinate axis, up to the rounding of sqrt(1/2); the same bits on every CPU (no libm but sqrt and fmod). */
obb_status obb_quat_from_axis_angle(obb_vec3 axis, double degrees, obb_quat *out);

/* The rotation whose columns are the given axes: orthonormal within 1e-6 (made exactly so); left-handed axes
 * are a mirror of a box, which is a box: the third is negated. OBB_NOT_ORTHONORMAL. */
obb_status obb_quat_from_axes(const obb_vec3 axes[static 3], obb_quat *out);

/* Checks ranges and extents and normalises the rotation: the one door through which a pose comes in.
 * dimensions 2 or 3. OBB_BAD_NUMBER, OBB_BAD_EXTENT, OBB_BAD_ROTATION. */
obb_status obb_box_from_pose(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation,
                             double angle, int dimensions, obb_box *out);

/* Local corners min and max, turned by rotation (or angle) and then moved to position:
 * corners are position + R * local. OBB_BAD_EXTENT when min > max somewhere. */
obb_status obb_box_from_min_max(obb_vec3 min, obb_vec3 max, obb_vec3 position, obb_quat rotation,
                                double angle, int dimensions, obb_box *out);

/* The image of the cube [-h, h] (h = half_extents, 1 each when NULL) under a column-major 4x4 affine matrix.
 * A mirror is accepted; OBB_SHEARED beyond 1e-6; a zero column gives a zero extent when the other columns
 * say the axes; the bottom row must be 0 0 0 1 (OBB_BAD_VALUE). 3-D only. */
obb_status obb_box_from_matrix(const double matrix[static 16], const obb_vec3 *half_extents,
                               obb_box *out);

/* ---- What follows from a box --------------------------------------------------------------------------- */

/* Exact up to the rounding of the axes (each within 4 ulp of the rotation's); about 40 flops in 3-D. */
obb_solid obb_solid_from_box(const obb_box *box, int dimensions);

/* Corner i: bit 0 is the sign of x, bit 1 of y, bit 2 of z (0 is minus), in the box's own frame. In the plane
 * corners 0 to 3 count. */
void obb_solid_corners(const obb_solid *solid, obb_vec3 out_corners[static 8]);

/* Axis-aligned bounds, rounded outwards: they hold every point of the box in exact arithmetic too. */
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

/* The box after the transform. World scale and matrices must not shear the box (OBB_SHEARED).
 * OBB_BAD_NUMBER when the result leaves the range. */
obb_status obb_box_transform(const obb_box *box, const obb_transform *transform, int dimensions,
                             obb_box *out);

/* Between two poses of a box: centre and extents linear, rotation by shortest-arc slerp, angle along the
 * shorter way; t in [0, 1], exactly a at 0 and b at 1. No libm but sqrt. */
obb_box obb_box_interpolate(const obb_box *a, const obb_box *b, double t, int dimensions);

#endif
