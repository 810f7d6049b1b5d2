#include "server/scenes/scenes.h"

#include "server/scenes/writer.h"

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
    if (scene == NULL)
        srv_reply_name(request, OBB_NO_SCENE, name);
    return scene != NULL && srv_request_waits(request, scene) ? NULL : scene;
}

void srv_reply_store(struct srv_request *request, obb_status status)
{
    const wire_problem problem =
        status == OBB_LIMIT
            ? wire_problem_of_limit("scenes", request->services->config->scene_limit,
                                    "--scene-limit", &request->arena)
            : wire_problem_of(status);
    srv_reply_problem(request, &problem);
}

obb_settings srv_default_settings(const struct srv_services *services)
{
    return (obb_settings){.dimensions = 3,
                          .history_span = services->config->history_span,
                          .history_commits = (uint32_t)services->config->history_commits};
}

int srv_scene_dimensions(const struct srv_services *services, obb_str name)
{
    const struct obb_scene *scene = obb_store_find(services->store, name);
    if (scene == NULL)
        return 3;
    obb_scene_info info;
    srv_scene_info(services, scene, &info, NULL);
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
    obb_scene_info info;
    if (request->if_match == NULL)
        return true;
    if (scene != NULL) {
        obb_scene_info_without_bounds(scene, &info);
        if (listed(request->if_match, info.now.revision, false))
            return true;
    }
    const wire_problem problem = wire_problem_of_revision(
        scene != NULL ? &info.now.revision : NULL, obb_str_of(request->if_match), &request->arena);
    srv_reply_problem(request, &problem);
    return false;
}

struct obb_view *srv_open_view(struct srv_request *request, struct obb_scene *scene,
                               const obb_at *at)
{
    struct obb_view *view;
    obb_moment oldest, newest;
    const obb_status status = srv_view_open(request->services, scene, at, &view, &oldest, &newest);
    if (status == OBB_OK)
        return view;
    wire_problem problem = wire_problem_of(status);
    if (status == OBB_GONE) {
        problem = wire_problem_of_gone(at, oldest, newest, &request->arena);
        problem.pointer = request->body.length > 0 ? "/at" : NULL; /* else it came in the path */
    }
    srv_reply_problem(request, &problem);
    return NULL;
}
