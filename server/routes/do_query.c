/* Queries: decoded, bound to a view, and run on the loop or on the pool, whichever their estimated
 * cost says. */
#include "server/routes/do_query.h"

#include "server/base/metrics.h"
#include "server/routes/handlers.h"
#include "server/scenes/async_destroy.h"
#include "server/scenes/await.h"
#include "server/scenes/loop_time.h"
#include "server/scenes/paged_answer.h"
#include "server/scenes/scenes.h"
#include "server/scenes/writer.h"

#include <stddef.h>

/* ---- Plans on the pool ----------------------------------------------------------------------- */

static void note(struct srv_plans *p, obb_status status)
{
    if (status == OBB_OK)
        return;
    int none = OBB_OK;
    (void)atomic_compare_exchange_strong(&p->status, &none, (int)status);
}

/* Returns the views from that one on, for reading. */
static const struct obb_view *const *views_from(const struct srv_plans *p, size_t first)
{
    return (const struct obb_view *const *)p->views + first;
}

/* Keeps the fault of a plan whose query has a `with` that is refused. */
static void note_fault(struct srv_plans *p, const struct obb_plan *plan)
{
    const obb_fault *fault = plan != NULL ? obb_plan_fault(plan) : NULL;
    p->refused = fault != NULL;
    if (p->refused)
        p->fault = *fault;
}

/* Begins the next phase of the current plan, or of the next plan if the current one is complete. */
static size_t plans_advance(struct srv_job *job)
{
    struct srv_plans *p = (struct srv_plans *)job;
    const atomic_bool *cancelled = &p->work.request->cancelled;
    while (p->current < p->count && atomic_load(&p->status) == OBB_OK) {
        obb_status status = OBB_OK;
        struct obb_plan **plan = &p->plans[p->current];
        if (*plan == NULL)
            status = obb_plan_create_timed(views_from(p, p->current_view), &p->queries[p->current],
                                           cancelled, &p->budget, plan);
        size_t chunks = 0;
        if (status == OBB_OK)
            chunks = obb_plan_advance(*plan, &status);
        note(p, status);
        if (status != OBB_OK)
            note_fault(p, *plan);
        if (status == OBB_OK && chunks > 0)
            return chunks;
        p->current_view += obb_query_views(&p->queries[p->current]);
        p->current++;
    }
    if (atomic_load(&p->status) == OBB_OK)
        p->write(p);
    else
        srv_plans_drop(p);
    return 0;
}

static void plans_chunk(struct srv_job *job, size_t chunk)
{
    struct srv_plans *p = (struct srv_plans *)job;
    note(p, obb_plan_chunk(p->plans[p->current], chunk));
}

static void plan_close(struct srv_plans *p, size_t i)
{
    if (p->plans[i] == NULL)
        return;
    const obb_result *result = obb_plan_result(p->plans[i]);
    p->candidates += result->candidates;
    p->doubts += result->doubts;
    obb_plan_destroy(p->plans[i]);
    p->plans[i] = NULL;
}

void srv_plans_drop(struct srv_plans *p)
{
    for (size_t i = 0; i < p->count; i++)
        plan_close(p, i);
}

/* Destroys the overlay, on the pool if it is large. */
static void end_overlay(struct srv_plans *p)
{
    enum { FEW_BOXES = 1000 };
    const struct srv_services *services = p->work.request->services;
    struct obb_scene *scene = obb_overlay_end(p->overlay);
    obb_scene_info info = {.boxes = 0};
    if (scene != NULL)
        obb_scene_info_without_bounds(scene, &info);
    if (info.boxes > FEW_BOXES)
        srv_async_destroy(services->pool, services->writer->drain, scene);
    else
        obb_scene_destroy(scene);
    p->overlay = NULL;
}

/* About, for copying a byte of the body as JSON. */
#define COPY_NS 6.0

void srv_plans_record(struct srv_plans *p, struct srv_request *request,
                      const obb_settings *settings)
{
    if (settings->record == 0)
        return;
    srv_recording_begin(&p->recording, request);
    p->write_ns += COPY_NS * (double)request->body.length;
}

void srv_plans_keep(struct srv_plans *p)
{
    if (p->recording.on)
        srv_recording_keep(&p->recording, p->work.request, p->count > 0 ? p->scene : NULL);
}

