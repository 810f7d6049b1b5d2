/* Following a scene: GET /v1/scenes/{scene}/events. */
#include "server/events/events.h"
#include "server/routes/handlers.h"
#include "server/scenes/await.h"
#include "server/scenes/scenes.h"

void srv_do_events(struct srv_request *request)
{
    wire_event_params params;
    wire_problem problem;
    if (!wire_read_event_params(request->target.params, request->target.param_count,
                                &request->arena, &params, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    struct obb_scene *scene = srv_path_scene_at(request, &params.freshness, NULL);
    if (scene != NULL)
        srv_events_follow(request->services->events, request, scene, &params);
}
