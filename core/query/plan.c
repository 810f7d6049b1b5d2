#include "core/query/plan.h"

#include "core/base/least.h"
#include "core/query/cost.h"
#include "core/query/query_all_pairs.h"
#include "core/query/query_items.h"
#include "core/query/query_pages.h"
#include "core/query/task.h"
#include "core/scene/motion.h"
#include "core/scene/overlay.h"

#include <assert.h>
#include <string.h>

/* The time that a chunk should take: small against a deadline, large against a change of
 * threads. */
#define NS_CHUNK 100000.0

/* Bytes of the first chunk of a plan's arenas. A commit has up to 100,000 queries, and holds the
 * results of all of them. */
#define FIRST_CHUNK 512

struct obb_plan {
    const struct obb_view *view;         /* with the overlay, if there is one */
    const struct obb_view *const *views; /* one per item, of a query with times; else NULL */
    const obb_query *query;
    const atomic_bool *cancel;
    struct obb_arena arena; /* the compiled filter, the answers, the tasks */
    struct obb_compiled_filter filter;
    /* One per item, or NULL: new boxes of a `with` have other ids in each state. */
    const struct obb_compiled_filter **filters;
    struct obb_all_pairs *all; /* only for all-pairs, except... */
    struct obb_pages *pages;   /* ...pages, and scenes with too many candidates for a join */
    size_t per_chunk, chunk_count;
    struct obb_task *tasks; /* one per chunk */
    obb_answer *answers;
    struct obb_overlay **overlays; /* of query->with: one for each state that is asked */
    size_t overlay_count;
    obb_status refused; /* of query->with; `fault` says where */
    obb_fault fault;
    bool started;
    _Atomic obb_status failed; /* of some chunk */
    obb_result result;
};

static const struct obb_view *view_of(const struct obb_plan *plan, size_t i)
{
    return plan->views != NULL ? plan->views[i] : plan->view;
}

