#include "core/query/query_all_pairs.h"

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/least.h"
#include "core/base/sort.h"
#include "core/index/join.h"
#include "core/query/candidates.h"
#include "core/query/pairs.h"
#include "core/scene/motion.h"

/* All pairs of a state, in phases of independent chunks:
 *
 *   join    finds the pairs of the layers (obb_join), in order of ids. It asks `judge` for those
 *           that the filters may exclude or of which the float test is in doubt
 *   loose   tests each loose box against all others, since the join does not know where it is: one
 *           that is interpolated, or that an overlay shows
 *   gather  puts the pairs of the join and of the loose boxes together in order, and adds the
 *           wanted details
 *
 * The outcome of a phase depends only on its input, not on the threads that ran its chunks. */

#define LOOSE_CHUNK  64   /* loose boxes */
#define GATHER_CHUNK 8192 /* pairs listed */
#define DETAIL_CHUNK 256  /* pairs listed with details */
#define POLLED       1024 /* boxes looked up between two polls */

enum phase { JOIN, LOOSE, GATHER, DONE };

/* Pairs by (id of a, id of b): those of the join, or those that a chunk of loose boxes found. */
struct part {
    struct obb_task task;
    struct obb_pairs pairs;
    size_t candidates;
    size_t doubts; /* candidates that took the double test */
};

struct obb_all_pairs {
    struct obb_task task; /* copied to begin the task of every chunk */
    enum phase phase;
    bool some_loose; /* there may be loose boxes */
    struct obb_join *join;
    obb_box_pair *joined;             /* what the join lists: the listed pairs, or... */
    uint64_t *ranks;                  /* ...these; or with loose boxes a part of them */
    uint64_t base;                    /* of the ranks */
    const struct obb_version **loose; /* the boxes that the layers do not show where they are */
    size_t loose_count;
    size_t loose_chunks;
    struct part *parts; /* with loose boxes: the first one of the join, then one per chunk */
    size_t candidates, doubts;
    size_t total, listed; /* pairs found, and pairs that the result lists */
    size_t gather_chunks;
    uint64_t *bounds; /* with loose boxes: gather_chunks + 1 ids that part the pairs by their a */
    size_t *offsets;  /* the number of pairs before each bound */
    struct obb_task *gather_tasks;
    obb_box_pair *merged; /* with loose boxes: the listed pairs */
    obb_details *details;
};

/* The judge of the join. */
static bool is_pair(void *context, const struct obb_version *a, const struct obb_version *b,
                    obb_verdict verdict, size_t *doubts)
{
    const struct obb_all_pairs *all = context;
    const struct obb_view *view = all->task.view;
    if (all->some_loose && (obb_view_is_loose(view, a) || obb_view_is_loose(view, b)))
        return false;
    if (!obb_pairs_admit(all->task.filter, a, b))
        return false;
    if (verdict == OBB_SURE)
        return true;
    ++*doubts;
    /* Boxes that are not loose are where their versions say. */
    const int dimensions = view->info.dimensions;
    const double margin = all->task.query->margin;
    if (margin == 0.0)
        return obb_sat_overlap_of_boxes(&a->box, &b->box, dimensions);
    const obb_solid solid_a = obb_solid_from_box(&a->box, dimensions);
    const obb_solid solid_b = obb_solid_from_box(&b->box, dimensions);
    return obb_shape_boxes(&solid_a, &solid_b, margin);
}

obb_status obb_all_pairs_create(const struct obb_task *task, struct obb_all_pairs **out)
{
    struct obb_all_pairs *all = obb_calloc(1, sizeof *all);
    if (all == NULL)
        return OBB_NO_MEMORY;
    all->task = *task;
    const struct obb_view *view = task->view;
    const obb_query *query = task->query;
    all->some_loose = view->overlay != NULL || obb_motion_boxes(view) > 0;
    const bool just_ids = query->by_id && query->want == 0 && !all->some_loose;
    const obb_join_wish wish = {.margin = query->margin,
                                .list = query->count_only ? OBB_JOIN_COUNT
                                        : just_ids        ? OBB_JOIN_RANKS
                                                          : OBB_JOIN_BOXES,
                                .limit = all->some_loose ? SIZE_MAX : query->limit,
                                .plain_pass = task->filter->open && !all->some_loose,
                                .cache_room = view->cache_room,
                                .judge = is_pair,
                                .context = all};
    const obb_status st = obb_join_create(view->layers, view->revision, &wish, task->cancel,
                                          task->budget, &all->join);
    if (st != OBB_OK) {
        obb_all_pairs_destroy(all);
        return st;
    }
    *out = all;
    return OBB_OK;
}