void srv_plans_close(struct srv_plans *p)
{
    struct srv_services *services = p->work.request->services;
    if (p->recording.on)
        srv_recording_drop(&p->recording);
    srv_plans_drop(p);
    end_overlay(p);
    for (size_t i = 0; i < p->opened_count; i++)
        srv_view_close(services->locks, p->opened[i]);
    services->metrics->candidates_total += p->candidates;
    services->metrics->doubts_total += p->doubts;
}

/* Returns the bytes that a request draws, but for its plans. */
static size_t held_by(const struct srv_request *request)
{
    return request->body.length + obb_budget_beyond(request->arena.total, request->arena.own) +
           obb_budget_beyond(request->reply.capacity, request->reply.own);
}

/* Returns the bytes that a request may hold. */
static size_t memory_limit(const struct srv_plans *p)
{
    return p->work.request->services->budget->limit;
}

static void begin_budget(struct srv_plans *p)
{
    const size_t held = held_by(p->work.request), limit = memory_limit(p);
    obb_budget_init_part(&p->budget, held < limit ? limit - held : 0,
                         p->work.request->services->budget);
}

void srv_plans_written(struct srv_plans *p)
{
    const struct wire_buf *reply = &p->work.request->reply;
    if (reply->failed) /* it would have doubled, at least */
        p->beyond = obb_budget_used(&p->budget) + held_by(p->work.request) + reply->capacity;
}

wire_problem srv_plans_problem(const struct srv_plans *p, obb_status status)
{
    enum { ROOM = 128 };
    const size_t refused = obb_budget_refused(&p->budget), limit = memory_limit(p);
    const size_t need = refused != 0 ? refused + held_by(p->work.request) : p->beyond;
    if (status != OBB_NO_MEMORY || need <= limit)
        return p->beyond != 0 ? srv_problem_no_room() : srv_problem_of_status(status);
    char *detail = obb_arena_alloc(&p->work.request->arena, ROOM, 1);
    if (detail != NULL)
        (void)snprintf(detail, ROOM,
                       "found queries that take at least %zu bytes; --memory-limit is %zu", need,
                       limit);
    return wire_problem_http(413, detail);
}

/* Runs all queries on this thread. They draw from no budget: what they can hold is bounded by their
 * time, and only one request at a time is here. Returns false if they take longer than the loop may
 * be busy; then no plan is left. */
static bool plans_try(struct srv_plans *p)
{
    double left_ns = SRV_LOOP_NS;
    size_t view = 0;
    for (size_t i = 0; i < p->count; view += obb_query_views(&p->queries[i]), i++) {
        obb_status status =
            obb_plan_create_timed(views_from(p, view), &p->queries[i], NULL, NULL, &p->plans[i]);
        if (status == OBB_OK)
            status = obb_plan_try(p->plans[i], &left_ns);
        if (status == OBB_CANCELLED) {
            for (size_t k = 0; k <= i; k++) {
                obb_plan_destroy(p->plans[k]);
                p->plans[k] = NULL;
            }
            return false;
        }
        note(p, status);
        if (status != OBB_OK) {
            note_fault(p, p->plans[i]);
            return true;
        }
    }
    p->write(p);
    return true;
}

bool srv_plans_room(struct srv_plans *p, struct srv_request *request, const obb_query *queries,
                    size_t count)
{
    size_t views = 1;
    for (size_t i = 0; i < count; i++)
        views += obb_query_views(&queries[i]);
    p->work.request = request;
    p->queries = queries;
    p->count = count;
    p->plans = obb_arena_alloc(&request->arena, count + 1, sizeof *p->plans);
    p->views = obb_arena_alloc(&request->arena, 2 * views, sizeof *p->views);
    if (p->plans == NULL || p->views == NULL)
        return false;
    memset(p->plans, 0, (count + 1) * sizeof *p->plans);
    memset(p->views, 0, 2 * views * sizeof *p->views);
    p->opened = p->views + views;
    return true;
}

/* ---- Opening views --------------------------------------------------------------------------- */

/* The loop, or a worker while the scene is locked. */
static void open_views(struct srv_plans *p)
{
    struct obb_arena *arena = &p->work.request->arena;
    const obb_status status =
        p->recalled ? obb_views_open_as_of(p->scene, &p->present, p->moments, p->count, arena,
                                           p->views, p->opened, &p->opened_count, &p->fault)
                    : obb_views_open(p->scene, p->moments, p->count, arena, p->views, p->opened,
                                     &p->opened_count, &p->fault);
    atomic_store(&p->status, (int)status);
}

