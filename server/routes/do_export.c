/* Whole scenes as lines: exported piece by piece, imported as one commit. */
#include "server/routes/do_scene.h"
#include "server/routes/handlers.h"
#include "server/scenes/await.h"
#include "server/scenes/change.h"
#include "server/scenes/conditions.h"
#include "server/scenes/paged_answer.h"
#include "server/scenes/scenes.h"

/* ---- GET /v1/scenes/{scene}/export ----------------------------------------------------------- */

struct export
{
    struct srv_paged_answer answer;
    struct obb_view *view;
    obb_str name;
    obb_settings settings;
    const struct obb_version *frame; /* the last frame that is written; NULL: none yet */
    bool frames_written;
    uint64_t after; /* boxes up to this id are written */
    bool begun;
};

/* Bytes of a line at most: three names and 1 KiB of data, and the numbers of two poses. */
enum { LINE = 3072 };

static bool export_write(struct srv_paged_answer *answer)
{
    struct export *e = (struct export *)answer;
    struct wire_buf *piece = &answer->piece;
    if (!e->begun)
        wire_write_export_head(piece, e->name, &e->settings, e->view);
    e->begun = true;
    while (!e->frames_written && srv_paged_answer_has_room(answer, LINE)) {
        const struct obb_version *frame = obb_view_next_frame(
            e->view, e->frame == NULL ? (obb_str){0} : obb_view_name(e->frame), true);
        e->frames_written = frame == NULL;
        if (frame != NULL)
            wire_write_export_frame(piece, e->view, frame);
        e->frame = frame;
    }
    while (srv_paged_answer_has_room(answer, LINE)) {
        const struct obb_version *box = obb_view_next(e->view, e->after);
        if (box == NULL)
            return false;
        wire_write_export_box(piece, e->view, box);
        e->after = obb_view_id(box);
    }
    return true;
}

static void export_closed(struct srv_paged_answer *answer)
{
    srv_view_close(answer->work.request->services->locks, ((struct export *)answer)->view);
}

enum {
    CHEAP = 64
}; /* a scene of at most as many boxes is written on the loop; a box takes about 1 us */

void srv_do_export(struct srv_request *request)
{
    wire_freshness freshness;
    wire_problem problem;
    if (!wire_read_freshness_params(request->target.params, request->target.param_count,
                                    &request->arena, &freshness, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    struct obb_scene *scene = srv_path_scene_at(request, &freshness, NULL);
    if (scene == NULL)
        return;
    struct export *e = srv_work_room(request, sizeof *e);
    if (e == NULL)
        return;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    if (srv_not_modified(request, info.now.revision))
        return;
    e->view = srv_open_view(request, scene, NULL);
    if (e->view == NULL)
        return;
    e->answer.view = e->view;
    e->name = request->target.parts[SRV_SCENE_PART];
    e->settings = info.settings;
    e->answer.write = export_write;
    e->answer.closed = export_closed;
    e->answer.cheap = info.boxes + info.frames <= CHEAP;
    e->answer.light = true;
    srv_paged_answer_start(&e->answer, request, WIRE_NDJSON);
}

/* ---- POST /v1/scenes/{scene}/import ---------------------------------------------------------- */

struct import {
    struct srv_change change; /* first */
    obb_edit edit;
    obb_settings settings; /* of the edit: those of the header, with a history that is allowed */
    bool good;
    wire_problem problem;
};

static void import_read(struct srv_work *work)
{
    struct import *i = (struct import *)work;
    struct srv_request *request = work->request;
    i->good = wire_read_import(&request->body, &request->arena, &i->edit, &i->problem);
}

static void import_apply(struct srv_work *work)
{
    struct import *i = (struct import *)work;
    if (!i->good) {
        srv_reply_problem(work->request, &i->problem);
        return;
    }
    const obb_settings most = srv_most_settings(work->request->services);
    i->settings = *i->edit.settings;
    if (i->settings.history_span > most.history_span)
        i->settings.history_span = most.history_span;
    if (i->settings.history_commits > most.history_commits)
        i->settings.history_commits = most.history_commits;
    i->edit.settings = &i->settings;
    i->change.op.kind = SRV_OP_EDIT;
    i->change.op.settings = srv_default_settings(work->request->services);
    i->change.op.edit = &i->edit;
    i->change.applied = srv_reply_put_scene;
    srv_change_start(&i->change);
}

void srv_do_import(struct srv_request *request)
{
    if (!srv_no_params(request))
        return;
    struct import *i = srv_work_room(request, sizeof *i);
    if (i == NULL || !srv_path_name(request, SRV_SCENE_PART, &i->change.op.scene))
        return;
    i->change.work.request = request;
    srv_work_decode(&i->change.work, import_read, import_apply);
}
