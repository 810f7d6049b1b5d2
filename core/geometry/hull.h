/* Convex hulls of points in space and in the plane, for the search of small boxes around them.
 * Internal to core. */
#ifndef OBB_HULL_H
#define OBB_HULL_H

#include "core/base/budget.h"
#include "core/base/cancel.h"
#include "core/base/status.h"
#include "core/geometry/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A triangle of the hull. Edge i goes from corner[i] to corner[(i + 1) % 3]. */
typedef struct obb_hull_face {
    uint32_t corner[3]; /* numbers of hull corners, counter-clockwise seen from outside */
    uint32_t across[3]; /* the face on the other side of edge i */
} obb_hull_face;

typedef struct obb_hull {
    uint32_t *corner; /* indices of points */
    size_t corner_count;
    obb_hull_face *face; /* 2 * corner_count - 4, a closed surface; none without volume */
    size_t face_count;
    bool whole; /* no point lies outside; false: the limit was reached first */
} obb_hull;

/* Makes the hull of the points, farthest points first. If `limit` is reached first, the hull is an
 * approximation from inside whose corners stick out most.
 *
 * axis     orthonormal. The cloud is scaled to a grid of 2^40 steps along each axis. On the grid
 *          all decisions are exact, so the hull is always a proper polyhedron, whatever the points:
 *          the hull of points moved by up to half a step along each axis. A cloud thinner than a
 *          step may be missed. Long and thin clouds need no special case if the axes are their own.
 * limit    of corners, 4 to 2^16.
 * cancel   polled for each corner and every 16,384 tests of a point; may be NULL.
 * budget   the hull and the working memory draw from it; must outlive the hull. NULL: no limit.
 * Errors   OBB_NO_MEMORY, OBB_CANCELLED; then the hull is empty.
 * Owner    the caller releases the hull with obb_hull_fini.
 * Cost     about 0.2 us a point for 256 corners.
 * Source   Barber, Dobkin, Huhdanpaa, "The Quickhull Algorithm for Convex Hulls", ACM TOMS 22(4),
 *          1996.
 *
 * A whole hull leaves out points that hardly stick out: on the grid, they reach beyond it by less
 * than 2^-36 of its width, in every direction.
 *
 * Proof. Let c be a point inside of the first hull, and so of all hulls. Call `excess` a point's
 * height above a face's plane, divided by the depth of c below the plane. The largest excess of
 * a point over the faces, E, is the share by which the hull must be blown up about c to hold the
 * point. E falls as the hull grows. Each point outside is kept with a face, and points whose
 * excess over their own face is above 2^-37 are made corners until there are none. So it remains
 * to show that the excess over the own face is not much less than E. At first it is the largest.
 * Let the face f be replaced while p is kept with f, and let y be on the way from c to p,
 * outside of the new hull and above f. The straight way from y to an inner point of f enters the
 * new hull above f. It does not enter through an old face, because the old hull lies below f. So
 * it enters through one of the new faces, and y is above the plane of this face. Let y come as
 * near to c as it can: one of the new faces gives p an excess of E, or the excess over f.
 * Excesses are within 2^-17.6 of themselves (see hull.c), so taking the largest loses 2^-16.6 of
 * it for each corner at most, and half of it for 2^16 corners. */
obb_status obb_hull_init(obb_hull *hull, const obb_vec3 *points, size_t count,
                         const obb_vec3 axis[static 3], size_t limit, const atomic_bool *cancel,
                         struct obb_budget *budget);

/* Releases the hull, which is empty afterwards. A zeroed hull is allowed. */
void obb_hull_fini(obb_hull *hull);

/* A point of the plane. */
typedef struct obb_flat {
    double x, y;
} obb_flat;

/* Writes the corners of the convex hull of the points, counter-clockwise, and returns their number:
 * 1 or 2 if all points lie on one point or line. Corners that stick out by less than 4e-15 of the
 * hull's size are left out.
 *
 * points   sorted by the call.
 * cancel   polled every 16,384 points or earlier; may be NULL.
 * out      room for count + 1.
 * Errors   returns 0 if *cancel turned true.
 * Cost     O(n log n).
 * Source   Andrew, "Another efficient algorithm for convex hulls in two dimensions", Inf. Proc.
 *          Lett. 9(5), 1979. */
size_t obb_hull_flat(obb_flat *points, size_t count, const atomic_bool *cancel, obb_flat *out);

/* Writes the area of the smallest rectangle around a convex polygon of at least 3 corners, and the
 * unit direction of one of its sides. One side lies along an edge of the polygon.
 *
 * cancel   polled every 4,096 corners; may be NULL.
 * Errors   returns false if *cancel turned true; then nothing of use is written.
 * Cost     O(n).
 * Source   Freeman and Shapira, "Determining the minimum-area encasing rectangle for an
 *          arbitrary closed curve", CACM 18(7), 1975; Toussaint, "Solving geometric problems
 *          with the rotating calipers", MELECON 1983. */
bool obb_hull_rectangle(const obb_flat *polygon, size_t count, const atomic_bool *cancel,
                        double *out_area, obb_flat *out_direction);

#endif
