/* Rebuilding the broad phase of scenes beside the work. */
#include "server/scenes.h"
#include "server/writer.h"

#include <stddef.h>

struct srv_rebuild {
    struct srv_job job;
    struct srv_wait wait;
    struct srv_server *server;
    struct obb_scene *scene; /* lives while the view is open, deleted or not */
    struct obb_view *view;
    struct obb_layers *fresh;
    obb_status status;
    atomic_bool cancelled;
    double started;
    struct srv_rebuild *previous, *next;
};

static size_t rebuild(struct srv_job *job)
{
    struct srv_rebuild *r = (struct srv_rebuild *)job;
    r->status = obb_view_rebuild(r->view, &r->cancelled, &r->fresh);
    return 0;
}

static void finish(struct srv_rebuild *r)
{
    struct srv_server *server = r->server;
    const obb_view_info *info = obb_view_info_get(r->view);
    if (r->status == OBB_OK)
        r->status = obb_scene_rebase(r->scene, r->fresh);
    server->metrics.rebuilds_total += r->status == OBB_OK;
    server->metrics.rebuild_us_total += (uint64_t)((srv_clock() - r->started) * 1e6);
    SRV_LOG(&server->log, r->status == OBB_NO_MEMORY ? SRV_WARN : SRV_DEBUG, "rebuild",
            srv_bytes("scene", obb_scene_name(r->scene)),
            srv_integer("boxes", (int64_t)info->boxes),
            srv_text("status", obb_status_name(r->status)),
            srv_number("ms", (srv_clock() - r->started) * 1e3));
    srv_view_close(server, r->view);
    *(r->previous != NULL ? &r->previous->next : &server->rebuilds) = r->next;
    if (r->next != NULL)
        r->next->previous = r->previous;
    obb_free(r);
    srv_server_may_end(server);
}

static void finish_when_open(struct srv_wait *wait)
{
    struct srv_rebuild *r =
        (struct srv_rebuild *)(void *)((char *)wait - offsetof(struct srv_rebuild, wait));
    if (!srv_wait_for(r->server, r->scene, &r->wait))
        finish(r);
}

static void rebuilt(struct srv_job *job)
{
    struct srv_rebuild *r = (struct srv_rebuild *)job;
    r->wait.again = finish_when_open; /* who waited before may have closed it again */
    finish_when_open(&r->wait);
}

/* Where it cannot be begun it is left to the next commit: the scene works all the same. */
void srv_rebuild_if_decayed(struct srv_server *server, struct obb_scene *scene)
{
    if (!obb_scene_decayed(scene))
        return;
    for (const struct srv_rebuild *r = server->rebuilds; r != NULL; r = r->next)
        if (r->scene == scene)
            return;
    struct srv_rebuild *r = obb_calloc(1, sizeof *r);
    if (r == NULL)
        return;
    r->job.advance = rebuild;
    r->job.done = rebuilt;
    r->job.beside = true;
    r->job.cancelled = &r->cancelled;
    r->server = server;
    r->scene = scene;
    r->status = OBB_CANCELLED;
    r->started = srv_clock();
    if (srv_view_open(server, scene, NULL, &r->view, NULL, NULL) != OBB_OK) {
        obb_free(r);
        return;
    }
    if (srv_pool_submit(server->pool, &r->job) != SRV_SUBMITTED) {
        srv_view_close(server, r->view);
        obb_free(r);
        return;
    }
    r->next = server->rebuilds;
    if (r->next != NULL)
        r->next->previous = r;
    server->rebuilds = r;
}

void srv_rebuilds_cancel(struct srv_server *server)
{
    for (struct srv_rebuild *r = server->rebuilds; r != NULL; r = r->next) {
        atomic_store(&r->cancelled, true);
        srv_pool_cancelled(&r->job);
    }
}
