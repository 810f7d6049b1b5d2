#include "core/query/query_items.h"

#include "core/query/candidates.h"
#include "core/query/details.h"
#include "core/query/explain.h"
#include "core/query/hits.h"

/* Pairs, overlap and point: boxes that touch. */

#define EXPLAIN_STEPS 8 /* of the task: a look-up and the distance */

/* ---- pairs ----------------------------------------------------------------------------------- */

void obb_answer_pair(struct obb_task *task, size_t item, obb_answer *answer)
{
    const obb_query *query = task->query;
    const obb_ref *refs = query->items.pairs[item];
    struct obb_named a, b;
    const bool has_a = obb_task_resolve(task, &refs[0], &a, answer);
    const bool has_b = obb_task_resolve(task, &refs[1], &b, answer);
    if (!has_a || !has_b)
        return;
    answer->overlap = obb_shape_boxes(&a.solid, &b.solid, query->margin);
    answer->pair[0] = a.box;
    answer->pair[1] = b.box;
    if ((query->want & OBB_WANT_OF_PAIR) == 0)
        return;
    answer->details = obb_task_keep(task, 1, sizeof *answer->details);
    if (answer->details != NULL)
        *answer->details = obb_details_of(query->want, &a.solid, &b.solid);
}

/* ---- overlap and point ----------------------------------------------------------------------- */

struct overlap {
    struct obb_task *task;
    const obb_shape *shape;
    const struct obb_version *itself; /* left out of its own answer */
    double margin;
    struct obb_hits hits;
};

static bool overlap_visit(void *context, const struct obb_version *box, obb_verdict verdict)
{
    struct overlap *o = context;
    if (!obb_task_goes_on(o->task))
        return false;
    if (box == o->itself || !obb_filter_passes(o->task->filter, box))
        return true;
    if (verdict != OBB_SURE) {
        const obb_solid solid = obb_view_solid(o->task->view, box);
        if (!obb_shape_overlap(o->shape, &solid, o->margin))
            return true;
    }
    return obb_hits_add(o->task, &o->hits, 0, box, box);
}

/* Adds the wanted details between the box of the item and each hit. */
static void add_details(struct obb_task *task, const obb_solid *asked, obb_hit *found, size_t count)
{
    obb_details *details = obb_task_keep(task, count, sizeof *details);
    if (details == NULL)
        return;
    for (size_t i = 0; i < count && obb_task_goes_on(task); i++) {
        const obb_solid solid = obb_view_solid(task->view, found[i].box);
        details[i] = obb_details_of(task->query->want, asked, &solid);
        found[i].details = &details[i];
    }
}

/* Every box that is met is a hit. */
static void judge(void *context, const struct obb_version *box, obb_explanation *out)
{
    const struct overlap *o = context;
    const obb_solid solid = obb_view_solid(o->task->view, box);
    out->outcome = OBB_OUTCOME_MISSED;
    out->gap = obb_shape_distance(o->shape, &solid);
    out->has_axis = o->shape->kind == OBB_SHAPE_BOX;
    if (out->has_axis)
        out->axis = obb_sat_separation(&o->shape->box, &solid);
}

/* Returns the list of hits, or NULL if it is empty or the task has failed. */
static obb_hit *answer_overlap(struct overlap *o, obb_answer *answer)
{
    struct obb_task *task = o->task;
    if (o->shape->kind == OBB_SHAPE_BOX) {
        obb_candidates_overlap(task->view, &o->shape->box, o->margin, o, overlap_visit);
    } else {
        const obb_bounds bounds = obb_shape_bounds(o->shape, o->margin);
        obb_candidates_query(task->view, &bounds, o, overlap_visit);
    }
    if (task->status != OBB_OK || !obb_hits_sort(task, &o->hits))
        return NULL;
    obb_hit *found = obb_hits_answer(task, &o->hits, false, answer);
    obb_explain(task,
                &(struct obb_explaining){.hits = &o->hits,
                                         .itself = o->itself,
                                         .steps = EXPLAIN_STEPS,
                                         .context = o,
                                         .judge = judge},
                answer);
    return task->status == OBB_OK ? found : NULL;
}

void obb_answer_overlap(struct obb_task *task, size_t item, obb_answer *answer)
{
    const obb_query_shape *asked = &task->query->items.shapes[item];
    struct overlap o = {.task = task, .shape = asked->shape, .margin = task->query->margin};
    obb_shape shape;
    if (asked->is_ref) {
        struct obb_named named;
        if (!obb_task_resolve(task, &asked->ref, &named, answer))
            return;
        shape = obb_shape_box(&named.solid);
        o.shape = &shape;
        o.itself = named.box;
    }
    obb_hit *found = answer_overlap(&o, answer);
    if (found != NULL && (task->query->want & OBB_WANT_OF_PAIR) != 0 &&
        o.shape->kind == OBB_SHAPE_BOX)
        add_details(task, &o.shape->box, found, answer->hit_count);
}

void obb_answer_point(struct obb_task *task, size_t item, obb_answer *answer)
{
    const obb_vec3 at = task->query->items.points[item];
    const obb_shape point = {.kind = OBB_SHAPE_SPHERE, .a = at, .b = at};
    struct overlap o = {.task = task, .shape = &point};
    answer_overlap(&o, answer);
}
