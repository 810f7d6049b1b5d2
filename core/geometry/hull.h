/* Convex hulls of points, for the search of small boxes around them. Internal to core. */
#ifndef OBB_HULL_H
#define OBB_HULL_H

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
    obb_hull_face *face; /* 2 * corner_count - 4 of them, closed; none for a cloud without volume */
    size_t face_count;
    bool whole; /* no point lies outside; false: the limit was reached first */
} obb_hull;

/* The hull of the points, farthest first: with `limit` (>= 4) corners at most it is an approximation from inside whose
 * corners stick out most.
 *
 * axis: orthonormal, along which the cloud is scaled to a grid of 2^40 steps on each axis. On the grid all decisions are
 * exact, so that the hull is always a proper polyhedron, whatever the points: that of points moved by up to half a step
 * along each axis. What is thinner than a step may be missed, but long and thin clouds are not a case of their own where
 * the axes are theirs.
 *
 * A whole hull leaves out points that hardly stick out: on the grid, they reach beyond it by less than 2^-36 of its width,
 * in every direction. Proof. Let c be a point inside of the first hull, and so of all, and call `excess` a point's height
 * above a face's plane in parts of the depth of c below it. The largest excess of a point over the faces is what the hull
 * must be blown up by about c to hold it, E; it falls as the hull grows. Each point outside is kept with a face, and the
 * points whose excess over their own face is above 2^-37 are made corners until there are none; so this is to show:
 * that excess is not much less than E. It is the largest at first. Let the face f be replaced while p is kept with it,
 * and y be on the way from c to p, outside of the new hull and above f. From y straight to an inner point of f, the new hull
 * is entered above f, hence not through an old face, for the old hull lies below f: so through one of the new faces, and
 * y is above its plane. Let y come as near to c as it can: one of the new faces gives p an excess of E, or that over f.
 * Taking the largest, with excesses within 2^-17.6 of themselves (see hull.c), loses 2^-16.6 of it for each corner at most,
 * and half of it for 2^16 corners.
 *
 * limit: up to 2^16.
 * OBB_NO_MEMORY. Cost: about 0.2 us a point for 256 corners. obb_hull_fini releases; a zeroed hull may be, too.
 * Source: Barber, Dobkin, Huhdanpaa, "The Quickhull Algorithm for Convex Hulls", ACM TOMS 22(4), 1996. */
obb_status obb_hull_init(obb_hull *hull, const obb_vec3 *points, size_t count,
                         const obb_vec3 axis[static 3], size_t limit);
void obb_hull_fini(obb_hull *hull);

/* A point of the plane. */
typedef struct obb_flat {
    double x, y;
} obb_flat;

/* The corners of the convex hull of the points, counter-clockwise, without those that stick out by less than 4e-15 of its
 * size; out has room for count + 1. Sorts points. Returns how many: 1 or 2 when all lie on one place or line. O(n log n).
 * Source: Andrew, "Another efficient algorithm for convex hulls in two dimensions", Inf. Proc. Lett. 9(5), 1979. */
size_t obb_hull_flat(obb_flat *points, size_t count, obb_flat *out);

/* The area of the smallest rectangle around a convex polygon of at least 3 corners, and the unit direction of one of
 * its sides: one of them lies along an edge of the polygon. O(n).
 * Source: Freeman and Shapira, "Determining the minimum-area encasing rectangle for an arbitrary closed curve", CACM
 * 18(7), 1975; Toussaint, "Solving geometric problems with the rotating calipers", MELECON 1983. */
double obb_hull_rectangle(const obb_flat *polygon, size_t count, obb_flat *out_direction);

#endif