/* Returns the pointer to moment i of a query. */
static const char *pointer_to(const obb_needed_moment *moment, size_t i, struct obb_arena *arena)
{
    return moment->times == NULL ? "/at" : wire_detail(arena, "/rays/times/%zu", i);
}

/* A moment of a query outside the history. A commit has none: it was refused. */
static wire_problem problem_of_gone(const struct srv_plans *p)
{
    struct obb_arena *arena = &p->work.request->arena;
    const obb_needed_moment *moment = &p->moments[p->fault.index];
    const obb_at at = obb_needed_at(moment, p->fault.member);
    wire_problem problem = wire_problem_of_gone(&at, p->fault.oldest, p->fault.newest, arena);
    problem.pointer = pointer_to(moment, p->fault.member, arena);
    return problem;
}

static void views_are_open(struct srv_plans *p)
{
    const obb_status status = (obb_status)atomic_load(&p->status);
    srv_views_opened(p->work.request->services->locks, p->opened_count);
    if (status == OBB_OK) {
        p->then(p, NULL);
        return;
    }
    const wire_problem problem = status == OBB_GONE        ? problem_of_gone(p)
                                 : status == OBB_CANCELLED ? srv_problem_cancelled(p->work.request)
                                                           : wire_problem_of(status);
    p->count = 0;
    p->then(p, &problem);
}

static size_t open_step(struct srv_job *job)
{
    open_views((struct srv_plans *)job);
    return 0;
}

static void opened_on_pool(struct srv_work *work)
{
    struct srv_plans *p = (struct srv_plans *)work;
    srv_lock_release(work->request->services->locks, &p->lock);
    views_are_open(p);
    srv_lock_wake(&p->lock);
}

void srv_plans_open(struct srv_plans *p, struct obb_scene *scene, const obb_needed_moment *moments,
                    void (*then)(struct srv_plans *p, const wire_problem *problem))
{
    struct srv_locks *locks = p->work.request->services->locks;
    wire_problem problem = wire_problem_of(OBB_NO_MEMORY);
    p->scene = scene;
    p->moments = moments;
    p->then = then;
    if (obb_views_cost(moments, p->count, SRV_LOOP_NS) <= SRV_LOOP_NS) {
        open_views(p);
        views_are_open(p);
        return;
    }
    if (srv_lock_take(locks, &p->lock, scene, false, 0)) {
        atomic_store(&p->status, OBB_CANCELLED); /* if the pool gives the job up before open_step */
        p->work.job.advance = open_step;
        p->work.job.draws = false; /* others wait for the scene */
        if (srv_work_submit(&p->work, opened_on_pool, &problem))
            return;
        srv_lock_release(locks, &p->lock);
    }
    p->count = 0;
    then(p, &problem);
}

static bool has_plans(const struct srv_plans *p)
{
    size_t i = 0;
    while (i < p->count && p->plans[i] == NULL)
        i++;
    return i < p->count;
}

static size_t drop_step(struct srv_job *job)
{
    srv_plans_drop((struct srv_plans *)job);
    return 0;
}

static void dropped(struct srv_job *job)
{
    struct srv_plans *p = (struct srv_plans *)job;
    p->ran(&p->work);
}

/* The pool is done with the plans. If the request is cancelled, plans may be left: 100,000 at most,
 * or one with as many overlays. */
static void ran_on_pool(struct srv_work *work)
{
    struct srv_plans *p = (struct srv_plans *)work;
    if (atomic_load(&work->request->cancelled) && has_plans(p)) {
        work->job.advance = drop_step;
        work->job.done = dropped;
        work->job.cancelled = NULL;
        work->job.draws = false;
        work->job.background = true;
        if (srv_pool_submit(work->request->services->pool, &work->job) == SRV_SUBMITTED)
            return;
    }
    p->ran(work);
}

