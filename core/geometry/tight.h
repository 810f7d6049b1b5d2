/* The search for the smallest box around points. Internal to core. */
#ifndef OBB_TIGHT_H
#define OBB_TIGHT_H

#include "core/base/status.h"
#include "core/geometry/vec.h"

#include <stddef.h>

/* Orthonormal axes of a box of small volume around points that span a volume.
 *
 * frame: orthonormal axes along which the cloud is long, middling and thin, as those of its covariance are; the answer
 * where the points span no volume after all (see hull.h).
 *
 * A smallest box touches the hull with three edges at least: two in one face of the box, or in opposite faces, which
 * settles that face's normal and leaves a rectangle to be found in the plane; or one in each of three faces that meet,
 * which is a quadratic equation. All these boxes are tried where the hull has up to 256 corners, and never was a smaller
 * one found by other means; of a larger hull those 256 corners that stick out most are taken (fewer where too many edges
 * can meet, as on prisms), and then the best of the boxes are turned about each of their axes in turn, around the
 * whole hull, until that gains nothing. Larger hulls are round, and there many boxes differ by tenths of a percent.
 *
 * OBB_NO_MEMORY. Cost: that of the hull; 0.1 ms for a hull of 12 corners, 1 ms for 30, 50 ms for 256 or more.
 * Source: O'Rourke, "Finding Minimal Enclosing Boxes", Int. J. Comp. Inf. Sci. 14(3), 1985, for the edges; Jylanki, "An
 * Exact Algorithm for Finding Minimum Oriented Bounding Boxes", 2015, for which of them can meet. */
obb_status obb_tight_axes(const obb_vec3 *points, size_t count, const obb_vec3 frame[static 3],
                          obb_vec3 out_axes[static 3]);

#endif
