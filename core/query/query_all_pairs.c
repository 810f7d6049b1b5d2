#include "core/query/query_all_pairs.h"

#include "core/base/alloc.h"
#include "core/base/least.h"
#include "core/base/sort.h"
#include "core/index/join.h"
#include "core/query/candidates.h"
#include "core/query/pairs.h"
#include "core/scene/motion.h"

/* All pairs of a state, in phases of independent chunks:
 *
 *   join    gathers candidates from the layers (obb_join), in order of ids
 *   sift    drops pairs that the filters exclude or, if the join is in doubt, the double-precision
 *           test; also tests each loose box against all others, since the join does not know where
 *           it is: one that is interpolated, or that an overlay shows
 *   gather  puts the lists of the chunks together in order, and adds the wanted details
 *
 * The outcome of a phase depends only on its input, not on the threads that ran its chunks. */

#define SIFT_CHUNK   4096 /* candidate pairs; about 100 us when in doubt */
#define PREFETCH     16   /* boxes are fetched into the cache so many candidates ahead */
#define LOOSE_CHUNK  64   /* loose boxes */
#define GATHER_CHUNK 8192 /* pairs listed */
#define DETAIL_CHUNK 256  /* pairs listed with details */

enum phase { JOIN, SIFT, GATHER, DONE };

/* The outcome of a chunk of sifting, by (id of a, id of b). */
struct part {
    struct obb_task task;
    struct obb_pairs pairs;
    size_t candidates; /* of interpolated boxes; the join's are not counted here */
    size_t doubts;     /* candidates that took the double test */
};

struct obb_all_pairs {
    struct obb_task task; /* copied to begin the task of every chunk */
    enum phase phase;
    struct obb_join *join;
    const obb_join_pair *candidates;
    size_t candidate_count;
    size_t counted;                   /* pairs that the join has only counted */
    const struct obb_version **loose; /* the boxes that the layers do not show where they are */
    size_t loose_count;
    size_t sift_chunks, loose_chunks;
    struct part *parts;   /* one per chunk of the sifting */
    obb_box_pair *kept;   /* room for all candidates: the lists of the parts of the join. NULL: they
                           * are only counted, or all are listed and `pairs` is that memory */
    size_t *starts;       /* sift_chunks + 1: pairs before each part of the join */
    size_t total, listed; /* pairs found, and pairs that the result lists */
    size_t doubts;        /* of all parts */
    size_t gather_chunks;
    uint64_t *bounds; /* with interpolation: gather_chunks + 1 ids that part the pairs by their a */
    size_t *offsets;  /* the number of pairs before each bound */
    struct obb_task *gather_tasks;
    obb_box_pair *pairs;
    obb_details *details;
};

obb_status obb_all_pairs_create(const struct obb_task *task, struct obb_all_pairs **out)
{
    struct obb_all_pairs *all = obb_calloc(1, sizeof *all);
    if (all == NULL)
        return OBB_NO_MEMORY;
    all->task = *task;
    const struct obb_view *view = task->view;
    const bool may_count = task->query->count_only && task->filter->open && view->overlay == NULL &&
                           obb_motion_boxes(view) == 0;
    const obb_status st = (may_count ? obb_join_create_counting : obb_join_create)(
        view->layers, view->revision, task->query->margin, task->cancel, task->budget, &all->join);
    if (st != OBB_OK) {
        obb_all_pairs_destroy(all);
        return st;
    }
    *out = all;
    return OBB_OK;
}

static size_t part_count(const struct obb_all_pairs *all)
{
    return all->sift_chunks + all->loose_chunks;
}

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
    obb_budget_free(all->kept);
    obb_budget_free((void *)all->loose);
    obb_budget_free(all->starts);
    obb_budget_free(all->bounds);
    obb_budget_free(all->offsets);
    obb_budget_free(all->pairs);
    obb_budget_free(all->details);
    obb_free(all);
}

/* ---- Sifting --------------------------------------------------------------------------------- */

static void sift(const struct obb_all_pairs *all, size_t chunk)
{
    struct part *part = &all->parts[chunk];
    const struct obb_view *view = all->task.view;
    const bool some_loose = view->overlay != NULL || obb_motion_index(view) != NULL;
    const size_t first = chunk * SIFT_CHUNK;
    const size_t end = obb_least(first + SIFT_CHUNK, all->candidate_count);
    const bool open = all->task.filter->open;
    for (size_t i = first; i < end && obb_task_goes_on(&part->task); i++) {
        const obb_join_pair *pair = &all->candidates[i];
        if (i + PREFETCH < end && !all->candidates[i + PREFETCH].plain) /* b may lie anywhere */
            __builtin_prefetch(&all->candidates[i + PREFETCH].b->category);
        if (some_loose && (obb_view_is_loose(view, pair->a) || obb_view_is_loose(view, pair->b)))
            continue;
        if (!(open && pair->plain) && !obb_pairs_admit(all->task.filter, pair->a, pair->b))
            continue;
        if (pair->verdict != OBB_SURE) {
            part->doubts++;
            const obb_solid a = obb_view_solid(view, pair->a), b = obb_view_solid(view, pair->b);
            if (!obb_shape_boxes(&a, &b, all->task.query->margin))
                continue;
        }
        if (!part->pairs.just_count)
            part->pairs.list[part->pairs.count] = (obb_box_pair){.a = pair->a, .b = pair->b};
        part->pairs.count++;
    }
}

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

