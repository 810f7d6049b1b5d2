#include "core/query/query_items.h"

#include "core/query/candidates.h"
#include "core/query/explain.h"
#include "core/query/hits.h"

#include <string.h>

/* Rays and sweeps: the boxes that are hit on the way. */

/* Lengthens a reach, so that rounding cannot make it shorter than the contact from which it
 * came. */
#define REACH_SLACK (1.0 + 1e-12)

/* Steps of the task that an explanation takes. */
#define RAY_STEPS   8
#define SWEEP_STEPS 16

/* One cast, of a ray or a box. */
struct cast {
    struct obb_task *task;
    const struct obb_version *itself; /* left out of its own answer */
    bool (*meet)(const struct cast *cast, const obb_solid *solid, obb_hit *out);
    const obb_ray *ray;
    const obb_solid *mover; /* sweeps */
    obb_vec3 motion;
    double length;        /* of the motion */
    bool one;             /* only the first hit is wanted */
    obb_hit best;         /* with `one`; best.box NULL: none yet */
    struct obb_hits hits; /* otherwise all hits */
};

static bool meet_ray(const struct cast *cast, const obb_solid *solid, obb_hit *out)
{
    obb_ray_hit hit;
    if (!obb_ray_cast(cast->ray, solid, cast->task->query->inside, &hit))
        return false;
    const double whole = cast->ray->max_distance;
    *out = (obb_hit){.distance = hit.distance,
                     .fraction = hit.distance > 0.0 ? hit.distance / whole : 0.0,
                     .point = hit.point,
                     .normal = hit.normal,
                     .started_inside = hit.started_inside};
    return true;
}

static bool meet_sweep(const struct cast *cast, const obb_solid *solid, obb_hit *out)
{
    const double max_fraction = cast->best.box != NULL ? cast->best.fraction : 1.0;
    obb_sweep_hit hit;
    if (!obb_sweep_cast(cast->mover, cast->motion, max_fraction, solid, &hit))
        return false;
    *out = (obb_hit){.distance = hit.fraction * cast->length,
                     .fraction = hit.fraction,
                     .point = hit.point,
                     .normal = hit.normal,
                     .started_inside = hit.started_overlapping};
    return true;
}

/* Returns the key by which hits are ordered, before their id. */
static double key(const struct cast *cast, const obb_hit *hit)
{
    return cast->mover != NULL ? hit->fraction : hit->distance;
}

static bool before(const struct cast *cast, const obb_hit *a, const obb_hit *b)
{
    const double ka = key(cast, a), kb = key(cast, b);
    return ka != kb ? ka < kb : a->box->id < b->box->id;
}

/* Tests a candidate. Returns false if the task has failed. */
static bool consider(struct cast *cast, const struct obb_version *box)
{
    struct obb_task *task = cast->task;
    if (!obb_task_goes_on(task))
        return false;
    if (box == cast->itself || !obb_filter_passes(task->filter, box))
        return true;
    const obb_solid solid = obb_view_solid(task->view, box);
    obb_hit hit;
    if (!cast->meet(cast, &solid, &hit))
        return true;
    hit.box = box;
    if (cast->one) {
        if (cast->best.box == NULL || before(cast, &hit, &cast->best))
            cast->best = hit;
        return true;
    }
    obb_hit *kept = obb_arena_alloc(&task->scratch, 1, sizeof *kept);
    if (kept == NULL) {
        obb_task_fail(task, OBB_NO_MEMORY);
        return false;
    }
    *kept = hit;
    return obb_hits_add(task, &cast->hits, obb_sort_rank(key(cast, kept)), box, kept);
}

static double reach_visit(void *context, const struct obb_version *box, double max_distance)
{
    struct cast *cast = context;
    if (!consider(cast, box))
        return -1.0;
    if (cast->best.box == NULL)
        return max_distance;
    const double reach = cast->best.distance * REACH_SLACK;
    return reach < max_distance ? reach : max_distance;
}

static bool overlap_visit(void *context, const struct obb_version *box, obb_verdict verdict)
{
    (void)verdict; /* a contact is needed for any verdict */
    return consider(context, box);
}

/* Keeps the first hit of each entity, and all hits of boxes without an entity. */
static bool keep_first_of_entities(struct obb_task *task, struct obb_hits *hits)
{
    size_t room = 16;
    while (room < 2 * hits->count)
        room *= 2;
    uintptr_t *seen = obb_arena_alloc(&task->scratch, room, sizeof *seen); /* 0: free */
    if (seen == NULL) {
        obb_task_fail(task, OBB_NO_MEMORY);
        return false;
    }
    memset(seen, 0, room * sizeof *seen);
    size_t kept = 0;
    for (size_t i = 0; i < hits->count; i++) {
        const obb_hit *hit = hits->list[i].item;
        const uintptr_t entity = (uintptr_t)obb_version_extras(hit->box)->entity;
        if (entity != 0) {
            size_t slot = (size_t)((uint64_t)entity * 0x9e3779b97f4a7c15u >> 32) & (room - 1);
            while (seen[slot] != 0 && seen[slot] != entity)
                slot = (slot + 1) & (room - 1);
            if (seen[slot] == entity)
                continue;
            seen[slot] = entity;
        }
        hits->list[kept++] = hits->list[i];
    }
    hits->count = kept;
    return true;
}

