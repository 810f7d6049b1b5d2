#include "server/scenes/change.h"

#include "server/base/metrics.h"
#include "server/scenes/services.h"

#include <stddef.h>

static void on_cancel(struct srv_request *request)
{
    struct srv_change *c = request->work;
    srv_write_cancel(&c->write);
}

static wire_problem problem_of_settings(obb_status status)
{
    wire_problem problem = wire_problem_of(status);
    if (status == OBB_DIMENSIONS)
        problem.pointer = "/dimensions";
    return problem;
}

static wire_problem problem_of_condition(void)
{
    wire_problem problem = wire_problem_of(OBB_REVISION);
    problem.detail = "If-Match does not hold";
    return problem;
}

static void refuse(struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    const struct srv_write *w = &c->write;
    const bool edits = c->op.kind == SRV_OP_EDIT;
    wire_problem problem;
    switch (w->refused_by) {
    case SRV_REFUSED_BY_NONE:
        problem = *c->flaw;
        break;
    case SRV_REFUSED_BY_CONDITION:
        problem = problem_of_condition();
        break;
    case SRV_REFUSED_BY_STORE:
        problem = edits ? wire_problem_of(w->status) : problem_of_settings(w->status);
        break;
    case SRV_REFUSED_BY_SCENE:
        if (w->status == OBB_CANCELLED)
            problem = srv_problem_cancelled(request);
        else if (edits)
            problem =
                wire_problem_of_edit(w->status, &w->fault, c->commit, w->op.edit, &request->arena);
        else
            problem = problem_of_settings(w->status);
        break;
    case SRV_REFUSED_BY_QUEUE:
        problem = srv_problem_of_pool(request->services,
                                      w->status == OBB_LIMIT ? SRV_QUEUE_FULL : SRV_NO_MEMORY);
        break;
    }
    srv_reply_problem(request, &problem);
}

static void on_done(struct srv_write *w)
{
    struct srv_change *c =
        (struct srv_change *)(void *)((char *)w - offsetof(struct srv_change, write));
    c->work.request->on_cancel = NULL;
    if (w->status != OBB_OK || w->op.check_only) {
        refuse(c);
        return;
    }
    struct srv_metrics *metrics = c->work.request->services->metrics;
    metrics->commit_ns_total += (uint64_t)(w->seconds * 1e9);
    metrics->commits_total += w->op.kind != SRV_OP_CREATE && w->committed.changed;
    c->applied(c);
}

void srv_change_start(struct srv_change *c)
{
    struct srv_request *request = c->work.request;
    c->write.op = c->op;
    c->write.op.if_match = request->if_match;
    c->write.op.check_only = c->flaw != NULL;
    c->write.arena = &request->arena;
    c->write.cancelled = &request->cancelled;
    c->write.done = on_done;
    request->work = c;
    request->on_cancel = on_cancel;
    srv_write(request->services->writer, &c->write);
}
