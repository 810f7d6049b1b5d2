/* Commits: many changes as one, and the queries on their result. */
#include "server/routes/do_query.h"
#include "server/routes/handlers.h"
#include "server/scenes/change.h"
#include "server/scenes/epoch.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/scenes.h"

#include <stddef.h>
#include <stdio.h>

#define NAME_NS    60.0  /* about, to write a name and its id */
#define PROBLEM_NS 100.0 /* about, to write a problem in place of a result */

struct commit {
    struct srv_plans plans;
    struct srv_change change;
    int dimensions;
    wire_commit commit;
    bool good;
    bool has_room; /* for the queries */
    wire_problem problem;
    size_t aside; /* bytes of the reply that are set aside for the shortest answer */
};

static bool changes_something(const obb_edit *edit)
{
    return edit->has_time || edit->remove_count > 0 || edit->remove_frame_count > 0 ||
           edit->frame_count > 0 || edit->put_count > 0 || edit->pose_count > 0 ||
           edit->transform_count > 0;
}

/* Returns whether the commit has changes to make. */
static bool makes_changes(const wire_commit *commit)
{
    return !commit->dry_run && changes_something(&commit->edit);
}

/* Returns the state that the commit's queries ask for beside its own. */
static wire_freshness freshness_of(const struct commit *c)
{
    const obb_edit *edit = &c->commit.edit;
    const bool makes = changes_something(edit); /* a state, of which the queries may speak */
    wire_freshness freshness = {.has_revision = false};
    for (size_t i = 0; i < c->commit.query_count; i++)
        freshness.fresh =
            freshness.fresh || (c->commit.queries[i].fresh && !makes_changes(&c->commit));
    for (size_t i = 0; i < edit->moment_count; i++) {
        const obb_at *at = &edit->moments[i].at;
        if (at->kind != OBB_AT_REVISION || at->clamp || (makes && at->revision == 0))
            continue;
        const uint64_t revision = at->revision - makes;
        if (!freshness.has_revision || revision > freshness.revision)
            freshness.revision = revision;
        freshness.has_revision = true;
    }
    return freshness;
}

/* Decodes the commit, and does what else grows with its queries. On the pool if the body is
 * long. */
static void commit_read(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    c->good =
        wire_read_commit(&request->body, c->dimensions, &request->arena, &c->commit, &c->problem);
    if (!c->good)
        return;
    c->change.freshness = freshness_of(c);
    c->has_room = srv_plans_room(&c->plans, request, c->commit.queries, c->commit.query_count);
}

/* Writes the answer. If `results` is NULL, the problem stands in place of each query's result. */
static void write_answer(struct commit *c, const obb_result *const *results,
                         const wire_problem *unanswered, bool omit_ids, size_t (*entries)[2])
{
    struct srv_request *request = c->plans.work.request;
    wire_write_committed(&request->reply, request->accept, &c->commit, &c->change.write.committed,
                         (const struct obb_view *const *)c->plans.views, results, unanswered,
                         omit_ids, entries);
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
    size_t(*entries)[2] = NULL;
    if (p->recording.on && p->count > 0 && request->accept == WIRE_JSON)
        entries = obb_arena_alloc(&request->arena, p->count, sizeof *entries);
    write_answer((struct commit *)p, results, NULL, false, entries);
    srv_plans_written(p);
    if (p->recording.on && p->count > 0) {
        const srv_answered answered = {.queries = p->queries,
                                       .count = p->count,
                                       .views = (const struct obb_view *const *)p->views,
                                       .results = results,
                                       .of_commit = true,
                                       .entries = (const size_t(*)[2])entries};
        srv_recording_make(&p->recording, request, &answered);
    }
    srv_plans_drop(p);
}

/* Returns whether the commit was made. One of queries alone may let boxes expire. */
static bool is_made(const struct commit *c)
{
    return makes_changes(&c->commit) || c->change.write.committed.changed;
}

/* Sets memory aside for the shortest answer to a commit that is made: without ids, and with a
 * problem in place of each result. Returns false if there is no room for that, or if the queries
 * could never be asked beside it: *out_problem says which. */
