#include "server/scenes.h"

#include "server/events.h"
#include "server/work.h"

#include <stdio.h>
#include <string.h>

double srv_now_ms(void) { return srv_clock() * 1e3; }

/* ---- Finding --------------------------------------------------------------------------------------------------- */

bool srv_no_params(struct srv_request *request)
{
    wire_problem problem;
    if (wire_read_no_params(request->target.params, request->target.param_count, &request->arena,
                            &problem))
        return true;
    srv_reply_problem(request, &problem);
    return false;
}

bool srv_path_name(struct srv_request *request, size_t part, obb_str *out)
{
    const obb_str name = request->target.parts[part];
    if (!obb_name_valid(name)) {
        srv_reply_status(request, OBB_BAD_NAME);
        return false;
    }
    *out = name;
    return true;
}

struct obb_scene *srv_path_scene(struct srv_request *request)
{
    obb_str name;
    if (!srv_path_name(request, SRV_SCENE_PART, &name))
        return NULL;
    struct obb_scene *scene = obb_store_find(request->server->store, name);
    if (scene == NULL)
        srv_reply_status(request, OBB_NO_SCENE);
    return scene;
}

obb_settings srv_default_settings(const struct srv_server *server)
{
    return (obb_settings){.dimensions = 3,
                          .history_span = server->config->history_span,
                          .history_commits = (uint32_t)server->config->history_commits};
}

int srv_scene_dimensions(const struct srv_server *server, obb_str name)
{
    const struct obb_scene *scene = obb_store_find(server->store, name);
    if (scene == NULL)
        return 3;
    obb_scene_info info;
    obb_scene_glance(scene, &info);
    return info.settings.dimensions;
}

/* ---- Conditions (RFC 9110, 13.1) -------------------------------------------------------------------------------- */

/* Does a list of entity tags hold that of the revision? `*` holds all. weak: W/"1" counts as "1". */
static bool listed(const char *list, uint64_t revision, bool weak)
{
    char tag[32];
    const size_t length =
        (size_t)snprintf(tag, sizeof tag, "\"%llu\"", (unsigned long long)revision);
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, " \t,");
        if (*at == '*')
            return true;
        const bool is_weak = strncmp(at, "W/", 2) == 0;
        if (is_weak)
            at += 2;
        if (strncmp(at, tag, length) == 0 && (weak || !is_weak))
            return true;
        const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        at = end != NULL ? end + 1 : at + strcspn(at, ",");
    }
    return false;
}

bool srv_not_modified(struct srv_request *request, uint64_t revision)
{
    request->has_etag = true;
    request->etag = revision;
    if (request->if_none_match == NULL || !listed(request->if_none_match, revision, true))
        return false;
    srv_reply_empty(request, 304);
    return true;
}

bool srv_if_match(struct srv_request *request, struct obb_scene *scene)
{
    if (request->if_match == NULL)
        return true;
    if (scene != NULL) {
        obb_scene_info info;
        obb_scene_glance(scene, &info);
        if (listed(request->if_match, info.now.revision, false))
            return true;
    }
    wire_problem problem = wire_problem_of(OBB_REVISION);
    problem.detail = "If-Match does not hold";
    srv_reply_problem(request, &problem);
    return false;
}

struct obb_view *srv_open_view(struct srv_request *request, struct obb_scene *scene,
                               const obb_at *at)
{
    struct obb_view *view;
    obb_moment oldest, newest;
    const obb_status status = obb_view_open(scene, at, &view, &oldest, &newest);
    if (status == OBB_OK)
        return view;
    wire_problem problem = wire_problem_of(status);
    if (status == OBB_GONE) {
        problem.has_range = true;
        problem.oldest = oldest;
        problem.newest = newest;
    }
    srv_reply_problem(request, &problem);
    return NULL;
}

/* ---- Rebuilding the broad phase beside the work ---------------------------------------------------------------- */

struct srv_rebuild {
    struct srv_job job;
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

static void rebuilt(struct srv_job *job)
{
    struct srv_rebuild *r = (struct srv_rebuild *)job;
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
    obb_view_close(r->view);
    *(r->previous != NULL ? &r->previous->next : &server->rebuilds) = r->next;
    if (r->next != NULL)
        r->next->previous = r->previous;
    obb_free(r);
    srv_server_may_end(server);
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
    if (obb_view_open(scene, NULL, &r->view, NULL, NULL) != OBB_OK) {
        obb_free(r);
        return;
    }
    if (srv_pool_submit(server->pool, &r->job) != SRV_SUBMITTED) {
        obb_view_close(r->view);
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

/* ---- Commits ------------------------------------------------------------------------------------------------------ */

struct obb_scene *srv_apply(struct srv_request *request, obb_str name, const obb_edit *edit,
                            const wire_commit *commit, obb_committed *out)
{
    struct srv_server *server = request->server;
    const double now_ms = srv_now_ms();
    struct obb_scene *scene = obb_store_find(server->store, name);
    if (!srv_if_match(request, scene))
        return NULL;

    bool made = false;
    if (scene == NULL) {
        obb_status status = OBB_NO_SCENE;
        if (edit->replace_all || (edit->put_count > 0 && edit->puts[0].parts == OBB_PUT_ALL)) {
            const obb_settings settings =
                edit->settings != NULL ? *edit->settings : srv_default_settings(server);
            status = obb_store_add(server->store, name, &settings, now_ms, &scene);
            made = status == OBB_OK;
        }
        if (status != OBB_OK) {
            srv_reply_status(request, status);
            return NULL;
        }
    }

    struct obb_prepared *prepared;
    obb_fault fault = {0};
    const obb_status status = obb_edit_prepare(
        scene, edit, now_ms, obb_store_box_room(server->store), &request->arena, &prepared, &fault);
    if (status != OBB_OK) {
        const wire_problem problem =
            wire_problem_of_edit(status, &fault, commit, edit, &request->arena);
        if (made)
            (void)obb_store_remove(server->store, name);
        srv_reply_problem(request, &problem);
        return NULL;
    }
    obb_edit_commit(prepared, out);
    server->metrics.commits_total += out->changed;
    srv_events_commit(server->events, scene, edit, out);
    srv_rebuild_if_decayed(server, scene);
    return scene;
}
