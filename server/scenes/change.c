#include "server/scenes/change.h"

#include "server/base/metrics.h"
#include "server/scenes/await.h"
#include "server/scenes/conditions.h"
#include "server/scenes/epoch.h"
#include "server/scenes/scenes.h"
#include "server/scenes/services.h"

#include <stddef.h>

static void on_cancel(struct srv_request *request)
{
    struct srv_change *c = request->work;
    srv_write_cancel(&c->write);
}

/* If-Match or If-None-Match does not hold. */
static wire_problem problem_of_condition(const struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    const srv_op *op = &c->write.op;
    const bool of_box = op->if_match_box.length > 0, of_frame = op->if_match_frame.length > 0;
    const bool is_missing = (of_box || of_frame) && c->write.scene != NULL && !c->write.is_there;
    if (c->write.ruled_out || (is_missing && srv_tags_any(op->if_match)))
        return wire_problem_of_presence(of_box     ? "box"
                                        : of_frame ? "frame"
                                                   : "scene",
                                        of_box     ? op->if_match_box
                                        : of_frame ? op->if_match_frame
                                                   : op->scene,
                                        c->write.ruled_out, &request->arena);
    const struct obb_scene *scene = obb_store_find(request->services->store, c->op.scene);
    obb_scene_info info = {0};
    if (scene != NULL)
        srv_scene_info(request->services->locks, scene, &info, NULL);
    if (c->write.changed != 0)
        return wire_problem_of_box_match(c->op.if_match_box, c->write.changed, info.now.revision,
                                         obb_str_of(request->if_match), &c->work.request->arena);
    return wire_problem_of_revision(scene != NULL ? &info.now.revision : NULL,
                                    obb_str_of(request->if_match), &c->work.request->arena);
}

static wire_problem problem_of_scene_memory(const struct srv_change *c)
{
    const struct srv_scene_memory *memory = &c->write.writer->memory;
    return wire_problem_of_scene_memory(c->write.fault.bytes, srv_scene_memory_room(memory),
                                        memory->limit, &c->work.request->arena);
}

/* The scene does not exist, or cannot be made. */
static wire_problem problem_of_store(const struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    const obb_status status = c->write.status;
    if (status == OBB_NO_SCENE)
        return wire_problem_of_name(status, c->op.scene, &request->arena);
    if (status == OBB_LIMIT)
        return wire_problem_of_limit("scenes", request->services->config->scene_limit,
                                     "--scene-limit", &request->arena);
    if (status == OBB_SCENE_MEMORY)
        return problem_of_scene_memory(c);
    if (status == OBB_BAD_VALUE && c->op.kind == SRV_OP_COPY)
        return wire_problem_of_taken_scene(c->op.scene, &request->arena);
    return wire_problem_of(status);
}

static wire_problem problem_of_scene(const struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    const struct srv_write *w = &c->write;
    const struct srv_services *services = request->services;
    if (w->status == OBB_CANCELLED)
        return srv_problem_cancelled(request);
    if (w->status == OBB_SCENE_MEMORY)
        return problem_of_scene_memory(c);
    if (w->status == OBB_LIMIT && c->op.kind == SRV_OP_COPY)
        return wire_problem_of_limit("boxes and frames in all scenes", services->config->box_limit,
                                     "--box-limit", &request->arena);
    wire_problem problem = srv_problem_of_status(w->status);
    if (c->op.kind == SRV_OP_EDIT) {
        problem =
            wire_problem_of_edit(w->status, &w->fault, c->commit, w->op.edit, &request->arena);
        if (w->status == OBB_LIMIT)
            problem.detail =
                wire_problem_of_limit("boxes and frames in all scenes", services->config->box_limit,
                                      "--box-limit", &request->arena)
                    .detail;
    } else if (w->status == OBB_DIMENSIONS) {
        problem = wire_problem_of_dimensions(srv_scene_dimensions(services, c->op.scene),
                                             c->op.settings.dimensions, &request->arena);
        problem.pointer = "/dimensions";
    }
    return problem;
}

/* The record of the change could not be written. */
static wire_problem problem_of_journal(const struct srv_change *c)
{
    if (c->write.journal == SRV_JOURNAL_FULL)
        return wire_problem_http(507, "the disk that holds the journal is full; nothing was "
                                      "changed. Reading goes on, and changes do as soon as there "
                                      "is room");
    wire_problem problem = wire_problem_http(
        503,
        c->write.journal == SRV_JOURNAL_UNKNOWN
            ? "the service ends, or fell behind the log, before the log has told whether the "
              "change counts; if the commit had an id, send it again, and it is made once"
            : "the journal cannot be written at this moment; nothing was changed. Reading goes "
              "on");
    problem.retry_after = 1;
    return problem;
}

