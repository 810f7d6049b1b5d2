/* The separating-axis test in double precision: the answer that everything else must agree with.
 *
 * Two boxes of one frame and of the same dimensions; the answers are about the boxes that the doubles of the solids
 * say, and hold for the stored rotation as well (EXACTNESS.md has the bounds). Exchanging a and b exchanges
 * the answers: gaps keep their bits, normals are negated, axes and relations are mirrored; what cannot be mirrored is
 * named with each function. No allocation, any thread.
 *
 * Source: Gottschalk, Lin, Manocha, "OBBTree: A Hierarchical Structure for Rapid Interference Detection", SIGGRAPH
 * 1996. Edges at a small angle are our own: their axis is neither blurred by an epsilon, which makes real gaps
 * overlaps, nor left out at a fixed small angle, which misses pairs that it alone separates; it is computed with twice
 * the digits, and left out when it is shorter than its rounding. */
#ifndef OBB_SAT_H
#define OBB_SAT_H

#include "core/geometry/box.h"

#include <stdbool.h>

typedef enum obb_relation {
    OBB_SEPARATE,
    OBB_TOUCHING,
    OBB_INTERSECTING,
    OBB_CONTAINS,
    OBB_INSIDE
} obb_relation;

/* Axes in the contract's order: a.x a.y a.z b.x b.y b.z, then a.x*b.x a.x*b.y ... a.z*b.z. */
enum { OBB_AXES = 15 };

typedef struct obb_separation {
    int axis;        /* index into the order above */
    obb_vec3 normal; /* unit, from a to b */
    double gap;      /* scene units; > 0 apart, <= 0 overlap depth negated */
} obb_separation;

/* Does a touch or overlap b? The verdict of the 15-axis test (4 axes in the plane), closed sets; the same as
 * obb_sat_separation(a, b).gap <= 0. Right for every pair that is apart or overlaps by more than 1e-12 of its extent,
 * and for exact contact of boxes whose axes are coordinate axes. About 300 flops, 20 ns. */
bool obb_sat_overlap(const obb_solid *a, const obb_solid *b);

/* The largest gap over the axes. > 0: the boxes are that far apart along the normal, which is a lower bound of their
 * distance, and no less than 1/sqrt(3) of it. <= 0: -gap is the depth of the minimum translation vector: moving b by
 * normal * -gap leaves the two touching, and no shorter motion parts them. Each of these is right within 1e-12 of the
 * pair's extent; exact contact of boxes whose axes are coordinate axes is a gap of exactly 0.
 *
 * The axis is the first, in the contract's order, of those whose gap is the largest up to rounding: order is what
 * breaks ties, so among tied axes the exchanged pair may name another one. Where the centres coincide along the axis
 * the normal is the axis itself. About 90 ns. */
obb_separation obb_sat_separation(const obb_solid *a, const obb_solid *b);

/* touching: gap 0 within 1e-12 of the pair's extent. contains and inside go before touching (a plate on a face, a point
 * on an edge), and contains before inside (equal boxes); both allow for rounding, 2^-45 of the sum of the pair's
 * lengths. */
obb_relation obb_sat_relation(const obb_solid *a, const obb_solid *b);

/* The pair's extent: the distance of its farthest corners, up to a few ulp. Same bits for the exchanged pair. */
double obb_sat_extent(const obb_solid *a, const obb_solid *b);

/* "a.x" ... "a.z*b.z" for axis 0 to 14. */
const char *obb_sat_axis_name(int axis);

#endif
