/* Single frames: putting, reading, removing and listing them. */
#include "server/routes/handlers.h"
#include "server/scenes/await.h"
#include "server/scenes/change.h"
#include "server/scenes/conditions.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/scenes.h"

#include <string.h>

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
    }
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
    struct obb_scene *scene =
        srv_path_scene_at(request, &params.freshness, params.has_at ? &params.at : NULL);
    if (scene == NULL || !srv_path_name(request, FRAME_PART, &name))
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

struct frame_list {
    struct srv_work work; /* first */
    wire_list_params params;
    struct obb_view *view;
    bool good;
};

static bool starts_with(obb_str text, obb_str with)
{
    return text.length >= with.length &&
           obb_str_equal((obb_str){.bytes = text.bytes, .length = with.length}, with);
}

/* Returns the first frame of the page, or NULL: behind the cursor and not before the prefix. */
static const struct obb_version *first_of_page(const struct frame_list *l)
{
    const obb_str cursor = l->params.after_name, prefix = l->params.prefix;
    const size_t shorter = cursor.length < prefix.length ? cursor.length : prefix.length;
    const int order = shorter == 0 ? 0 : memcmp(cursor.bytes, prefix.bytes, shorter);
    const bool from_cursor = order > 0 || (order == 0 && cursor.length >= prefix.length);
    return from_cursor ? obb_view_next_frame(l->view, cursor, true)
                       : obb_view_next_frame(l->view, prefix, false);
}

enum { POLL = 1024 }; /* frames between two checks of the cancel flag */

/* Gathers the page and writes it into request->reply. Any thread. */
static void list_write(struct frame_list *l)
{
    struct srv_request *request = l->work.request;
    const wire_list_params *params = &l->params;
    const size_t frames = obb_view_info_get(l->view)->frames;
    const size_t room = params->limit < frames ? params->limit : frames;
    const struct obb_version **page = obb_arena_alloc(&request->arena, room, sizeof *page);
    if (page == NULL)
        return;
    size_t count = 0;
    const struct obb_version *frame = first_of_page(l);
    for (; frame != NULL && count < room && starts_with(obb_view_name(frame), params->prefix);
         frame = obb_view_next_frame(l->view, obb_view_name(frame), true)) {
        if (count % POLL == POLL - 1 && atomic_load(&request->cancelled))
            return;
        page[count++] = frame;
    }
    const bool more = frame != NULL && starts_with(obb_view_name(frame), params->prefix);
    wire_write_frames(&request->reply, request->accept, l->view, page, count, more);
    l->good = true;
}

static void list_reply(struct srv_work *work)
{
    struct frame_list *l = (struct frame_list *)work;
    struct srv_request *request = work->request;
    srv_view_close(request->services->locks, l->view);
    if (atomic_load(&request->cancelled))
        srv_reply_cancelled(request);
    else if (!l->good)
        srv_reply_status(request, OBB_NO_MEMORY);
    else
        srv_reply(request, 200, wire_media_type(request->accept));
}

static size_t list_step(struct srv_job *job)
{
    list_write((struct frame_list *)job);
    return 0;
}

#define FRAME_NS 1000.0 /* to find the next frame and to write it */

void srv_do_frame_list(struct srv_request *request)
{
    struct frame_list *l = srv_work_room(request, sizeof *l);
    if (l == NULL)
        return;
    l->work.request = request;
    wire_problem problem;
    if (!wire_read_frame_list_params(request->target.params, request->target.param_count,
                                     &request->arena, &l->params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    struct obb_scene *scene = srv_path_scene_at(request, &l->params.freshness, NULL);
    if (scene == NULL)
        return;
    l->view = srv_open_view(request, scene, NULL);
    if (l->view == NULL)
        return;
    const obb_view_info *info = obb_view_info_get(l->view);
    const size_t listed = l->params.limit < info->frames ? l->params.limit : info->frames;
    if (srv_not_modified(request, info->at.revision)) {
        srv_view_close(request->services->locks, l->view);
    } else if (FRAME_NS * (double)listed <= SRV_LOOP_NS) {
        list_write(l);
        list_reply(&l->work);
    } else {
        l->work.job.advance = list_step;
        if (!srv_work_start(&l->work, list_reply))
            srv_view_close(request->services->locks, l->view);
    }
}
