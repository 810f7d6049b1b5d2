/* A box that moves without turning, against boxes that stand still. */
#ifndef OBB_SWEEP_H
#define OBB_SWEEP_H

#include "core/geometry/box.h"

#include <stdbool.h>

typedef struct obb_sweep_hit {
    double fraction; /* of the motion at first contact, 0 to 1 */
    obb_vec3
        point; /* a contact point at that moment, within both boxes' surfaces up to rounding; a common point
                        where they overlapped from the start */
    obb_vec3
        normal; /* unit, from target to mover: of the surface hit, against the motion; where they overlapped from
                        the start, the shortest way out */
    bool started_overlapping;
} obb_sweep_hit;

/* First contact of `mover` moved along `motion` (scene units) with `target` up to `max_fraction` (0 to 1) of the way;
 * *out is written when there is one.
 *
 * Boxes are closed: contact at the very start is an overlap, contact at the very end a hit. started_overlapping is the
 * verdict of obb_sat_overlap. A motion of zero finds what overlaps. Of axes that are reached at once the first in the
 * order of sat.h gives the normal.
 *
 * Exact for boxes parallel to the coordinate axes whose coordinates and quotients are representable. Otherwise, with
 * scale = |mover.center - target.center| + |motion| + the half extents of both: a mover that passes clear by more than
 * 1e-14 * scale, or would enter deeper than that, is decided right, and at the reported fraction the gap between the boxes
 * is within 1e-14 * scale of 0.
 *
 * Cost     about 700 flops, 30 divisions and, for a hit, obb_closest_boxes; no allocation; any thread.
 * Source   moving separating axes: Ericson, "Real-Time Collision Detection", 2005, 5.5.8; the difference of two boxes is a
 *          polytope whose faces the 15 axes bound, so this is a ray against it. */
bool obb_sweep_cast(const obb_solid *mover, obb_vec3 motion, double max_fraction,
                    const obb_solid *target, obb_sweep_hit *out);

#endif
