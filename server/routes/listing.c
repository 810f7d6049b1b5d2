#include "server/routes/listing.h"
#include "server/scenes/await.h"
#include "server/scenes/conditions.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/scenes.h"

static void reply(struct srv_work *work)
{
    struct srv_listing *listing = (struct srv_listing *)work;
    struct srv_request *request = work->request;
    srv_view_close(request->services->locks, listing->view);
    if (atomic_load(&request->cancelled))
        srv_reply_cancelled(request);
    else if (!listing->written)
        srv_reply_status(request, OBB_NO_MEMORY);
    else
        srv_reply(request, 200, wire_media_type(request->accept));
}

static size_t step(struct srv_job *job)
{
    struct srv_listing *listing = (struct srv_listing *)job;
    listing->written = listing->kind->write(listing);
    return 0;
}

void srv_listing_answer(struct srv_request *request, const struct srv_listing_kind *kind)
{
    struct srv_listing *listing = srv_work_room(request, sizeof *listing);
    if (listing == NULL)
        return;
    listing->work.request = request;
    listing->work.job.advance = step;
    listing->kind = kind;
    wire_problem problem;
    if (!kind->read(request->target.params, request->target.param_count, &request->arena,
                    &listing->params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    const obb_at *at = listing->params.has_at ? &listing->params.at : NULL;
    struct obb_scene *scene = srv_path_scene_at(request, &listing->params.freshness, at);
    if (scene == NULL)
        return;
    listing->view = srv_open_view(request, scene, at);
    if (listing->view == NULL)
        return;
    const bool modified =
        at != NULL || !srv_not_modified(request, obb_view_info_get(listing->view)->at.revision);
    if (modified && kind->cost(listing) <= SRV_LOOP_NS) {
        step(&listing->work.job);
        reply(&listing->work);
    } else if (!modified || !srv_work_start(&listing->work, reply)) {
        srv_view_close(request->services->locks, listing->view);
    }
}
