#include "server/scenes/scenes.h"

#include "server/scenes/epoch.h"

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
        srv_reply_name(request, OBB_BAD_NAME, name);
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
    struct obb_scene *scene = obb_store_find(request->services->store, name);
    request->epoch = scene != NULL ? obb_scene_epoch(scene) : 0;
    if (scene == NULL) {
        if (request->services->precede == NULL || !request->services->precede(request))
            srv_reply_name(request, OBB_NO_SCENE, name);
        return NULL;
    }
    if (srv_request_waits(request, scene))
        return NULL;
    if (request->has_if_epoch && request->if_epoch != request->epoch) {
        const wire_problem problem = srv_problem_of_epoch(request, request->epoch);
        srv_reply_problem(request, &problem);
        return NULL;
    }
    return scene;
}

obb_settings srv_default_settings(const struct srv_services *services)
{
    return (obb_settings){.dimensions = 3,
                          .history_span = services->config->history_span,
                          .history_commits = (uint32_t)services->config->history_commits};
}

obb_settings srv_most_settings(const struct srv_services *services)
{
    return (obb_settings){.dimensions = 3,
                          .history_span = services->config->history_max,
                          .history_commits = (uint32_t)services->config->history_commits_max};
}

obb_settings srv_scene_settings(const struct srv_services *services, obb_str name)
{
    const struct obb_scene *scene = obb_store_find(services->store, name);
    if (scene == NULL)
        return (obb_settings){.dimensions = 3};
    obb_scene_info info;
    srv_scene_info(services->locks, scene, &info, NULL);
    return info.settings;
}

int srv_scene_dimensions(const struct srv_services *services, obb_str name)
{
    return srv_scene_settings(services, name).dimensions;
}

struct obb_view *srv_open_view(struct srv_request *request, struct obb_scene *scene,
                               const obb_at *at)
{
    struct obb_view *view;
    obb_moment oldest, newest;
    const obb_status status =
        srv_view_open(request->services->locks, scene, at, &view, &oldest, &newest);
    if (status == OBB_OK)
        return view;
    wire_problem problem = wire_problem_of(status);
    if (status == OBB_GONE) {
        problem = wire_problem_of_gone(at, oldest, newest, &request->arena);
        problem.pointer = request->body.length > 0 ? "/at" : NULL; /* else `at` came in the path */
    }
    srv_reply_problem(request, &problem);
    return NULL;
}
