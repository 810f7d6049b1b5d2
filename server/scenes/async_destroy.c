#include "server/scenes/async_destroy.h"

struct destruction {
    struct srv_job job; /* first */
    struct srv_drain *drain;
    struct obb_scene *scene;
};

static size_t destroy_step(struct srv_job *job)
{
    obb_scene_destroy(((struct destruction *)job)->scene);
    return 0;
}

static void destroyed(struct srv_job *job)
{
    struct srv_drain *drain = ((struct destruction *)job)->drain;
    obb_free(job);
    srv_drain_release(drain);
}

void srv_async_destroy(struct srv_pool *pool, struct srv_drain *drain, struct obb_scene *scene)
{
    if (scene == NULL)
        return;
    struct destruction *d = obb_calloc(1, sizeof *d);
    if (d != NULL) {
        d->job.advance = destroy_step;
        d->job.done = destroyed;
        d->job.background = true;
        d->drain = drain;
        d->scene = scene;
        if (srv_pool_submit(pool, &d->job) == SRV_SUBMITTED) {
            srv_drain_hold(drain);
            return;
        }
        obb_free(d);
    }
    obb_scene_destroy(scene);
}
