/* Boxes around points and around other boxes. */
#ifndef OBB_FIT_H
#define OBB_FIT_H

#include "core/geometry/box.h"

#define OBB_MAX_POINTS 100000

typedef enum obb_fit { OBB_FIT_PCA, OBB_FIT_TIGHT, OBB_FIT_AABB } obb_fit;

/* A box that holds all points, up to the rounding told below. In the plane z of the points is not looked at.
 *
 * pca    the axes of the covariance of the points as they are given, duplicates counted. Where it has no preference
 *        (a cube's corners, a ball) the coordinate axes; likewise where the box would leave the range (points near 1e9
 *        along a diagonal).
 * tight  the smallest box found, never larger than those of pca and aabb: in the plane the smallest rectangle, in space the
 *        smallest of all that touch the points' convex hull with three edges (see core/geometry/tight.h for large hulls).
 * aabb   the coordinate axes.
 *
 * Of the 24 rotations that describe the box the one nearest to none is returned, so points that lie along the coordinate
 * axes give the identity. Clouds that are flat, straight or a single point give extents of exactly 0; oblique ones also where
 * rounding lifts points by 4e-15 of the cloud's size.
 * Every point lies in the box: exactly where its axes are the coordinate axes, else within 2e-14 of the largest extent.
 *
 * OBB_BAD_COUNT unless 1 <= count <= OBB_MAX_POINTS; OBB_BAD_NUMBER for a coordinate out of range; OBB_NO_MEMORY.
 * Deterministic. Cost: pca 25 ns a point; tight in addition about 0.3 us a point and 1 ms for a hull of 30 corners, 0.2 s
 * at most. */
obb_status obb_fit_points(const obb_vec3 *points, size_t count, obb_fit fit, int dimensions,
                          obb_box *out);

/* The box whose corners (8, or 4 in the plane) are given in any order; corners in the order of obb_solid_corners give
 * its axes in that order, too. Corners that coincide, of flat boxes, are all given.
 * OBB_BAD_COUNT; OBB_BAD_NUMBER for a corner out of range, or a box that is; OBB_NOT_A_BOX when a corner is farther than 1e-6 of the box's diagonal, and the
 * rounding of its own coordinates, from where a box would have it. */
obb_status obb_fit_corners(const obb_vec3 *corners, size_t count, int dimensions, obb_box *out);

/* A box that holds `box` and all `others`: along box's axes, the coordinate axes, the axes of the covariance of all corners,
 * or those of the tight fit, whichever is smallest; the earlier where another is not smaller by 1e-12. A box that
 * holds the others already is returned to the bit.
 * The corners of all boxes lie in it as points do in obb_fit_points, up to the rounding of their own coordinates.
 * OBB_BAD_NUMBER when the box would leave the range; OBB_NO_MEMORY. Cost: as a tight fit around 8 corners a box. */
obb_status obb_fit_merge(const obb_box *box, const obb_box *others, size_t count, int dimensions,
                         obb_box *out);

#endif
