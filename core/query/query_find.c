/* What the query kinds share: see query_body.h. */
#include "core/geometry/clip.h"
#include "core/query/query_body.h"

/* ---- Tasks -------------------------------------------------------------------------------------------------- */

obb_status obb_task_fail(struct obb_task *task, obb_status status)
{
    if (task->status == OBB_OK)
        task->status = status;
    return task->status;
}

void obb_task_end(struct obb_task *task)
{
    obb_arena_fini(&task->keep);
    obb_arena_fini(&task->scratch);
}

bool obb_task_goes_on(struct obb_task *task)
{
    if ((++task->steps & 63) == 0 && task->cancel != NULL &&
        atomic_load_explicit(task->cancel, memory_order_relaxed))
        obb_task_fail(task, OBB_CANCELLED);
    if (task->most_steps != 0 && task->steps > task->most_steps)
        obb_task_fail(task, OBB_CANCELLED);
    return task->status == OBB_OK;
}

void *obb_task_keep(struct obb_task *task, size_t count, size_t size)
{
    void *block = obb_arena_alloc(&task->keep, count, size);
    if (block == NULL)
        obb_task_fail(task, OBB_NO_MEMORY);
    return block;
}

/* ---- Candidates ----------------------------------------------------------------------------------------------- */

/* Between two commits the layers show each interpolated box where it stood: it comes from
 * view->interpolated_index instead. */
struct standing {
    const struct obb_view *view;
    void *context;
    obb_index_visit *visit;
    obb_index_reach *reach;
};

static bool visit_standing(void *context, const struct obb_version *version, obb_verdict verdict)
{
    const struct standing *s = context;
    return obb_view_interpolates_to(s->view, version) != NULL ||
           s->visit(s->context, version, verdict);
}

static double reach_standing(void *context, const struct obb_version *version, double max_distance)
{
    const struct standing *s = context;
    return obb_view_interpolates_to(s->view, version) != NULL
               ? max_distance
               : s->reach(s->context, version, max_distance);
}

bool obb_candidates_query(const struct obb_view *view, const obb_bounds *bounds, void *context,
                          obb_index_visit *visit)
{
    if (view->interpolated_index == NULL)
        return obb_layers_query(view->layers, view->revision, bounds, context, visit);
    struct standing s = {.view = view, .context = context, .visit = visit};
    return obb_layers_query(view->layers, view->revision, bounds, &s, visit_standing) &&
           obb_index_query(view->interpolated_index, bounds, context, visit);
}

bool obb_candidates_overlap(const struct obb_view *view, const obb_solid *box, double margin,
                            void *context, obb_index_visit *visit)
{
    if (view->interpolated_index == NULL)
        return obb_layers_overlap(view->layers, view->revision, box, margin, context, visit);
    struct standing s = {.view = view, .context = context, .visit = visit};
    return obb_layers_overlap(view->layers, view->revision, box, margin, &s, visit_standing) &&
           obb_index_overlap(view->interpolated_index, box, margin, context, visit);
}

double obb_candidates_ray(const struct obb_view *view, const obb_ray *ray, obb_vec3 grow,
                          void *context, obb_index_reach *visit)
{
    if (view->interpolated_index == NULL)
        return obb_layers_ray(view->layers, view->revision, ray, grow, context, visit);
    struct standing s = {.view = view, .context = context, .reach = visit};
    obb_ray rest = *ray;
    rest.max_distance = obb_layers_ray(view->layers, view->revision, ray, grow, &s, reach_standing);
    return rest.max_distance < 0.0
               ? rest.max_distance
               : obb_index_ray(view->interpolated_index, &rest, grow, context, visit);
}

double obb_candidates_nearest(const struct obb_view *view, const obb_bounds *bounds,
                              double max_distance, void *context, obb_index_reach *visit)
{
    if (view->interpolated_index == NULL)
        return obb_layers_nearest(view->layers, view->revision, bounds, max_distance, context,
                                  visit);
    struct standing s = {.view = view, .context = context, .reach = visit};
    const double rest =
        obb_layers_nearest(view->layers, view->revision, bounds, max_distance, &s, reach_standing);
    return rest < 0.0 ? rest
                      : obb_index_nearest(view->interpolated_index, bounds, rest, context, visit);
}

/* ---- Boxes that items name --------------------------------------------------------------------------------- */

bool obb_task_resolve(const struct obb_task *task, const obb_ref *ref, struct obb_named *out,
                      obb_answer *answer)
{
    if (ref->kind == OBB_REF_INLINE) {
        *out =
            (struct obb_named){.solid = obb_solid_from_box(ref->box, task->view->info.dimensions)};
        return true;
    }
    const struct obb_version *box = ref->kind == OBB_REF_ID ? obb_view_find_id(task->view, ref->id)
                                                            : obb_view_find(task->view, ref->name);
    if (box == NULL) {
        answer->missing[answer->missing_count++] = ref;
        return false;
    }
    *out = (struct obb_named){.box = box, .solid = obb_view_solid(task->view, box)};
    return true;
}

/* ---- What was found ------------------------------------------------------------------------------------------ */

