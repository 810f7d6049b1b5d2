/* Commits: many changes as one, and the queries on their result. */
#include "server/routes/do_query.h"
#include "server/routes/handlers.h"
#include "server/scenes/change.h"
#include "server/scenes/scenes.h"

#include <stddef.h>

struct commit {
    struct srv_plans plans;
    struct srv_change change;
    int dimensions;
    wire_commit commit;
    bool good;
    wire_problem problem;
};

static void commit_read(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    c->good =
        wire_read_commit(&request->body, c->dimensions, &request->arena, &c->commit, &c->problem);
}

/* Writes the answer. If `results` is NULL, the problem stands in place of each query's result. */
static void write_answer(struct commit *c, const obb_result *const *results,
                         const wire_problem *unanswered)
{
    struct srv_request *request = c->plans.work.request;
    wire_write_committed(&request->reply, request->accept, &c->commit, &c->change.write.committed,
                         (const struct obb_view *const *)c->plans.views, results, unanswered);
}

static void commit_write(struct srv_plans *p)
{
    struct srv_request *request = p->work.request;
    const obb_result **results = obb_arena_alloc(&request->arena, p->count, sizeof *results);
    if (results == NULL) {
        request->reply.failed = true;
        return;
    }
    for (size_t i = 0; i < p->count; i++)
        results[i] = obb_plan_result(p->plans[i]);
    write_answer((struct commit *)p, results, NULL);
}

static bool changes_something(const obb_edit *edit)
{
    return edit->has_time || edit->remove_count > 0 || edit->put_count > 0 ||
           edit->pose_count > 0 || edit->transform_count > 0;
}

/* Answers a commit whose queries have no results. If changes were made, the request has not failed
 * and must not be sent again: the answer is 200 and holds the problem. */
static void reply_unanswered(struct commit *c, wire_problem problem)
{
    struct srv_request *request = c->plans.work.request;
    wire_buf_fini(&request->reply);
    if (!changes_something(&c->commit.edit)) {
        srv_reply_problem(request, &problem);
        return;
    }
    problem.retry_after = 0;
    write_answer(c, NULL, &problem);
    srv_reply(request, 200, wire_media_type(request->accept));
}

static void commit_reply(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    const obb_status status = (obb_status)atomic_load(&c->plans.status);
    if (atomic_load(&request->cancelled))
        reply_unanswered(c, srv_problem_cancelled(request));
    else if (status != OBB_OK)
        reply_unanswered(c, srv_problem_of_status(status));
    else if (request->reply.failed)
        reply_unanswered(c, srv_problem_no_room());
    else
        srv_reply(request, 200, wire_media_type(request->accept));
    srv_plans_close(&c->plans);
}

/* Opens the views of the queries on the state after the changes, and runs the queries. */
static void commit_query(struct srv_change *change)
{
    struct commit *c = (struct commit *)(void *)((char *)change - offsetof(struct commit, change));
    struct srv_request *request = change->work.request;
    struct srv_plans *p = &c->plans;
    p->write = commit_write;
    obb_status status = OBB_OK;
    while (p->count < c->commit.query_count && status == OBB_OK) {
        const obb_query *query = &c->commit.queries[p->count];
        status = srv_view_open(request->services->locks, change->write.scene,
                               query->has_at ? &query->at : NULL, &p->views[p->count], NULL, NULL);
        p->count += status == OBB_OK;
    }
    wire_problem problem = wire_problem_of(status);
    if (status != OBB_OK || !srv_plans_start(p, commit_reply, &problem)) {
        reply_unanswered(c, problem);
        srv_plans_close(p);
    }
}

static void commit_apply(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    struct srv_plans *p = &c->plans;
    const obb_edit *edit = &c->commit.edit;
    if (!c->good) {
        /* the scene may refuse a part of the edit before the flaw, and then that refusal is the
         * answer */
        if (c->problem.status != 422 ||
            obb_store_find(request->services->store, c->change.op.scene) == NULL) {
            srv_reply_problem(request, &c->problem);
            return;
        }
        c->change.flaw = &c->problem;
    }
    if ((request->scopes & WIRE_SCOPE_WRITE) == 0 && changes_something(edit)) {
        const wire_problem problem =
            wire_problem_http(403, "changes need the scope write, which the token, or a page of "
                                   "any origin, lacks; queries alone are fine");
        srv_reply_problem(request, &problem);
        return;
    }
    if (!srv_plans_room(p, request, c->commit.queries, c->commit.query_count))
        return;
    c->change.work.request = request;
    c->change.op.kind = SRV_OP_EDIT;
    c->change.op.settings = srv_default_settings(request->services);
    c->change.op.edit = edit;
    c->change.commit = &c->commit;
    c->change.applied = commit_query;
    srv_change_start(&c->change);
}

void srv_do_commit(struct srv_request *request)
{
    struct commit *c = srv_work_room(request, sizeof *c);
    if (c == NULL || !srv_no_params(request) ||
        !srv_path_name(request, SRV_SCENE_PART, &c->change.op.scene))
        return;
    c->plans.work.request = request;
    c->dimensions = srv_scene_dimensions(request->services, c->change.op.scene);
    srv_work_decode(&c->plans.work, commit_read, commit_apply);
}
