/* Measuring the bounds of a large scene on the pool. A commit that moves or removes a box at the
 * bounds leaves them unknown, and measuring them takes about 40 ns a box (38 ms for a million). The
 * scene is locked meanwhile. */
#ifndef SRV_MEASURE_H
#define SRV_MEASURE_H

#include "server/scenes/lock.h"

/* In the caller's memory, zeroed. */
struct srv_measure {
    struct srv_job job; /* first */
    struct srv_locks *locks;
    struct srv_scene_lock lock;
    void (*measured)(struct srv_measure *measure);
};

/* Returns whether the bounds of the scene, which is unlocked, are unknown and too slow to measure
 * on the loop. */
bool srv_measure_is_slow(const struct obb_scene *scene);

/* Measures on the pool, and then calls `measured` on the loop, with the scene unlocked and the
 * bounds known. Requests that waited for the scene go on afterwards, so `measure` must live until
 * the loop's next turn. Returns false if there is no memory; then nothing was begun. */
bool srv_measure_start(struct srv_measure *measure, struct srv_locks *locks, struct srv_pool *pool,
                       struct obb_scene *scene, void (*measured)(struct srv_measure *measure));

#endif
