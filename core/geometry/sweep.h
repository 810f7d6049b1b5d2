/* Casts of a box: it moves without turning, and the others stand still. */
#ifndef OBB_SWEEP_H
#define OBB_SWEEP_H

#include "core/geometry/box.h"

#include <stdbool.h>

typedef struct obb_sweep_hit {
    double fraction; /* of the motion at first contact, 0 to 1 */
    /* A contact point at that moment, on both boxes' surfaces up to rounding. If they overlapped
     * from the start, a common point. */
    obb_vec3 point;
    /* Unit, from target to mover: of the surface hit, against the motion. If they overlapped
     * from the start, the shortest way out. */
    obb_vec3 normal;
    bool started_overlapping; /* in contact at the start: fraction is 0 */
} obb_sweep_hit;

/* Finds the first contact of `mover` with `target`. Returns whether there is one; *out is written
 * only then.
 *
 * motion        scene units. A motion of zero finds only overlaps.
 * max_fraction  0 to 1, of the motion.
 *
 * Boxes are closed: contact at the very end is a hit. Boxes that overlap at the start are a hit at
 * fraction 0, wherever the motion leads. Boxes that only rest on each other at the start are no hit
 * if the motion leads away or along, so a box can slide over the floor on which it stands. If the
 * motion leads into the target, they are a hit at fraction 0.
 *
 * Two boxes rest on each other if the gap of obb_sat_separation is 0 within 1e-12 of the pair's
 * extent (the relation `touching`) and 1e-14 of the largest coordinate of the centres. A motion
 * leads away or along if there is an axis on which the boxes are no deeper in each other than that,
 * and along which the motion enters by at most 1e-12 of its length and 2^-51 of that coordinate.
 *
 * started_overlapping is set if and only if fraction is 0. At fraction 0, obb_sat_overlap says
 * overlap or the gap is within rounding of 0. If several axes are reached at once, the first in the
 * order of sat.h gives the normal.
 *
 * Accuracy exact for boxes parallel to the coordinate axes whose coordinates and quotients are
 *          representable. Otherwise let scale = |mover.center - target.center| + |motion| + the
 *          half extents of both. A mover that does not rest on the target at the start, and that
 *          passes clear by more than 1e-14 * scale or would enter deeper than that, is decided
 *          right. At a fraction above 0 the gap between the boxes is within 1e-14 * scale of 0. A
 *          mover that rests on the target and is no hit never gets deeper into it than the two
 *          allowances above together. Extents below 1e-140 are outside of this promise, as with
 *          obb_sat_overlap.
 * Cost     about 700 flops, 30 divisions and, for a hit, obb_closest_boxes; 1,000 flops more if the
 *          two overlap or nearly touch at the start; no allocation; any thread.
 * Source   moving separating axes: Ericson, "Real-Time Collision Detection", 2005, 5.5.8. The
 *          difference of two boxes is a polytope whose faces the 15 axes bound, so a sweep is a
 *          ray against it. */
bool obb_sweep_cast(const obb_solid *mover, obb_vec3 motion, double max_fraction,
                    const obb_solid *target, obb_sweep_hit *out);

/* Returns the least distance of `mover` and `target` on the way; 0 if they touch or overlap
 * somewhere on it.
 *
 * Accuracy within 2e-12 of the scale above.
 * Cost     obb_closest_boxes for a few places of the mover: 3 to 20, at most 152; no allocation;
 *          any thread.
 * Source   the distance of two convex sets is a convex function of a translation. At each place
 *          the direction between the closest points separates the boxes, so its gap is a lower
 *          bound that is linear in the translation (Kelley, "The Cutting-Plane Method for Solving
 *          Convex Programs", 1960). The search ends when the least distance found is within
 *          1e-12 of the scale of the point where the two bounds around it cross. */
double obb_sweep_distance(const obb_solid *mover, obb_vec3 motion, const obb_solid *target);

#endif
