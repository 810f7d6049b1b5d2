/* Scenes: making, changing, reading, listing and deleting them. */
#include "server/access/auth.h"
#include "server/events/events.h"
#include "server/scenes/scenes.h"
#include "server/scenes/writer.h"

void srv_reply_scene(struct srv_request *request, int status, struct obb_scene *scene)
{
    if (srv_reply_measures(request, status, scene))
        return;
    obb_scene_info info;
    obb_scene_info_get(scene, &info);
    wire_write_scene(&request->reply, request->accept, obb_scene_name(scene), &info);
    srv_reply(request, status, wire_media_type(request->accept));
}

void srv_do_scene_get(struct srv_request *request)
{
    if (!srv_no_params(request))
        return;
    struct obb_scene *scene = srv_path_scene(request);
    if (scene == NULL)
        return;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    if (!srv_not_modified(request, info.now.revision))
        srv_reply_scene(request, 200, scene);
}

/* New settings count as a commit that changed no box. */
static void tell_followers(struct srv_services *services, struct obb_scene *scene)
{
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    const obb_committed committed = {.moment = info.now, .changed = true};
    srv_events_commit(services->events, scene, NULL, &committed);
}

void srv_do_scene_put(struct srv_request *request)
{
    struct srv_services *services = request->services;
    obb_str name;
    if (!srv_no_params(request) || !srv_path_name(request, SRV_SCENE_PART, &name))
        return;
    struct obb_scene *scene = obb_store_find(services->store, name);
    if (scene != NULL && srv_request_waits(request, scene))
        return;
    obb_settings current = srv_default_settings(services), settings;
    if (scene != NULL) {
        obb_scene_info info;
        obb_scene_info_without_bounds(scene, &info);
        current = info.settings;
    }
    wire_problem problem;
    if (!wire_read_settings(&request->body, &current, &request->arena, &settings, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    if (!srv_if_match(request, scene))
        return;

    const bool made = scene == NULL;
    bool changed = false;
    const obb_status status =
        made ? obb_store_add(services->store, name, &settings, srv_now_ms(), &scene)
             : obb_scene_configure(scene, &settings, srv_now_ms(), &changed);
    if (status == OBB_OK) {
        services->metrics.commits_total += changed;
        if (changed)
            tell_followers(services, scene);
        srv_reply_scene(request, made ? 201 : 200, scene);
        return;
    }
    if (status != OBB_DIMENSIONS) {
        srv_reply_store(request, status);
        return;
    }
    problem = wire_problem_of_dimensions(current.dimensions, settings.dimensions, &request->arena);
    problem.pointer = "/dimensions";
    srv_reply_problem(request, &problem);
}

void srv_do_scene_delete(struct srv_request *request)
{
    struct srv_services *services = request->services;
    obb_str name;
    if (!srv_no_params(request) || !srv_path_name(request, SRV_SCENE_PART, &name))
        return;
    struct obb_scene *scene = obb_store_find(services->store, name);
    if (scene != NULL && (srv_request_waits(request, scene) || !srv_if_match(request, scene)))
        return;
    if (scene != NULL)
        srv_events_gone(services->events, scene);
    const obb_status status = srv_scene_remove(services, name);
    if (status == OBB_OK)
        srv_reply_empty(request, 204);
    else
        srv_reply_name(request, status, name);
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
    const size_t scenes = obb_store_scenes(store);
    const size_t room = params.limit < scenes ? params.limit : scenes;
    wire_scene_row *rows = obb_arena_alloc(&request->arena, room, sizeof *rows);
    if (rows == NULL) {
        srv_reply_status(request, OBB_NO_MEMORY);
        return;
    }
    size_t count = 0;
    struct obb_scene *scene = obb_store_next(store, params.after_name);
    for (; scene != NULL; scene = obb_store_next(store, obb_scene_name(scene))) {
        obb_scene_info info;
        bool hidden;
        srv_scene_info(request->services, scene, &info, &hidden);
        if (hidden ||
            (request->token != NULL && !srv_auth_scene(request->token, obb_scene_name(scene))))
            continue;
        if (count == room)
            break;
        rows[count++] = (wire_scene_row){
            .name = obb_scene_name(scene), .boxes = info.boxes, .revision = info.now.revision};
    }
    wire_write_scenes(&request->reply, request->accept, rows, count, scene != NULL);
    srv_reply(request, 200, wire_media_type(request->accept));
}