bool srv_plans_start(struct srv_plans *p, void (*then)(struct srv_work *work),
                     wire_problem *out_problem)
{
    double cost = p->write_ns;
    size_t view = 0;
    begin_budget(p); /* also if the loop runs them: a stream finds its further pages on the pool */
    for (size_t i = 0; i < p->count && cost <= SRV_LOOP_NS; i++) {
        cost += obb_query_cost(p->views[view], &p->queries[i]);
        view += obb_query_views(&p->queries[i]);
    }
    if (cost <= SRV_LOOP_NS && plans_try(p)) {
        then(&p->work);
        return true;
    }
    p->work.job.advance = plans_advance;
    p->work.job.chunk = plans_chunk;
    p->work.job.draws = true;
    p->ran = then;
    return srv_work_submit(&p->work, ran_on_pool, out_problem);
}

/* ---- POST /v1/scenes/{scene}/query/{kind} ---------------------------------------------------- */

enum { KIND_PART = 4 };

/* All-pairs as NDJSON is a stream of any length. Its pairs are found in pages: the next page when
 * the client has taken the one before. */
struct query {
    struct srv_plans plans;        /* of one query; of a stream: the current page */
    struct srv_paged_answer lines; /* of a stream */
    uint64_t most, sent; /* of a stream: pairs that it may have, and pairs of the pages before */
    size_t next_pair;    /* of the current page: the first that is not written */
    obb_query_kind kind;
    int dimensions; /* of the scene */
    bool absent;    /* there is no scene; the body is judged first all the same */
    obb_query query;
    obb_needed_moment moment; /* of the query */
    bool good;
    bool flawed; /* `problem` lies in `with`: only the changes before it are tried */
    wire_problem problem;
};

static struct query *query_of(struct srv_paged_answer *answer)
{
    return (struct query *)(void *)((char *)answer - offsetof(struct query, lines));
}

static void query_read(struct srv_work *work)
{
    struct query *q = (struct query *)work;
    struct srv_request *request = work->request;
    q->good = wire_read_query(&request->body, q->kind, q->dimensions, &request->arena, &q->query,
                              &q->problem);
    q->flawed = !q->good && q->problem.status == 422 && q->query.with != NULL;
    if (q->absent && !q->good && q->problem.status == 422) {
        wire_problem planar; /* no fault is one of the body that is none in the plane */
        q->good = wire_read_query(&request->body, q->kind, 2, &request->arena, &q->query, &planar);
    }
}

enum {
    PAGE = 16384,     /* pairs found at a time */
    FEW_PAIRS = 1024, /* that the loop writes at once. A pair takes 20 to 60 bytes and 100 ns */
    DETAILED = 8, /* a pair of a query with `want` takes this many times the bytes and the time */
    /* Pairs that are written between two looks at the room of the piece, and the bytes of so many
     * lines at most: of bare pairs two names each; of one with `want` two of all that a box has. */
    RUN = 8,
    RUN_BYTES = 6144
};

/* Returns how many pairs of this query cost as much as `bare` pairs without `want`. */
static size_t pairs_for(const struct query *q, size_t bare)
{
    return q->query.want != 0 ? bare / DETAILED : bare;
}

/* Sets how many pairs the next page lists. If the stream has all the pairs that it may have, the
 * rest is only counted. */
static void next_page(struct query *q)
{
    const uint64_t left = q->most - q->sent;
    const size_t page = pairs_for(q, PAGE);
    q->query.limit = left < page ? (size_t)left : page;
    q->query.count_only = q->query.limit == 0;
}

/* Lets the current page be found once more: there was no memory for it, and its plan is dropped. */
static void find_page_again(struct query *q)
{
    atomic_store(&q->plans.status, OBB_OK);
    q->plans.current = q->plans.current_view = 0;
}

/* On the loop, before each piece. */
static bool lines_next(struct srv_paged_answer *answer)
{
    const struct query *q = query_of(answer);
    answer->light = q->plans.current == q->plans.count; /* the page is found */
    return true;
}

