#include "core/obb.h"
#include "core/scene/overlay.h"
#include "core/scene/scene_data.h"
#include "tests/support/fault.h"
#include "tests/support/model_scene.h"
#include "tests/support/oracle_query.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- The slow model -------------------------------------------------------------------------- */

/* A state with what a query may ask of its boxes. */
struct world {
    model_state state;
    obb_solid *solids;
    int dimensions;
    struct obb_view *view;
};

static struct world world_at(const struct model_scene *model, size_t revision, double alpha)
{
    struct world w = {.state = model_scene_between(model, revision, alpha),
                      .dimensions = model->dimensions,
                      .view = model_scene_view(model, revision, alpha)};
    w.solids = calloc(w.state.count + 1, sizeof *w.solids);
    for (size_t i = 0; i < w.state.count; i++)
        w.solids[i] = obb_solid_from_box(&w.state.boxes[i].box, w.dimensions);
    return w;
}

static void world_end(struct world *w)
{
    obb_view_close(w->view);
    free(w->state.boxes);
    free(w->solids);
}

/* Index of the box that the reference means; SIZE_MAX when there is none. */
static size_t found_at(const struct world *w, const obb_ref *ref)
{
    for (size_t i = 0; i < w->state.count; i++)
        if (ref->kind == OBB_REF_ID ? w->state.boxes[i].id == ref->id
                                    : obb_str_equal(ref->name, obb_str_of(w->state.boxes[i].name)))
            return i;
    return SIZE_MAX;
}

static bool takes_part(const obb_filter *f, const model_box *b)
{
    if (f->has_mask && (f->mask & b->category) == 0)
        return false;
    if (f->has_category && (b->mask & f->category) == 0)
        return false;
    for (size_t i = 0; i < f->exclude_count; i++)
        if (obb_str_equal(f->exclude[i], obb_str_of(b->name)))
            return false;
    for (size_t i = 0; i < f->exclude_id_count; i++)
        if (f->exclude_ids[i] == b->id)
            return false;
    for (size_t i = 0; i < f->exclude_entity_count; i++)
        if (obb_str_equal(f->exclude_entities[i], obb_str_of(b->entity)))
            return false;
    return strncmp(b->name, f->prefix.bytes != NULL ? f->prefix.bytes : "", f->prefix.length) == 0;
}

static bool pair_allowed(const model_box *a, const model_box *b)
{
    if (a->group == b->group && a->group > 0)
        return true;
    if (a->group == b->group && a->group < 0)
        return false;
    return (a->category & b->mask) && (b->category & a->mask);
}

/* What a list is expected to hold: a box, and what is said of it. */
struct expected {
    size_t box; /* in the world */
    double rank;
    obb_hit found;
};

static int by_rank_and_id(const void *a, const void *b)
{
    const struct expected *p = a, *q = b;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    return p->box < q->box ? -1 : p->box > q->box; /* boxes stand by id */
}

/* ---- Comparing ------------------------------------------------------------------------------- */

struct tally {
    size_t items, missing, found, cut, details;
    size_t by_ranks; /* answers of all-pairs that list ranks */
    size_t outcomes[OBB_OUTCOME_CUT + 1], reasons[OBB_FILTERED_BY_SELF + 1];
};

static bool same_vector(obb_vec3 a, obb_vec3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static void check_details(unsigned want, const obb_details *got, const obb_solid *a,
                          const obb_solid *b)
{
    ck_assert_ptr_nonnull(got);
    if (want & OBB_WANT_RELATION)
        ck_assert_int_eq(got->relation, obb_sat_relation(a, b));
    if (want & (OBB_WANT_MTV | OBB_WANT_AXIS)) {
        const obb_separation s = obb_sat_separation(a, b);
        ck_assert_int_eq(got->separation.axis, s.axis);
        ck_assert(same_vector(got->separation.normal, s.normal));
        ck_assert_double_eq(got->separation.gap, s.gap);
    }
    if (want & OBB_WANT_DISTANCE) {
        const obb_witness w = obb_closest_boxes(a, b);
        ck_assert_double_eq(got->witness.distance, w.distance);
        ck_assert(same_vector(got->witness.on_a, w.on_a) && same_vector(got->witness.on_b, w.on_b));
    }
    if (want & OBB_WANT_VOLUME) {
        const double volume = obb_clip_volume(a, b);
        const double all = obb_solid_volume(a) + obb_solid_volume(b) - volume;
        ck_assert_double_eq(got->volume, volume);
        ck_assert_double_eq(got->iou, volume > 0.0 ? fmin(volume / all, 1.0) : 0.0);
    }
}

static void check_list(const struct world *w, const obb_query *query, const obb_answer *answer,
                       struct expected *expected, size_t count, const obb_solid *asked,
                       struct tally *tally)
{
    qsort(expected, count, sizeof *expected, by_rank_and_id);
    const size_t listed = count < query->limit ? count : query->limit;
    ck_assert_uint_eq(answer->count, count);
    ck_assert_uint_eq(answer->hit_count, listed);
    ck_assert(answer->truncated == (listed < count));
    tally->cut += answer->truncated;
    for (size_t i = 0; i < listed; i++) {
        const obb_hit *got = &answer->hits[i], *should = &expected[i].found;
        ck_assert_uint_eq(obb_view_id(got->box), w->state.boxes[expected[i].box].id);
        ck_assert_double_eq(got->distance, should->distance);
        ck_assert_double_eq(got->fraction, should->fraction);
        ck_assert(same_vector(got->point, should->point));
        ck_assert(same_vector(got->normal, should->normal));
        ck_assert(got->started_inside == should->started_inside);
        if (asked != NULL && (query->want & OBB_WANT_OF_PAIR) != 0) {
            check_details(query->want, got->details, asked, &w->solids[expected[i].box]);
            tally->details++;
        } else {
            ck_assert_ptr_null(got->details);
        }
        tally->found++;
    }
}

/* ---- Explanations ---------------------------------------------------------------------------- */

/* An item, as far as the oracle of explanations needs it. */
struct explained {
    size_t itself;              /* in the world, or SIZE_MAX */
    const struct expected *met; /* all boxes that take part and are met, in order */
    size_t met_count;
    const struct expected *taken; /* those of them that the answer may list, in order */
    size_t taken_count;
    const obb_shape *shape; /* of overlap, point and nearest; else NULL */
    const obb_ray *ray;     /* of rays; else NULL */
    const obb_solid *mover; /* of sweeps */
    obb_vec3 motion;
};

static obb_filtered reason_of(const obb_filter *f, const model_box *b, bool itself)
{
    const obb_filter masks = {.has_mask = f->has_mask, .mask = f->mask};
    const obb_filter categories = {.has_category = f->has_category, .category = f->category};
    const obb_filter prefix = {.prefix = f->prefix};
    const obb_filter names = {.exclude = f->exclude,
                              .exclude_count = f->exclude_count,
                              .exclude_ids = f->exclude_ids,
                              .exclude_id_count = f->exclude_id_count};
    const obb_filter entities = {.exclude_entities = f->exclude_entities,
                                 .exclude_entity_count = f->exclude_entity_count};
    return !takes_part(&masks, b)        ? OBB_FILTERED_BY_MASK
           : !takes_part(&categories, b) ? OBB_FILTERED_BY_CATEGORY
           : !takes_part(&prefix, b)     ? OBB_FILTERED_BY_PREFIX
           : !takes_part(&names, b)      ? OBB_FILTERED_BY_EXCLUDE
           : !takes_part(&entities, b)   ? OBB_FILTERED_BY_ENTITY
           : itself                      ? OBB_FILTERED_BY_SELF
                                         : OBB_FILTERED_NOT;
}

static size_t place_in(const struct expected *list, size_t count, size_t box)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].box == box)
            return i;
    return SIZE_MAX;
}

static double sweep_distance_at(const struct explained *e, const obb_solid *box, double t)
{
    obb_solid moved = *e->mover;
    moved.center = obb_add(moved.center, obb_scale(e->motion, t));
    return obb_closest_boxes(&moved, box).distance;
}

/* By a search over thirds: the distance is convex along the way. */
static double slow_sweep_distance(const struct explained *e, const obb_solid *box)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 80; i++) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (sweep_distance_at(e, box, a) <= sweep_distance_at(e, box, b))
            high = b;
        else
            low = a;
    }
    return fmin(sweep_distance_at(e, box, (low + high) / 2),
                fmin(sweep_distance_at(e, box, 0.0), sweep_distance_at(e, box, 1.0)));
}

static double slow_distance(const struct explained *e, const obb_solid *box)
{
    obb_vec3 corners[8];
    if (e->mover != NULL)
        return slow_sweep_distance(e, box);
    if (e->ray != NULL)
        return (double)slow_segment_distance(
            e->ray->origin,
            obb_add(e->ray->origin,
                    obb_scale(e->ray->direction, fmin(e->ray->max_distance, 1000.0))),
            box);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    switch (e->shape->kind) {
    case OBB_SHAPE_BOX:
        return obb_closest_boxes(&e->shape->box, box).distance;
    case OBB_SHAPE_SPHERE:
    case OBB_SHAPE_CAPSULE:
        return fmax((double)slow_segment_distance(e->shape->a, e->shape->b, box) - e->shape->radius,
                    0.0);
    case OBB_SHAPE_FRUSTUM:
        break;
    }
    slow_corners(box, corners);
    return (double)slow_hull_distance(e->shape->corners, corners);
}