static bool set_aside(struct commit *c, wire_problem *out_problem)
{
    enum { FIXED = 512, PROBLEM = 256 }; /* bytes, at most */
    struct srv_request *request = c->plans.work.request;
    const size_t queries = c->commit.query_count, sent = request->body.length;
    const uint64_t limit = request->services->config->memory_limit;
    /* a name takes at most twice the bytes in `missing` that its entry took in the body */
    const size_t least = FIXED + PROBLEM * queries + (c->commit.edit.ignore_missing ? 2 * sent : 0);
    struct wire_buf *reply = &request->reply;
    size_t room = reply->capacity > 256 ? reply->capacity : 256;
    while (room < least)
        room *= 2;                                     /* as a buffer grows */
    const uint64_t held = sent + request->arena.total; /* until the answer is sent */
    const size_t work = queries * obb_plan_least();    /* results are held until all are there */
    const bool fits = held <= limit && room + work <= limit - held;
    if (fits && wire_buf_room(reply, least) != NULL) {
        c->aside = reply->capacity;
        return true;
    }
    *out_problem = srv_problem_no_room();
    if (!fits) {
        enum { ROOM = 160 };
        char *detail = obb_arena_alloc(&request->arena, ROOM, 1);
        if (detail != NULL)
            (void)snprintf(detail, ROOM,
                           "found %zu queries, which take at least %zu bytes beside the commit's "
                           "%llu; --memory-limit is %llu",
                           queries, room + work, (unsigned long long)held,
                           (unsigned long long)limit);
        *out_problem = wire_problem_http(413, detail);
    }
    wire_buf_fini(reply);
    return false;
}

/* A commit of queries alone is about to be made. */
static bool commit_makes(struct srv_change *change, wire_problem *out_problem)
{
    struct commit *c = (struct commit *)(void *)((char *)change - offsetof(struct commit, change));
    return c->aside > 0 || set_aside(c, out_problem);
}

/* Writes the answer to a commit that was made and whose queries have no results: it holds
 * c->problem. If there is no room for that with the ids of new boxes, the answer goes without them
 * into the room that was set aside. Any thread. */
static void write_unanswered(struct commit *c)
{
    struct wire_buf *reply = &c->plans.work.request->reply;
    wire_buf_restart(reply, c->aside);
    write_answer(c, NULL, &c->problem, false, NULL);
    if (!reply->failed)
        return;
    wire_buf_restart(reply, c->aside);
    write_answer(c, NULL, &c->problem, true, NULL);
}

static size_t unanswered_step(struct srv_job *job)
{
    write_unanswered((struct commit *)job);
    return 0;
}

static void unanswered_written(struct srv_job *job)
{
    struct commit *c = (struct commit *)job;
    struct srv_request *request = c->plans.work.request;
    srv_reply(request, 200, wire_media_type(request->accept));
    srv_plans_close(&c->plans);
}

/* Answers a commit whose queries have no results, and closes them. If changes were made, the
 * request has not failed and must not be sent again: the answer is 200 and holds the problem. */
static void reply_unanswered(struct commit *c, wire_problem problem)
{
    struct srv_request *request = c->plans.work.request;
    struct srv_job *job = &c->plans.work.job;
    if (!is_made(c)) {
        wire_buf_fini(&request->reply);
        srv_reply_problem(request, &problem);
        srv_plans_close(&c->plans);
        return;
    }
    problem.retry_after = 0;
    c->problem = problem;
    if (c->plans.write_ns + PROBLEM_NS * (double)c->commit.query_count > SRV_LOOP_NS) {
        job->advance = unanswered_step;
        job->done = unanswered_written;
        job->cancelled = NULL;
        job->draws = false;
        job->background = true; /* the answer is due also while the queue is full */
        if (srv_pool_submit(request->services->pool, job) == SRV_SUBMITTED)
            return;
    }
    write_unanswered(c);
    unanswered_written(job);
}

static void commit_reply(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    const obb_status status = (obb_status)atomic_load(&c->plans.status);
    if (atomic_load(&request->cancelled)) {
        reply_unanswered(c, srv_problem_cancelled(request));
    } else if (status != OBB_OK) {
        reply_unanswered(c, srv_plans_problem(&c->plans, status));
    } else if (request->reply.failed) {
        reply_unanswered(c, srv_plans_problem(&c->plans, OBB_NO_MEMORY));
    } else {
        srv_plans_keep(&c->plans);
        srv_reply(request, 200, wire_media_type(request->accept));
        srv_plans_close(&c->plans);
    }
}

/* Runs the queries on the state after the changes, unless a problem says why not. */
static void run_queries(struct srv_plans *p, const wire_problem *problem)
{
    wire_problem busy;
    if (problem == NULL) {
        if (srv_plans_start(p, commit_reply, &busy))
            return;
        problem = &busy;
    }
    reply_unanswered((struct commit *)p, *problem);
}

