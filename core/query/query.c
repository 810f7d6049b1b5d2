#include "core/query/query.h"

#include "core/base/alloc.h"
#include "core/query/query_body.h"

#include <assert.h>

/* Nanoseconds of one thread, from tests/bench/costs.c (make bench-costs); what they are used for forgives a factor of two. */
#define NS_PLAN         150.0 /* to make a plan and take it down */
#define NS_PAIR         140.0 /* two look-ups by name and the test */
#define NS_POINT        150.0 /* walks that find little: overlap, point */
#define NS_RAY          200.0
#define NS_SWEEP        2000.0
#define NS_NEAREST      400.0
#define NS_FOUND        50.0   /* each box that a walk may find and list */
#define NS_LEVEL        20.0   /* a doubling of the boxes, on a walk */
#define NS_NEAR         350.0  /* each further neighbour of a point, */
#define NS_NEAR_BOX     2500.0 /* or of a box: the distance of two boxes */
#define NS_DETAILS      400.0  /* what `want` adds about a pair, but for the volume */
#define NS_VOLUME       3000.0
#define NS_PAIR_OF_ALL  15.0   /* each pair that all-pairs may find and list */
#define NS_INTERPOLATED 1000.0 /* a candidate whose pose lies between two commits */
#define NS_STEP         75.0   /* a candidate that is looked at, found, and written */
#define NS_STEP_SWEEP   700.0
#define NS_STEP_POSE    500.0 /* more when its pose is written, too */
#define NS_CHUNK \
    100000.0 /* what a chunk should take: small against a deadline, large against a hop */
#define USUALLY_LISTED 8.0 /* boxes a list is taken to have */

struct obb_plan {
    const struct obb_view *view;
    const obb_query *query;
    const atomic_bool *cancel;
    struct obb_arena arena; /* the sieve, the answers, the tasks */
    struct obb_sieve sieve;
    struct obb_all_pairs *all; /* all-pairs alone, unless... */
    struct obb_pages *pages;   /* ...it is a page, or too much to be done at once */
    size_t per_chunk, chunk_count;
    struct obb_task *tasks; /* one per chunk */
    obb_answer *answers;
    bool started;
    _Atomic obb_status failed; /* of some chunk */
    obb_result result;
};

/* ---- Cost ---------------------------------------------------------------------------------------------------- */

static double details_cost(const obb_query *query)
{
    double ns = 0.0;
    if ((query->want & OBB_WANT_OF_PAIR & ~(unsigned)OBB_WANT_VOLUME) != 0)
        ns += NS_DETAILS;
    if ((query->want & OBB_WANT_VOLUME) != 0)
        ns += NS_VOLUME;
    return ns;
}

static double walk_cost(const struct obb_view *view)
{
    double ns = 0.0;
    for (size_t boxes = view->info.boxes; boxes > 0; boxes /= 2)
        ns += NS_LEVEL;
    return ns;
}

static double item_cost(const struct obb_view *view, const obb_query *query)
{
    const double walk = walk_cost(view);
    const double listed = fmin(USUALLY_LISTED, (double)view->info.boxes);
    double ns = 0.0;
    switch (query->kind) {
    case OBB_QUERY_PAIRS:
        return NS_PAIR + details_cost(query);
    case OBB_QUERY_ALL_PAIRS:
        return 0.0;
    case OBB_QUERY_OVERLAP:
        ns = NS_POINT + walk + listed * (NS_FOUND + details_cost(query));
        break;
    case OBB_QUERY_POINT:
        ns = NS_POINT + walk;
        break;
    case OBB_QUERY_RAY:
        ns = NS_RAY + walk + (query->mode == OBB_CLOSEST ? 0.0 : listed * NS_FOUND);
        break;
    case OBB_QUERY_SWEEP:
        ns = NS_SWEEP + walk + (query->mode == OBB_CLOSEST ? 0.0 : listed * NS_SWEEP);
        break;
    case OBB_QUERY_NEAREST:
        ns = NS_NEAREST + walk +
             fmin((double)query->k, (double)view->info.boxes) *
                 (query->of_boxes ? NS_NEAR_BOX : NS_NEAR);
        break;
    }
    return view->interpolated_index != NULL ? ns + NS_INTERPOLATED : ns;
}