static void check_behind(const struct world *w, const obb_query *query, const struct explained *e,
                         size_t box, const obb_explanation *got)
{
    if (query->kind == OBB_QUERY_NEAREST && query->k == 0) {
        ck_assert_int_eq(got->outcome, OBB_OUTCOME_CUT);
        return;
    }
    size_t taker = query->kind == OBB_QUERY_NEAREST ? query->k - 1 : 0;
    if (query->mode == OBB_CLOSEST_PER_ENTITY && query->kind != OBB_QUERY_NEAREST)
        while (strcmp(w->state.boxes[e->taken[taker].box].entity, w->state.boxes[box].entity) != 0)
            taker++;
    ck_assert_uint_lt(taker, e->taken_count);
    ck_assert_int_eq(got->outcome, OBB_OUTCOME_BEHIND);
    ck_assert_uint_eq(obb_view_id(got->behind), w->state.boxes[e->taken[taker].box].id);
}

static void check_explained(const struct world *w, const obb_query *query, const obb_answer *answer,
                            const struct explained *e, struct tally *tally)
{
    if (!query->has_explain)
        ck_assert_ptr_null(answer->explain);
    for (size_t i = 0; i < query->explain_count; i++) {
        const obb_explanation *got = &answer->explain[i];
        const size_t box = found_at(w, &query->explain[i]);
        ck_assert_ptr_eq(got->asked, &query->explain[i]);
        tally->outcomes[got->outcome]++;
        ck_assert((got->box == NULL) == (box == SIZE_MAX));
        if (box == SIZE_MAX) {
            ck_assert_int_eq(got->outcome, OBB_OUTCOME_ABSENT);
            continue;
        }
        ck_assert_uint_eq(obb_view_id(got->box), w->state.boxes[box].id);
        const obb_filtered reason =
            reason_of(&query->filter, &w->state.boxes[box], box == e->itself);
        ck_assert_int_eq(got->by, reason);
        if (reason != OBB_FILTERED_NOT) {
            ck_assert_int_eq(got->outcome, OBB_OUTCOME_FILTERED);
            tally->reasons[reason]++;
            continue;
        }
        const size_t taken = place_in(e->taken, e->taken_count, box);
        if (taken != SIZE_MAX) {
            ck_assert_int_eq(got->outcome,
                             taken < query->limit ? OBB_OUTCOME_HIT : OBB_OUTCOME_CUT);
        } else if (place_in(e->met, e->met_count, box) != SIZE_MAX) {
            check_behind(w, query, e, box, got);
        } else {
            ck_assert_int_eq(got->outcome, OBB_OUTCOME_MISSED);
            const double gap = slow_distance(e, &w->solids[box]);
            ck_assert_msg(fabs(got->gap - gap) <= 1e-9, "gap %.17g, not %.17g", got->gap, gap);
            const bool boxes = e->shape != NULL && e->shape->kind == OBB_SHAPE_BOX;
            ck_assert(got->has_axis == boxes);
            if (boxes) {
                const obb_separation s = obb_sat_separation(&e->shape->box, &w->solids[box]);
                ck_assert_int_eq(got->axis.axis, s.axis);
                ck_assert(same_vector(got->axis.normal, s.normal) && got->axis.gap == s.gap);
            }
        }
    }
}

/* The solid that a reference means; false, with the answer checked, when it is missing. */
static bool resolve(const struct world *w, const obb_ref *ref, const obb_answer *answer,
                    obb_solid *out, size_t *out_itself, struct tally *tally)
{
    *out_itself = SIZE_MAX;
    if (ref->kind == OBB_REF_INLINE) {
        *out = obb_solid_from_box(ref->box, w->dimensions);
        return true;
    }
    *out_itself = found_at(w, ref);
    if (*out_itself == SIZE_MAX) {
        ck_assert_uint_eq(answer->missing_count, 1);
        ck_assert_ptr_eq(answer->missing[0], ref);
        ck_assert_ptr_null(answer->explain);
        tally->missing++;
        return false;
    }
    *out = w->solids[*out_itself];
    return true;
}

static void check_pair(const struct world *w, const obb_query *query, size_t item,
                       const obb_answer *answer, struct tally *tally)
{
    const obb_ref *refs = query->items.pairs[item];
    obb_solid solid[2];
    size_t missing = 0;
    for (int i = 0; i < 2; i++) {
        size_t box = SIZE_MAX;
        if (refs[i].kind == OBB_REF_INLINE) {
            solid[i] = obb_solid_from_box(refs[i].box, w->dimensions);
        } else if ((box = found_at(w, &refs[i])) == SIZE_MAX) {
            ck_assert_ptr_eq(answer->missing[missing++], &refs[i]);
        } else {
            solid[i] = w->solids[box];
        }
        if (box != SIZE_MAX && answer->missing_count == 0)
            ck_assert_uint_eq(obb_view_id(answer->pair[i]), w->state.boxes[box].id);
        else
            ck_assert_ptr_null(answer->pair[i]);
    }
    ck_assert_uint_eq(answer->missing_count, missing);
    tally->missing += missing;
    if (missing > 0) {
        ck_assert_ptr_null(answer->details);
        return;
    }
    ck_assert(answer->overlap == obb_shape_boxes(&solid[0], &solid[1], query->margin));
    tally->found += answer->overlap;
    if ((query->want & OBB_WANT_OF_PAIR) == 0) {
        ck_assert_ptr_null(answer->details);
        return;
    }
    check_details(query->want, answer->details, &solid[0], &solid[1]);
    tally->details++;
}

static void check_overlap(const struct world *w, const obb_query *query, size_t item,
                          const obb_answer *answer, struct tally *tally)
{
    struct expected *expected = calloc(w->state.count + 1, sizeof *expected);
    size_t count = 0, itself = SIZE_MAX;
    obb_shape shape;
    bool there = true;
    if (query->kind == OBB_QUERY_POINT) {
        ck_assert_int_eq(obb_shape_sphere(query->items.points[item], 0.0, &shape), OBB_OK);
    } else if (query->items.shapes[item].is_ref) {
        obb_solid solid;
        there = resolve(w, &query->items.shapes[item].ref, answer, &solid, &itself, tally);
        if (there)
            shape = obb_shape_box(&solid);
    } else {
        shape = *query->items.shapes[item].shape;
    }
    for (size_t i = 0; there && i < w->state.count; i++)
        if (i != itself && takes_part(&query->filter, &w->state.boxes[i]) &&
            obb_shape_overlap(&shape, &w->solids[i], query->margin))
            expected[count++] = (struct expected){.box = i};
    if (there) {
        check_list(w, query, answer, expected, count,
                   shape.kind == OBB_SHAPE_BOX ? &shape.box : NULL, tally);
        const struct explained e = {.itself = itself,
                                    .met = expected,
                                    .met_count = count,
                                    .taken = expected,
                                    .taken_count = count,
                                    .shape = &shape};
        check_explained(w, query, answer, &e, tally);
    }
    free(expected);
}

static size_t first_hits(const struct world *w, obb_mode mode, struct expected *hits, size_t count)
{
    qsort(hits, count, sizeof *hits, by_rank_and_id);
    if (mode == OBB_CLOSEST || mode == OBB_ANY)
        return count > 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool again = false;
        const char *entity = w->state.boxes[hits[i].box].entity;
        for (size_t k = 0; mode == OBB_CLOSEST_PER_ENTITY && k < kept && entity[0] != 0; k++)
            again = again || strcmp(entity, w->state.boxes[hits[k].box].entity) == 0;
        if (!again)
            hits[kept++] = hits[i];
    }
    return kept;
}

static void check_cast(const struct world *w, const obb_query *query, size_t item,
                       const obb_answer *answer, struct tally *tally)
{
    struct expected *hits = calloc(w->state.count + 1, sizeof *hits);
    size_t count = 0, itself = SIZE_MAX;
    obb_solid mover;
    const bool sweeps = query->kind == OBB_QUERY_SWEEP;
    const bool there =
        !sweeps || resolve(w, &query->items.sweeps[item].ref, answer, &mover, &itself, tally);
    for (size_t i = 0; there && i < w->state.count; i++) {
        if (i == itself || !takes_part(&query->filter, &w->state.boxes[i]))
            continue;
        struct expected e = {.box = i};
        if (sweeps) {
            const obb_vec3 motion = query->items.sweeps[item].motion;
            obb_sweep_hit hit;
            if (!obb_sweep_cast(&mover, motion, 1.0, &w->solids[i], &hit))
                continue;
            e.rank = hit.fraction;
            e.found = (obb_hit){.distance = hit.fraction * obb_length(motion),
                                .fraction = hit.fraction,
                                .point = hit.point,
                                .normal = hit.normal,
                                .started_inside = hit.started_overlapping};
        } else {
            const obb_ray *ray = &query->items.rays[item];
            obb_ray_hit hit;
            if (!obb_ray_cast(ray, &w->solids[i], query->inside, &hit))
                continue;
            e.rank = hit.distance;
            e.found =
                (obb_hit){.distance = hit.distance,
                          .fraction = hit.distance == 0.0 ? 0.0 : hit.distance / ray->max_distance,
                          .point = hit.point,
                          .normal = hit.normal,
                          .started_inside = hit.started_inside};
        }
        hits[count++] = e;
    }
    if (there) {
        struct expected *met = calloc(count + 1, sizeof *met);
        memcpy(met, hits, count * sizeof *met);
        const size_t taken = first_hits(w, query->mode, hits, count);
        check_list(w, query, answer, hits, taken, NULL, tally);
        const struct explained e = {.itself = itself,
                                    .met = met,
                                    .met_count = count,
                                    .taken = hits,
                                    .taken_count = taken,
                                    .ray = sweeps ? NULL : &query->items.rays[item],
                                    .mover = sweeps ? &mover : NULL,
                                    .motion = sweeps ? query->items.sweeps[item].motion
                                                     : (obb_vec3){0, 0, 0}};
        check_explained(w, query, answer, &e, tally);
        free(met);
    }
    free(hits);
}