static size_t part_count(const struct obb_all_pairs *all) { return 1 + all->loose_chunks; }

static void free_parts(struct obb_all_pairs *all)
{
    for (size_t i = 0; all->parts != NULL && i < part_count(all); i++)
        obb_task_end(&all->parts[i].task);
    obb_budget_free(all->parts);
    all->parts = NULL;
}

static void free_gather_tasks(struct obb_all_pairs *all)
{
    for (size_t i = 0; all->gather_tasks != NULL && i < all->gather_chunks; i++)
        obb_task_end(&all->gather_tasks[i]);
    obb_budget_free(all->gather_tasks);
    all->gather_tasks = NULL;
}

void obb_all_pairs_destroy(struct obb_all_pairs *all)
{
    if (all == NULL)
        return;
    obb_join_destroy(all->join);
    free_parts(all);
    free_gather_tasks(all);
    obb_budget_free(all->joined);
    obb_budget_free(all->ranks);
    obb_budget_free((void *)all->loose);
    obb_budget_free(all->bounds);
    obb_budget_free(all->offsets);
    obb_budget_free(all->merged);
    obb_budget_free(all->details);
    obb_free(all);
}

/* ---- Loose boxes ----------------------------------------------------------------------------- */

struct loose {
    const struct obb_view *view;
    struct part *part;
    const struct obb_version *box;
    obb_solid solid;
};

static bool visit_loose(void *context, const struct obb_version *other, obb_verdict verdict)
{
    struct loose *g = context;
    struct obb_task *task = &g->part->task;
    (void)verdict; /* the bounds of interpolated boxes hold the whole way, so none is certain */
    if (!obb_task_goes_on(task))
        return false;
    /* Of two loose boxes, the one with the smaller id finds the pair. */
    if (other == g->box || (other->id < g->box->id && obb_view_is_loose(g->view, other)))
        return true;
    g->part->candidates++;
    if (!obb_pairs_admit(task->filter, g->box, other))
        return true;
    g->part->doubts++;
    const obb_solid solid = obb_view_solid(g->view, other);
    return !obb_shape_boxes(&g->solid, &solid, task->query->margin) ||
           obb_pairs_add(task, &g->part->pairs, g->box, other);
}

static obb_status test_loose(const struct obb_all_pairs *all, size_t chunk)
{
    struct part *part = &all->parts[1 + chunk];
    const struct obb_view *view = all->task.view;
    const size_t first = chunk * LOOSE_CHUNK;
    const size_t end = obb_least(first + LOOSE_CHUNK, all->loose_count);
    for (size_t i = first; i < end && part->task.status == OBB_OK; i++) {
        if (!obb_filter_passes(all->task.filter, all->loose[i]))
            continue;
        struct loose g = {.view = view,
                          .part = part,
                          .box = all->loose[i],
                          .solid = obb_view_solid(view, all->loose[i])};
        obb_candidates_overlap(view, &g.solid, all->task.query->margin, &g, visit_loose);
    }
    if (part->task.status == OBB_OK && !part->pairs.just_count)
        obb_pairs_sort(&part->task, part->pairs.list, part->pairs.count);
    obb_arena_fini(&part->task.scratch);
    return part->task.status;
}

/* ---- Gathering ------------------------------------------------------------------------------- */

