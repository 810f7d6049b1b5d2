/* Commits: many changes as one, and the queries on their result. */
#include "server/do_query.h"
#include "server/scenes.h"
#include "server/writer.h"

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

static void commit_write(struct srv_plans *p)
{
    struct commit *c = (struct commit *)p;
    struct srv_request *request = p->work.request;
    const obb_result **results = obb_arena_alloc(&request->arena, p->count, sizeof *results);
    if (results == NULL) {
        request->reply.failed = true;
        return;
    }
    for (size_t i = 0; i < p->count; i++)
        results[i] = obb_plan_result(p->plans[i]);
    wire_write_committed(&request->reply, request->accept, &c->commit, &c->change.committed,
                         (const struct obb_view *const *)p->views, results);
}

static void commit_reply(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    const obb_status status = (obb_status)atomic_load(&c->plans.status);
    if (status == OBB_OK && !atomic_load(&request->cancelled)) {
        srv_reply(request, 200, wire_media_type(request->accept));
    } else {
        wire_problem problem = wire_problem_of(status != OBB_OK ? status : OBB_CANCELLED);
        problem.detail = "the changes were made, but the queries on their result were not answered";
        srv_reply_problem(request, &problem);
    }
    srv_plans_close(&c->plans);
}

static bool changes_something(const obb_edit *edit)
{
    return edit->has_time || edit->remove_count > 0 || edit->put_count > 0 ||
           edit->pose_count > 0 || edit->turn_count > 0;
}

/* Views for the queries, of the state that the changes led to. */
static void commit_query(struct srv_change *change)
{
    struct commit *c = (struct commit *)(void *)((char *)change - offsetof(struct commit, change));
    struct srv_request *request = change->work.request;
    struct srv_plans *p = &c->plans;
    const obb_edit *edit = &c->commit.edit;
    p->write = commit_write;
    for (; p->count < edit->query_count; p->count++) {
        const obb_query *query = &edit->queries[p->count];
        p->views[p->count] =
            srv_open_view(request, change->scene, query->has_at ? &query->at : NULL);
        if (p->views[p->count] == NULL) {
            srv_plans_close(p);
            return;
        }
    }
    srv_plans_start(p, commit_reply);
}

static void commit_apply(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    struct srv_plans *p = &c->plans;
    if (!c->good) {
        srv_reply_problem(request, &c->problem);
        return;
    }
    const obb_edit *edit = &c->commit.edit;
    if ((request->scopes & WIRE_SCOPE_WRITE) == 0 && changes_something(edit)) {
        const wire_problem problem =
            wire_problem_http(403, "the token lacks the scope for changes; queries alone are fine");
        srv_reply_problem(request, &problem);
        return;
    }
    if (!srv_plans_room(p, request, edit->queries, edit->query_count))
        return;
    c->change.work.request = request;
    c->change.edit = edit;
    c->change.commit = &c->commit;
    c->change.applied = commit_query;
    srv_change_start(&c->change);
}

void srv_do_commit(struct srv_request *request)
{
    struct commit *c = srv_work_room(request, sizeof *c);
    if (c == NULL || !srv_no_params(request) ||
        !srv_path_name(request, SRV_SCENE_PART, &c->change.scene_name))
        return;
    c->plans.work.request = request;
    c->dimensions = srv_scene_dimensions(request->server, c->change.scene_name);
    srv_work_decode(&c->plans.work, commit_read, commit_apply);
}