static void check_nearest(const struct world *w, const obb_query *query, size_t item,
                          const obb_answer *answer, struct tally *tally)
{
    struct expected *near = calloc(w->state.count + 1, sizeof *near);
    size_t count = 0, itself = SIZE_MAX;
    obb_solid from;
    const bool there =
        !query->of_boxes || resolve(w, &query->items.boxes[item], answer, &from, &itself, tally);
    for (size_t i = 0; there && i < w->state.count; i++) {
        if (i == itself || !takes_part(&query->filter, &w->state.boxes[i]))
            continue;
        const obb_witness witness =
            query->of_boxes ? obb_closest_boxes(&from, &w->solids[i])
                            : obb_closest_point(query->items.points[item], &w->solids[i]);
        if (witness.distance <= query->max_distance)
            near[count++] =
                (struct expected){.box = i,
                                  .rank = witness.distance,
                                  .found = {.distance = witness.distance, .point = witness.on_b}};
    }
    qsort(near, count, sizeof *near, by_rank_and_id);
    if (there) {
        const size_t taken = count < query->k ? count : query->k;
        check_list(w, query, answer, near, taken, NULL, tally);
        obb_shape shape;
        if (query->of_boxes)
            shape = obb_shape_box(&from);
        else
            ck_assert_int_eq(obb_shape_sphere(query->items.points[item], 0.0, &shape), OBB_OK);
        const struct explained e = {.itself = itself,
                                    .met = near,
                                    .met_count = count,
                                    .taken = near,
                                    .taken_count = taken,
                                    .shape = &shape};
        check_explained(w, query, answer, &e, tally);
    }
    free(near);
}

static void check_all_pairs(const struct world *w, const obb_query *query, const obb_result *result,
                            struct tally *tally)
{
    size_t count = 0;
    for (size_t i = 0; i < w->state.count; i++)
        for (size_t k = i + 1; k < w->state.count; k++) {
            const model_box *a = &w->state.boxes[i], *b = &w->state.boxes[k];
            if (!takes_part(&query->filter, a) || !takes_part(&query->filter, b) ||
                !pair_allowed(a, b) ||
                !obb_shape_boxes(&w->solids[i], &w->solids[k], query->margin))
                continue;
            if (!query->count_only && count < query->limit) {
                ck_assert_uint_lt(count, result->pair_count);
                ck_assert_uint_eq(obb_result_id(result, count, false), a->id);
                ck_assert_uint_eq(obb_result_id(result, count, true), b->id);
                ck_assert_uint_lt(b->id, result->ids_below);
                if (!query->by_id || query->want != 0) {
                    ck_assert_uint_eq(obb_view_id(result->pairs[count].a), a->id);
                    ck_assert_uint_eq(obb_view_id(result->pairs[count].b), b->id);
                }
                if ((query->want & OBB_WANT_OF_PAIR) != 0) {
                    check_details(query->want, &result->pair_details[count], &w->solids[i],
                                  &w->solids[k]);
                    tally->details++;
                }
            }
            count++;
        }
    ck_assert_uint_eq(result->count, count);
    const size_t listed = query->count_only ? 0 : count < query->limit ? count : query->limit;
    ck_assert_uint_eq(result->pair_count, listed);
    ck_assert(result->truncated == (!query->count_only && listed < count));
    if ((query->want & OBB_WANT_OF_PAIR) == 0)
        ck_assert_ptr_null(result->pair_details);
    tally->found += count;
    tally->cut += result->truncated;
    tally->by_ranks += result->pair_ranks != NULL;
}

static void check_result(const struct world *w, const obb_query *query, const obb_result *result,
                         struct tally *tally)
{
    ck_assert_uint_eq(result->answer_count, query->count);
    if (query->kind == OBB_QUERY_ALL_PAIRS)
        check_all_pairs(w, query, result, tally);
    for (size_t i = 0; i < query->count; i++) {
        const obb_answer *answer = &result->answers[i];
        switch (query->kind) {
        case OBB_QUERY_PAIRS:
            check_pair(w, query, i, answer, tally);
            break;
        case OBB_QUERY_OVERLAP:
        case OBB_QUERY_POINT:
            check_overlap(w, query, i, answer, tally);
            break;
        case OBB_QUERY_RAY:
        case OBB_QUERY_SWEEP:
            check_cast(w, query, i, answer, tally);
            break;
        case OBB_QUERY_NEAREST:
            check_nearest(w, query, i, answer, tally);
            break;
        case OBB_QUERY_ALL_PAIRS:
            ck_abort_msg("all-pairs has no items");
        }
        tally->items++;
    }
}

/* ---- Random queries -------------------------------------------------------------------------- */

/* A query with all that it points to, in an arena of its own. */
struct asked {
    obb_query query;
    struct obb_arena arena;
};

static void *block(struct asked *a, size_t count, size_t size)
{
    void *p = obb_arena_alloc(&a->arena, count, size);
    ck_assert_ptr_nonnull(p);
    memset(p, 0, count * size);
    return p;
}

static obb_str copied(struct asked *a, const char *text)
{
    const size_t length = strlen(text);
    char *bytes = block(a, length + 1, 1);
    memcpy(bytes, text, length + 1);
    return (obb_str){bytes, length};
}

static obb_ref random_ref(struct model_scene *model, const struct world *w, struct asked *a)
{
    test_rng *rng = &model->rng;
    const size_t lot = test_below(rng, 10);
    if (lot == 0 || w->state.count == 0)
        return (obb_ref){.kind = OBB_REF_NAME, .name = obb_str_of("nobody")};
    if (lot == 1)
        return (obb_ref){.kind = OBB_REF_ID, .id = 1000000 + lot};
    if (lot < 5) {
        obb_box *box = block(a, 1, sizeof *box);
        *box = model_scene_random_box(model).box;
        return (obb_ref){.kind = OBB_REF_INLINE, .box = box};
    }
    const model_box *b = &w->state.boxes[test_below(rng, w->state.count)];
    if (lot < 7)
        return (obb_ref){.kind = OBB_REF_ID, .id = b->id};
    return (obb_ref){.kind = OBB_REF_NAME, .name = copied(a, b->name)};
}

static obb_vec3 random_vector(struct model_scene *model, double size)
{
    obb_vec3 v = {test_uniform(&model->rng, -size, size), test_uniform(&model->rng, -size, size),
                  test_uniform(&model->rng, -size, size)};
    if (model->dimensions == 2)
        v.z = 0.0;
    return v;
}

/* A box that overlaps the one that `other` means, where a few tries find one; else any. */
static obb_ref random_neighbour(struct model_scene *model, const struct world *w, struct asked *a,
                                const obb_ref *other)
{
    const size_t at = other->kind == OBB_REF_INLINE ? SIZE_MAX : found_at(w, other);
    for (int i = 0; at != SIZE_MAX && i < 60; i++) {
        const size_t k = test_below(&model->rng, w->state.count);
        if (k != at && obb_sat_overlap(&w->solids[at], &w->solids[k]))
            return (obb_ref){.kind = OBB_REF_ID, .id = w->state.boxes[k].id};
    }
    return random_ref(model, w, a);
}

/* Points that lie on something more often than not. */
static obb_vec3 random_point(struct model_scene *model, const struct world *w)
{
    if (test_below(&model->rng, 2) == 0 && w->state.count > 0) {
        const size_t i = test_below(&model->rng, w->state.count);
        return w->state.boxes[i].box.center;
    }
    return random_vector(model, model->spread);
}

