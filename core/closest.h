/* Distances and the points that are as far apart as they say. */
#ifndef OBB_CLOSEST_H
#define OBB_CLOSEST_H

#include "core/box.h"

typedef struct obb_witness {
    double distance;     /* Euclidean, scene units; 0 when the two overlap or touch */
    obb_vec3 on_a, on_b; /* a closest point of each; the same point when they overlap */
} obb_witness;

obb_witness obb_closest_boxes(const obb_solid *a, const obb_solid *b);

/* on_a is the point itself, on_b the closest point of the box (the point itself when inside). */
obb_witness obb_closest_point(obb_vec3 point, const obb_solid *box);

/* Segment p..q against the box; on_a lies on the segment. */
obb_witness obb_closest_segment(obb_vec3 p, obb_vec3 q, const obb_solid *box);

#endif
