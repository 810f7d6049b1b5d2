/* Boxes fitted to points, to eight corners and to other boxes. */
#ifndef OBB_FIT_H
#define OBB_FIT_H

#include "core/base/budget.h"
#include "core/base/cancel.h"
#include "core/geometry/box.h"

#define OBB_MAX_POINTS 100000

/* The method of obb_fit_points. */
typedef enum obb_fit { OBB_FIT_PCA, OBB_FIT_TIGHT, OBB_FIT_AABB } obb_fit;

/* Returns in *out a box that holds all points; *out is written only on OBB_OK. In the plane z of
 * the points is ignored.
 *
 * pca      the axes of the covariance of the points as they are given, duplicates counted. If the
 *          covariance has no preference (a cube's corners, a ball), the coordinate axes; likewise
 *          if the box would leave the range (points near 1e9 along a diagonal).
 * tight    the smallest box found: in the plane the smallest rectangle, in space the smallest of
 *          all that touch the points' convex hull with three edges (see core/geometry/tight.h for
 *          large hulls). The exact volume of its stored extents is never larger than those of pca
 *          and aabb. If the others gain nothing, it is the box of pca.
 * aabb     the coordinate axes.
 *
 * Of the 24 rotations that describe the box the one nearest to the identity is returned, so points
 * that lie along the coordinate axes give the identity. Clouds that are flat, straight or a single
 * point give extents of exactly 0, oblique ones also if rounding moves points out of the plane or
 * line by 4e-15 of the cloud's size. Every point lies in the box: exactly if the axes are the
 * coordinate axes, otherwise within 2e-14 of the largest extent.
 *
 * budget   the working memory of a tight fit draws from it, 32 bytes a point and up to 1.5 MB;
 *          NULL: no limit.
 * Errors   OBB_BAD_COUNT unless 1 <= count <= OBB_MAX_POINTS; OBB_BAD_NUMBER for a coordinate out
 *          of range; OBB_NO_MEMORY; OBB_CANCELLED soon after *cancel is true (NULL: never).
 * Cost     pca 25 ns a point; tight in addition about 0.3 us a point and 1 ms for a hull of 30
 *          corners, 0.2 s at most. The answer is deterministic. */
obb_status obb_fit_points(const obb_vec3 *points, size_t count, obb_fit fit, int dimensions,
                          const atomic_bool *cancel, struct obb_budget *budget, obb_box *out);

/* Returns in *out the box with the given corners; *out is written only on OBB_OK.
 *
 * corners  8, or 4 in the plane, in any order. Corners in the order of obb_solid_corners give the
 *          axes in that order, too. A flat box has corners that coincide, and all of them are
 *          given.
 * Errors   OBB_BAD_COUNT; OBB_BAD_NUMBER if a corner or the box is out of range; OBB_NOT_A_BOX
 *          if a corner is farther from its place in the box than 1e-6 of the box's diagonal and
 *          the rounding of its own coordinates. */
obb_status obb_fit_corners(const obb_vec3 *corners, size_t count, int dimensions, obb_box *out);

/* Returns in *out a box that holds `box` and all `others`; *out is written only on OBB_OK. The
 * working memory draws from the budget (NULL: no limit).
 *
 * The axes are those of `box`, the coordinate axes, the axes of the covariance of all corners, or
 * those of the tight fit, whichever box is smallest. A later one is taken only if it is smaller by
 * 1e-12. If `box` holds the others already, it is returned to the bit. The corners of all boxes lie
 * in the result as points do in obb_fit_points, up to the rounding of their own coordinates.
 *
 * Errors   OBB_BAD_NUMBER if the box would leave the range; OBB_NO_MEMORY.
 * Cost     as a tight fit around 8 corners a box. */
obb_status obb_fit_merge(const obb_box *box, const obb_box *others, size_t count, int dimensions,
                         struct obb_budget *budget, obb_box *out);

#endif
