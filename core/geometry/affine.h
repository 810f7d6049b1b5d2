/* The image of a box under a linear or affine map, which is a box if the map does not shear it.
 * Internal to core: box_forms.h and transform.h stand on it. *out is written only on OBB_OK and
 * may be *box. */
#ifndef OBB_AFFINE_H
#define OBB_AFFINE_H

#include "core/base/status.h"
#include "core/geometry/box.h"

/* Returns in *out the image of the box under the linear map with these columns.
 *
 * A mirror is accepted (see obb_quat_from_axes). The images of the box's axes give the axes of the
 * result. An image without length gives none, and the cross product of the others takes its place.
 * If the images are not perpendicular within OBB_LARGEST_SHEAR, images of axes whose half extent is
 * 0 and images shorter than 1e-12 of the longest are replaced in the same way. If the map does not
 * turn the box, the rotation keeps its bits. If it does not stretch an axis, the half extent keeps
 * its bits. The caller checks that the result is in range (obb_box_in_range).
 *
 * columns  in the plane the third column is finite and otherwise ignored.
 * Errors   OBB_BAD_NUMBER if the length of an image is not finite; OBB_SINGULAR if fewer than
 *          two images have a length (in the plane: if none has); OBB_SHEARED if the remaining
 *          images are not perpendicular. */
obb_status obb_box_linear_image(const obb_box *box, const obb_vec3 columns[static 3],
                                int dimensions, obb_box *out);

/* Returns in *out the image of the box under a column-major 4x4 matrix. 3-D only.
 *
 * Errors   as obb_box_linear_image; OBB_BAD_NUMBER also if a number of the matrix is not finite,
 *          and OBB_BAD_VALUE if its bottom row is not 0 0 0 1. */
obb_status obb_box_affine_image(const obb_box *box, const double matrix[static 16], obb_box *out);

#endif