static void sift_loose(const struct obb_all_pairs *all, size_t chunk)
{
    struct part *part = &all->parts[all->sift_chunks + chunk];
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

/* Copies the pairs from..to-1. Without interpolation they stand one after the other in the
 * parts. */
static void copy_range(const struct obb_all_pairs *all, size_t from, size_t to)
{
    size_t low = 0, high = all->sift_chunks; /* the part that holds pair `from` */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (all->starts[middle] <= from)
            low = middle;
        else
            high = middle;
    }
    for (size_t part = low; from < to; part++) {
        const size_t end = all->starts[part + 1] < to ? all->starts[part + 1] : to;
        for (; from < end; from++)
            all->pairs[from] = all->parts[part].pairs.list[from - all->starts[part]];
    }
}

/* With interpolation: merges the pairs of all parts whose a lies between two bounds. */
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
            all->pairs[start + i] = pairs[i];
    obb_task_end(task);
}

static size_t gather_size(const struct obb_all_pairs *all)
{
    return all->details != NULL ? DETAIL_CHUNK : GATHER_CHUNK;
}

static obb_status gather(const struct obb_all_pairs *all, size_t chunk)
{
    struct obb_task *task = &all->gather_tasks[chunk];
    size_t from, to;
    if (all->loose_chunks > 0) {
        from = obb_least(all->offsets[chunk], all->listed);
        to = obb_least(all->offsets[chunk + 1], all->listed);
        merge_range(all, task, chunk);
    } else {
        from = chunk * gather_size(all);
        to = obb_least(from + gather_size(all), all->listed);
        if (all->kept != NULL)
            copy_range(all, from, to);
    }
    if (all->details != NULL)
        obb_pairs_details(task, all->pairs, all->details, from, to);
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
    for (size_t i = 0; first != NULL && i < obb_index_count(interpolated); i++)
        if (view->overlay == NULL || obb_view_find_id(view, first[i]->id) == first[i])
            all->loose[all->loose_count++] = first[i];
    for (const struct obb_view *at = view; at->overlay != NULL; at = at->overlay->below)
        for (const struct obb_version *box = obb_view_next(at->overlay->over, 0); box != NULL;
             box = obb_view_next(at->overlay->over, box->id))
            if (obb_view_find_id(view, box->id) == box)
                all->loose[all->loose_count++] = box;
    return OBB_OK;
}

static obb_status start_sifting(struct obb_all_pairs *all)
{
    all->candidates = obb_join_pairs(all->join);
    all->candidate_count = obb_join_pair_count(all->join);
    all->counted = obb_join_counted(all->join);
    const obb_status st = gather_loose(all);
    if (st != OBB_OK)
        return st;
    all->sift_chunks = (all->candidate_count + SIFT_CHUNK - 1) / SIFT_CHUNK;
    all->loose_chunks = (all->loose_count + LOOSE_CHUNK - 1) / LOOSE_CHUNK;
    all->parts = obb_budget_calloc(all->task.budget, part_count(all), sizeof *all->parts);
    all->starts = obb_budget_calloc(all->task.budget, all->sift_chunks + 1, sizeof *all->starts);
    if (all->parts == NULL || all->starts == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < part_count(all); i++)
        all->parts[i] =
            (struct part){.task = all->task, .pairs = {.just_count = all->task.query->count_only}};
    if (all->task.query->count_only)
        return OBB_OK;
    all->kept = obb_budget_malloc(all->task.budget, all->candidate_count, sizeof *all->kept);
    if (all->kept == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < all->sift_chunks; i++)
        all->parts[i].pairs.list = all->kept + i * SIFT_CHUNK;
    return OBB_OK;
}

/* Parts the pairs by the id of a into ranges of about gather_size, by a sample of all parts. */
static obb_status choose_bounds(struct obb_all_pairs *all)
{
    const size_t every = gather_size(all), ranges = all->total / every + 1;
    size_t room = 0;
    for (size_t i = 0; i < part_count(all); i++)
        room += all->parts[i].pairs.count / 64 + 1;
    uint64_t *sample = obb_budget_malloc(all->task.budget, room, sizeof *sample);
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
    obb_sort_u64(sample, count);
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
    const size_t candidates = all->candidate_count; /* of the join */
    for (size_t i = 0; i < part_count(all); i++) {
        if (i < all->sift_chunks)
            all->starts[i + 1] = all->starts[i] + all->parts[i].pairs.count;
        all->total += all->parts[i].pairs.count;
        all->candidate_count += all->parts[i].candidates;
        all->doubts += all->parts[i].doubts;
    }
    /* The candidates are no longer needed: their memory may be wanted for the result. */
    obb_join_destroy(all->join);
    all->join = NULL;
    all->candidate_count += all->counted;
    all->total += all->counted;
    if (all->task.query->count_only)
        return OBB_OK;
    all->listed = obb_least(all->total, all->task.query->limit);
    if (all->listed == 0)
        return OBB_OK;
    if (all->loose_chunks == 0 && all->listed == candidates) {
        all->pairs = all->kept; /* they stand one after the other, without gaps */
        all->kept = NULL;
    } else {
        all->pairs = obb_budget_malloc(all->task.budget, all->listed, sizeof *all->pairs);
        if (all->pairs == NULL)
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
    } else if (all->kept != NULL || all->details != NULL) {
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
    obb_budget_free(all->kept);
    all->kept = NULL;
    *result = (obb_result){.pairs = all->pairs,
                           .pair_details = all->details,
                           .pair_count = all->listed,
                           .count = all->total,
                           .candidates = all->candidate_count,
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
                all->phase = SIFT;
                *out_status = start_sifting(all);
                chunks = part_count(all);
            }
        } else if (all->phase == SIFT) {
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
    if (all->phase == JOIN)
        return obb_join_chunk(all->join, chunk);
    if (all->phase == GATHER)
        return gather(all, chunk);
    if (chunk < all->sift_chunks)
        sift(all, chunk);
    else
        sift_loose(all, chunk - all->sift_chunks);
    return all->parts[chunk].task.status;
}