/* Returns the hit that took the place of a box that is met, or NULL if no hit could. */
static const struct obb_version *taker_of(const struct cast *cast, const struct obb_version *box)
{
    if (cast->one)
        return cast->best.box;
    const struct obb_interned *entity = obb_version_extras(box)->entity;
    if (cast->task->query->mode != OBB_CLOSEST_PER_ENTITY || entity == NULL)
        return NULL;
    for (size_t i = 0; i < cast->hits.count; i++) {
        const obb_hit *hit = cast->hits.list[i].item;
        if (obb_version_extras(hit->box)->entity == entity)
            return hit->box;
    }
    return NULL;
}

static void judge(void *context, const struct obb_version *box, obb_explanation *out)
{
    const struct cast *cast = context;
    const obb_solid solid = obb_view_solid(cast->task->view, box);
    struct cast alone = *cast;
    alone.best.box = NULL; /* its hit, which would end the cast */
    obb_hit hit;
    out->behind = cast->meet(&alone, &solid, &hit) ? taker_of(cast, box) : NULL;
    if (out->behind != NULL) {
        out->outcome = OBB_OUTCOME_BEHIND;
    } else {
        out->outcome = OBB_OUTCOME_MISSED;
        out->gap = cast->mover != NULL ? obb_sweep_distance(cast->mover, cast->motion, &solid)
                                       : obb_ray_distance(cast->ray, &solid);
    }
}

static void answer_cast(struct cast *cast, obb_answer *answer)
{
    struct obb_task *task = cast->task;
    struct obb_ranked only;
    if (task->status != OBB_OK)
        return;
    if (cast->one) {
        only = (struct obb_ranked){.item = &cast->best};
        if (cast->best.box != NULL)
            only.minor = cast->best.box->id;
        cast->hits = (struct obb_hits){.list = &only, .count = cast->best.box != NULL};
    } else if (!obb_hits_sort(task, &cast->hits) || (task->query->mode == OBB_CLOSEST_PER_ENTITY &&
                                                     !keep_first_of_entities(task, &cast->hits))) {
        return;
    }
    obb_hits_answer(task, &cast->hits, true, answer);
    obb_explain(task,
                &(struct obb_explaining){.hits = &cast->hits,
                                         .itself = cast->itself,
                                         .steps = cast->mover != NULL ? SWEEP_STEPS : RAY_STEPS,
                                         .context = cast,
                                         .judge = judge},
                answer);
}

/* "any" is answered with the closest hit, too: the first hit that an index comes across depends on
 * how the index was built. */
static bool wants_one(obb_mode mode) { return mode == OBB_CLOSEST || mode == OBB_ANY; }

size_t obb_rays_together(const obb_query *query) { return wants_one(query->mode) ? OBB_CASTS : 1; }

void obb_answer_rays(struct obb_task *task, size_t item, size_t count, obb_answer *answers)
{
    const bool one = wants_one(task->query->mode);
    const bool closest = one && task->filter->open; /* each box that is entered is a hit */
    struct cast casts[OBB_CASTS];
    struct obb_cast walks[OBB_CASTS];
    for (size_t i = 0; i < count; i++) {
        const obb_ray *ray = &task->query->items.rays[item + i];
        casts[i] = (struct cast){.task = task, .meet = meet_ray, .ray = ray, .one = one};
        walks[i] = (struct obb_cast){.ray = *ray, .context = &casts[i]};
    }
    obb_candidates_rays(task->view, walks, count, (obb_vec3){0.0, 0.0, 0.0}, closest, reach_visit);
    for (size_t i = 0; i < count; i++)
        answer_cast(&casts[i], &answers[i]);
}

void obb_answer_sweep(struct obb_task *task, size_t item, obb_answer *answer)
{
    const obb_query_sweep *sweep = &task->query->items.sweeps[item];
    struct obb_named mover;
    if (!obb_task_resolve(task, &sweep->ref, &mover, answer))
        return;
    struct cast cast = {.task = task,
                        .itself = mover.box,
                        .meet = meet_sweep,
                        .mover = &mover.solid,
                        .motion = sweep->motion,
                        .length = obb_length(sweep->motion),
                        .one = wants_one(task->query->mode)};
    if (cast.length > 0.0) {
        /* The centre moves past the bounds of the other boxes, which are grown by the bounds of the
         * mover. */
        const obb_bounds own = obb_solid_bounds(&mover.solid);
        const obb_vec3 grow =
            obb_max(obb_sub(own.max, mover.solid.center), obb_sub(mover.solid.center, own.min));
        struct obb_cast way = {
            .ray = {.origin = mover.solid.center,
                    .direction = {sweep->motion.x / cast.length, sweep->motion.y / cast.length,
                                  sweep->motion.z / cast.length},
                    .max_distance = cast.length * REACH_SLACK},
            .context = &cast};
        obb_candidates_rays(task->view, &way, 1, grow, false, reach_visit);
    } else {
        obb_candidates_overlap(task->view, &mover.solid, 0.0, &cast, overlap_visit);
    }
    answer_cast(&cast, answer);
}
