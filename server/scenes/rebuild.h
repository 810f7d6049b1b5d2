/* Rebuilding indexes on the pool. Commits only mend the index of a scene; when it has decayed, it
 * is rebuilt from a view while commits go on. */
#ifndef SRV_REBUILD_H
#define SRV_REBUILD_H

#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/scenes/writer.h"

/* All rebuilds of a service. Zeroed except for the first group. */
struct srv_rebuilds {
    struct srv_pool *pool; /* where they run */
    struct srv_locks
        *locks; /* opens the view of a rebuild; its result waits while the scene is locked */
    struct srv_drain *drain;     /* each rebuild holds it */
    struct srv_metrics *metrics; /* counts them */
    const srv_log *log;

    struct srv_rebuild *first; /* the list of those under way */
};

/* A listener for the writer: after each edit, if the scene's index has decayed and is not being
 * rebuilt yet, begins to rebuild it. If there is no memory for that, leaves it to the next edit:
 * the scene works all the same. */
srv_write_listener srv_rebuilds_listener(struct srv_rebuilds *rebuilds);

/* Gives up the rebuilds that are under way. Each gives its hold of the drain back soon. */
void srv_rebuilds_cancel(struct srv_rebuilds *rebuilds);

#endif