/* Returns whether the flaw counts before the refusal: it lies in the changes of a query whose state
 * is not there. */
static bool flaw_is_first(const struct srv_change *c)
{
    const struct srv_write *w = &c->write;
    return c->flaw != NULL && c->commit != NULL && c->commit->has_flawed &&
           w->refused_by == SRV_REFUSED_BY_SCENE && w->fault.group == OBB_GROUP_MOMENT &&
           w->fault.index + 1 == c->commit->query_count;
}

static void refuse(struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    const struct srv_write *w = &c->write;
    wire_problem problem;
    switch (w->refused_by) {
    case SRV_REFUSED_BY_NONE:
        problem = *c->flaw;
        break;
    case SRV_REFUSED_BY_EPOCH:
        problem = srv_problem_of_epoch(request, w->epoch);
        break;
    case SRV_REFUSED_BY_CONDITION:
        problem = problem_of_condition(c);
        break;
    case SRV_REFUSED_BY_STORE:
        problem = problem_of_store(c);
        break;
    case SRV_REFUSED_BY_SCENE:
        problem = flaw_is_first(c) ? *c->flaw : problem_of_scene(c);
        break;
    case SRV_REFUSED_BY_CALLER:
        problem = c->unmade;
        break;
    case SRV_REFUSED_BY_JOURNAL:
        problem = problem_of_journal(c);
        break;
    case SRV_REFUSED_BY_ID:
        problem = wire_problem_of_commit_id(w->op.sent_id, &request->arena);
        break;
    case SRV_REFUSED_BY_QUEUE:
        problem = srv_problem_of_pool(request->services,
                                      w->status == OBB_LIMIT ? SRV_QUEUE_FULL : SRV_NO_MEMORY);
        break;
    }
    srv_reply_problem(request, &problem);
}

static struct srv_change *change_of(struct srv_write *w)
{
    return (struct srv_change *)(void *)((char *)w - offsetof(struct srv_change, write));
}

static bool on_makes(struct srv_write *w)
{
    struct srv_change *c = change_of(w);
    return c->makes == NULL || c->makes(c, &c->unmade);
}

static void on_done(struct srv_write *w)
{
    struct srv_change *c = change_of(w);
    c->work.request->on_cancel = NULL;
    if (w->op.kind != SRV_OP_COPY || w->status == OBB_OK)
        c->work.request->epoch = w->epoch; /* the refusal of a copy is about the source */
    if (w->status != OBB_OK || (w->op.check_only && !w->op.dry_run)) {
        refuse(c);
        return;
    }
    if (w->op.dry_run) {
        c->applied(c);
        return;
    }
    struct srv_metrics *metrics = c->work.request->services->metrics;
    metrics->commit_ns_total += (uint64_t)(w->seconds * 1e9);
    metrics->commits_total += !w->repeated && w->op.kind != SRV_OP_CREATE && w->committed.changed;
    c->applied(c);
}

static void need(wire_freshness *freshness, uint64_t revision)
{
    if (revision == 0 || (freshness->has_revision && revision <= freshness->revision))
        return;
    freshness->has_revision = true;
    freshness->revision = revision;
}

/* Returns what the scene must have reached before the change can be judged. */
static wire_freshness needs_of(const struct srv_change *c)
{
    wire_freshness freshness = c->freshness;
    const obb_edit *edit = c->op.kind == SRV_OP_EDIT ? c->op.edit : NULL;
    const char *if_match = c->work.request->if_match;
    if (edit != NULL && edit->has_if_revision)
        need(&freshness, edit->if_revision);
    for (size_t i = 0; edit != NULL && i < edit->if_box_count; i++)
        need(&freshness, edit->if_boxes[i].revision);
    if (if_match != NULL)
        need(&freshness, srv_tags_least(if_match));
    return freshness;
}

void srv_change_start(struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    if (c->op.kind != SRV_OP_COPY && c->flaw == NULL) {
        const wire_freshness freshness = needs_of(c);
        if (srv_change_awaits(request, &freshness))
            return;
    }
    c->write.op = c->op;
    if (c->op.kind != SRV_OP_COPY) { /* the conditions are about the scene that the path names */
        c->write.op.if_epoch = request->has_if_epoch ? &request->if_epoch : NULL;
        c->write.op.if_match = request->if_match;
    }
    c->write.op.check_only = c->flaw != NULL;
    c->write.op.dry_run = c->op.dry_run && c->flaw == NULL;
    c->write.arena = &request->arena;
    c->write.cancelled = &request->cancelled;
    c->write.done = on_done;
    c->write.makes = on_makes;
    request->work = c;
    request->on_cancel = on_cancel;
    srv_write(request->services->writer, &c->write);
}
