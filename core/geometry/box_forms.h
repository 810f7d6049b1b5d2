/* The forms that a box is sent in, turned into the stored one: a pose, local corners min and
 * max, a matrix. fit.h has the forms that are points or eight corners. Every number is checked,
 * and *out is written only on OBB_OK. */
#ifndef OBB_BOX_FORMS_H
#define OBB_BOX_FORMS_H

#include "core/base/status.h"
#include "core/geometry/box.h"

/* Returns in *out the box of a pose. Every pose from outside passes through this function: it
 * checks the ranges and extents and normalises the rotation.
 *
 * dimensions  2 or 3. In the plane z of center and half_extents and the rotation are ignored. In
 *             space the angle is ignored.
 * Errors, in the order of the checks: OBB_BAD_NUMBER (center, half_extents, angle, rotation),
 * OBB_BAD_EXTENT (half_extents), OBB_BAD_ROTATION. */
obb_status obb_box_from_pose(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation,
                             double angle, int dimensions, obb_box *out);

/* Returns in *out the box with the local corners min and max, turned by rotation (in the plane by
 * angle) about the local origin and then moved by position: a corner is position + R * local.
 *
 * Errors, in the order of the checks: OBB_BAD_NUMBER (min, max, position; angle, rotation; a
 * center that leaves the range), OBB_BAD_EXTENT if min > max in a component, OBB_BAD_ROTATION. */
obb_status obb_box_from_min_max(obb_vec3 min, obb_vec3 max, obb_vec3 position, obb_quat rotation,
                                double angle, int dimensions, obb_box *out);

/* Returns in *out the image of the cube [-h, h] under a column-major 4x4 affine matrix. 3-D only.
 *
 * half_extents  h; NULL means 1, 1, 1.
 * matrix        a mirror is accepted (see obb_quat_from_axes). A column without length defines no
 *               axis: the box is flat, and the axis is the cross product of the others. If two
 *               columns are not perpendicular, this holds also for a column whose half extent is 0
 *               and for a column shorter than 1e-12 of the longest.
 * Errors        OBB_BAD_NUMBER (matrix, half_extents, or a box that leaves the range),
 *               OBB_BAD_EXTENT, OBB_BAD_VALUE (the bottom row is not 0 0 0 1), OBB_SINGULAR
 *               (fewer than two columns define an axis), OBB_SHEARED (the cosine between two
 *               columns exceeds OBB_LARGEST_SHEAR). */
obb_status obb_box_from_matrix(const double matrix[static 16], const obb_vec3 *half_extents,
                               obb_box *out);

#endif
