#include "server/scenes/measure.h"

#include "server/scenes/loop_time.h"

#define MEASURE_NS 40.0 /* about, for a box */

bool srv_measure_is_slow(const struct obb_scene *scene)
{
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    return !obb_scene_measured(scene) && MEASURE_NS * (double)info.boxes > SRV_LOOP_NS;
}

static size_t measure_step(struct srv_job *job)
{
    obb_scene_info info;
    obb_scene_info_get(((struct srv_measure *)job)->lock.scene, &info);
    return 0;
}

static void on_done(struct srv_job *job)
{
    struct srv_measure *m = (struct srv_measure *)job;
    srv_lock_release(m->locks, &m->lock);
    m->measured(m);
    srv_lock_wake(&m->lock);
}

bool srv_measure_start(struct srv_measure *m, struct srv_locks *locks, struct srv_pool *pool,
                       struct obb_scene *scene, void (*measured)(struct srv_measure *measure))
{
    m->job.advance = measure_step;
    m->job.done = on_done;
    m->job.background = true;
    m->locks = locks;
    m->measured = measured;
    if (!srv_lock_take(locks, &m->lock, scene, false, 0))
        return false;
    if (srv_pool_submit(pool, &m->job) == SRV_SUBMITTED)
        return true;
    srv_lock_release(locks, &m->lock);
    return false;
}