static void commit_query(struct srv_change *change)
{
    struct commit *c = (struct commit *)(void *)((char *)change - offsetof(struct commit, change));
    c->commit.repeated = change->write.repeated;
    c->plans.write = commit_write;
    c->plans.work.request->has_tag = c->commit.has_tag; /* for the log */
    c->plans.work.request->tag = c->commit.tag;
    c->plans.write_ns +=
        NAME_NS * (double)(c->commit.edit.put_count + change->write.committed.missed);
    /* Many views are opened on the pool while the scene is locked, so that no other commit comes
     * between the changes and the queries. */
    if (!c->commit.dry_run) {
        c->plans.recalled = change->write.repeated;
        c->plans.present = change->write.committed.moment;
        srv_plans_open(&c->plans, change->write.scene, c->commit.edit.moments, run_queries);
        return;
    }
    const obb_rehearsal *rehearsal = &change->write.rehearsal;
    c->plans.views = rehearsal->views;
    c->plans.opened = rehearsal->opened;
    c->plans.opened_count = rehearsal->opened_count;
    c->plans.overlay = rehearsal->overlay;
    run_queries(&c->plans, NULL);
}

/* Returns why the sender may not make this commit, or NULL. */
static const char *lacking_scope(const struct commit *c)
{
    const unsigned scopes = c->plans.work.request->scopes;
    if ((scopes & WIRE_SCOPE_WRITE) == 0 && changes_something(&c->commit.edit))
        return "changes need the scope write, which the token, or a page of any origin, lacks; "
               "queries alone are fine";
    if ((scopes & WIRE_SCOPE_READ) == 0 && c->commit.query_count > 0)
        return "queries need the scope read, which the token lacks; changes alone are fine, and "
               "none "
               "was made";
    return NULL;
}

static void commit_apply(struct srv_work *work)
{
    struct commit *c = (struct commit *)work;
    struct srv_request *request = work->request;
    const obb_edit *edit = &c->commit.edit;
    if (!c->good) {
        const bool at_fault = c->problem.status == 400 || c->problem.status == 422;
        if (request->has_if_epoch && at_fault && request->epoch == 0)
            c->problem = srv_problem_of_epoch(request, 0); /* comes before the body's faults */
        /* the scene may refuse a part of the edit before the flaw, and then that refusal is the
         * answer */
        if (c->problem.status != 422 ||
            obb_store_find(request->services->store, c->change.op.scene) == NULL) {
            srv_reply_problem(request, &c->problem);
            return;
        }
        c->change.flaw = &c->problem;
    }
    const char *lacking = lacking_scope(c);
    if (lacking != NULL) {
        const wire_problem problem = wire_problem_http(403, lacking);
        srv_reply_problem(request, &problem);
        return;
    }
    if (c->good && !c->has_room) {
        srv_reply_status(request, OBB_NO_MEMORY);
        return;
    }
    wire_problem problem;
    if (c->good && makes_changes(&c->commit) && !set_aside(c, &problem)) {
        srv_reply_problem(request, &problem);
        return;
    }
    c->change.work.request = request;
    c->change.op.kind = SRV_OP_EDIT;
    c->change.op.settings = srv_default_settings(request->services);
    c->change.op.edit = edit;
    c->change.op.dry_run = c->commit.dry_run;
    if (!c->commit.dry_run)
        c->change.op.sent_id = c->commit.id;
    if (makes_changes(&c->commit))
        c->change.op.id = c->commit.id;
    if (c->commit.dry_run)
        c->plans.recording.on = false; /* nothing was asked of the scene */
    c->change.commit = &c->commit;
    c->change.applied = commit_query;
    c->change.makes = commit_makes;
    srv_change_start(&c->change);
}

void srv_do_commit(struct srv_request *request)
{
    struct commit *c = srv_work_room(request, sizeof *c);
    if (c == NULL || !srv_no_params(request) ||
        !srv_path_name(request, SRV_SCENE_PART, &c->change.op.scene))
        return;
    c->plans.work.request = request;
    const obb_settings settings = srv_scene_settings(request->services, c->change.op.scene);
    c->dimensions = settings.dimensions;
    srv_plans_record(&c->plans, request, &settings);
    srv_work_decode(&c->plans.work, commit_read, commit_apply);
}
