/* Distances, and points that are as far apart as they say.
 *
 * Distances are right within 1e-12 of the extent (of all that takes part), and so are witness points: each lies in its
 * box, and the two are `distance` apart, up to that and the rounding of their own coordinates. Exchanging two boxes
 * exchanges the points and keeps every bit. No allocation, any thread. */
#ifndef OBB_CLOSEST_H
#define OBB_CLOSEST_H

#include "core/geometry/box.h"

typedef struct obb_witness {
    double distance;     /* Euclidean, scene units; 0 when the two overlap or touch */
    obb_vec3 on_a, on_b; /* a closest point of each; the same point when they overlap */
} obb_witness;

/* 0 exactly where obb_sat_overlap says so. 0.3 to 1 us.
 *
 * Source: disjoint boxes are closest at a point of an edge of one of them, so their distance is that of 24 segments
 * (of 8 in the plane) to a box, each the minimum of a convex function of one variable that is quadratic in pieces; the
 * separating axis leaves few of them to look at. There is nothing to converge and no simplex to degenerate. The common
 * point of overlapping boxes is where they touch once both are shrunk about their centres alike (Ong and Gilbert,
 * "Growth distances: new measures for object separation and penetration", 1996). */
obb_witness obb_closest_boxes(const obb_solid *a, const obb_solid *b);

/* on_a is the point itself, on_b the closest point of the box (the point itself when inside). */
obb_witness obb_closest_point(obb_vec3 point, const obb_solid *box);

/* Segment p..q against the box; on_a lies on the segment. p may equal q. */
obb_witness obb_closest_segment(obb_vec3 p, obb_vec3 q, const obb_solid *box);

#endif
