#include "core/query/query_items.h"

#include "core/query/candidates.h"
#include "core/query/explain.h"
#include "core/query/hits.h"

/* Nearest: the k boxes that are closest to a point or a box. */

/* A lower bound of a distance may exceed the distance by less than this share of the
 * coordinates. */
#define ROUNDING 1e-12

#define EXPLAIN_STEPS 8 /* of the task: a look-up and the distance */

struct nearest {
    struct obb_task *task;
    const obb_solid *from; /* NULL: a point */
    obb_vec3 point;
    const struct obb_version *itself; /* left out of its own answer */
    double max_distance;
    size_t k;
    obb_hit *heap; /* the best hits so far, the worst of them first */
    size_t count, capacity;
};

static bool before(const obb_hit *a, const obb_hit *b)
{
    return a->distance != b->distance ? a->distance < b->distance : a->box->id < b->box->id;
}

static void sift_down(obb_hit *heap, size_t count, obb_hit moving)
{
    size_t root = 0;
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            break;
        if (child + 1 < count && before(&heap[child], &heap[child + 1]))
            child++;
        if (!before(&moving, &heap[child]))
            break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = moving;
}

static void sift_up(obb_hit *heap, size_t leaf, obb_hit moving)
{
    while (leaf > 0 && before(&heap[(leaf - 1) / 2], &moving)) {
        heap[leaf] = heap[(leaf - 1) / 2];
        leaf = (leaf - 1) / 2;
    }
    heap[leaf] = moving;
}

/* Keeps the hit if it is one of the best k. Returns false if the task has failed. */
static bool take(struct nearest *n, obb_hit hit)
{
    if (n->count == n->k) {
        if (before(&hit, &n->heap[0]))
            sift_down(n->heap, n->count, hit);
        return true;
    }
    if (n->count == n->capacity) {
        size_t capacity = n->capacity == 0 ? 16 : n->capacity * 2;
        capacity = capacity < n->k ? capacity : n->k;
        obb_hit *heap =
            obb_arena_grow(&n->task->scratch, n->heap, n->count, capacity, sizeof *heap);
        if (heap == NULL) {
            obb_task_fail(n->task, OBB_NO_MEMORY);
            return false;
        }
        n->heap = heap;
        n->capacity = capacity;
    }
    sift_up(n->heap, n->count++, hit);
    return true;
}

static double reach(const struct nearest *n)
{
    return n->count == n->k ? n->heap[0].distance : n->max_distance;
}

/* Returns true if the two boxes are so far apart that their distance need not be computed. */
static bool too_far(const struct nearest *n, const obb_solid *solid)
{
    const double gap = obb_sat_separation(n->from, solid).gap;
    return gap > 0.0 && gap - ROUNDING * obb_sat_extent(n->from, solid) > reach(n);
}

static obb_witness closest(const struct nearest *n, const obb_solid *solid)
{
    return n->from != NULL ? obb_closest_boxes(n->from, solid) : obb_closest_point(n->point, solid);
}

static double visit(void *context, const struct obb_version *box, double max_distance)
{
    struct nearest *n = context;
    if (!obb_task_goes_on(n->task))
        return -1.0;
    if (box == n->itself || !obb_filter_passes(n->task->filter, box))
        return max_distance;
    const obb_solid solid = obb_view_solid(n->task->view, box);
    if (n->from != NULL && too_far(n, &solid))
        return max_distance;
    const obb_witness witness = closest(n, &solid);
    if (witness.distance > n->max_distance)
        return max_distance;
    const obb_hit hit = {.box = box, .distance = witness.distance, .point = witness.on_b};
    if (!take(n, hit))
        return -1.0;
    const double now = reach(n);
    return now < max_distance ? now : max_distance;
}

static void judge(void *context, const struct obb_version *box, obb_explanation *out)
{
    const struct nearest *n = context;
    const obb_solid solid = obb_view_solid(n->task->view, box);
    const double distance = closest(n, &solid).distance;
    if (distance > n->max_distance || n->count < n->k) {
        out->outcome = OBB_OUTCOME_MISSED;
        out->gap = distance;
        out->has_axis = n->from != NULL;
        if (out->has_axis)
            out->axis = obb_sat_separation(n->from, &solid);
    } else if (n->k == 0) { /* nothing is taken, so nothing is before it */
        out->outcome = OBB_OUTCOME_CUT;
    } else {
        out->outcome = OBB_OUTCOME_BEHIND;
        out->behind = n->heap[0].box; /* the last one taken */
    }
}

/* Adds the hits of the heap in order. */
static bool list_in_order(struct obb_task *task, const struct nearest *n, struct obb_hits *hits)
{
    for (size_t i = 0; i < n->count; i++)
        if (!obb_hits_add(task, hits, obb_sort_rank(n->heap[i].distance), n->heap[i].box,
                          &n->heap[i]))
            return false;
    return obb_hits_sort(task, hits);
}

void obb_answer_nearest(struct obb_task *task, size_t item, obb_answer *answer)
{
    const obb_query *query = task->query;
    struct nearest n = {.task = task, .max_distance = query->max_distance, .k = query->k};
    struct obb_named named;
    obb_bounds bounds;
    if (query->of_boxes) {
        if (!obb_task_resolve(task, &query->items.boxes[item], &named, answer))
            return;
        n.from = &named.solid;
        n.itself = named.box;
        bounds = obb_solid_bounds(&named.solid);
    } else {
        n.point = query->items.points[item];
        bounds = (obb_bounds){n.point, n.point};
    }
    if (n.k > 0)
        obb_candidates_nearest(task->view, &bounds, n.max_distance, &n, visit);
    struct obb_hits hits = {0};
    if (task->status != OBB_OK || !list_in_order(task, &n, &hits))
        return;
    obb_hits_answer(task, &hits, true, answer);
    obb_explain(task,
                &(struct obb_explaining){.hits = &hits,
                                         .itself = n.itself,
                                         .steps = EXPLAIN_STEPS,
                                         .context = &n,
                                         .judge = judge},
                answer);
}
