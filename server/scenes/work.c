#include "server/scenes/work.h"

#include "server/access/admit.h"
#include "server/base/metrics.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/services.h"

#include <string.h>

void *srv_work_room(struct srv_request *request, size_t size)
{
    void *room = obb_arena_alloc(&request->arena, 1, size);
    if (room == NULL)
        srv_reply_status(request, OBB_NO_MEMORY);
    else
        memset(room, 0, size);
    return room;
}

wire_problem srv_problem_of_status(obb_status status)
{
    wire_problem problem = wire_problem_of(status);
    if (status == OBB_NO_MEMORY)
        problem.detail = srv_problem_no_room().detail;
    return problem;
}

void srv_reply_status(struct srv_request *request, obb_status status)
{
    const wire_problem problem = srv_problem_of_status(status);
    srv_reply_problem(request, &problem);
}

void srv_reply_name(struct srv_request *request, obb_status status, obb_str name)
{
    const wire_problem problem = wire_problem_of_name(status, name, &request->arena);
    srv_reply_problem(request, &problem);
}

wire_problem srv_problem_cancelled(const struct srv_request *request)
{
    wire_problem problem = wire_problem_of(OBB_CANCELLED);
    problem.detail = srv_request_late(request)
                         ? "the work took longer than --request-timeout"
                         : "the client closed its side of the connection, or the service is ending";
    return problem;
}

void srv_reply_cancelled(struct srv_request *request)
{
    const wire_problem problem = srv_problem_cancelled(request);
    srv_reply_problem(request, &problem);
}

void srv_request_again(struct srv_request *request)
{
    const struct srv_admit *admit = request->services->admit;
    wire_problem problem;
    request->on_cancel = NULL;
    if (admit != NULL && !srv_admit_again(admit, request, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    if (request->services->precede == NULL || !request->services->precede(request))
        request->route->handler(request);
}

static void on_cancel(struct srv_request *request)
{
    struct srv_work *work = request->work;
    srv_pool_cancelled(&work->job);
}

static void on_done(struct srv_job *job)
{
    struct srv_work *work = (struct srv_work *)job;
    work->request->on_cancel = NULL;
    work->then(work);
}

wire_problem srv_problem_of_pool(struct srv_services *services, srv_submitted submitted)
{
    if (submitted != SRV_QUEUE_FULL)
        return wire_problem_of(OBB_NO_MEMORY);
    services->metrics->queue_full_total++;
    return wire_problem_http(503, "too many heavy requests are waiting");
}

bool srv_work_submit(struct srv_work *work, void (*then)(struct srv_work *work),
                     wire_problem *out_problem)
{
    struct srv_request *request = work->request;
    struct srv_services *services = request->services;
    work->then = then;
    work->job.done = on_done;
    work->job.cancelled = &request->cancelled;
    const srv_submitted submitted = srv_pool_submit(services->pool, &work->job);
    if (submitted != SRV_SUBMITTED) {
        *out_problem = srv_problem_of_pool(services, submitted);
        return false;
    }
    request->work = work;
    request->on_cancel = on_cancel;
    return true;
}

bool srv_work_start(struct srv_work *work, void (*then)(struct srv_work *work))
{
    wire_problem problem;
    const bool started = srv_work_submit(work, then, &problem);
    if (!started)
        srv_reply_problem(work->request, &problem);
    return started;
}

static size_t decode_step(struct srv_job *job)
{
    struct srv_work *work = (struct srv_work *)job;
    work->step(work);
    return 0;
}

static void decoded(struct srv_work *work)
{
    void (*then)(struct srv_work *) = work->decoded;
    if (atomic_load(&work->request->cancelled))
        srv_reply_cancelled(work->request);
    else
        then(work);
}

void srv_work_decode(struct srv_work *work, void (*decode)(struct srv_work *work),
                     void (*then)(struct srv_work *work))
{
    wire_body *body = &work->request->body;
    bool postponed = body->length > SRV_LOOP_BODY;
    if (!postponed) {
        body->postponed = &postponed;
        decode(work);
        body->postponed = NULL;
    }
    if (!postponed) {
        then(work);
        return;
    }
    work->step = decode;
    work->decoded = then;
    work->job.advance = decode_step;
    work->job.chunk = NULL;
    work->job.draws = true;
    body->cancel = &work->request->cancelled;
    (void)srv_work_start(work, decoded);
}