static void random_filter(struct model_scene *model, const struct world *w, struct asked *a)
{
    test_rng *rng = &model->rng;
    obb_filter *f = &a->query.filter;
    f->has_mask = test_below(rng, 3) == 0;
    f->mask = (uint32_t)test_below(rng, 16);
    f->has_category = test_below(rng, 3) == 0;
    f->category = (uint32_t)test_below(rng, 16);
    if (test_below(rng, 4) == 0)
        f->prefix = obb_str_of(test_below(rng, 2) == 0 ? "wall-" : "crate-1");
    if (test_below(rng, 3) == 0) {
        obb_str *names = block(a, 20, sizeof *names);
        uint64_t *ids = block(a, 20, sizeof *ids);
        for (size_t i = 0; i < 20; i++) {
            const model_box *b =
                w->state.count > 0 ? &w->state.boxes[test_below(rng, w->state.count)] : NULL;
            names[i] = b != NULL && i > 0 ? copied(a, b->name) : obb_str_of("nobody");
            ids[i] = b != NULL ? b->id + test_below(rng, 2) : i;
        }
        f->exclude = names;
        f->exclude_count = test_below(rng, 20);
        f->exclude_ids = ids;
        f->exclude_id_count = test_below(rng, 20);
    }
    if (test_below(rng, 3) == 0) {
        obb_str *entities = block(a, 3, sizeof *entities);
        entities[0] = obb_str_of("e1");
        entities[1] = obb_str_of("e4");
        entities[2] = obb_str_of("nobody");
        f->exclude_entities = entities;
        f->exclude_entity_count = 1 + test_below(rng, 3);
    }
}

static obb_query_shape random_shape(struct model_scene *model, const struct world *w,
                                    struct asked *a)
{
    test_rng *rng = &model->rng;
    const size_t lot = test_below(rng, model->dimensions == 3 ? 8 : 7);
    if (lot < 4)
        return (obb_query_shape){.is_ref = true, .ref = random_ref(model, w, a)};
    obb_shape *shape = block(a, 1, sizeof *shape);
    const double radius = test_uniform(rng, 0.0, 3.0);
    obb_status st;
    if (lot == 4) {
        const obb_box box = model_scene_random_box(model).box;
        const obb_solid solid = obb_solid_from_box(&box, model->dimensions);
        *shape = obb_shape_box(&solid);
        st = OBB_OK;
    } else if (lot == 5) {
        st = obb_shape_sphere(random_point(model, w), radius, shape);
    } else if (lot == 6) {
        st = obb_shape_capsule(random_point(model, w), random_point(model, w), radius, shape);
    } else {
        const double f = test_uniform(rng, 0.5, 2.0);
        const double looking[16] = {f, 0, 0,    0,    0, f, 0,    0,
                                    0, 0, -1.2, -1.0, 0, 0, -1.1, test_uniform(rng, 0.0, 1.0)};
        st = obb_shape_frustum(looking, shape);
    }
    ck_assert_int_eq(st, OBB_OK);
    return (obb_query_shape){.shape = shape};
}

static void random_items(struct model_scene *model, const struct world *w, struct asked *a)
{
    test_rng *rng = &model->rng;
    obb_query *q = &a->query;
    const size_t n = q->count;
    if (q->kind == OBB_QUERY_PAIRS) {
        obb_ref(*pairs)[2] = block(a, n, sizeof *pairs);
        for (size_t i = 0; i < n; i++) {
            pairs[i][0] = random_ref(model, w, a);
            pairs[i][1] = test_below(rng, 2) == 0 ? random_neighbour(model, w, a, &pairs[i][0])
                                                  : random_ref(model, w, a);
        }
        q->items.pairs = (const obb_ref(*)[2])pairs;
    } else if (q->kind == OBB_QUERY_OVERLAP) {
        obb_query_shape *shapes = block(a, n, sizeof *shapes);
        for (size_t i = 0; i < n; i++)
            shapes[i] = random_shape(model, w, a);
        q->items.shapes = shapes;
    } else if (q->kind == OBB_QUERY_RAY) {
        obb_ray *rays = block(a, n, sizeof *rays);
        for (size_t i = 0; i < n; i++)
            ck_assert_int_eq(
                obb_ray_make(random_point(model, w), random_vector(model, 1.0),
                             test_below(rng, 2) == 0 ? HUGE_VAL : test_uniform(rng, 0.0, 9.0),
                             &rays[i]),
                OBB_OK);
        q->items.rays = rays;
    } else if (q->kind == OBB_QUERY_SWEEP) {
        obb_query_sweep *sweeps = block(a, n, sizeof *sweeps);
        for (size_t i = 0; i < n; i++)
            sweeps[i] = (obb_query_sweep){
                .ref = random_ref(model, w, a),
                .motion = random_vector(model, test_below(rng, 4) == 0 ? 0.0 : model->spread)};
        q->items.sweeps = sweeps;
    } else if (q->kind == OBB_QUERY_NEAREST && q->of_boxes) {
        obb_ref *boxes = block(a, n, sizeof *boxes);
        for (size_t i = 0; i < n; i++)
            boxes[i] = random_ref(model, w, a);
        q->items.boxes = boxes;
    } else if (q->kind != OBB_QUERY_ALL_PAIRS) {
        obb_vec3 *points = block(a, n, sizeof *points);
        for (size_t i = 0; i < n; i++)
            points[i] = random_point(model, w);
        q->items.points = points;
    }
}

static struct asked random_query(struct model_scene *model, const struct world *w,
                                 obb_query_kind kind, size_t count)
{
    test_rng *rng = &model->rng;
    struct asked a = {.query = {.kind = kind,
                                .dimensions = model->dimensions,
                                .count = kind == OBB_QUERY_ALL_PAIRS ? 0 : count,
                                .of_boxes = test_below(rng, 2) == 0,
                                .mode = (obb_mode)test_below(rng, 4),
                                .inside = (obb_inside)test_below(rng, 3),
                                .k = test_below(rng, 12),
                                .max_distance = HUGE_VAL,
                                .limit = SIZE_MAX}};
    obb_query *q = &a.query;
    if (test_below(rng, 3) == 0)
        q->max_distance = test_uniform(rng, 0.0, 3.0);
    if (test_below(rng, 4) == 0)
        q->limit = test_below(rng, test_below(rng, 2) == 0 ? 3 : 10);
    if (kind == OBB_QUERY_ALL_PAIRS && test_below(rng, 4) == 0)
        q->count_only = true;
    q->by_id = kind == OBB_QUERY_ALL_PAIRS && test_below(rng, 2) == 0;
    if (kind == OBB_QUERY_PAIRS || kind == OBB_QUERY_ALL_PAIRS || kind == OBB_QUERY_OVERLAP) {
        if (test_below(rng, 2) == 0)
            q->want = (unsigned)test_below(rng, 256);
        if (test_below(rng, 2) == 0)
            q->margin = test_uniform(rng, -0.5, 1.0);
    }
    random_filter(model, w, &a);
    random_items(model, w, &a);
    if (kind != OBB_QUERY_PAIRS && kind != OBB_QUERY_ALL_PAIRS && test_below(rng, 4) != 0) {
        obb_ref *named = block(&a, 16, sizeof *named);
        q->explain_count = (uint16_t)test_below(rng, 17);
        /* One reason at a time, or none: the random filters let hardly a box through. */
        static const obb_str entities[] = {{"e1", 2}, {"e2", 2}, {"e4", 2}};
        const obb_filter single[] = {
            {.has_mask = true, .mask = 3},
            {.has_category = true, .category = 3},
            {.prefix = obb_str_of("crate-1")},
            {.exclude_entities = entities, .exclude_entity_count = 3},
            {.exclude_ids = &w->state.boxes[w->state.count / 2].id, .exclude_id_count = 1},
        };
        static size_t turn; /* so that each has its turn */
        const size_t lot = turn++ % 11;
        if (lot < 10)
            q->filter = lot < 5 ? single[lot] : (obb_filter){.has_mask = false};
        if (test_below(rng, 2) == 0)
            q->limit = test_below(rng, 3);
        for (size_t i = 0; i < q->explain_count; i++)
            do
                named[i] = random_ref(model, w, &a);
            while (named[i].kind == OBB_REF_INLINE);
        if (w->state.count > 0)
            named[0] = (obb_ref){.kind = OBB_REF_ID, .id = w->state.boxes[w->state.count / 2].id};
        for (size_t i = 0; i < count && i < 6; i++) { /* some ask for themselves */
            const obb_ref *asking = q->kind == OBB_QUERY_SWEEP ? &q->items.sweeps[i].ref
                                    : q->kind == OBB_QUERY_OVERLAP && q->items.shapes[i].is_ref
                                        ? &q->items.shapes[i].ref
                                    : q->kind == OBB_QUERY_NEAREST && q->of_boxes
                                        ? &q->items.boxes[i]
                                        : NULL;
            if (asking != NULL && asking->kind != OBB_REF_INLINE)
                named[i + 1] = *asking;
        }
        q->has_explain = true;
        q->explain = named;
    }
    return a;
}

/* ---- Running --------------------------------------------------------------------------------- */

static struct obb_plan *planned(const struct world *w, const obb_query *query)
{
    struct obb_plan *plan;
    ck_assert_int_eq(obb_plan_create(w->view, query, NULL, NULL, &plan), OBB_OK);
    return plan;
}

/* Every chunk once, in an order of the test's own. Returns the most chunks that a phase had. */
static size_t run_shuffled(struct obb_plan *plan, test_rng *rng)
{
    size_t most = 0;
    obb_status st;
    for (size_t n; (n = obb_plan_advance(plan, &st)) > 0;) {
        size_t *order = calloc(n, sizeof *order);
        for (size_t i = 0; i < n; i++) {
            const size_t k = test_below(rng, i + 1);
            order[i] = order[k];
            order[k] = i;
        }
        for (size_t i = 0; i < n; i++)
            ck_assert_int_eq(obb_plan_chunk(plan, order[i]), OBB_OK);
        free(order);
        most = n > most ? n : most;
    }
    ck_assert_int_eq(st, OBB_OK);
    return most;
}

