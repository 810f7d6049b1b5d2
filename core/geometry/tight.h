/* The search for the smallest box around points. Internal to core, for fit.h. */
#ifndef OBB_TIGHT_H
#define OBB_TIGHT_H

#include "core/base/budget.h"
#include "core/base/cancel.h"
#include "core/base/status.h"
#include "core/geometry/vec.h"

#include <stddef.h>

/* Writes orthonormal axes of a box of small volume around points that span a volume.
 *
 * A smallest box touches the hull with three edges at least. If two of them lie in one face of the
 * box, or in opposite faces, they determine the normal of that face, and a rectangle in the plane
 * remains to be found. If one lies in each of three faces that meet, the axes solve a quadratic
 * equation. All these boxes are tried if the hull has up to 256 corners; no other method ever found
 * a smaller box. Of a larger hull the 256 corners that stick out most are taken (fewer if too many
 * edges can meet, as on prisms). Then the best of the boxes are turned about each of their axes in
 * turn, around the whole hull, until this gains nothing. Larger hulls are round, and there many
 * boxes differ by tenths of a percent.
 *
 * frame    orthonormal axes along which the cloud is long, middling and thin, as the axes of its
 *          covariance. They are the answer if the points span no volume after all (see hull.h).
 * cancel   polled every 2 ms; may be NULL.
 * budget   the working memory draws from it; NULL: no limit.
 * Errors   OBB_NO_MEMORY, OBB_CANCELLED; then out_axes is unchanged.
 * Cost     that of the hull; 0.1 ms for a hull of 12 corners, 1 ms for 30, 50 ms for 256 or more.
 * Source   O'Rourke, "Finding Minimal Enclosing Boxes", Int. J. Comp. Inf. Sci. 14(3), 1985, for
 *          the edges; Jylanki, "An Exact Algorithm for Finding Minimum Oriented Bounding Boxes",
 *          2015, for the test which of them can meet. */
obb_status obb_tight_axes(const obb_vec3 *points, size_t count, const obb_vec3 frame[static 3],
                          const atomic_bool *cancel, struct obb_budget *budget,
                          obb_vec3 out_axes[static 3]);

#endif
