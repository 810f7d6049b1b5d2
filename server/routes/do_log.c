/* The log of a scene: GET /v1/scenes/{scene}/log. */
#include "server/log/log_stream.h"
#include "server/routes/handlers.h"
#include "server/scenes/await.h"

void srv_do_log(struct srv_request *request)
{
    wire_log_params params;
    wire_problem problem;
    if (!wire_read_log_params(request->target.params, request->target.param_count, &request->arena,
                              &params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    const obb_at from = {.kind = OBB_AT_REVISION, .revision = params.from};
    struct obb_scene *scene =
        srv_path_scene_at(request, &params.freshness, params.has_from ? &from : NULL);
    if (scene != NULL)
        srv_log_stream_start(request->services->logs, request, scene, &params);
}