static struct obb_task task_of(const struct obb_plan *plan)
{
    return (struct obb_task){.view = plan->view,
                             .query = plan->query,
                             .filter = &plan->filter,
                             .cancel = plan->cancel,
                             .budget = plan->arena.budget,
                             .keep.budget = plan->arena.budget,
                             .keep.first = FIRST_CHUNK,
                             .scratch.budget = plan->arena.budget};
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
    const double fitting = NS_CHUNK / obb_query_item_cost(plan->view, query);
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

static obb_status prepare(struct obb_plan *plan)
{
    const obb_query *query = plan->query;
    const obb_status st = plan->filters != NULL
                              ? OBB_OK
                              : obb_filter_compile(plan->view, &query->filter, plan->views != NULL,
                                                   plan->cancel, &plan->arena, &plan->filter);
    if (st != OBB_OK)
        return st;
    return query->kind == OBB_QUERY_ALL_PAIRS ? prepare_all_pairs(plan) : prepare_items(plan);
}

/* Lays an overlay of query->with over a view, and opens the result. */
static obb_status lay(struct obb_plan *plan, const struct obb_view *below,
                      const struct obb_view **out)
{
    struct obb_overlay *overlay = NULL;
    struct obb_view *view = NULL;
    obb_status st = obb_overlay_of_edit(below, plan->query->with, plan->cancel, &plan->arena,
                                        &overlay, &plan->fault);
    if (st != OBB_OK)
        return st;
    plan->overlays[plan->overlay_count++] = overlay;
    st = obb_overlay_open(overlay, below, NULL, &plan->arena, &view);
    if (st == OBB_OK)
        *out = view;
    return st;
}

/* Which view was laid over which. */
struct laid {
    const struct obb_view *below, *view; /* NULL: a free place */
    struct obb_compiled_filter filter;   /* for `view` */
};

/* Returns whether two views of a scene show the same and say the same about it. */
static bool same_view(const struct obb_view *a, const struct obb_view *b)
{
    return a->info.at.revision == b->info.at.revision &&
           !(a->info.at.time < b->info.at.time || a->info.at.time > b->info.at.time) &&
           a->info.clamped == b->info.clamped;
}

static struct laid *place_of(struct laid *places, size_t mask, const struct obb_view *below)
{
    uint64_t key;
    memcpy(&key, &below->info.at.time, sizeof key);
    key = (key ^ below->info.at.revision << 1) * 0x9e3779b97f4a7c15u;
    size_t place = (size_t)(key >> 32) & mask;
    while (places[place].below != NULL && !same_view(places[place].below, below))
        place = (place + 1) & mask;
    return &places[place];
}

/* Lays query->with over the states of all times, over each state once. */
static obb_status lay_times(struct obb_plan *plan)
{
    const size_t count = plan->query->count;
    size_t room = 8;
    while (room < 2 * count)
        room *= 2;
    const struct obb_view **views = (const struct obb_view **)obb_arena_alloc(
        &plan->arena, count, sizeof(const struct obb_view *));
    const struct obb_compiled_filter **filters =
        (const struct obb_compiled_filter **)obb_arena_alloc(
            &plan->arena, count, sizeof(const struct obb_compiled_filter *));
    struct laid *places = obb_arena_alloc(&plan->arena, room, sizeof *places);
    if (views == NULL || filters == NULL || places == NULL)
        return OBB_NO_MEMORY;
    memset(places, 0, room * sizeof *places);
    for (size_t i = 0; i < count; i++) {
        struct laid *laid = place_of(places, room - 1, plan->views[i]);
        if (laid->below == NULL) {
            if (plan->cancel != NULL && atomic_load_explicit(plan->cancel, memory_order_relaxed))
                return OBB_CANCELLED;
            obb_status st = lay(plan, plan->views[i], &laid->view);
            if (st == OBB_OK)
                st = obb_filter_compile(laid->view, &plan->query->filter, false, plan->cancel,
                                        &plan->arena, &laid->filter);
            if (st != OBB_OK)
                return st;
            laid->below = plan->views[i];
        }
        views[i] = laid->view;
        filters[i] = &laid->filter;
    }
    plan->views = views;
    plan->filters = filters;
    plan->view = views[0];
    return OBB_OK;
}

/* Lays query->with over the view, or the views, and prepares the query on the result. */
static obb_status prepare_with(struct obb_plan *plan)
{
    plan->overlays = (struct obb_overlay **)obb_arena_alloc(
        &plan->arena, obb_query_views(plan->query), sizeof(struct obb_overlay *));
    if (plan->overlays == NULL)
        return OBB_NO_MEMORY;
    const obb_status st =
        plan->views != NULL ? lay_times(plan) : lay(plan, plan->view, &plan->view);
    if (st != OBB_OK && plan->fault.group != OBB_GROUP_NONE && st != OBB_NO_MEMORY) {
        plan->refused = st;
        return OBB_OK;
    }
    return st == OBB_OK ? prepare(plan) : st;
}

/* Returns true if all views of the query have its dimensions. */
static bool dimensions_fit(const struct obb_view *const *views, const obb_query *query)
{
    const size_t count = obb_query_views(query);
    size_t i = 0;
    while (i < count && views[i]->info.dimensions == query->dimensions)
        i++;
    return i == count;
}

obb_status obb_plan_create_timed(const struct obb_view *const *views, const obb_query *query,
                                 const atomic_bool *cancel, struct obb_budget *budget,
                                 struct obb_plan **out)
{
    if (!dimensions_fit(views, query))
        return OBB_DIMENSIONS;
    struct obb_plan *plan = obb_budget_calloc(budget, 1, sizeof *plan);
    if (plan == NULL)
        return OBB_NO_MEMORY;
    plan->view = views[0];
    plan->views = query->times != NULL && query->count > 0 ? views : NULL;
    plan->query = query;
    plan->cancel = cancel;
    plan->arena.budget = budget;
    plan->arena.first = FIRST_CHUNK;
    const obb_status st = query->with == NULL ? prepare(plan) : prepare_with(plan);
    if (st != OBB_OK) {
        obb_plan_destroy(plan);
        return st;
    }
    *out = plan;
    return OBB_OK;
}

size_t obb_plan_least(void) { return OBB_BUDGET_HEAD + sizeof(struct obb_plan); }

obb_status obb_plan_create(const struct obb_view *view, const obb_query *query,
                           const atomic_bool *cancel, struct obb_budget *budget,
                           struct obb_plan **out)
{
    assert(obb_query_views(query) == 1);
    return obb_plan_create_timed(&view, query, cancel, budget, out);
}

void obb_plan_destroy(struct obb_plan *plan)
{
    if (plan == NULL)
        return;
    obb_all_pairs_destroy(plan->all);
    obb_pages_destroy(plan->pages);
    for (size_t i = 0; i < plan->chunk_count; i++)
        obb_task_end(&plan->tasks[i]);
    for (size_t i = 0; i < plan->overlay_count; i++)
        obb_overlay_destroy(plan->overlays[i]);
    obb_arena_fini(&plan->arena);
    obb_budget_free(plan);
}

/* Returns the first known failure, or OBB_CANCELLED if the plan is cancelled. */
static obb_status failure(const struct obb_plan *plan)
{
    if (plan->cancel != NULL && atomic_load_explicit(plan->cancel, memory_order_relaxed))
        return OBB_CANCELLED;
    return atomic_load_explicit(&plan->failed, memory_order_relaxed);
}

/* Makes the indexes of motion of all views of the plan. */
static obb_status make_motion(const struct obb_plan *plan)
{
    const size_t count = obb_query_walks(plan->query) ? obb_query_views(plan->query) : 0;
    obb_status st = OBB_OK;
    for (size_t i = 0; i < count && st == OBB_OK; i++)
        st = obb_motion_make(view_of(plan, i), plan->cancel);
    return st;
}

size_t obb_plan_advance(struct obb_plan *plan, obb_status *out_status)
{
    *out_status = plan->refused != OBB_OK ? plan->refused : failure(plan);
    if (*out_status == OBB_LIMIT &&
        plan->all != NULL) { /* more candidates than may be held at once */
        const struct obb_task task = task_of(plan);
        obb_all_pairs_destroy(plan->all);
        plan->all = NULL;
        atomic_store_explicit(&plan->failed, OBB_OK, memory_order_relaxed);
        *out_status = obb_pages_create(&task, &plan->pages);
    }
    const bool first = !plan->started;
    plan->started = true;
    if (*out_status == OBB_OK && first)
        *out_status = make_motion(plan);
    if (*out_status != OBB_OK)
        return 0;
    if (plan->all != NULL)
        return obb_all_pairs_advance(plan->all, out_status, &plan->result);
    if (plan->pages != NULL)
        return obb_pages_advance(plan->pages, out_status, &plan->result);
    if (first && plan->chunk_count > 0)
        return plan->chunk_count;
    plan->result = (obb_result){
        .answers = plan->answers, .answer_count = plan->query->count, .views = plan->views};
    return 0;
}

/* Returns how many of the items that are left are answered at once. */
static size_t at_once(const struct obb_plan *plan, size_t left)
{
    return plan->query->kind == OBB_QUERY_RAY && plan->views == NULL /* one for all rays */
               ? obb_least(left, obb_rays_together(plan->query))
               : 1;
}

/* Answers `count` items, from `item` on: at most at_once. */
static void answer_items(struct obb_task *task, size_t item, size_t count, obb_answer *answer)
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
        obb_answer_rays(task, item, count, answer);
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
    const size_t end = first + obb_least(rest, plan->per_chunk);
    for (size_t i = first, count; i < end; i += count) {
        count = at_once(plan, end - i);
        if (!obb_task_spend(task, (uint32_t)count))
            break;
        memset(&plan->answers[i], 0, count * sizeof plan->answers[i]);
        if (plan->views != NULL)
            task->view = plan->views[i];
        if (plan->filters != NULL)
            task->filter = plan->filters[i];
        answer_items(task, i, count, &plan->answers[i]);
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
    return st == OBB_LIMIT && plan->all != NULL ? OBB_OK : st; /* obb_plan_advance turns to pages */
}

const obb_fault *obb_plan_fault(const struct obb_plan *plan)
{
    return plan->refused != OBB_OK ? &plan->fault : NULL;
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

/* Returns the number of candidates for which the time is enough; at least 1, as 0 would be no
 * limit. */
static uint32_t steps_for(double ns, double step)
{
    const double steps = ns / step;
    return steps < 1.0 ? 1 : steps > 1e9 ? 1000000000 : (uint32_t)steps;
}

/* Makes the indexes of motion as long as they fit into *ns, and subtracts their cost. */
static obb_status try_motion(const struct obb_plan *plan, double *ns)
{
    const size_t count = obb_query_walks(plan->query) ? obb_query_views(plan->query) : 0;
    obb_status st = OBB_OK;
    for (size_t i = 0; i < count && st == OBB_OK; i++) {
        const struct obb_view *view = view_of(plan, i);
        const double cost = obb_query_motion_cost(view, plan->query);
        if (cost > *ns)
            return OBB_CANCELLED;
        *ns -= cost;
        st = obb_motion_make_now(view);
    }
    return st;
}

obb_status obb_plan_try(struct obb_plan *plan, double *ns)
{
    const obb_status motion = try_motion(plan, ns);
    if (motion != OBB_OK)
        return motion;
    const double step = obb_query_step_cost(plan->view, plan->query);
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