static bool lines_write(struct srv_paged_answer *answer)
{
    struct query *q = query_of(answer);
    const struct obb_plan *plan = q->plans.plans[0];
    const struct obb_view *view = q->plans.views[0];
    const obb_status status = (obb_status)atomic_load(&q->plans.status);
    if (status == OBB_NO_MEMORY) {
        find_page_again(q);
        answer->starved = true;
        return true;
    }
    if (status != OBB_OK) {
        answer->piece.failed = true;
        return false;
    }
    const obb_result *result = obb_plan_result(plan);
    const size_t run = pairs_for(q, RUN);
    size_t to = q->next_pair;
    bool room; /* for a run, or for the last line */
    while ((room = srv_paged_answer_has_room(answer, RUN_BYTES)) && to < result->pair_count) {
        const size_t from = to, left = result->pair_count - from;
        to += left < run ? left : run;
        wire_write_pair_lines(&answer->piece, view, &q->query, result, from, to);
    }
    q->next_pair = to;
    if (!room)
        return true;
    if (!result->truncated) {
        const bool cut = q->query.paged && q->query.count_only && result->count > 0;
        wire_write_pair_end(&answer->piece, view, &q->query, q->sent + result->count, cut);
        return false;
    }
    q->sent += to;
    q->next_pair = 0;
    const uint64_t last[2] = {obb_result_id(result, to - 1, false),
                              obb_result_id(result, to - 1, true)};
    memcpy(q->query.after, last, sizeof last);
    plan_close(&q->plans, 0);
    next_page(q);
    q->plans.current = q->plans.current_view = 0;
    return true;
}

/* Finds the next page. Does nothing while the current page has pairs left. */
static size_t lines_advance(struct srv_paged_answer *answer)
{
    return plans_advance(&query_of(answer)->plans.work.job);
}

static void lines_chunk(struct srv_paged_answer *answer, size_t chunk)
{
    plans_chunk(&query_of(answer)->plans.work.job, chunk);
}

static void lines_closed(struct srv_paged_answer *answer)
{
    srv_plans_close(&query_of(answer)->plans);
}

/* Answers with the first page, which is found already, and with the pages after it. */
static void stream_pairs(struct query *q)
{
    const obb_result *result = obb_plan_result(q->plans.plans[0]);
    if (q->plans.recording.on)
        srv_recording_skip(&q->plans.recording);
    q->lines.cheap = !result->truncated && result->pair_count <= pairs_for(q, FEW_PAIRS);
    q->plans.current = q->plans.count;
    q->lines.view = q->plans.views[0];
    q->lines.next = lines_next;
    q->lines.advance = lines_advance;
    q->lines.chunk = lines_chunk;
    q->lines.write = lines_write;
    q->lines.closed = lines_closed;
    srv_paged_answer_start(&q->lines, q->plans.work.request, WIRE_NDJSON);
}

static void record_answer(struct srv_plans *p)
{
    const obb_result *result = obb_plan_result(p->plans[0]);
    const srv_answered answered = {
        .queries = p->queries, .count = 1, .views = views_from(p, 0), .results = &result};
    srv_recording_make(&p->recording, p->work.request, &answered);
}

static void query_write(struct srv_plans *p)
{
    struct srv_request *request = p->work.request;
    if (request->accept == WIRE_NDJSON)
        return; /* a stream is written as its client reads it */
    wire_write_result(&request->reply, request->accept, p->views[0], &p->queries[0],
                      obb_plan_result(p->plans[0]));
    srv_plans_written(p);
    if (p->recording.on)
        record_answer(p);
    srv_plans_drop(p); /* here, because freeing a large result takes long */
}

/* A view shows a state of other dimensions than the query was decoded for. */
static wire_problem problem_of_dimensions(const struct query *q)
{
    struct obb_arena *arena = &q->plans.work.request->arena;
    const size_t count = obb_query_views(&q->query);
    const int sent = q->query.dimensions;
    size_t i = 0;
    while (i + 1 < count && obb_view_info_get(q->plans.views[i])->dimensions == sent)
        i++;
    const obb_at at = obb_needed_at(&q->moment, i);
    wire_problem problem = wire_problem_of_past_dimensions(
        &at, obb_view_info_get(q->plans.views[i])->dimensions, sent, arena);
    if (at.kind != OBB_AT_NOW)
        problem.pointer = pointer_to(&q->moment, i, arena);
    return problem;
}

