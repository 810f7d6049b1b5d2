/* Changes of a box: translations, rotations, scales and matrices, in the scene's frame or the
 * box's own. */
#ifndef OBB_TRANSFORM_H
#define OBB_TRANSFORM_H

#include "core/base/status.h"
#include "core/geometry/box.h"

#include <stdbool.h>

typedef struct obb_transform {
    bool has_matrix;   /* only without the others and without local; 3-D only */
    double matrix[16]; /* column-major, in the scene's frame, may scale */
    bool has_translate, has_rotate, has_scale; /* applied in the order scale, rotate, translate */
    obb_vec3 translate;                        /* scene units */
    obb_quat rotate;                           /* need not be normalised */
    double angle;                              /* degrees, planar scenes, in place of rotate */
    obb_vec3 scale;                            /* factors; negative ones mirror */
    /* true: along and about the box's own axes and centre. false: the scene's axes and origin. */
    bool local;
} obb_transform;

/* Returns in *out the box after the transform; *out is written only on OBB_OK and may be *box. In
 * the plane z of translate and scale is ignored.
 *
 * A number that comes out the same keeps its bits, so a transform that moves nothing changes no
 * bit: -0.0 stays -0.0, and a whole turn keeps the quaternion's sign, or the angle. A number that
 * changes is not -0.0.
 *
 * The numbers that a transform does not change keep their bits: a translation keeps the extents and
 * the rotation, a rotation the extents, and a scale that does not turn the box (uniform, or along
 * its own axes) the rotation. Mirrors are exact. A local translation is along the axes that the box
 * had before.
 *
 * World scales and matrices must not shear the box, except along axes of extent 0. A local scale
 * may be 0.
 *
 * Errors   OBB_BAD_NUMBER if a number is not finite or the result leaves the range;
 *          OBB_BAD_ROTATION; OBB_BAD_VALUE for the matrix's bottom row, for a matrix in the
 *          plane and for a matrix together with anything else; OBB_SHEARED beyond a cosine of
 *          OBB_LARGEST_SHEAR; OBB_SINGULAR as for obb_box_from_matrix. */
obb_status obb_box_transform(const obb_box *box, const obb_transform *transform, int dimensions,
                             obb_box *out);

#endif
