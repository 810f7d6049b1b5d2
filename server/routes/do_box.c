/* Single boxes: putting, reading, changing, removing and listing them. */
#include "server/routes/handlers.h"
#include "server/routes/listing.h"
#include "server/scenes/await.h"
#include "server/scenes/change.h"
#include "server/scenes/conditions.h"
#include "server/scenes/scenes.h"

enum { BOX_PART = 4 }; /* where the name stands in /v1/scenes/{scene}/boxes/{box} */

/* ---- Changes --------------------------------------------------------------------------------- */

enum change { PUT, PATCH, TRANSFORM, MERGE, REMOVE };

struct box_change {
    struct srv_change change; /* first */
    enum change kind;
    obb_str name;
    int dimensions;
    obb_target target;
    obb_put put;
    obb_transform_edit transform;
    obb_merge merge;
    obb_edit edit; /* holds the one of the above that `kind` says */
    bool good;
    wire_problem problem;
};

static void change_read(struct srv_work *work)
{
    struct box_change *c = (struct box_change *)work;
    struct srv_request *request = work->request;
    const wire_body *body = &request->body;
    switch (c->kind) {
    case PUT:
    case PATCH:
        c->good = wire_read_box(body, c->dimensions, c->kind == PATCH, c->name, &request->arena,
                                &c->put, &c->problem);
        break;
    case TRANSFORM:
        c->good = wire_read_transform(body, c->dimensions, c->name, &request->arena, &c->transform,
                                      &c->problem);
        break;
    case MERGE:
        c->good = wire_read_merge(body, c->name, &request->arena, &c->merge, &c->problem);
        break;
    case REMOVE:
        c->good = true;
        break;
    }
}

/* Answers with the box as the commit left it. */
static void change_reply(struct srv_change *change)
{
    struct box_change *c = (struct box_change *)change;
    struct srv_request *request = change->work.request;
    if (c->kind == REMOVE) {
        srv_reply_empty(request, 204);
        return;
    }
    struct obb_view *view = srv_open_view(request, change->write.scene, NULL);
    if (view == NULL)
        return;
    wire_write_box(&request->reply, request->accept, view, obb_view_find(view, c->name), 0, false);
    srv_view_close(request->services->locks, view);
    const bool made = c->kind == PUT && change->write.committed.new_ids[0] != 0;
    srv_reply(request, made ? 201 : 200, wire_media_type(request->accept));
}

static void change_apply(struct srv_work *work)
{
    struct box_change *c = (struct box_change *)work;
    if (!c->good) {
        srv_reply_problem(work->request, &c->problem);
        return;
    }
    c->edit = (obb_edit){.dimensions = c->dimensions};
    switch (c->kind) {
    case PUT:
    case PATCH:
        c->edit.puts = &c->put;
        c->edit.put_count = 1;
        c->edit.puts_must_exist = c->kind == PATCH;
        break;
    case TRANSFORM:
        c->edit.transforms = &c->transform;
        c->edit.transform_count = 1;
        break;
    case MERGE:
        c->edit.merges = &c->merge;
        c->edit.merge_count = 1;
        break;
    case REMOVE:
        c->target.name = c->name;
        c->edit.removes = &c->target;
        c->edit.remove_count = 1;
        c->edit.remove_must_exist = true;
        break;
    }
    c->change.op.kind = SRV_OP_EDIT;
    c->change.op.settings = srv_default_settings(work->request->services);
    c->change.op.edit = &c->edit;
    c->change.op.if_match_box = c->name;
    if (c->kind == PUT)
        c->change.op.if_none_match = work->request->if_none_match;
    c->change.applied = change_reply;
    srv_change_start(&c->change);
}

static void change_box(struct srv_request *request, enum change kind)
{
    if (!srv_no_params(request))
        return;
    struct box_change *c = srv_work_room(request, sizeof *c);
    if (c == NULL || !srv_path_name(request, SRV_SCENE_PART, &c->change.op.scene) ||
        !srv_path_name(request, BOX_PART, &c->name))
        return;
    c->change.work.request = request;
    c->kind = kind;
    c->dimensions = srv_scene_dimensions(request->services, c->change.op.scene);
    srv_work_decode(&c->change.work, change_read, change_apply);
}

