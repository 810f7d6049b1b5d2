/* The separating-axis test in double precision: the answer that everything else must agree with.
 *
 * Both boxes are in one frame and of the same dimensions. The answers are about the boxes that the
 * doubles of the solids define, and hold for the stored rotation as well (EXACTNESS.md has the
 * bounds). Exchanging a and b exchanges the answers: gaps keep their bits, normals are negated,
 * axes and relations are mirrored. Each function names its exceptions. No allocation, any thread.
 *
 * Source   Gottschalk, Lin, Manocha, "OBBTree: A Hierarchical Structure for Rapid Interference
 *          Detection", SIGGRAPH 1996. Edges at a small angle are our own work. An epsilon would
 *          call real gaps overlaps, and leaving out the axis of such edges below a fixed angle
 *          would miss pairs that only it separates. So the axis is computed with twice the
 *          digits, and left out only if it is shorter than its rounding error. */
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

/* Returns whether a touches or overlaps b: the verdict of the 15-axis test (4 axes in the plane) on
 * closed sets. It is the same as obb_sat_separation(a, b).gap <= 0.
 *
 * Accuracy right for every pair that is apart or overlaps by more than 1e-12 of its extent, and for
 *          exact contact of boxes whose axes are coordinate axes. The former holds for extents
 *          above 1e-140: below, products of lengths underflow.
 * Cost     about 300 flops, 20 ns. */
bool obb_sat_overlap(const obb_solid *a, const obb_solid *b);

/* Returns obb_sat_overlap of the solids of two boxes (obb_solid_from_box), without making them for
 * boxes whose axes are the coordinate axes: those are apart if their intervals along one of the
 * axes are, and every other axis of the test repeats one of these with the same bits.
 *
 * Cost     2 ns for such boxes, of which worlds built on a grid are full; 50 ns for others. */
bool obb_sat_overlap_of_boxes(const obb_box *a, const obb_box *b, int dimensions);

/* Returns the largest gap over the axes, with its axis and normal.
 *
 * gap > 0  the boxes are that far apart along the normal. The gap is a lower bound of their
 *          distance, and no less than 1/sqrt(3) of the distance.
 * gap <= 0 -gap is the depth of the minimum translation vector: moving b by normal * -gap leaves
 *          the two touching, and no shorter motion separates them.
 * axis     the first, in the contract's order, of the axes whose gap is the largest up to rounding.
 *          Order breaks ties, so among tied axes the exchanged pair may name another one.
 * normal   if the centres coincide along the axis, the axis itself, also for the exchanged pair.
 * Accuracy within 1e-12 of the pair's extent. Exact contact of boxes whose axes are coordinate axes
 *          is a gap of exactly 0.
 * Cost     about 90 ns. */
obb_separation obb_sat_separation(const obb_solid *a, const obb_solid *b);

/* Returns how b lies to a. OBB_TOUCHING is a gap of 0 within 1e-12 of the pair's extent.
 * OBB_CONTAINS (a contains b) and OBB_INSIDE (a is inside b) take precedence over touching (a
 * plate on a face, a point on an edge), and contains over inside (equal boxes). Both allow for
 * rounding: 2^-45 of the sum of the pair's lengths. */
obb_relation obb_sat_relation(const obb_solid *a, const obb_solid *b);

/* Returns the pair's extent: the distance of its farthest corners, up to a few ulp. The
 * exchanged pair has the same bits. */
double obb_sat_extent(const obb_solid *a, const obb_solid *b);

/* Returns the name of axis 0 to 14: "a.x" ... "a.z*b.z". */
const char *obb_sat_axis_name(int axis);

#endif