/* Returns the number of pairs of the part whose a has a smaller id. */
static size_t pairs_below(const struct part *part, uint64_t id)
{
    size_t low = 0, high = part->pairs.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (part->pairs.list[middle].a->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Merges the pairs of all parts whose a lies between two bounds. */
static void merge_range(const struct obb_all_pairs *all, struct obb_task *task, size_t chunk)
{
    const size_t start = all->offsets[chunk], count = all->offsets[chunk + 1] - start;
    if (start >= all->listed || count == 0)
        return;
    obb_box_pair *pairs = obb_task_keep(task, count, sizeof *pairs);
    if (pairs == NULL)
        return;
    size_t n = 0;
    for (size_t i = 0; i < part_count(all); i++) {
        const struct part *part = &all->parts[i];
        const size_t end = pairs_below(part, all->bounds[chunk + 1]);
        for (size_t k = pairs_below(part, all->bounds[chunk]); k < end; k++)
            pairs[n++] = part->pairs.list[k];
    }
    obb_pairs_sort(task, pairs, n);
    if (task->status == OBB_OK)
        for (size_t i = 0; i < n && start + i < all->listed; i++)
            all->merged[start + i] = pairs[i];
    obb_task_end(task);
}

static size_t gather_size(const struct obb_all_pairs *all)
{
    return all->details != NULL ? DETAIL_CHUNK : GATHER_CHUNK;
}

static obb_status gather(const struct obb_all_pairs *all, size_t chunk)
{
    struct obb_task *task = &all->gather_tasks[chunk];
    size_t from = chunk * gather_size(all), to = obb_least(from + gather_size(all), all->listed);
    if (all->loose_chunks > 0) {
        from = obb_least(all->offsets[chunk], all->listed);
        to = obb_least(all->offsets[chunk + 1], all->listed);
        merge_range(all, task, chunk);
    }
    if (all->details != NULL)
        obb_pairs_details(task, all->loose_chunks > 0 ? all->merged : all->joined, all->details,
                          from, to);
    return task->status;
}

/* ---- From phase to phase --------------------------------------------------------------------- */

/* Lists the loose boxes: those that are interpolated, unless an overlay hides them, and those of
 * the overlays. */
static obb_status gather_loose(struct obb_all_pairs *all)
{
    const struct obb_view *view = all->task.view, *bottom = view;
    const struct obb_index *interpolated = obb_motion_index(view);
    size_t room = interpolated != NULL ? obb_index_count(interpolated) : 0;
    for (; bottom->overlay != NULL; bottom = bottom->overlay->below)
        room += bottom->overlay->over->info.boxes;
    if (room == 0)
        return OBB_OK;
    all->loose = (const struct obb_version **)obb_budget_malloc(all->task.budget, room,
                                                                sizeof(const struct obb_version *));
    if (all->loose == NULL)
        return OBB_NO_MEMORY;
    const struct obb_version *const *first =
        interpolated != NULL ? obb_index_versions(interpolated) : NULL;
    for (size_t i = 0; first != NULL && i < obb_index_count(interpolated); i++) {
        if (i % POLLED == 0 && obb_cancelled(all->task.cancel))
            return OBB_CANCELLED;
        if (view->overlay == NULL || obb_view_find_id(view, first[i]->id) == first[i])
            all->loose[all->loose_count++] = first[i];
    }
    for (const struct obb_view *at = view; at->overlay != NULL; at = at->overlay->below)
        for (const struct obb_version *box = obb_view_next(at->overlay->over, 0); box != NULL;
             box = obb_view_next(at->overlay->over, box->id))
            if (obb_view_find_id(view, box->id) == box)
                all->loose[all->loose_count++] = box;
    return OBB_OK;
}

/* Takes over the pairs of the join, whose memory may be wanted for the result, and makes a part for
 * each chunk of loose boxes. */
static obb_status end_join(struct obb_all_pairs *all)
{
    const obb_join_counts counts = obb_join_count(all->join);
    all->joined = obb_join_take_boxes(all->join);
    all->ranks = obb_join_take_ranks(all->join, &all->base);
    obb_join_destroy(all->join);
    all->join = NULL;
    all->candidates = counts.candidates;
    all->doubts = counts.doubts;
    all->total = counts.pairs;
    all->listed = counts.listed;
    const obb_status st = gather_loose(all);
    if (st != OBB_OK || all->loose_count == 0)
        return st;
    all->loose_chunks = (all->loose_count + LOOSE_CHUNK - 1) / LOOSE_CHUNK;
    all->parts = obb_budget_calloc(all->task.budget, part_count(all), sizeof *all->parts);
    if (all->parts == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < part_count(all); i++)
        all->parts[i] =
            (struct part){.task = all->task, .pairs = {.just_count = all->task.query->count_only}};
    all->parts[0].pairs.list = all->joined;
    all->parts[0].pairs.count = all->listed;
    return OBB_OK;
}

/* Parts the pairs by the id of a into ranges of about gather_size, by a sample of all parts. */
static obb_status choose_bounds(struct obb_all_pairs *all)
{
    const size_t every = gather_size(all), ranges = all->total / every + 1;
    size_t room = 0;
    for (size_t i = 0; i < part_count(all); i++)
        room += all->parts[i].pairs.count / 64 + 1;
    uint64_t *sample = obb_budget_malloc(all->task.budget, 2 * room, sizeof *sample);
    all->bounds = obb_budget_malloc(all->task.budget, ranges + 1, sizeof *all->bounds);
    all->offsets = obb_budget_calloc(all->task.budget, ranges + 1, sizeof *all->offsets);
    if (sample == NULL || all->bounds == NULL || all->offsets == NULL) {
        obb_budget_free(sample);
        return OBB_NO_MEMORY;
    }
    size_t count = 0;
    for (size_t i = 0; i < part_count(all); i++)
        for (size_t k = 0; k < all->parts[i].pairs.count; k += 64)
            sample[count++] = all->parts[i].pairs.list[k].a->id;
    if (!obb_sort_by(sample, count, sizeof *sample, obb_compare_u64, sample + room,
                     all->task.cancel)) {
        obb_budget_free(sample);
        return OBB_CANCELLED;
    }
    all->gather_chunks = 0;
    all->bounds[0] = 0;
    for (size_t i = 1; i < ranges; i++) {
        const uint64_t bound = sample[i * count / ranges];
        if (bound > all->bounds[all->gather_chunks])
            all->bounds[++all->gather_chunks] = bound;
    }
    all->bounds[++all->gather_chunks] = UINT64_MAX;
    obb_budget_free(sample);
    for (size_t i = 1; i <= all->gather_chunks; i++)
        for (size_t k = 0; k < part_count(all); k++)
            all->offsets[i] += pairs_below(&all->parts[k], all->bounds[i]);
    return OBB_OK;
}

static obb_status start_gathering(struct obb_all_pairs *all)
{
    for (size_t i = 1; i <= all->loose_chunks; i++) {
        all->total += all->parts[i].pairs.count;
        all->candidates += all->parts[i].candidates;
        all->doubts += all->parts[i].doubts;
    }
    if (all->task.query->count_only)
        return OBB_OK;
    all->listed = obb_least(all->total, all->task.query->limit);
    if (all->listed == 0)
        return OBB_OK;
    if (all->loose_chunks > 0) {
        all->merged = obb_budget_malloc(all->task.budget, all->listed, sizeof *all->merged);
        if (all->merged == NULL)
            return OBB_NO_MEMORY;
    }
    if ((all->task.query->want & OBB_WANT_OF_PAIR) != 0) {
        all->details = obb_budget_malloc(all->task.budget, all->listed, sizeof *all->details);
        if (all->details == NULL)
            return OBB_NO_MEMORY;
    }
    if (all->loose_chunks > 0) {
        const obb_status st = choose_bounds(all);
        if (st != OBB_OK)
            return st;
    } else if (all->details != NULL) {
        all->gather_chunks = (all->listed + gather_size(all) - 1) / gather_size(all);
    }
    if (all->gather_chunks == 0)
        return OBB_OK;
    all->gather_tasks =
        obb_budget_calloc(all->task.budget, all->gather_chunks, sizeof *all->gather_tasks);
    if (all->gather_tasks == NULL) {
        all->gather_chunks = 0;
        return OBB_NO_MEMORY;
    }
    for (size_t i = 0; i < all->gather_chunks; i++)
        all->gather_tasks[i] = all->task;
    return OBB_OK;
}

static void finish(struct obb_all_pairs *all, obb_result *result)
{
    free_gather_tasks(all);
    free_parts(all);
    *result = (obb_result){.pairs = all->loose_chunks > 0 ? all->merged : all->joined,
                           .pair_ranks = all->ranks,
                           .rank_base = all->base,
                           .ids_below = all->task.view->next_id,
                           .pair_details = all->details,
                           .pair_count = all->listed,
                           .count = all->total,
                           .candidates = all->candidates,
                           .doubts = all->doubts,
                           .truncated = !all->task.query->count_only && all->listed < all->total};
}

size_t obb_all_pairs_advance(struct obb_all_pairs *all, obb_status *out_status, obb_result *result)
{
    size_t chunks = 0;
    *out_status = OBB_OK;
    while (chunks == 0 && all->phase != DONE && *out_status == OBB_OK) {
        if (all->phase == JOIN) {
            chunks = obb_join_advance(all->join, out_status);
            if (chunks == 0 && *out_status == OBB_OK) {
                all->phase = LOOSE;
                *out_status = end_join(all);
                chunks = all->loose_chunks;
            }
        } else if (all->phase == LOOSE) {
            all->phase = GATHER;
            *out_status = start_gathering(all);
            chunks = all->gather_chunks;
        } else {
            all->phase = DONE;
            finish(all, result);
        }
    }
    return *out_status == OBB_OK ? chunks : 0;
}

obb_status obb_all_pairs_chunk(struct obb_all_pairs *all, size_t chunk)
{
    return all->phase == JOIN    ? obb_join_chunk(all->join, chunk)
           : all->phase == LOOSE ? test_loose(all, chunk)
                                 : gather(all, chunk);
}