void srv_do_box_put(struct srv_request *request) { change_box(request, PUT); }
void srv_do_box_patch(struct srv_request *request) { change_box(request, PATCH); }
void srv_do_box_transform(struct srv_request *request) { change_box(request, TRANSFORM); }
void srv_do_box_merge(struct srv_request *request) { change_box(request, MERGE); }
void srv_do_box_delete(struct srv_request *request) { change_box(request, REMOVE); }

/* ---- Reading --------------------------------------------------------------------------------- */

void srv_do_box_get(struct srv_request *request)
{
    wire_box_params params;
    wire_problem problem;
    if (!wire_read_box_params(request->target.params, request->target.param_count, &request->arena,
                              &params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    obb_str name;
    if (!srv_path_name(request, BOX_PART, &name))
        return;
    struct obb_scene *scene =
        srv_path_box_scene_at(request, &params.freshness, params.has_at ? &params.at : NULL, name);
    if (scene == NULL)
        return;
    struct obb_view *view = srv_open_view(request, scene, params.has_at ? &params.at : NULL);
    if (view == NULL)
        return;
    const struct obb_version *box = obb_view_find(view, name);
    if (box == NULL) {
        srv_reply_name(request, OBB_NO_BOX, name);
    } else if (params.has_at || !srv_not_modified(request, obb_view_info_get(view)->at.revision)) {
        wire_write_box(&request->reply, request->accept, view, box, params.include, params.has_at);
        srv_reply(request, 200, wire_media_type(request->accept));
    }
    srv_view_close(request->services->locks, view);
}

static bool list_takes(const wire_list_params *params, const struct obb_version *box)
{
    if (!obb_str_starts_with(obb_view_name(box), params->prefix))
        return false;
    return params->entity.length == 0 ||
           obb_str_equal(obb_view_attributes(box).entity, params->entity);
}

enum { POLL = 1024 }; /* boxes between two checks of the cancel flag */

static bool list_write(const struct srv_listing *listing)
{
    struct srv_request *request = listing->work.request;
    const wire_list_params *params = &listing->params;
    const size_t boxes = obb_view_info_get(listing->view)->boxes;
    const size_t room = params->limit < boxes ? params->limit : boxes;
    const struct obb_version **page = obb_arena_alloc(&request->arena, room, sizeof *page);
    if (page == NULL)
        return false;
    size_t count = 0, looked_at = 0;
    bool more = false;
    uint64_t after = params->after_id;
    for (const struct obb_version *box;
         !more && (box = obb_view_next(listing->view, after)) != NULL; after = obb_view_id(box)) {
        if (++looked_at % POLL == 0 && atomic_load(&request->cancelled))
            return false;
        if (!list_takes(params, box))
            continue;
        more = count == room;
        if (!more)
            page[count++] = box;
    }
    wire_write_boxes(&request->reply, request->accept, listing->view, page, count, params->has_at,
                     more);
    return true;
}

/* Nanoseconds to look at a box, and to write one. From a profile of long lists. */
#define LOOK_NS  30.0
#define WRITE_NS 600.0

static double list_cost(const struct srv_listing *listing)
{
    const double boxes = (double)obb_view_info_get(listing->view)->boxes;
    const bool picks = listing->params.prefix.length != 0 || listing->params.entity.length != 0;
    const double listed =
        (double)listing->params.limit < boxes ? (double)listing->params.limit : boxes;
    return listed * (LOOK_NS + WRITE_NS) + (picks ? boxes * LOOK_NS : 0);
}

static const struct srv_listing_kind box_list = {
    .read = wire_read_box_list_params, .cost = list_cost, .write = list_write};

void srv_do_box_list(struct srv_request *request) { srv_listing_answer(request, &box_list); }
