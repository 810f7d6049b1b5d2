#include "server/scenes/rebuild.h"

#include <stddef.h>

struct srv_rebuild {
    struct srv_job job;
    struct srv_wait wait;
    struct srv_rebuilds *rebuilds;
    struct obb_scene *scene; /* lives while the view is open, removed or not */
    struct obb_view *view;
    struct obb_rebuild *work;
    struct obb_layers *fresh; /* the result; NULL until it is complete */
    _Atomic int status;       /* the first that is not OBB_OK */
    atomic_bool cancelled;
    double started;
    struct srv_rebuild *previous, *next;
};

static void note(struct srv_rebuild *r, obb_status status)
{
    int none = OBB_OK;
    if (status != OBB_OK)
        (void)atomic_compare_exchange_strong(&r->status, &none, (int)status);
}

static size_t advance(struct srv_job *job)
{
    struct srv_rebuild *r = (struct srv_rebuild *)job;
    obb_status status = OBB_OK;
    size_t chunks = 0;
    if (r->work == NULL)
        status = obb_view_rebuild(r->view, &r->cancelled, &r->work);
    if (status == OBB_OK && atomic_load(&r->status) == OBB_OK) {
        chunks = obb_rebuild_advance(r->work, &status);
        if (chunks == 0 && status == OBB_OK)
            status = obb_rebuild_take(r->work, &r->fresh);
    }
    note(r, status);
    return chunks;
}

static void run_chunk(struct srv_job *job, size_t chunk)
{
    struct srv_rebuild *r = (struct srv_rebuild *)job;
    note(r, obb_rebuild_chunk(r->work, chunk));
}

static void finish(struct srv_rebuild *r)
{
    struct srv_rebuilds *rebuilds = r->rebuilds;
    const obb_view_info *info = obb_view_info_get(r->view);
    obb_rebuild_destroy(r->work);
    if (r->fresh != NULL)
        note(r, obb_scene_rebase(r->scene, r->fresh));
    else
        note(r, OBB_CANCELLED); /* given up between two phases */
    const obb_status status = (obb_status)atomic_load(&r->status);
    rebuilds->metrics->rebuilds_total += status == OBB_OK;
    rebuilds->metrics->rebuild_us_total += (uint64_t)((srv_clock() - r->started) * 1e6);
    SRV_LOG(rebuilds->log, status == OBB_NO_MEMORY ? SRV_WARN : SRV_DEBUG, "rebuild",
            srv_bytes("scene", obb_scene_name(r->scene)),
            srv_integer("boxes", (int64_t)info->boxes), srv_text("status", obb_status_name(status)),
            srv_number("ms", (srv_clock() - r->started) * 1e3));
    srv_view_close(rebuilds->locks, r->view);
    *(r->previous != NULL ? &r->previous->next : &rebuilds->first) = r->next;
    if (r->next != NULL)
        r->next->previous = r->previous;
    obb_free(r);
    srv_drain_release(rebuilds->drain);
}

static void finish_when_unlocked(struct srv_wait *wait)
{
    struct srv_rebuild *r =
        (struct srv_rebuild *)(void *)((char *)wait - offsetof(struct srv_rebuild, wait));
    if (!srv_lock_wait(r->rebuilds->locks, r->scene, &r->wait))
        finish(r);
}

static void rebuilt(struct srv_job *job)
{
    struct srv_rebuild *r = (struct srv_rebuild *)job;
    r->wait.again = finish_when_unlocked;
    finish_when_unlocked(&r->wait);
}

static void rebuild_if_decayed(struct srv_rebuilds *rebuilds, struct obb_scene *scene)
{
    if (!obb_scene_decayed(scene))
        return;
    for (const struct srv_rebuild *r = rebuilds->first; r != NULL; r = r->next)
        if (r->scene == scene)
            return;
    struct srv_rebuild *r = obb_calloc(1, sizeof *r);
    if (r == NULL)
        return;
    r->job.advance = advance;
    r->job.chunk = run_chunk;
    r->job.done = rebuilt;
    r->job.background = true;
    r->job.cancelled = &r->cancelled;
    r->rebuilds = rebuilds;
    r->scene = scene;
    r->started = srv_clock();
    if (srv_view_open(rebuilds->locks, scene, NULL, &r->view, NULL, NULL) != OBB_OK) {
        obb_free(r);
        return;
    }
    if (srv_pool_submit(rebuilds->pool, &r->job) != SRV_SUBMITTED) {
        srv_view_close(rebuilds->locks, r->view);
        obb_free(r);
        return;
    }
    srv_drain_hold(rebuilds->drain);
    r->next = rebuilds->first;
    if (r->next != NULL)
        r->next->previous = r;
    rebuilds->first = r;
}

static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    (void)committed;
    if (op->kind == SRV_OP_EDIT || op->kind == SRV_OP_FOLLOW)
        rebuild_if_decayed(context, scene);
}

static bool holds(void *context, const struct obb_scene *scene)
{
    const struct srv_rebuilds *rebuilds = context;
    const struct srv_rebuild *r = rebuilds->first;
    while (r != NULL && r->scene != scene)
        r = r->next;
    return r != NULL;
}

srv_write_listener srv_rebuilds_listener(struct srv_rebuilds *rebuilds)
{
    return (srv_write_listener){.on_commit = on_commit, .holds = holds, .context = rebuilds};
}

void srv_rebuilds_cancel(struct srv_rebuilds *rebuilds)
{
    for (struct srv_rebuild *r = rebuilds->first; r != NULL; r = r->next) {
        atomic_store(&r->cancelled, true);
        srv_pool_cancelled(&r->job);
    }
}