struct crew {
    struct obb_plan *plan;
    size_t chunks;
    atomic_size_t next;
    atomic_int failed;
};

static void *work(void *context)
{
    struct crew *crew = context;
    for (size_t i; (i = atomic_fetch_add(&crew->next, 1)) < crew->chunks;)
        if (obb_plan_chunk(crew->plan, i) != OBB_OK)
            atomic_store(&crew->failed, 1);
    return NULL;
}

static void run_on_threads(struct obb_plan *plan)
{
    enum { THREADS = 4 };
    obb_status st;
    for (size_t n; (n = obb_plan_advance(plan, &st)) > 0;) {
        struct crew crew = {.plan = plan, .chunks = n};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &crew), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        ck_assert_int_eq(crew.failed, 0);
    }
    ck_assert_int_eq(st, OBB_OK);
}

static const char *const kind_names[OBB_QUERY_KINDS] = {"pairs", "all-pairs", "overlap", "point",
                                                        "ray",   "sweep",     "nearest"};

/* Beyond the kinds there is one more way: all pairs as one endless page. */
#define WAYS (OBB_QUERY_KINDS + 1)

static obb_query_kind kind_of(int way)
{
    return way == OBB_QUERY_KINDS ? OBB_QUERY_ALL_PAIRS : (obb_query_kind)way;
}

static void choose_way(obb_query *query, int way)
{
    query->paged = way == OBB_QUERY_KINDS;
    if (query->paged) {
        query->count_only = false;
        query->limit = SIZE_MAX;
    }
}

/* A scene with some history: 60 to 100 boxes, twelve commits. With `framed`, some of the boxes
 * stand in frames. */
static void make_lively(struct model_scene *model, uint64_t seed, int dimensions, bool framed)
{
    model_scene_init(model, seed, dimensions, dimensions == 3 ? 4.0 : 8.0);
    model->framed = framed;
    model_scene_commit(model, 80, 0);
    for (int i = 0; i < 11; i++)
        model_scene_commit(model, 3, 20);
    size_t in_frames = 0;
    for (size_t i = 0; i < model_scene_newest(model)->count; i++)
        in_frames += model_scene_newest(model)->boxes[i].rig > 0;
    ck_assert(framed ? in_frames > 2 : in_frames == 0);
}

static void lively(struct model_scene *model, uint64_t seed, int dimensions)
{
    make_lively(model, seed, dimensions, true);
}

