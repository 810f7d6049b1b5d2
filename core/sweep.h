/* A box that moves without turning, against boxes that stand still. */
#ifndef OBB_SWEEP_H
#define OBB_SWEEP_H

#include "core/box.h"

#include <stdbool.h>

typedef struct obb_sweep_hit {
    double fraction; /* of the motion at first contact, 0 to 1 */
    obb_vec3 point; /* a contact point at that moment, within both boxes' surfaces up to rounding */
    obb_vec3
        normal; /* unit, of the surface hit, pointing against the motion (from target to mover) */
    bool started_overlapping;
} obb_sweep_hit;

/* First contact of `mover` moved along `motion` with `target`; *out is written when there is one. */
bool obb_sweep_cast(const obb_solid *mover, obb_vec3 motion, const obb_solid *target,
                    obb_sweep_hit *out);

#endif
