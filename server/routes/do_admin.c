/* The routes beside the API: health, metrics, and the API's own description. */
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/journal/journal.h"
#include "server/routes/handlers.h"
#include "server/scenes/await.h"
#include "server/scenes/scenes.h"

static uint64_t figure(const _Atomic uint64_t *of)
{
    return atomic_load_explicit(of, memory_order_relaxed);
}

static void refresh_journal(struct srv_metrics *metrics, struct srv_journal *journal)
{
    const struct srv_journal_figures *figures = srv_journal_figures(journal);
    metrics->has_journal = true;
    metrics->journal_records = figure(&figures->records);
    metrics->journal_bytes = figure(&figures->bytes);
    metrics->journal_groups = figure(&figures->groups);
    metrics->journal_sync_us = figure(&figures->sync_us);
    metrics->journal_void = figure(&figures->voided);
    metrics->journal_conflicts = figure(&figures->conflicts);
    metrics->journal_snapshots = figure(&figures->snapshots);
    metrics->journal_loads = figure(&figures->loads);
    metrics->journal_differed = figure(&figures->differed);
    metrics->journal_disputed = figure(&figures->disputed);
    metrics->journal_passed_over = figure(&figures->passed_over);
    metrics->journal_purges = figure(&figures->purges);
    metrics->journal_failures = figure(&figures->failures);
    metrics->journal_size = figure(&figures->size);
    metrics->journal_asleep = figure(&figures->asleep);
    metrics->journal_wakes = figure(&figures->wakes);
    metrics->journal_sleeps = figure(&figures->sleeps);
    metrics->journal_wake_failures = figure(&figures->wake_failures);
    metrics->journal_marks = figure(&figures->marks);
    metrics->journal_lag = srv_journal_waiting(journal);
    metrics->journal_lag_ms = srv_journal_lag_ms(journal);
    metrics->journal_broken = srv_journal_state(journal) != SRV_JOURNAL_OK;
}

static void refresh(struct srv_services *services)
{
    if (services->journal != NULL)
        refresh_journal(services->metrics, services->journal);
    services->metrics->journal_awaiting = services->awaits->count;
    services->metrics->in_flight_bytes = obb_budget_used(services->budget);
    services->metrics->queue = srv_pool_jobs(services->pool);
    services->metrics->scenes = obb_store_scenes(services->store);
    services->metrics->boxes = obb_store_boxes(services->store);
    services->metrics->scene_bytes = obb_store_bytes(services->store);
    services->metrics->log_dropped_total = services->log->dropped->lines;
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
    const struct srv_services *services = request->services;
    if (!services->draining && !services->restoring) {
        srv_reply_constant(request, 200, wire_media_type(WIRE_JSON), obb_str_of(body));
        return;
    }
    wire_problem problem = wire_problem_http(
        503, services->draining ? "the service is shutting down" : "the scenes are being restored");
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
