/* The routes beside the API: health, metrics, and the API's own description. */
#include "server/base/metrics.h"
#include "server/routes/handlers.h"
#include "server/scenes/scenes.h"

static void refresh(struct srv_services *services)
{
    services->metrics->in_flight_bytes = obb_budget_used(services->budget);
    services->metrics->queue = srv_pool_jobs(services->pool);
    services->metrics->scenes = obb_store_scenes(services->store);
    services->metrics->boxes = obb_store_boxes(services->store);
    services->metrics->scene_bytes = obb_store_bytes(services->store);
}

void srv_do_health(struct srv_request *request)
{
    static const char body[] = "{\"status\":\"alive\"}";
    if (srv_no_params(request))
        srv_reply_constant(request, 200, wire_media_type(WIRE_JSON), obb_str_of(body));
}

void srv_do_ready(struct srv_request *request)
{
    static const char body[] = "{\"status\":\"ready\"}";
    if (!srv_no_params(request))
        return;
    if (!request->services->draining) {
        srv_reply_constant(request, 200, wire_media_type(WIRE_JSON), obb_str_of(body));
        return;
    }
    wire_problem problem = wire_problem_http(503, "the service is shutting down");
    problem.retry_after = 1;
    srv_reply_problem(request, &problem);
}

void srv_do_metrics(struct srv_request *request)
{
    if (!srv_no_params(request))
        return;
    refresh(request->services);
    request->reply.budget = NULL; /* a full budget must be seen, too; this is about 30 KB */
    srv_metrics_write(request->services->metrics, &request->reply);
    srv_metrics_write_process(&request->reply);
    srv_reply(request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

void srv_do_openapi(struct srv_request *request)
{
    if (srv_no_params(request))
        srv_reply_constant(request, 200, wire_media_type(WIRE_JSON), wire_openapi());
}