static void query_reply(struct srv_work *work)
{
    struct query *q = (struct query *)work;
    struct srv_request *request = work->request;
    const obb_status status = (obb_status)atomic_load(&q->plans.status);
    if (atomic_load(&request->cancelled)) {
        srv_reply_cancelled(request);
    } else if (q->plans.refused && status != OBB_DIMENSIONS) {
        const wire_problem problem =
            wire_problem_of_with(status, &q->plans.fault, &q->query, SIZE_MAX, &request->arena);
        srv_reply_problem(request, &problem);
    } else if (q->flawed) {
        srv_reply_problem(request, &q->problem);
    } else if (status == OBB_DIMENSIONS) {
        const wire_problem problem = problem_of_dimensions(q);
        srv_reply_problem(request, &problem);
    } else if (status != OBB_OK || request->reply.failed) {
        const wire_problem problem =
            srv_plans_problem(&q->plans, status != OBB_OK ? status : OBB_NO_MEMORY);
        srv_reply_problem(request, &problem);
    } else if (request->accept == WIRE_NDJSON) {
        stream_pairs(q);
        return;
    } else {
        srv_plans_keep(&q->plans);
        srv_reply(request, 200, wire_media_type(request->accept));
    }
    srv_plans_close(&q->plans);
}

static void query_run(struct srv_plans *p, const wire_problem *problem)
{
    struct query *q = (struct query *)p;
    struct srv_request *request = p->work.request;
    wire_problem busy;
    if (problem == NULL) {
        p->write = q->flawed ? srv_plans_drop : query_write;
        if (request->accept == WIRE_NDJSON && !q->query.count_only && !q->flawed) {
            q->most = q->query.has_limit ? q->query.limit : UINT64_MAX;
            q->query.paged = true;
            next_page(q);
        }
        if (srv_plans_start(p, query_reply, &busy))
            return;
        problem = &busy;
    }
    srv_reply_problem(request, q->flawed && problem->status == 410 ? &q->problem : problem);
    srv_plans_close(p);
}

/* Makes the query one that asks nothing of the state, which is open all the same. */
static void ask_nothing(struct query *q)
{
    q->query = (obb_query){.kind = OBB_QUERY_POINT,
                           .dimensions = q->query.dimensions,
                           .has_at = q->query.has_at,
                           .at = q->query.at,
                           .with = q->query.with,
                           .has_tag = q->query.has_tag,
                           .tag = q->query.tag};
    q->plans.recording.on = false;
}

static void query_start(struct srv_work *work)
{
    struct query *q = (struct query *)work;
    struct srv_request *request = work->request;
    request->has_tag = q->good ? q->query.has_tag : q->problem.has_tag;
    request->tag = q->good ? q->query.tag : q->problem.tag;
    if (!q->good && (q->absent || !q->flawed)) {
        srv_reply_problem(request, &q->problem);
        return;
    }
    if (!q->good) /* the scene may refuse a change that comes before the flaw */
        ask_nothing(q);
    const wire_freshness freshness = {.fresh = q->good && q->query.fresh};
    const bool has_at = q->good && q->query.has_at;
    struct obb_scene *scene = /* looked up anew: it may be removed by now */
        srv_path_scene_at(request, &freshness, has_at ? &q->query.at : NULL);
    if (scene == NULL)
        return;
    if (!srv_plans_room(&q->plans, request, &q->query, 1)) {
        srv_reply_status(request, OBB_NO_MEMORY);
        return;
    }
    q->moment = obb_query_moments(&q->query);
    srv_plans_open(&q->plans, scene, &q->moment, query_run);
}

void srv_do_query(struct srv_request *request)
{
    struct srv_services *services = request->services;
    struct query *q = srv_work_room(request, sizeof *q);
    if (q == NULL || !srv_no_params(request))
        return;
    q->plans.work.request = request;
    if (!wire_query_kind(request->target.parts[KIND_PART], &q->kind)) {
        const wire_problem problem =
            wire_problem_http(404, wire_detail(&request->arena, "there is no kind of query %s",
                                               wire_show(request->target.parts[KIND_PART]).text));
        srv_reply_problem(request, &problem);
        return;
    }
    obb_str name;
    if (!srv_path_name(request, SRV_SCENE_PART, &name))
        return;
    q->absent = obb_store_find(services->store, name) == NULL;
    if (q->absent && request->has_if_epoch) /* which is judged before the body */
        request->has_tag = wire_find_tag(&request->body, SIZE_MAX, &request->arena, &request->tag);
    if ((!q->absent || request->has_if_epoch) && srv_path_scene(request) == NULL)
        return;
    const obb_settings settings = srv_scene_settings(services, name);
    q->dimensions = settings.dimensions;
    srv_plans_record(&q->plans, request, &settings);
    srv_work_decode(&q->plans.work, query_read, query_start);
}