double obb_query_cost(const struct obb_view *view, const obb_query *query)
{
    if (query->kind == OBB_QUERY_ALL_PAIRS) {
        const double boxes = (double)view->info.boxes;
        const double interpolated =
            view->interpolated_index != NULL
                ? (double)obb_index_count(view->interpolated_index) * NS_INTERPOLATED
                : 0.0;
        const double pairs = fmin(boxes * boxes / 2, OBB_MAX_WHOLE);
        return NS_PLAN + pairs * (NS_PAIR_OF_ALL + details_cost(query)) + interpolated;
    }
    return NS_PLAN + (double)query->count * item_cost(view, query);
}

/* ---- Plans ----------------------------------------------------------------------------------------------------- */

static struct obb_task task_of(const struct obb_plan *plan)
{
    return (struct obb_task){
        .view = plan->view, .query = plan->query, .sieve = &plan->sieve, .cancel = plan->cancel};
}

static obb_status prepare_all_pairs(struct obb_plan *plan)
{
    const struct obb_task task = task_of(plan);
    return plan->query->paged ? obb_pages_create(&task, &plan->pages)
                              : obb_all_pairs_create(&task, &plan->all);
}

static obb_status prepare_items(struct obb_plan *plan)
{
    const obb_query *query = plan->query;
    const double fitting = NS_CHUNK / item_cost(plan->view, query);
    plan->per_chunk = fitting > 1.0 ? (size_t)fitting : 1;
    plan->chunk_count = query->count / plan->per_chunk + (query->count % plan->per_chunk != 0);
    plan->tasks = obb_arena_alloc(&plan->arena, plan->chunk_count, sizeof *plan->tasks);
    plan->answers = obb_arena_alloc(&plan->arena, query->count, sizeof *plan->answers);
    if (plan->tasks == NULL || plan->answers == NULL) {
        plan->chunk_count = 0;
        return OBB_NO_MEMORY;
    }
    for (size_t i = 0; i < plan->chunk_count; i++)
        plan->tasks[i] = task_of(plan);
    return OBB_OK;
}

obb_status obb_plan_create(const struct obb_view *view, const obb_query *query,
                           const atomic_bool *cancel, struct obb_plan **out)
{
    if (query->dimensions != view->info.dimensions)
        return OBB_DIMENSIONS;
    struct obb_plan *plan = obb_calloc(1, sizeof *plan);
    if (plan == NULL)
        return OBB_NO_MEMORY;
    plan->view = view;
    plan->query = query;
    plan->cancel = cancel;
    obb_status st = obb_sieve_make(view, &query->filter, &plan->arena, &plan->sieve);
    if (st == OBB_OK)
        st = query->kind == OBB_QUERY_ALL_PAIRS ? prepare_all_pairs(plan) : prepare_items(plan);
    if (st != OBB_OK) {
        obb_plan_destroy(plan);
        return st;
    }
    *out = plan;
    return OBB_OK;
}

void obb_plan_destroy(struct obb_plan *plan)
{
    if (plan == NULL)
        return;
    obb_all_pairs_destroy(plan->all);
    obb_pages_destroy(plan->pages);
    for (size_t i = 0; i < plan->chunk_count; i++)
        obb_task_end(&plan->tasks[i]);
    obb_arena_fini(&plan->arena);
    obb_free(plan);
}

/* The first failure that is known of, cancellation included. */
static obb_status failure(const struct obb_plan *plan)
{
    if (plan->cancel != NULL && atomic_load_explicit(plan->cancel, memory_order_relaxed))
        return OBB_CANCELLED;
    return atomic_load_explicit(&plan->failed, memory_order_relaxed);
}

size_t obb_plan_advance(struct obb_plan *plan, obb_status *out_status)
{
    *out_status = failure(plan);
    if (*out_status == OBB_LIMIT && plan->all != NULL) { /* more candidates than can be held */
        const struct obb_task task = task_of(plan);
        obb_all_pairs_destroy(plan->all);
        plan->all = NULL;
        atomic_store_explicit(&plan->failed, OBB_OK, memory_order_relaxed);
        *out_status = obb_pages_create(&task, &plan->pages);
    }
    if (*out_status != OBB_OK)
        return 0;
    if (plan->all != NULL)
        return obb_all_pairs_advance(plan->all, out_status, &plan->result);
    if (plan->pages != NULL)
        return obb_pages_advance(plan->pages, out_status, &plan->result);
    if (!plan->started) {
        plan->started = true;
        if (plan->chunk_count > 0)
            return plan->chunk_count;
    }
    plan->result = (obb_result){.answers = plan->answers, .answer_count = plan->query->count};
    return 0;
}

