/* Boxes around points and around other boxes. */
#ifndef OBB_FIT_H
#define OBB_FIT_H

#include "core/box.h"

#define OBB_MAX_POINTS 100000

typedef enum obb_fit { OBB_FIT_PCA, OBB_FIT_TIGHT, OBB_FIT_AABB } obb_fit;

/* A box that holds all points. pca: axes of the covariance; tight: the smallest found, never larger than pca;
 * aabb: the coordinate axes. Flat, straight and single-point clouds give zero extents.
 * OBB_BAD_COUNT unless 1 <= count <= OBB_MAX_POINTS; OBB_BAD_NUMBER; OBB_NO_MEMORY. */
obb_status obb_fit_points(const obb_vec3 *points, size_t count, obb_fit fit, int dimensions,
                          obb_box *out);

/* The box whose corners (8, or 4 in the plane) are given in any order; OBB_NOT_A_BOX beyond 1e-6 of its size. */
obb_status obb_fit_corners(const obb_vec3 *corners, size_t count, int dimensions, obb_box *out);

/* A box that holds `box` and all `others`: along box's axes, the coordinate axes, the axes of the covariance
 * of all corners, or better, whichever is smallest. */
obb_status obb_fit_merge(const obb_box *box, const obb_box *others, size_t count, int dimensions,
                         obb_box *out);

#endif
