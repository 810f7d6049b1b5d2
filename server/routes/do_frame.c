/* Single frames: putting, reading, removing and listing them. */
#include "server/routes/handlers.h"
#include "server/routes/listing.h"
#include "server/scenes/await.h"
#include "server/scenes/change.h"
#include "server/scenes/conditions.h"
#include "server/scenes/scenes.h"

enum { FRAME_PART = 4 }; /* where the name stands in /v1/scenes/{scene}/frames/{frame} */

/* ---- Changes --------------------------------------------------------------------------------- */

struct frame_change {
    struct srv_change change; /* first */
    bool remove;              /* DELETE; otherwise PUT */
    obb_str name;
    int dimensions;
    obb_pose pose;
    obb_edit edit;
    bool good;
    wire_problem problem;
};

static void change_read(struct srv_work *work)
{
    struct frame_change *c = (struct frame_change *)work;
    struct srv_request *request = work->request;
    c->good = c->remove || wire_read_frame(&request->body, c->dimensions, c->name, &request->arena,
                                           &c->pose, &c->problem);
}

/* Answers with the frame as the commit left it. */
static void change_reply(struct srv_change *change)
{
    struct frame_change *c = (struct frame_change *)change;
    struct srv_request *request = change->work.request;
    if (c->remove) {
        srv_reply_empty(request, 204);
        return;
    }
    struct obb_view *view = srv_open_view(request, change->write.scene, NULL);
    if (view == NULL)
        return;
    wire_write_frame(&request->reply, request->accept, view, obb_view_find_frame(view, c->name),
                     false);
    srv_view_close(request->services->locks, view);
    srv_reply(request, change->write.committed.made_frames > 0 ? 201 : 200,
              wire_media_type(request->accept));
}

static void change_apply(struct srv_work *work)
{
    struct frame_change *c = (struct frame_change *)work;
    if (!c->good) {
        srv_reply_problem(work->request, &c->problem);
        return;
    }
    c->edit = (obb_edit){.dimensions = c->dimensions};
    if (c->remove) {
        c->edit.remove_frames = &c->name;
        c->edit.remove_frame_count = 1;
        c->edit.remove_frame_must_exist = true;
    } else {
        c->edit.frames = &c->pose;
        c->edit.frame_count = 1;
        c->change.op.if_none_match = work->request->if_none_match;
    }
    c->change.op.if_match_frame = c->name;
    c->change.op.kind = SRV_OP_EDIT;
    c->change.op.settings = srv_default_settings(work->request->services);
    c->change.op.edit = &c->edit;
    c->change.applied = change_reply;
    srv_change_start(&c->change);
}

static void change_frame(struct srv_request *request, bool remove)
{
    if (!srv_no_params(request))
        return;
    struct frame_change *c = srv_work_room(request, sizeof *c);
    if (c == NULL || !srv_path_name(request, SRV_SCENE_PART, &c->change.op.scene) ||
        !srv_path_name(request, FRAME_PART, &c->name))
        return;
    c->change.work.request = request;
    c->remove = remove;
    c->dimensions = srv_scene_dimensions(request->services, c->change.op.scene);
    srv_work_decode(&c->change.work, change_read, change_apply);
}

void srv_do_frame_put(struct srv_request *request) { change_frame(request, false); }
void srv_do_frame_delete(struct srv_request *request) { change_frame(request, true); }

/* ---- Reading --------------------------------------------------------------------------------- */

void srv_do_frame_get(struct srv_request *request)
{
    wire_box_params params;
    wire_problem problem;
    if (!wire_read_frame_params(request->target.params, request->target.param_count,
                                &request->arena, &params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    obb_str name;
    if (!srv_path_name(request, FRAME_PART, &name))
        return;
    struct obb_scene *scene =
        srv_path_scene_at(request, &params.freshness, params.has_at ? &params.at : NULL);
    if (scene == NULL)
        return;
    struct obb_view *view = srv_open_view(request, scene, params.has_at ? &params.at : NULL);
    if (view == NULL)
        return;
    const struct obb_version *frame = obb_view_find_frame(view, name);
    if (frame == NULL) {
        srv_reply_name(request, OBB_NO_FRAME, name);
    } else if (params.has_at || !srv_not_modified(request, obb_view_info_get(view)->at.revision)) {
        wire_write_frame(&request->reply, request->accept, view, frame, params.has_at);
        srv_reply(request, 200, wire_media_type(request->accept));
    }
    srv_view_close(request->services->locks, view);
}

/* Returns the first frame of the page, or NULL: behind the cursor and not before the prefix. */
static const struct obb_version *first_of_page(const struct srv_listing *listing)
{
    const obb_str cursor = listing->params.after_name, prefix = listing->params.prefix;
    return obb_str_compare(cursor, prefix) >= 0 ? obb_view_next_frame(listing->view, cursor, true)
                                                : obb_view_next_frame(listing->view, prefix, false);
}

enum { POLL = 1024 }; /* frames between two checks of the cancel flag */

static bool list_write(const struct srv_listing *listing)
{
    struct srv_request *request = listing->work.request;
    const obb_str prefix = listing->params.prefix;
    const size_t frames = obb_view_info_get(listing->view)->frames;
    const size_t room = listing->params.limit < frames ? listing->params.limit : frames;
    const struct obb_version **page = obb_arena_alloc(&request->arena, room, sizeof *page);
    if (page == NULL)
        return false;
    size_t count = 0;
    const struct obb_version *frame = first_of_page(listing);
    for (; frame != NULL && count < room && obb_str_starts_with(obb_view_name(frame), prefix);
         frame = obb_view_next_frame(listing->view, obb_view_name(frame), true)) {
        if (count % POLL == POLL - 1 && atomic_load(&request->cancelled))
            return false;
        page[count++] = frame;
    }
    const bool more = frame != NULL && obb_str_starts_with(obb_view_name(frame), prefix);
    wire_write_frames(&request->reply, request->accept, listing->view, page, count, more);
    return true;
}

#define FRAME_NS 1000.0 /* to find the next frame and to write it */

static double list_cost(const struct srv_listing *listing)
{
    const size_t frames = obb_view_info_get(listing->view)->frames, limit = listing->params.limit;
    return FRAME_NS * (double)(limit < frames ? limit : frames);
}

static const struct srv_listing_kind frame_list = {
    .read = wire_read_frame_list_params, .cost = list_cost, .write = list_write};

void srv_do_frame_list(struct srv_request *request) { srv_listing_answer(request, &frame_list); }