static void answer_item(struct obb_task *task, size_t item, obb_answer *answer)
{
    switch (task->query->kind) {
    case OBB_QUERY_PAIRS:
        obb_answer_pair(task, item, answer);
        return;
    case OBB_QUERY_ALL_PAIRS: /* has no items */
        return;
    case OBB_QUERY_OVERLAP:
        obb_answer_overlap(task, item, answer);
        return;
    case OBB_QUERY_POINT:
        obb_answer_point(task, item, answer);
        return;
    case OBB_QUERY_RAY:
        obb_answer_ray(task, item, answer);
        return;
    case OBB_QUERY_SWEEP:
        obb_answer_sweep(task, item, answer);
        return;
    case OBB_QUERY_NEAREST:
        obb_answer_nearest(task, item, answer);
        return;
    }
}

static obb_status run_items(struct obb_plan *plan, size_t chunk)
{
    assert(chunk < plan->chunk_count);
    struct obb_task *task = &plan->tasks[chunk];
    const size_t first = chunk * plan->per_chunk, rest = plan->query->count - first;
    const size_t end = first + (rest < plan->per_chunk ? rest : plan->per_chunk);
    for (size_t i = first; i < end && obb_task_goes_on(task); i++) {
        plan->answers[i] = (obb_answer){0};
        answer_item(task, i, &plan->answers[i]);
        obb_arena_reset(&task->scratch);
    }
    obb_arena_fini(&task->scratch);
    return task->status;
}

obb_status obb_plan_chunk(struct obb_plan *plan, size_t chunk)
{
    obb_status st = failure(plan);
    if (st == OBB_OK)
        st = plan->all != NULL     ? obb_all_pairs_chunk(plan->all, chunk)
             : plan->pages != NULL ? obb_pages_chunk(plan->pages, chunk)
                                   : run_items(plan, chunk);
    if (st != OBB_OK)
        atomic_store_explicit(&plan->failed, st, memory_order_relaxed);
    return st == OBB_LIMIT && plan->all != NULL ? OBB_OK
                                                : st; /* obb_plan_advance knows another way */
}

const obb_result *obb_plan_result(const struct obb_plan *plan) { return &plan->result; }

obb_status obb_plan_run(struct obb_plan *plan)
{
    obb_status st;
    for (;;) {
        const size_t chunks = obb_plan_advance(plan, &st);
        if (chunks == 0)
            return st;
        for (size_t i = 0; i < chunks; i++) {
            st = obb_plan_chunk(plan, i);
            if (st != OBB_OK)
                return st;
        }
    }
}

/* Candidates that so much time is enough for; at least one, as 0 would be no limit. */
static uint32_t steps_for(double ns, double step)
{
    const double steps = ns / step;
    return steps < 1.0 ? 1 : steps > 1e9 ? 1000000000 : (uint32_t)steps;
}

obb_status obb_plan_try(struct obb_plan *plan, double *ns)
{
    const obb_query *query = plan->query;
    const double step = (query->kind == OBB_QUERY_SWEEP ? NS_STEP_SWEEP : NS_STEP) +
                        ((query->want & OBB_WANT_POSE) != 0 ? NS_STEP_POSE : 0.0) +
                        (query->kind == OBB_QUERY_OVERLAP ? details_cost(query) : 0.0) +
                        (plan->view->interpolated_index != NULL ? NS_INTERPOLATED : 0.0);
    for (;;) {
        obb_status st;
        const size_t chunks = obb_plan_advance(plan, &st);
        if (chunks == 0)
            return st;
        for (size_t i = 0; i < chunks; i++) {
            struct obb_task *task = plan->tasks != NULL ? &plan->tasks[i] : NULL;
            if (task != NULL)
                task->most_steps = steps_for(*ns, step);
            st = obb_plan_chunk(plan, i);
            if (st != OBB_OK)
                return st;
            if (task != NULL)
                *ns -= task->steps * step;
        }
    }
}
