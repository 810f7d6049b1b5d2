/* Rebuilding the broad phase of scenes beside the work. */
#include "server/scenes/scenes.h"
#include "server/scenes/writer.h"

#include <stddef.h>

struct srv_rebuild {
    struct srv_job job;
    struct srv_wait wait;
    struct srv_services *services;
    struct obb_scene *scene; /* lives while the view is open, deleted or not */
    struct obb_view *view;
    struct obb_rebuild *work;
    struct obb_layers *fresh; /* when it is done */
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
    struct srv_services *services = r->services;
    const obb_view_info *info = obb_view_info_get(r->view);
    obb_rebuild_destroy(r->work);
    if (r->fresh != NULL)
        note(r, obb_scene_rebase(r->scene, r->fresh));
    else
        note(r, OBB_CANCELLED); /* between two phases */
    const obb_status status = (obb_status)atomic_load(&r->status);
    services->metrics.rebuilds_total += status == OBB_OK;
    services->metrics.rebuild_us_total += (uint64_t)((srv_clock() - r->started) * 1e6);
    SRV_LOG(&services->log, status == OBB_NO_MEMORY ? SRV_WARN : SRV_DEBUG, "rebuild",
            srv_bytes("scene", obb_scene_name(r->scene)),
            srv_integer("boxes", (int64_t)info->boxes), srv_text("status", obb_status_name(status)),
            srv_number("ms", (srv_clock() - r->started) * 1e3));
    srv_view_close(services, r->view);
    *(r->previous != NULL ? &r->previous->next : &services->rebuilds) = r->next;
    if (r->next != NULL)
        r->next->previous = r->previous;
    obb_free(r);
    srv_server_may_end(services);
}

static void finish_when_open(struct srv_wait *wait)
{
    struct srv_rebuild *r =
        (struct srv_rebuild *)(void *)((char *)wait - offsetof(struct srv_rebuild, wait));
    if (!srv_wait_for(r->services, r->scene, &r->wait))
        finish(r);
}

static void rebuilt(struct srv_job *job)
{
    struct srv_rebuild *r = (struct srv_rebuild *)job;
    r->wait.again = finish_when_open; /* who waited before may have closed it again */
    finish_when_open(&r->wait);
}

/* Where it cannot be begun it is left to the next commit: the scene works all the same. */
void srv_rebuild_if_decayed(struct srv_services *services, struct obb_scene *scene)
{
    if (!obb_scene_decayed(scene))
        return;
    for (const struct srv_rebuild *r = services->rebuilds; r != NULL; r = r->next)
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
    r->services = services;
    r->scene = scene;
    r->started = srv_clock();
    if (srv_view_open(services, scene, NULL, &r->view, NULL, NULL) != OBB_OK) {
        obb_free(r);
        return;
    }
    if (srv_pool_submit(services->pool, &r->job) != SRV_SUBMITTED) {
        srv_view_close(services, r->view);
        obb_free(r);
        return;
    }
    r->next = services->rebuilds;
    if (r->next != NULL)
        r->next->previous = r;
    services->rebuilds = r;
}

void srv_rebuilds_cancel(struct srv_services *services)
{
    for (struct srv_rebuild *r = services->rebuilds; r != NULL; r = r->next) {
        atomic_store(&r->cancelled, true);
        srv_pool_cancelled(&r->job);
    }
}
