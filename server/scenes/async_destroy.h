/* Destroying scenes on the pool: a scene of a million boxes takes 60 ms. */
#ifndef SRV_ASYNC_DESTROY_H
#define SRV_ASYNC_DESTROY_H

#include "core/obb.h"
#include "server/base/drain.h"
#include "server/base/pool.h"

/* Destroys a scene that is in no store and has no open view. NULL is fine. Holds `drain` until the
 * scene is destroyed. If there is no memory for a job, destroys the scene before returning. Loop
 * only. */
void srv_async_destroy(struct srv_pool *pool, struct srv_drain *drain, struct obb_scene *scene);

#endif
