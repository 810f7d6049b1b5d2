/* The bounds of all boxes of a scene, kept as long as that is cheap. Internal to core, the
 * writer's.
 *
 * A new box can only widen the bounds. A box that is removed, or moved away, may shrink them if it
 * touched them: the bounds are then unknown until the next measurement. */
#ifndef OBB_CACHED_BOUNDS_H
#define OBB_CACHED_BOUNDS_H

#include "core/geometry/box.h"
#include "core/versions/version.h"

#include <stdbool.h>
#include <stdint.h>

struct obb_cached_bounds {
    bool known; /* false: must be measured */
    obb_bounds bounds;
};

/* The bounds of no box: known, and empty (min above max). */
void obb_cached_bounds_init(struct obb_cached_bounds *cached);

/* Keep the bounds in step with a version that came into the newest state, or went. O(1). */
void obb_cached_bounds_add(struct obb_cached_bounds *cached, const obb_box *box, int dimensions);
void obb_cached_bounds_remove(struct obb_cached_bounds *cached, const obb_box *box, int dimensions);

/* Measures all boxes in the state of `revision`, which is kept. O(slots of the pool). */
void obb_cached_bounds_measure(struct obb_cached_bounds *cached,
                               const struct obb_versions *versions, uint64_t revision,
                               int dimensions);

#endif
