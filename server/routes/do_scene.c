/* Scenes: making, changing, reading, listing and deleting them. */
#include "server/routes/do_scene.h"

#include "server/access/auth.h"
#include "server/routes/handlers.h"
#include "server/scenes/await.h"
#include "server/scenes/conditions.h"
#include "server/scenes/measure.h"
#include "server/scenes/scenes.h"

/* ---- Answering ------------------------------------------------------------------------------- */

struct measured_reply {
    struct srv_measure measure; /* first */
    struct srv_request *request;
    int status;
};

static void reply(struct srv_request *request, int status, struct obb_scene *scene)
{
    obb_scene_info info;
    obb_scene_info_get(scene, &info);
    wire_write_scene(&request->reply, request->accept, obb_scene_name(scene), &info,
                     srv_tail_of(scene) != NULL);
    srv_reply(request, status, wire_media_type(request->accept));
}

static void reply_measured(struct srv_measure *measure)
{
    struct measured_reply *m = (struct measured_reply *)measure;
    reply(m->request, m->status, measure->lock.scene);
}

void srv_reply_scene(struct srv_request *request, int status, struct obb_scene *scene)
{
    if (srv_measure_is_slow(scene)) {
        struct srv_services *services = request->services;
        struct measured_reply *m = obb_arena_alloc(&request->arena, 1, sizeof *m);
        if (m != NULL) {
            *m = (struct measured_reply){.request = request, .status = status};
            if (srv_measure_start(&m->measure, services->locks, services->pool, scene,
                                  reply_measured))
                return;
        }
        /* a change that was made must be answered: without memory for the job it is measured
         * here */
    }
    reply(request, status, scene);
}

/* ---- Reading --------------------------------------------------------------------------------- */

void srv_do_scene_get(struct srv_request *request)
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
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    if (!srv_not_modified(request, info.now.revision))
        srv_reply_scene(request, 200, scene);
}

/* A scene among all: those that are held here, and those that sleep. */
struct listed {
    wire_scene_row row;
    bool hidden;     /* it is not to be seen yet */
    bool is_unknown; /* nobody here knows how many boxes it has */
};

/* Writes the first scene behind a name. Returns false if there is none. A scene that wakes is held
 * already, hidden: it is told of as one that sleeps. */
static bool next_listed(const struct srv_request *request, obb_str after, struct listed *out)
{
    const struct srv_services *services = request->services;
    const struct obb_scene *scene = obb_store_next(services->store, after);
    srv_asleep asleep;
    const bool sleeps =
        services->journal != NULL && srv_journal_next_asleep(services->journal, after, &asleep);
    const bool is_asleep =
        sleeps && (scene == NULL || obb_str_compare(asleep.name, obb_scene_name(scene)) <= 0);
    if (is_asleep) {
        *out = (struct listed){.row = {.name = asleep.name,
                                       .boxes = (size_t)asleep.boxes,
                                       .revision = asleep.revision},
                               .is_unknown = !asleep.knows_boxes};
        return true;
    }
    if (scene == NULL)
        return false;
    obb_scene_info info;
    *out = (struct listed){.row = {.name = obb_scene_name(scene)}};
    srv_scene_info(services->locks, scene, &info, &out->hidden);
    out->row.boxes = info.boxes;
    out->row.revision = info.now.revision;
    return true;
}

static size_t scenes_asleep(const struct srv_journal *journal)
{
    return journal != NULL ? (size_t)atomic_load(&srv_journal_figures(journal)->asleep) : 0;
}

