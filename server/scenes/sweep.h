/* Sweeping scenes on the pool. A commit puts states out of reach, and their versions and broad
 * phases are released on a later occasion. After a large commit that takes a tenth as long as the
 * commit. So it is done behind its answer, if no other job waits, and the next commit need not do
 * it. The scene is locked meanwhile. */
#ifndef SRV_SWEEP_H
#define SRV_SWEEP_H

#include "server/scenes/writer.h"

/* All sweeps of a service, one at a time. Zeroed except for the first group. */
struct srv_sweeps {
    struct srv_loop *loop;
    struct srv_pool *pool;   /* where they run */
    struct srv_locks *locks; /* of the scenes */
    struct srv_drain *drain; /* held meanwhile */

    struct srv_timer *timer; /* for the turn after a large commit */
    struct obb_scene *due;   /* is swept then; NULL: none */
    size_t ended;            /* versions that its commit ended */
    bool busy;               /* a scene is being swept... */
    struct srv_job job;
    struct srv_scene_lock lock; /* ...this one */
};

/* Returns false without memory. */
bool srv_sweeps_init(struct srv_sweeps *sweeps);

/* No sweep may be under way. */
void srv_sweeps_fini(struct srv_sweeps *sweeps);

/* A listener for the writer: after an edit that ended SRV_SWEPT versions or more, begins to sweep
 * its scene, unless a worker touches the scene already or has other work. Then it is left to the
 * next commit. */
#define SRV_SWEPT 4096 /* 40 us */
srv_write_listener srv_sweeps_listener(struct srv_sweeps *sweeps);

#endif