/* The broad phase of the newest state built anew, as the service does it beside its work. */
static void rebuild(struct model_scene *model)
{
    struct obb_view *view = model_scene_view(model, model->state_count - 1, 0.0);
    struct obb_rebuild *rebuild;
    struct obb_layers *fresh;
    ck_assert_int_eq(obb_view_rebuild(view, NULL, &rebuild), OBB_OK);
    ck_assert_int_eq(obb_rebuild_finish(rebuild, &fresh), OBB_OK);
    ck_assert_int_eq(obb_scene_rebase(model->scene, fresh), OBB_OK);
    obb_view_close(view);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void compare_with_brute_force(obb_query_kind kind, int dimensions)
{
    struct model_scene model;
    lively(&model, 200 + (uint64_t)kind * 2 + (uint64_t)dimensions, dimensions);
    struct tally now = {0}, past = {0}, between = {0};
    const size_t rounds = test_effort(kind == OBB_QUERY_ALL_PAIRS ? 120 : 90);
    for (size_t i = 0; i < rounds; i++) {
        if (i == rounds / 2) {
            rebuild(&model);
            model_scene_commit(&model, 3, 20);
        }
        const size_t newest = model.state_count - 1;
        const size_t revision = i % 3 == 0 ? newest : 1 + test_below(&model.rng, newest - 1);
        const double alpha = i % 3 == 2 ? (double)(1 + test_below(&model.rng, 15)) / 16.0 : 0.0;
        struct world w = world_at(&model, revision, alpha);
        struct asked a = random_query(&model, &w, kind, 12);
        struct obb_plan *plan = planned(&w, &a.query);
        ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
        check_result(&w, &a.query, obb_plan_result(plan),
                     i % 3 == 0   ? &now
                     : i % 3 == 1 ? &past
                                  : &between);
        obb_plan_destroy(plan);
        obb_arena_fini(&a.arena);
        world_end(&w);
    }
    model_scene_fini(&model);
    const struct tally *all[] = {&now, &past, &between};
    const char *const when[] = {"now", "past", "between"};
    for (int i = 0; i < 3; i++) {
        printf("%s %dd %s: %zu items, %zu found, %zu missing, %zu cut, %zu details\n",
               kind_names[kind], dimensions, when[i], all[i]->items, all[i]->found, all[i]->missing,
               all[i]->cut, all[i]->details);
        ck_assert_uint_gt(all[i]->found, rounds / 3);
    }
    if (kind == OBB_QUERY_ALL_PAIRS)
        ck_assert(now.by_ranks + past.by_ranks >= rounds / 20 && between.by_ranks == 0);
    size_t outcomes[OBB_OUTCOME_CUT + 1] = {0}, reasons[OBB_FILTERED_BY_SELF + 1] = {0};
    printf("explained:");
    for (size_t o = 0; o <= OBB_OUTCOME_CUT; o++) {
        for (int i = 0; i < 3; i++)
            outcomes[o] += all[i]->outcomes[o];
        printf(" %zu", outcomes[o]);
    }
    printf(", filtered:");
    for (size_t r = 0; r <= OBB_FILTERED_BY_SELF; r++) {
        for (int i = 0; i < 3; i++)
            reasons[r] += all[i]->reasons[r];
        printf(" %zu", reasons[r]);
    }
    printf("\n");
    const bool explains = kind != OBB_QUERY_PAIRS && kind != OBB_QUERY_ALL_PAIRS;
    for (size_t o = 0; explains && o <= OBB_OUTCOME_CUT; o++)
        ck_assert(outcomes[o] > 0 || (o == OBB_OUTCOME_BEHIND &&
                                      (kind == OBB_QUERY_OVERLAP || kind == OBB_QUERY_POINT)));
    for (size_t r = OBB_FILTERED_BY_MASK; explains && r <= OBB_FILTERED_BY_SELF; r++)
        ck_assert(reasons[r] > 0 || (r == OBB_FILTERED_BY_SELF &&
                                     (kind == OBB_QUERY_POINT || kind == OBB_QUERY_RAY)));
    const bool names = kind == OBB_QUERY_PAIRS || kind == OBB_QUERY_OVERLAP ||
                       kind == OBB_QUERY_SWEEP || kind == OBB_QUERY_NEAREST;
    ck_assert(!names || now.missing + past.missing + between.missing > 0);
    ck_assert(kind == OBB_QUERY_PAIRS || now.cut + past.cut + between.cut > 0);
}

/* ---- with ------------------------------------------------------------------------------------ */

static void world_of_free(struct world *w)
{
    free(w->state.boxes);
    free(w->solids);
}

/* The world as the view shows it, read box by box. The caller closes the view. */
static struct world world_of(struct obb_view *view, int dimensions)
{
    struct world w = {.dimensions = dimensions, .view = view};
    w.state.boxes = calloc(obb_view_info_get(view)->boxes + 1, sizeof *w.state.boxes);
    for (const struct obb_version *v = obb_view_next(view, 0); v != NULL;
         v = obb_view_next(view, obb_view_id(v))) {
        model_box *b = &w.state.boxes[w.state.count++];
        const obb_attributes attributes = obb_view_attributes(v);
        b->id = obb_view_id(v);
        memcpy(b->name, obb_view_name(v).bytes, obb_view_name(v).length);
        memcpy(b->entity, attributes.entity.bytes, attributes.entity.length);
        b->category = attributes.category;
        b->mask = attributes.mask;
        b->group = attributes.group;
        b->box = obb_view_pose(view, v);
    }
    ck_assert_uint_eq(w.state.count, obb_view_info_get(view)->boxes);
    w.solids = calloc(w.state.count + 1, sizeof *w.solids);
    for (size_t i = 0; i < w.state.count; i++)
        w.solids[i] = obb_solid_from_box(&w.state.boxes[i].box, dimensions);
    return w;
}

static obb_put random_put(struct model_scene *model, struct asked *a, obb_str name)
{
    const model_box b = model_scene_random_box(model);
    return (obb_put){
        .target.name = name,
        .parts = OBB_PUT_ALL,
        .box = b.box,
        .attributes = {.category = b.category,
                       .mask = b.mask,
                       .group = b.group,
                       .entity = copied(a, test_below(&model->rng, 4) == 0 ? "new" : b.entity)}};
}

static obb_target random_target(struct model_scene *model, const struct world *w, struct asked *a)
{
    const model_box *b = &w->state.boxes[test_below(&model->rng, w->state.count)];
    if (test_below(&model->rng, 60) == 0)
        return (obb_target){.name = obb_str_of("nobody")};
    if (test_below(&model->rng, 4) == 0)
        return (obb_target){.has_id = true, .id = b->id};
    return (obb_target){.name = copied(a, b->name)};
}

/* Changes of up to 30 boxes, a few of them more than once. */
static obb_edit random_edit(struct model_scene *model, const struct world *w, struct asked *a)
{
    test_rng *rng = &model->rng;
    enum { MOST = 8 };
    obb_target *removes = block(a, MOST, sizeof *removes);
    obb_put *puts = block(a, MOST, sizeof *puts);
    obb_pose *poses = block(a, MOST, sizeof *poses);
    obb_transform_edit *transforms = block(a, MOST, sizeof *transforms);
    obb_edit edit = {.dimensions = model->dimensions,
                     .removes = removes,
                     .remove_count = test_below(rng, 3) == 0 ? test_below(rng, MOST) : 0,
                     .puts = puts,
                     .put_count = test_below(rng, MOST),
                     .poses = poses,
                     .pose_count = test_below(rng, MOST),
                     .transforms = transforms,
                     .transform_count = test_below(rng, MOST)};
    for (size_t i = 0; i < edit.remove_count; i++)
        removes[i] = random_target(model, w, a);
    for (size_t i = 0; i < edit.put_count; i++)
        puts[i] = random_put(model, a,
                             test_below(rng, 2) == 0
                                 ? copied(a, w->state.boxes[test_below(rng, w->state.count)].name)
                                 : obb_str_of(i % 2 == 0 ? "with-1" : "crate-1with"));
    for (size_t i = 0; i < edit.pose_count; i++)
        poses[i] = (obb_pose){.target = random_target(model, w, a),
                              .has_center = true,
                              .center = random_vector(model, model->spread)};
    for (size_t i = 0; i < edit.transform_count; i++)
        transforms[i] = (obb_transform_edit){
            .target = random_target(model, w, a),
            .transform = {.has_translate = true, .translate = random_vector(model, 1.0)}};
    return edit;
}

/* Commits to a scene of its own. */
static obb_status committed(struct obb_scene *scene, const obb_edit *edit, struct obb_arena *arena,
                            obb_fault *fault)
{
    struct obb_prepared *prepared;
    obb_committed done;
    const obb_status st = obb_edit_prepare(scene, edit, 0.0, SIZE_MAX, arena, &prepared, fault);
    if (st == OBB_OK)
        obb_edit_commit(prepared, &done);
    return st;
}

/* A scene that holds exactly the boxes of the world, and whose next box gets the id `next`. */
static struct obb_scene *copy_of(const struct world *w, uint64_t next, struct asked *a)
{
    const obb_settings settings = {.dimensions = w->dimensions};
    struct obb_scene *scene;
    ck_assert_int_eq(obb_scene_create(obb_str_of("copy"), &settings, 0.0, NULL, &scene), OBB_OK);
    obb_put *puts = block(a, w->state.count + 1, sizeof *puts);
    uint64_t *ids = block(a, w->state.count + 1, sizeof *ids);
    for (size_t i = 0; i < w->state.count; i++) {
        const model_box *b = &w->state.boxes[i];
        puts[i] = (obb_put){.target.name = obb_str_of(b->name),
                            .parts = OBB_PUT_ALL,
                            .box = b->box,
                            .attributes = {.category = b->category,
                                           .mask = b->mask,
                                           .group = b->group,
                                           .entity = obb_str_of(b->entity)}};
        ids[i] = b->id;
    }
    obb_fault fault;
    const obb_edit edit = {
        .dimensions = w->dimensions, .puts = puts, .put_count = w->state.count, .put_ids = ids};
    ck_assert_int_eq(committed(scene, &edit, &a->arena, &fault), OBB_OK);
    scene->next_id = next;
    return scene;
}

/* A query with changes answers as the query on a copy of the state to which the changes were really
 * made, which brute force knows; and it is refused where the changes are. */
static void compare_with_commits(int way, int dimensions)
{
    struct model_scene model;
    /* a copy of a state has the boxes at their places in the scene */
    make_lively(&model, 400 + (uint64_t)way * 2 + (uint64_t)dimensions, dimensions, false);
    struct tally tally = {0};
    const obb_query_kind kind = kind_of(way);
    size_t refused = 0, made = 0, twice = 0;
    const size_t rounds = test_effort(kind == OBB_QUERY_ALL_PAIRS ? 120 : 60);
    for (size_t i = 0; i < rounds; i++) {
        const size_t newest = model.state_count - 1;
        const size_t revision = i % 3 == 0 ? newest : 1 + test_below(&model.rng, newest - 1);
        const double alpha = i % 3 == 2 ? (double)(1 + test_below(&model.rng, 15)) / 16.0 : 0.0;
        struct world w = world_at(&model, revision, alpha);
        struct asked scratch = {.query = {0}}, a;
        const obb_edit edit = random_edit(&model, &w, &scratch);
        struct obb_scene *copy = copy_of(&w, model.scene->next_id, &scratch);
        obb_fault fault, told;
        const obb_status st = committed(copy, &edit, &scratch.arena, &fault);
        struct obb_view *view;
        ck_assert_int_eq(obb_view_open(copy, NULL, &view, NULL, NULL), OBB_OK);
        struct world after = world_of(view, dimensions);
        a = random_query(&model, &after, kind, 12);
        choose_way(&a.query, way);
        a.query.with = &edit;
        struct obb_plan *plan = planned(&w, &a.query);
        const obb_status got = obb_plan_run(plan);
        ck_assert_int_eq(got, st);
        if (st == OBB_OK) {
            ck_assert_ptr_null(obb_plan_fault(plan));
            check_result(&after, &a.query, obb_plan_result(plan), &tally);
            made++;
        } else {
            told = *obb_plan_fault(plan);
            ck_assert(told.group == fault.group && told.index == fault.index);
            refused++;
        }
        obb_plan_destroy(plan);
        if (st == OBB_OK && i % 2 == 0) { /* an overlay over an overlay */
            struct obb_overlay *overlay;
            struct obb_view *over;
            const obb_edit second = random_edit(&model, &after, &scratch);
            struct world pinned = w;
            ck_assert_int_eq(
                obb_overlay_of_edit(w.view, &edit, NULL, &scratch.arena, &overlay, &fault), OBB_OK);
            ck_assert_int_eq(obb_overlay_open(overlay, w.view, NULL, &scratch.arena, &over),
                             OBB_OK);
            obb_view_close(view);
            world_of_free(&after);
            const obb_status next = committed(copy, &second, &scratch.arena, &fault);
            ck_assert_int_eq(obb_view_open(copy, NULL, &view, NULL, NULL), OBB_OK);
            after = world_of(view, dimensions);
            obb_arena_fini(&a.arena);
            a = random_query(&model, &after, kind, 12);
            choose_way(&a.query, way);
            a.query.with = &second;
            pinned.view = over;
            plan = planned(&pinned, &a.query);
            ck_assert_int_eq(obb_plan_run(plan), next);
            if (next == OBB_OK) {
                check_result(&after, &a.query, obb_plan_result(plan), &tally);
                twice++;
            }
            obb_plan_destroy(plan);
            obb_overlay_destroy(overlay);
        }
        obb_arena_fini(&a.arena);
        obb_view_close(view);
        world_of_free(&after);
        obb_scene_destroy(copy);
        obb_arena_fini(&scratch.arena);
        world_end(&w);
    }
    printf("%s %dd with changes: %zu made, %zu upon others, %zu refused; %zu items, %zu found, %zu "
           "missing\n",
           kind_names[kind], dimensions, made, twice, refused, tally.items, tally.found,
           tally.missing);
    ck_assert(made > rounds / 2 && twice > rounds / 8 && refused > 0 && tally.found > rounds / 3);
    model_scene_fini(&model);
}

START_TEST(changes_of_a_query_are_those_of_a_commit)
{
    compare_with_commits(_i / 2, 2 + _i % 2);
}
END_TEST

START_TEST(every_kind_agrees_with_brute_force)
{
    compare_with_brute_force((obb_query_kind)(_i / 2), 2 + _i % 2);
}
END_TEST

START_TEST(pages_put_together_are_the_whole)
{
    struct model_scene model;
    lively(&model, 300, 3);
    size_t pages = 0, pairs = 0, doubts = 0;
    for (int i = 0; i < 12; i++) {
        struct world w = world_at(&model, 10, i % 2 == 0 ? 0.0 : 0.75);
        struct asked a = random_query(&model, &w, OBB_QUERY_ALL_PAIRS, 0);
        a.query.limit = SIZE_MAX;
        a.query.count_only = a.query.by_id = false;
        struct obb_plan *whole = planned(&w, &a.query);
        ck_assert_int_eq(obb_plan_run(whole), OBB_OK);
        const obb_result *all = obb_plan_result(whole);
        ck_assert(all->candidates >= all->count && all->doubts <= all->candidates);
        obb_query page = a.query;
        page.paged = true;
        size_t count = 0;
        for (bool more = true; more; pages++) {
            page.limit = 1 + test_below(&model.rng, 9);
            struct obb_plan *plan = planned(&w, &page);
            ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
            const obb_result *part = obb_plan_result(plan);
            ck_assert_uint_le(part->pair_count, page.limit);
            ck_assert_uint_eq(part->count, part->pair_count);
            ck_assert(part->candidates >= part->count && part->doubts <= part->candidates);
            doubts += part->doubts;
            more = part->truncated;
            ck_assert(!more || part->pair_count == page.limit);
            for (size_t k = 0; k < part->pair_count; k++, count++) {
                ck_assert_uint_lt(count, all->pair_count);
                ck_assert_ptr_eq(part->pairs[k].a, all->pairs[count].a);
                ck_assert_ptr_eq(part->pairs[k].b, all->pairs[count].b);
                page.after[0] = obb_view_id(part->pairs[k].a);
                page.after[1] = obb_view_id(part->pairs[k].b);
            }
            ck_assert((part->pair_details != NULL) ==
                      ((page.want & OBB_WANT_OF_PAIR) != 0 && part->pair_count > 0));
            obb_plan_destroy(plan);
            if (pages % 4 == 0) { /* what is left can be counted, too */
                obb_query rest = page;
                rest.count_only = true;
                plan = planned(&w, &rest);
                ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
                ck_assert_uint_eq(obb_plan_result(plan)->count, all->pair_count - count);
                ck_assert_uint_eq(obb_plan_result(plan)->pair_count, 0);
                obb_plan_destroy(plan);
            }
        }
        ck_assert_uint_eq(count, all->pair_count);
        pairs += count;
        obb_plan_destroy(whole);
        obb_arena_fini(&a.arena);
        world_end(&w);
    }
    printf("%zu pairs in %zu pages, %zu times in doubt\n", pairs, pages, doubts);
    ck_assert_uint_gt(pairs, 200);
    ck_assert_uint_gt(pages, 60);
    ck_assert_uint_gt(doubts, 60);
    model_scene_fini(&model);
}
END_TEST

START_TEST(chunks_in_any_order_and_on_any_thread_give_the_same_result)
{
    struct model_scene model;
    model_scene_init(&model, 301, 3, 7.0);
    model_scene_commit(&model, 500, 0);
    model_scene_commit(&model, 10, 250);
    model_scene_commit(&model, 10, 20); /* leaves two levels, so that all pairs take many chunks */
    model_scene_commit(&model, 10, 250);
    const double shares[] = {0.0, 0.5};
    size_t phases_of_many = 0;
    for (int way = 0; way < WAYS; way++)
        for (int s = 0; s < 2; s++) {
            const obb_query_kind kind = kind_of(way);
            struct world w = world_at(&model, 3, shares[s]);
            struct asked a = random_query(&model, &w, kind, kind == OBB_QUERY_PAIRS ? 3000 : 600);
            choose_way(&a.query, way);
            a.query.count_only = false;
            a.query.limit = SIZE_MAX;
            a.query.filter = (obb_filter){0};
            a.query.k = 5;
            a.query.max_distance = HUGE_VAL;
            a.query.mode = OBB_ALL;
            a.query.inside = OBB_INSIDE_HIT;
            if (kind == OBB_QUERY_PAIRS || kind == OBB_QUERY_ALL_PAIRS || kind == OBB_QUERY_OVERLAP)
                a.query.margin = 1.5;
            struct obb_plan *shuffled = planned(&w, &a.query), *threaded = planned(&w, &a.query);
            const size_t chunks = run_shuffled(shuffled, &model.rng);
            printf("%s: %zu chunks\n", kind_names[kind], chunks);
            phases_of_many += chunks > 1;
            run_on_threads(threaded);
            struct tally one = {0}, other = {0};
            check_result(&w, &a.query, obb_plan_result(shuffled), &one);
            check_result(&w, &a.query, obb_plan_result(threaded), &other);
            ck_assert_uint_gt(one.found, 100);
            ck_assert_int_eq(memcmp(&one, &other, sizeof one), 0);
            obb_plan_destroy(shuffled);
            obb_plan_destroy(threaded);
            obb_arena_fini(&a.arena);
            world_end(&w);
        }
    ck_assert_uint_eq(phases_of_many, (size_t)2 * WAYS);
    model_scene_fini(&model);
}
END_TEST

START_TEST(a_failing_heap_refuses_the_query_and_leaks_nothing)
{
    struct model_scene model;
    model_scene_init(&model, 302, 3, 3.0);
    model_scene_commit(&model, 120, 0);
    model_scene_commit(&model, 3, 40);
    model_scene_commit(&model, 3, 40);
    size_t refused = 0;
    for (int way = 0; way < WAYS; way++)
        for (int s = 0; s < 2; s++) {
            struct world w = world_at(&model, 2, s == 0 ? 0.0 : 0.25);
            struct asked a = random_query(&model, &w, kind_of(way), 20);
            choose_way(&a.query, way);
            a.query.want = 255;
            a.query.mode = OBB_CLOSEST_PER_ENTITY;
            bool done = false;
            for (size_t n = 1; !done; n++) {
                struct obb_plan *plan = NULL;
                fault_arm(n);
                obb_status st = obb_plan_create(w.view, &a.query, NULL, NULL, &plan);
                if (st == OBB_OK)
                    st = obb_plan_run(plan);
                done = fault_seen() < n;
                fault_arm(0);
                if (done) {
                    struct tally tally = {0};
                    ck_assert_int_eq(st, OBB_OK);
                    check_result(&w, &a.query, obb_plan_result(plan), &tally);
                } else {
                    ck_assert_int_eq(st, OBB_NO_MEMORY);
                    refused++;
                }
                obb_plan_destroy(plan);
            }
            obb_arena_fini(&a.arena);
            world_end(&w);
        }
    model_scene_fini(&model);
    printf("%zu times without memory\n", refused);
    ck_assert_uint_gt(refused, 50);
}
END_TEST

/* Asks the same queries of one view again and again. */
struct reader {
    const struct world *w;
    const struct asked *asked;    /* one per way */
    struct obb_plan *plans[WAYS]; /* the last run of each */
    const atomic_bool *stop;
    atomic_size_t runs;
    obb_status status;
};

static void *read_on(void *context)
{
    struct reader *r = context;
    do {
        for (int way = 0; way < WAYS && r->status == OBB_OK; way++, r->runs++) {
            obb_plan_destroy(r->plans[way]);
            r->plans[way] = NULL;
            r->status =
                obb_plan_create(r->w->view, &r->asked[way].query, NULL, NULL, &r->plans[way]);
            if (r->status == OBB_OK)
                r->status = obb_plan_run(r->plans[way]);
        }
    } while (r->status == OBB_OK && !atomic_load(r->stop));
    return NULL;
}

START_TEST(a_view_shows_its_state_whatever_is_committed_meanwhile)
{
    enum { READERS = 2 };
    struct model_scene model;
    lively(&model, 307, 3);
    for (int s = 0; s < 2; s++) {
        struct world w = world_at(&model, 10, s == 0 ? 0.0 : 0.5);
        struct asked asked[WAYS];
        struct reader readers[READERS] = {0};
        pthread_t threads[READERS];
        atomic_bool stop = false;
        for (int way = 0; way < WAYS; way++) {
            asked[way] = random_query(&model, &w, kind_of(way), 10);
            choose_way(&asked[way].query, way);
        }
        for (int i = 0; i < READERS; i++) {
            readers[i] = (struct reader){.w = &w, .asked = asked, .stop = &stop};
            ck_assert_int_eq(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
        }
        while (atomic_load(&readers[0].runs) == 0 || atomic_load(&readers[1].runs) == 0)
            ; /* both are at it */
        for (int i = 0; i < 40; i++) {
            model_scene_commit(&model, 3, 20);
            if (i % 10 == 9)
                rebuild(&model);
        }
        atomic_store(&stop, true);
        size_t runs = 0;
        for (int i = 0; i < READERS; i++) {
            pthread_join(threads[i], NULL);
            ck_assert_int_eq(readers[i].status, OBB_OK);
            runs += atomic_load(&readers[i].runs);
            for (int way = 0; way < WAYS; way++) {
                struct tally tally = {0};
                check_result(&w, &asked[way].query, obb_plan_result(readers[i].plans[way]), &tally);
                obb_plan_destroy(readers[i].plans[way]);
            }
        }
        printf("%zu queries beside 40 commits\n", runs);
        const size_t least = (size_t)READERS * WAYS;
        ck_assert_uint_ge(runs, least);
        for (int way = 0; way < WAYS; way++)
            obb_arena_fini(&asked[way].arena);
        world_end(&w);
    }
    model_scene_fini(&model);
}
END_TEST

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

struct cancelled_run {
    struct obb_plan *plan;
    atomic_bool running;
    obb_status status;
    double ended_ms;
};

static void *run_until_cancelled(void *context)
{
    struct cancelled_run *run = context;
    atomic_store(&run->running, true);
    run->status = obb_plan_run(run->plan);
    run->ended_ms = now_ms();
    return NULL;
}

START_TEST(a_cancelled_query_ends_soon)
{
    struct model_scene model;
    model_scene_init(&model, 303, 3,
                     2.0); /* everything overlaps: far more work than the time it is given */
    model_scene_commit(&model, 3000, 0);
    struct world w = world_at(&model, 1, 0.0);
    size_t cut_short = 0;
    for (int kind = 0; kind < OBB_QUERY_KINDS; kind++) {
        struct asked a =
            random_query(&model, &w, (obb_query_kind)kind, kind == OBB_QUERY_PAIRS ? 100000 : 2000);
        a.query.filter = (obb_filter){0};
        a.query.want = kind == OBB_QUERY_PAIRS || kind == OBB_QUERY_OVERLAP ? 31 : 0;
        a.query.mode = OBB_ALL;
        a.query.k = 1000;
        atomic_bool cancel = true;
        struct obb_plan *plan = NULL;
        obb_status st = obb_plan_create(w.view, &a.query, &cancel, NULL, &plan);
        if (st == OBB_OK)
            st = obb_plan_run(plan);
        ck_assert_int_eq(st, OBB_CANCELLED);
        obb_plan_destroy(plan);

        atomic_store(&cancel, false);
        ck_assert_int_eq(obb_plan_create(w.view, &a.query, &cancel, NULL, &plan), OBB_OK);
        struct cancelled_run run = {.plan = plan};
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, run_until_cancelled, &run), 0);
        while (!atomic_load(&run.running))
            ;
        const struct timespec moment = {.tv_nsec = 3000000};
        nanosleep(&moment, NULL);
        const double asked_ms = now_ms();
        atomic_store(&cancel, true);
        pthread_join(thread, NULL);
        if (run.status == OBB_CANCELLED) {
            cut_short++;
            printf("%s: ended %.2f ms after it was asked to\n", kind_names[kind],
                   run.ended_ms - asked_ms);
            ck_assert_double_lt(run.ended_ms - asked_ms, test_timeout(250.0));
        }
        obb_plan_destroy(plan);
        obb_arena_fini(&a.arena);
    }
    ck_assert_uint_ge(cut_short, 5);
    world_end(&w);
    model_scene_fini(&model);
}
END_TEST

