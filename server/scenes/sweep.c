#include "server/scenes/sweep.h"

#include <stddef.h>

static struct srv_sweeps *sweeps_of(struct srv_job *job)
{
    return (struct srv_sweeps *)(void *)((char *)job - offsetof(struct srv_sweeps, job));
}

static size_t sweep_step(struct srv_job *job)
{
    const struct srv_sweeps *s = sweeps_of(job);
    obb_scene_sweep(s->lock.scene, s->ended);
    return 0;
}

static void swept(struct srv_job *job)
{
    struct srv_sweeps *s = sweeps_of(job);
    s->busy = false;
    srv_lock_release(s->locks, &s->lock);
    obb_scene_settle(s->lock.scene);
    srv_lock_wake(&s->lock);
    srv_drain_release(s->drain);
}

static void begin(void *context)
{
    struct srv_sweeps *s = context;
    struct obb_scene *scene = s->due;
    s->due = NULL;
    if (scene == NULL || s->busy || srv_pool_busy(s->pool) || srv_scene_locked(s->locks, scene))
        return;
    s->lock = (struct srv_scene_lock){0};
    if (!srv_lock_take(s->locks, &s->lock, scene, false, 0))
        return;
    s->job = (struct srv_job){.advance = sweep_step, .done = swept, .background = true};
    if (srv_pool_submit(s->pool, &s->job) != SRV_SUBMITTED) {
        srv_lock_release(s->locks, &s->lock);
        return;
    }
    s->busy = true;
    srv_drain_hold(s->drain);
}

bool srv_sweeps_init(struct srv_sweeps *sweeps)
{
    return srv_timer_create(sweeps->loop, begin, sweeps, &sweeps->timer);
}

void srv_sweeps_fini(struct srv_sweeps *sweeps) { srv_timer_destroy(sweeps->timer); }

/* Waits for the loop's next turn: whoever is told of the commit, or answered, reads the scene
 * before it is locked. */
static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    struct srv_sweeps *s = context;
    (void)op;
    if (committed->ended_count < SRV_SWEPT || s->busy)
        return;
    s->due = scene;
    s->ended = committed->ended_count;
    srv_timer_start(s->timer, 0, 0);
}

static void on_remove(void *context, const srv_op *op, struct obb_scene *scene)
{
    struct srv_sweeps *s = context;
    (void)op;
    if (s->due == scene)
        s->due = NULL;
}

static bool holds(void *context, const struct obb_scene *scene)
{
    const struct srv_sweeps *s = context;
    return s->due == scene || (s->busy && s->lock.scene == scene);
}

srv_write_listener srv_sweeps_listener(struct srv_sweeps *sweeps)
{
    return (srv_write_listener){
        .on_commit = on_commit, .on_remove = on_remove, .holds = holds, .context = sweeps};
}