bool obb_hits_add(struct obb_task *task, struct obb_hits *hits, uint64_t rank,
                  const struct obb_version *box, const void *item)
{
    if (hits->count == hits->capacity) {
        const size_t capacity = hits->capacity == 0 ? 32 : hits->capacity * 2;
        struct obb_ranked *list =
            obb_arena_grow(&task->scratch, hits->list, hits->count, capacity, sizeof *list);
        if (list == NULL) {
            obb_task_fail(task, OBB_NO_MEMORY);
            return false;
        }
        hits->list = list;
        hits->capacity = capacity;
    }
    hits->list[hits->count++] = (struct obb_ranked){.major = rank, .minor = box->id, .item = item};
    return true;
}

bool obb_hits_sort(struct obb_task *task, struct obb_hits *hits)
{
    if (hits->count < 2)
        return true;
    struct obb_ranked *spare = obb_arena_alloc(&task->scratch, hits->count, sizeof *spare);
    if (spare == NULL) {
        obb_task_fail(task, OBB_NO_MEMORY);
        return false;
    }
    struct obb_ranked *sorted = obb_sort_ranked(hits->list, hits->count, spare, task->cancel);
    if (sorted == NULL) {
        obb_task_fail(task, OBB_CANCELLED);
        return false;
    }
    hits->list = sorted;
    return true;
}

obb_hit *obb_hits_answer(struct obb_task *task, const struct obb_hits *hits, bool is_cast,
                         obb_answer *answer)
{
    const size_t limit = task->query->limit;
    const size_t listed = hits->count < limit ? hits->count : limit;
    obb_hit *found = NULL;
    if (listed > 0) {
        found = obb_task_keep(task, listed, sizeof *found);
        if (found == NULL)
            return NULL;
    }
    for (size_t i = 0; i < listed; i++)
        found[i] =
            is_cast ? *(const obb_hit *)hits->list[i].item : (obb_hit){.box = hits->list[i].item};
    answer->hits = found;
    answer->hit_count = listed;
    answer->count = hits->count;
    answer->truncated = listed < hits->count;
    return found;
}

/* ---- What `want` adds about a pair -------------------------------------------------------------------------- */

obb_details obb_details_of(unsigned want, const obb_solid *a, const obb_solid *b)
{
    obb_details details = {0};
    if ((want & OBB_WANT_RELATION) != 0)
        details.relation = obb_sat_relation(a, b);
    if ((want & (OBB_WANT_MTV | OBB_WANT_AXIS)) != 0)
        details.separation = obb_sat_separation(a, b);
    if ((want & OBB_WANT_DISTANCE) != 0)
        details.witness = obb_closest_boxes(a, b);
    if ((want & OBB_WANT_VOLUME) != 0) {
        details.volume = obb_clip_volume(a, b);
        const double together = obb_solid_volume(a) + obb_solid_volume(b) - details.volume;
        details.iou = details.volume <= 0.0       ? 0.0
                      : details.volume < together ? details.volume / together
                                                  : 1.0;
    }
    return details;
}

/* ---- Pairs ---------------------------------------------------------------------------------------------------- */

bool obb_pairs_admit(const struct obb_sieve *sieve, const struct obb_version *a,
                     const struct obb_version *b)
{
    return obb_filter_pair(a, b) && obb_sieve_passes(sieve, a) && obb_sieve_passes(sieve, b);
}

bool obb_pairs_add(struct obb_task *task, struct obb_pairs *pairs, const struct obb_version *a,
                   const struct obb_version *b)
{
    if (pairs->just_count) {
        pairs->count++;
        return true;
    }
    if (pairs->count == pairs->capacity) {
        const size_t capacity = pairs->capacity == 0 ? 256 : pairs->capacity * 2;
        obb_box_pair *list =
            obb_arena_grow(&task->keep, pairs->list, pairs->count, capacity, sizeof *list);
        if (list == NULL) {
            obb_task_fail(task, OBB_NO_MEMORY);
            return false;
        }
        pairs->list = list;
        pairs->capacity = capacity;
    }
    pairs->list[pairs->count++] =
        a->id < b->id ? (obb_box_pair){.a = a, .b = b} : (obb_box_pair){.a = b, .b = a};
    return true;
}

void obb_pairs_sort(struct obb_task *task, obb_box_pair *list, size_t count)
{
    if (count < 2)
        return;
    struct obb_ranked *ranked = obb_arena_alloc(&task->scratch, 2 * count, sizeof *ranked);
    obb_box_pair *copy = obb_arena_alloc(&task->scratch, count, sizeof *copy);
    if (ranked == NULL || copy == NULL) {
        obb_task_fail(task, OBB_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = list[i];
        ranked[i] =
            (struct obb_ranked){.major = list[i].a->id, .minor = list[i].b->id, .item = &copy[i]};
    }
    const struct obb_ranked *sorted = obb_sort_ranked(ranked, count, ranked + count, task->cancel);
    if (sorted == NULL)
        obb_task_fail(task, OBB_CANCELLED);
    else
        for (size_t i = 0; i < count; i++)
            list[i] = *(const obb_box_pair *)sorted[i].item;
    obb_arena_reset(&task->scratch);
}

void obb_pairs_details(struct obb_task *task, const obb_box_pair *pairs, obb_details *details,
                       size_t from, size_t to)
{
    for (size_t i = from; i < to && obb_task_goes_on(task); i++) {
        const obb_solid a = obb_view_solid(task->view, pairs[i].a);
        const obb_solid b = obb_view_solid(task->view, pairs[i].b);
        details[i] = obb_details_of(task->query->want, &a, &b);
    }
}