START_TEST(more_pairs_than_a_join_holds_are_counted_all_the_same)
{
    enum { BOXES = 4100 }; /* in one place: 8.4 million pairs */
    struct obb_scene *scene;
    const obb_settings settings = {.dimensions = 3};
    ck_assert_int_eq(obb_scene_create(obb_str_of("heap"), &settings, 0.0, NULL, &scene), OBB_OK);
    obb_put *puts = calloc(BOXES, sizeof *puts);
    char(*names)[8] = calloc(BOXES, sizeof *names);
    for (size_t i = 0; i < BOXES; i++) {
        (void)snprintf(names[i], sizeof names[i], "%zu", i);
        puts[i] = (obb_put){.target = {.name = obb_str_of(names[i])},
                            .parts = OBB_PUT_ALL,
                            .box = {.half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
                            .attributes = {.category = 1, .mask = UINT32_MAX}};
    }
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = BOXES};
    struct obb_arena arena = {0};
    struct obb_prepared *prepared;
    obb_fault fault;
    obb_committed committed;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0.0, BOXES, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &committed);
    obb_arena_fini(&arena);
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);

    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .limit = 5000};
    struct obb_plan *plan;
    ck_assert_int_eq(obb_plan_create(view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const obb_result *result = obb_plan_result(plan);
    ck_assert_uint_eq(result->count, (size_t)BOXES * (BOXES - 1) / 2);
    ck_assert_uint_eq(result->pair_count, 5000);
    ck_assert(result->truncated);
    uint64_t a = 1, b = 1;
    for (size_t i = 0; i < result->pair_count; i++) {
        a += b == BOXES;
        b = b == BOXES ? a + 1 : b + 1;
        ck_assert_uint_eq(obb_view_id(result->pairs[i].a), a);
        ck_assert_uint_eq(obb_view_id(result->pairs[i].b), b);
    }
    obb_plan_destroy(plan);
    obb_view_close(view);
    obb_scene_destroy(scene);
    free(puts);
    free(names);
}
END_TEST

START_TEST(empty_scenes_and_batches_have_empty_answers)
{
    for (int dimensions = 2; dimensions <= 3; dimensions++) {
        struct model_scene model;
        model_scene_init(&model, 304, dimensions, 2.0);
        struct world w = world_at(&model, 0, 0.0);
        for (int kind = 0; kind < OBB_QUERY_KINDS; kind++)
            for (size_t count = 0; count < 6; count += 5) {
                struct asked a = random_query(&model, &w, (obb_query_kind)kind, count);
                struct obb_plan *plan = planned(&w, &a.query);
                ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
                struct tally tally = {0};
                check_result(&w, &a.query, obb_plan_result(plan), &tally);
                ck_assert_double_gt(obb_query_cost(w.view, &a.query), 0.0);
                obb_plan_destroy(plan);
                a.query.dimensions = 5 - dimensions; /* a query for other scenes */
                ck_assert_int_eq(obb_plan_create(w.view, &a.query, NULL, NULL, &plan),
                                 OBB_DIMENSIONS);
                obb_arena_fini(&a.arena);
            }
        world_end(&w);
        model_scene_fini(&model);
    }
}
END_TEST

START_TEST(a_query_is_tried_for_as_long_as_there_is_time)
{
    struct model_scene model;
    model_scene_init(&model, 307, 3, 4.0);
    model_scene_commit(&model, 1000, 0);
    struct world w = world_at(&model, 1, 0.0);
    size_t done = 0, given_up = 0;
    for (int kind = 0; kind < OBB_QUERY_KINDS; kind++) {
        struct asked a = random_query(&model, &w, (obb_query_kind)kind, 40);
        static const double budgets[] = {1e9, 1.0};
        for (int b = 0; b < 2; b++) {
            const double ns = budgets[b];
            struct obb_plan *plan = planned(&w, &a.query);
            double left = ns;
            const obb_status st = obb_plan_try(plan, &left);
            if (st == OBB_OK) {
                struct tally tally = {0};
                check_result(&w, &a.query, obb_plan_result(plan), &tally);
                ck_assert(left <= ns);
                done++;
            } else {
                ck_assert_int_eq(st, OBB_CANCELLED);
                ck_assert_int_eq(b, 1); /* a second is enough */
                given_up++;
            }
            obb_plan_destroy(plan);
        }
        obb_arena_fini(&a.arena);
    }
    ck_assert_uint_eq(done, OBB_QUERY_KINDS + 1); /* all-pairs has no items to count by */
    ck_assert_uint_eq(given_up, OBB_QUERY_KINDS - 1);
    world_end(&w);
    model_scene_fini(&model);
}
END_TEST

START_TEST(more_work_costs_more)
{
    struct model_scene small, large;
    model_scene_init(&small, 305, 3, 4.0);
    model_scene_init(&large, 306, 3, 4.0);
    model_scene_commit(&small, 10, 0);
    model_scene_commit(&large, 1000, 0);
    struct world few = world_at(&small, 1, 0.0), many = world_at(&large, 1, 0.0);
    for (int kind = 0; kind < OBB_QUERY_KINDS; kind++) {
        struct asked a = random_query(&small, &few, (obb_query_kind)kind, 10);
        a.query.want = 0;
        const double here = obb_query_cost(few.view, &a.query);
        const double there = obb_query_cost(many.view, &a.query);
        ck_assert(kind == OBB_QUERY_PAIRS ? here == there : here < there);
        a.query.count *= 1000;
        ck_assert(kind == OBB_QUERY_ALL_PAIRS || obb_query_cost(few.view, &a.query) > 50 * here);
        if (kind == OBB_QUERY_PAIRS || kind == OBB_QUERY_OVERLAP) {
            const double bare = obb_query_cost(few.view, &a.query);
            a.query.want = OBB_WANT_VOLUME;
            ck_assert_double_gt(obb_query_cost(few.view, &a.query), bare);
        }
        obb_arena_fini(&a.arena);
    }
    world_end(&few);
    world_end(&many);
    model_scene_fini(&small);
    model_scene_fini(&large);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query");
    TCase *tc = tcase_create("query");
    tcase_set_timeout(tc, test_patience(60));
    test_starts_no_thread(tc);
    tcase_add_loop_test(tc, changes_of_a_query_are_those_of_a_commit, 0, 2 * WAYS);
    tcase_add_loop_test(tc, every_kind_agrees_with_brute_force, 0, 2 * OBB_QUERY_KINDS);
    tcase_add_test(tc, pages_put_together_are_the_whole);
    tcase_add_test(tc, a_failing_heap_refuses_the_query_and_leaks_nothing);
    tcase_add_test(tc, more_pairs_than_a_join_holds_are_counted_all_the_same);
    tcase_add_test(tc, empty_scenes_and_batches_have_empty_answers);
    tcase_add_test(tc, a_query_is_tried_for_as_long_as_there_is_time);
    tcase_add_test(tc, more_work_costs_more);
    suite_add_tcase(suite, tc);
    TCase *threads = tcase_create("threads");
    tcase_set_timeout(threads, test_patience(60));
    tcase_add_test(threads, chunks_in_any_order_and_on_any_thread_give_the_same_result);
    tcase_add_test(threads, a_view_shows_its_state_whatever_is_committed_meanwhile);
    tcase_add_test(threads, a_cancelled_query_ends_soon);
    suite_add_tcase(suite, threads);
    return test_main(suite);
}