void srv_do_scene_list(struct srv_request *request)
{
    const struct obb_store *store = request->services->store;
    wire_list_params params;
    wire_problem problem;
    if (!wire_read_scene_list_params(request->target.params, request->target.param_count,
                                     &request->arena, &params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    if (srv_request_awaits(request, &params.freshness))
        return;
    const struct srv_journal *journal = request->services->journal;
    const size_t scenes = obb_store_scenes(store) + scenes_asleep(journal);
    const size_t room = params.limit < scenes ? params.limit : scenes;
    wire_scene_row *rows = obb_arena_alloc(&request->arena, room, sizeof *rows);
    if (rows == NULL) {
        srv_reply_status(request, OBB_NO_MEMORY);
        return;
    }
    size_t count = 0;
    struct listed one;
    bool is_more = next_listed(request, params.after_name, &one);
    for (; is_more; is_more = next_listed(request, one.row.name, &one)) {
        if (one.hidden || (request->token != NULL && !srv_auth_scene(request->token, one.row.name)))
            continue;
        if (count == room)
            break;
        if (one.is_unknown) {
            if (srv_request_wakes_name(request, one.row.name))
                return;
            continue; /* it went meanwhile */
        }
        rows[count++] = one.row;
    }
    wire_write_scenes(&request->reply, request->accept, rows, count, is_more);
    srv_reply(request, 200, wire_media_type(request->accept));
}

/* ---- Changing -------------------------------------------------------------------------------- */

void srv_reply_put_scene(struct srv_change *change)
{
    srv_reply_scene(change->work.request, change->write.made_scene ? 201 : 200,
                    change->write.scene);
}

/* The settings of a PUT. */
struct settings_put {
    struct srv_change change; /* first */
    wire_settings sent;
    bool good;
    wire_problem problem;
};

static void put_read(struct srv_work *work)
{
    struct settings_put *p = (struct settings_put *)work;
    struct srv_request *request = work->request;
    const obb_settings most = srv_most_settings(request->services);
    p->good = wire_read_settings(&request->body, &most, &request->arena, &p->sent, &p->problem);
}

static void put_apply(struct srv_work *work)
{
    struct settings_put *p = (struct settings_put *)work;
    struct srv_request *request = work->request;
    struct srv_change *c = &p->change;
    if (!p->good) {
        srv_reply_problem(request, &p->problem);
        return;
    }
    /* looked up behind the decoding, which may have been on the pool */
    struct obb_scene *scene = obb_store_find(request->services->store, c->op.scene);
    if (scene != NULL && srv_request_waits(request, scene))
        return;
    obb_settings current = srv_default_settings(request->services);
    if (scene != NULL) {
        obb_scene_info info;
        obb_scene_tail_info(scene, &info);
        current = info.settings;
    }
    const bool journal = request->services->writer->tails.journal != NULL;
    const bool durable = scene == NULL ? journal : srv_tail_of(scene) != NULL;
    if (p->sent.has_durable && p->sent.durable != durable && (scene != NULL || !journal)) {
        p->problem = wire_problem_of_durable(durable, scene != NULL, &request->arena);
        srv_reply_problem(request, &p->problem);
        return;
    }
    c->op.if_none_match = request->if_none_match;
    c->op.in_memory = p->sent.has_durable && !p->sent.durable;
    c->op.settings = wire_settings_over(&p->sent, current);
    c->op.kind = scene == NULL ? SRV_OP_CREATE : SRV_OP_CONFIGURE;
    c->applied = srv_reply_put_scene;
    srv_change_start(c);
}

void srv_do_scene_put(struct srv_request *request)
{
    if (!srv_no_params(request))
        return;
    struct settings_put *p = srv_work_room(request, sizeof *p);
    if (p == NULL || !srv_path_name(request, SRV_SCENE_PART, &p->change.op.scene))
        return;
    p->change.work.request = request;
    srv_work_decode(&p->change.work, put_read, put_apply);
}

static void delete_reply(struct srv_change *change) { srv_reply_empty(change->work.request, 204); }

void srv_do_scene_delete(struct srv_request *request)
{
    obb_str name;
    if (!srv_no_params(request) || !srv_path_name(request, SRV_SCENE_PART, &name))
        return;
    struct srv_change *c = srv_work_room(request, sizeof *c);
    if (c == NULL)
        return;
    c->work.request = request;
    c->op.kind = SRV_OP_REMOVE;
    c->op.scene = name;
    c->applied = delete_reply;
    srv_change_start(c);
}
