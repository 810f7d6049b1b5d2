#include "core/index/index.h"

#include "core/base/alloc.h"
#include "core/index/grid.h"
#include "core/index/index_body.h"
#include "core/index/packed.h"
#include "core/index/tree.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void obb_index_charge(struct obb_index *index, size_t *account)
{
    if (index->account != NULL)
        return;
    index->account = account;
    *account += index->bytes;
}

void obb_index_charge_pairs(struct obb_index *index)
{
    struct obb_pair_cache *cache = index->pair_cache;
    if (cache == NULL || index->account == NULL || cache->counted ||
        atomic_load_explicit(&cache->lists, memory_order_relaxed) == NULL)
        return;
    const size_t bytes = obb_pair_cache_bytes(cache);
    cache->counted = true;
    index->bytes += bytes;
    *index->account += bytes;
}

void obb_index_drop_pairs(struct obb_index *index)
{
    struct obb_pair_cache *cache = index->pair_cache;
    if (cache == NULL)
        return;
    const size_t bytes = cache->counted ? obb_pair_cache_bytes(cache) : 0;
    index->bytes -= bytes;
    if (index->account != NULL)
        *index->account -= bytes;
    obb_pair_cache_fini(cache);
    *cache = (struct obb_pair_cache){.counted = false};
}

void obb_index_ref(struct obb_index *index) { index->references++; }

void obb_index_unref(struct obb_index *index)
{
    if (index == NULL || --index->references > 0)
        return;
    if (index->account != NULL)
        *index->account -= index->bytes;
    if (index->pair_cache != NULL)
        obb_pair_cache_fini(index->pair_cache);
    obb_budget_free(index->pair_cache);
    obb_budget_free(index->block);
    obb_budget_free(index->nonuniform);
    obb_budget_free(index);
}

size_t obb_index_bytes(const struct obb_index *index) { return index->bytes; }

size_t obb_index_count(const struct obb_index *index) { return index->count; }

const struct obb_version *const *obb_index_versions(const struct obb_index *index)
{
    return index->versions;
}

const uint64_t *obb_index_ids(const struct obb_index *index) { return index->ids; }

/* ---- Walks by bounds ------------------------------------------------------------------------- */

#define FOUND 128 /* candidates taken from a walk at a time */

/* Returns bounds grown by `by`, and by a share of the coordinates: the double test that follows can
 * see contact although the bounds are apart by their rounding. */
static obb_bounds widened(const obb_bounds *bounds, double by)
{
    const obb_vec3 low = bounds->min, high = bounds->max;
    by += (fabs(low.x) + fabs(low.y) + fabs(low.z) + fabs(high.x) + fabs(high.y) + fabs(high.z)) *
          0x1p-44;
    return (obb_bounds){{low.x - by, low.y - by, low.z - by},
                        {high.x + by, high.y + by, high.z + by}};
}

bool obb_index_query(const struct obb_index *index, const obb_bounds *bounds, void *context,
                     obb_index_visit *visit)
{
    const obb_bounds wide = widened(bounds, 0);
    const struct obb_quantised_bounds quantised = obb_grid_quantise(&index->grid, &wide);
    struct obb_walk walk = obb_walk_start(&index->tree, index->kernels, &quantised);
    uint32_t found[FOUND + OBB_NODE];
    size_t count;
    while ((count = index->kernels->walk(&index->tree, &walk, 0, found, FOUND)) > 0)
        for (size_t i = 0; i < count; i++)
            if (!visit(context, index->versions[found[i]], OBB_DOUBT))
                return false;
    return true;
}

bool obb_index_overlap(const struct obb_index *index, const obb_solid *box, double margin,
                       void *context, obb_index_visit *visit)
{
    const struct obb_packed packed = obb_packed_from_solid(box);
    const obb_bounds bounds = obb_packed_bounds(&packed);
    const obb_bounds wide = widened(&bounds, fmax(margin, 0) * (1 + 0x1p-40));
    const struct obb_limits limits = obb_limits_of(margin);
    const struct obb_quantised_bounds quantised = obb_grid_quantise(&index->grid, &wide);
    struct obb_walk walk = obb_walk_start(&index->tree, index->kernels, &quantised);
    uint32_t found[FOUND + OBB_NODE];
    size_t count;
    while ((count = index->kernels->walk(&index->tree, &walk, 0, found, FOUND)) > 0) {
        if (!index->moving)
            count = index->kernels->test_one_to_many(&packed, index->boxes, found, count, &limits,
                                                     found);
        for (size_t i = 0; i < count; i++) {
            const obb_verdict verdict = found[i] & OBB_PACKED_SURE ? OBB_SURE : OBB_DOUBT;
            if (!visit(context, index->versions[found[i] & ~OBB_PACKED_SURE], verdict))
                return false;
        }
    }
    return true;
}

/* ---- Walks by distance ----------------------------------------------------------------------- */

/* A child that waits on the stack of a walk, and the distance at which it begins. */
struct waiting {
    float from;
    uint32_t node; /* a node of `level`, or a box if level is -1 */
    int level;
};

/* Returns which children of a node are within reach, as bits, and the distance at which each
 * begins. */
typedef uint32_t test_node(void *how, const struct obb_index *index, const struct obb_node *node,
                           double reach, float out_from[static OBB_NODE]);

/* Takes the boxes of a leaf that `test_node` returned, in place of one visit for each, and returns
 * the new reach. */
typedef double take_leaf(void *how, uint32_t leaf, uint32_t met, const float from[static OBB_NODE]);

/* Walks depth first, and visits the nearest child of each node first. leaf: NULL, or what takes the
 * boxes in place of `visit`. */
static double walk_near(const struct obb_index *index, void *how, test_node *test, take_leaf *leaf,
                        double reach, void *context, obb_index_reach *visit)
{
    struct waiting stack[OBB_LEVELS * OBB_NODE];
    size_t height = 1;
    stack[0] = (struct waiting){.from = 0, .node = 0, .level = index->tree.top};
    while (height > 0 && reach >= 0) {
        const struct waiting top = stack[--height];
        if ((double)top.from > reach)
            continue;
        if (top.level < 0) {
            reach = visit(context, index->versions[top.node], reach);
            continue;
        }
        float from[OBB_NODE];
        const size_t base = height;
        uint32_t m = test(how, index, &index->tree.level[top.level][top.node], reach, from);
        if (top.level == 0 && leaf != NULL) {
            reach = leaf(how, top.node, m, from);
            continue;
        }
        for (; m != 0; m &= m - 1) {
            const uint32_t child = (uint32_t)__builtin_ctz(m);
            size_t i = height++;
            if (top.level > 0) {
                const struct obb_node *next =
                    &index->tree.level[top.level - 1][top.node * OBB_NODE + child];
                for (int k = 0; k < 3; k++)
                    __builtin_prefetch(next->axis[k]);
            }
            for (; i > base && stack[i - 1].from < from[child]; i--)
                stack[i] = stack[i - 1];
            stack[i] = (struct waiting){
                .from = from[child], .node = top.node * OBB_NODE + child, .level = top.level - 1};
        }
    }
    return reach;
}

/* Returns a float that is not above x. x >= 0. */
static float float_down(double x) { return (float)(x * (1 - 0x1p-22)); }

/* Gives the bounds of a child. Returns false if the slot is empty. */
static bool child_bounds(const struct obb_index *index, const struct obb_node *node, uint32_t child,
                         obb_bounds *out)
{
    const struct obb_quantised_bounds quantised = obb_node_child(node, child);
    if (quantised.axis[0] == OBB_CODE_NONE)
        return false;
    *out = obb_grid_bounds(&index->grid, &quantised);
    return true;
}

/* A box that the ray may enter, at `from` or beyond. */
struct candidate {
    double from;
    uint32_t entry;
};

#define CANDIDATES 64 /* that wait for their visit, and at most 16 more of one leaf */

struct ray_walk {
    const struct obb_index *index;
    struct obb_cast *cast;
    obb_vec3 grow;
    double drift;  /* what the rounding of the origin may cost, in scene units */
    double start;  /* distance along the ray at which on_grid begins */
    double reach;  /* the greatest distance of interest, as the visits have left it... */
    double proven; /* ...and as it will be after the visits of boxes that wait */
    bool closest;
    obb_index_reach *visit;
    struct obb_ray_walk on_grid;
    uint32_t leaf;        /* to which the walk has come... */
    uint32_t met;         /* ...the boxes there whose bounds the ray meets, as bits; 0: none... */
    float from[OBB_NODE]; /* ...and where it enters the bounds of each, from `start` on */
    bool goes_on;         /* it has not come to its end */
    size_t waiting;
    struct candidate candidates[CANDIDATES + OBB_NODE];
};

/* Clips the part of a ray from *near to *far to the bounds. *near can only rise, *far only fall.
 * Returns false if nothing is left. The cast that follows rounds by a few 1e-16 of the distances
 * here. */
static bool clip(const obb_ray *ray, const obb_bounds *b, double *near, double *far)
{
    for (int k = 0; k < 3; k++) {
        const double from = obb_component(ray->origin, k), way = obb_component(ray->direction, k);
        const double low = obb_component(b->min, k), high = obb_component(b->max, k);
        const double least = fabs(low) < fabs(high) ? fabs(low) : fabs(high);
        const double slack = (fabs(from) + least) * 0x1p-44;
        if (fabs(way) < 1e-100) {
            if (from < low - slack || from > high + slack)
                return false;
            continue;
        }
        const double one = (low - slack - from) / way, other = (high + slack - from) / way;
        const double enter = one < other ? one : other, leave = one < other ? other : one;
        *near = enter > *near ? enter : *near;
        *far = leave < *far ? leave : *far;
    }
    return *near <= *far;
}

static uint32_t ray_nonuniform(void *how, const struct obb_index *index,
                               const struct obb_node *node, double reach,
                               float out_from[static OBB_NODE])
{
    const struct ray_walk *walk = how;
    uint32_t hits = 0;
    for (uint32_t i = 0; i < OBB_NODE; i++) {
        obb_bounds bounds;
        if (!child_bounds(index, node, i, &bounds))
            continue;
        bounds = (obb_bounds){obb_sub(bounds.min, walk->grow), obb_add(bounds.max, walk->grow)};
        double near = 0, far = reach;
        if (clip(&walk->cast->ray, &bounds, &near, &far)) {
            out_from[i] = float_down(near);
            hits |= 1u << i;
        }
    }
    return hits;
}

/* The ways of a ray through a packed box: the one grown by its slack, and the one shrunk by it. A
 * way that leaves before it enters is none. Distances along the ray; those of entering are >= 0. */
struct ways {
    double enter, leave, surely_enter, surely_leave;
};

/* Clips the ray to a packed box. A point of the box is at most the sum S of its half extents away
 * from the centre, so the rounding of the packed axes moves it by less than 16 * 2^-24 S along an
 * axis; the slack is 176 * 2^-24 S. The share of the coordinates in the slack, and `drift`, are 32
 * times what the cast and this function lose. No branch: the processor would rarely expect it. */
static struct ways ways_through(const struct ray_walk *walk, const struct obb_packed *box)
{
    const obb_vec3 u = {(double)box->u[0], (double)box->u[1], (double)box->u[2]};
    const obb_vec3 v = {(double)box->v[0], (double)box->v[1], (double)box->v[2]};
    const obb_vec3 axes[3] = {u, v, obb_cross(u, v)};
    const obb_vec3 centre = {(double)box->hi[0] + (double)box->lo[0],
                             (double)box->hi[1] + (double)box->lo[1],
                             (double)box->hi[2] + (double)box->lo[2]};
    const obb_ray *ray = &walk->cast->ray;
    const obb_vec3 offset = obb_sub(ray->origin, centre);
    const double slack = (double)box->slack + walk->drift;
    struct ways out = {.leave = HUGE_VAL, .surely_leave = HUGE_VAL};
    for (int k = 0; k < 3; k++) {
        const double place = obb_dot(axes[k], offset);
        const double speed = obb_dot(axes[k], ray->direction);
        const double half = (double)box->half[k] + slack, inner = (double)box->half[k] - slack;
        /* A ray along a face stays where it is, for longer than any distance. */
        const double inverse = fabs(speed) < 1e-100 ? 1e200 : 1 / speed;
        const double middle = -place * inverse, steep = fabs(inverse);
        const double enter = middle - half * steep, leave = middle + half * steep;
        const double surely_enter = middle - inner * steep, surely_leave = middle + inner * steep;
        out.enter = enter > out.enter ? enter : out.enter;
        out.leave = leave < out.leave ? leave : out.leave;
        out.surely_enter = surely_enter > out.surely_enter ? surely_enter : out.surely_enter;
        out.surely_leave = surely_leave < out.surely_leave ? surely_leave : out.surely_leave;
    }
    return out;
}

/* Visits the boxes that wait, the nearest first. */
static void visit_waiting(struct ray_walk *walk)
{
    while (walk->waiting > 0 && walk->reach >= 0) {
        size_t least = 0;
        for (size_t i = 1; i < walk->waiting; i++)
            least = walk->candidates[i].from < walk->candidates[least].from ? i : least;
        const struct candidate next = walk->candidates[least];
        if (next.from > walk->reach)
            break;
        walk->candidates[least] = walk->candidates[--walk->waiting];
        walk->reach =
            walk->visit(walk->cast->context, walk->index->versions[next.entry], walk->reach);
    }
    walk->waiting = 0;
    walk->proven = walk->reach;
}

/* Returns whether the packed boxes tell more than the bounds. */
static bool clips_boxes(const struct ray_walk *walk)
{
    return !walk->index->moving && walk->grow.x == 0 && walk->grow.y == 0 && walk->grow.z == 0;
}

/* Notes the leaf to which the walk has come, and fetches what leave_leaf reads of it. Of the boxes
 * it fetches three: a loop over all ends where the processor mostly does not expect it. */
static void come_to_leaf(struct ray_walk *walk, uint32_t leaf, uint32_t met)
{
    const struct obb_index *index = walk->index;
    const size_t first = (size_t)leaf * OBB_NODE;
    walk->leaf = leaf;
    walk->met = met;
    __builtin_prefetch(&index->versions[first]);
    __builtin_prefetch(&index->versions[first + OBB_NODE / 2]);
    if (met == 0 || !clips_boxes(walk))
        return;
    for (int i = 0; i < 3; i++) {
        __builtin_prefetch(&index->boxes[first + (uint32_t)__builtin_ctz(met)]);
        const uint32_t rest = met & (met - 1);
        met = rest != 0 ? rest : met;
    }
}

/* Writes the ways of the ray through the boxes that are met in the leaf, in their order: all of
 * them before one is judged, so that the processor finds several at a time. */
static void find_ways(const struct ray_walk *walk, struct ways out[static OBB_NODE])
{
    const struct obb_packed *boxes = walk->index->boxes + (size_t)walk->leaf * OBB_NODE;
    size_t n = 0;
    for (uint32_t met = walk->met; met != 0; met &= met - 1)
        out[n++] = ways_through(walk, &boxes[__builtin_ctz(met)]);
}

/* Lets a box wait for its visit, which the ray enters not before `from`, and fetches it. */
static void let_wait(struct ray_walk *walk, uint32_t entry, double from)
{
    const obb_box *box = &walk->index->versions[entry]->box;
    __builtin_prefetch(box);
    __builtin_prefetch(&box->rotation.w);
    walk->candidates[walk->waiting++] = (struct candidate){.from = from, .entry = entry};
}

/* Visits the boxes that are met in the leaf, or lets them wait. */
static void leave_leaf(struct ray_walk *walk)
{
    const uint32_t first = walk->leaf * OBB_NODE;
    const bool packed = clips_boxes(walk);
    struct ways ways[OBB_NODE];
    if (packed)
        find_ways(walk, ways);
    size_t n = 0;
    for (uint32_t met = walk->met; met != 0; met &= met - 1) {
        const uint32_t child = (uint32_t)__builtin_ctz(met);
        if (!packed) {
            let_wait(walk, first + child, (double)walk->from[child] * (1 - 0x1p-20) + walk->start);
            continue;
        }
        const struct ways *way = &ways[n++];
        if (way->enter > (way->leave < walk->proven ? way->leave : walk->proven))
            continue;
        let_wait(walk, first + child, way->enter * (1 - 0x1p-40));
        const double sure = way->surely_enter * (1 + 0x1p-40); /* if it comes from outside */
        if (walk->closest && way->enter > 0 && way->surely_enter <= way->surely_leave &&
            sure < walk->proven)
            walk->proven = sure;
    }
    walk->met = 0;
    if (!walk->closest || walk->waiting >= CANDIDATES)
        visit_waiting(walk);
}

static double leaf_nonuniform(void *how, uint32_t leaf, uint32_t met,
                              const float from[static OBB_NODE])
{
    struct ray_walk *walk = how;
    memcpy(walk->from, from, sizeof walk->from);
    come_to_leaf(walk, leaf, met);
    leave_leaf(walk);
    return walk->proven;
}

/* Begins a walk on a uniform grid. Returns false if the ray misses the grid. */
static bool begin_on_grid(struct ray_walk *walk)
{
    const obb_vec3 *origin = &walk->cast->ray.origin, *direction = &walk->cast->ray.direction;
    const struct obb_grid *grid = &walk->index->grid;
    const double from[3] = {origin->x, origin->y, origin->z};
    const double way[3] = {direction->x, direction->y, direction->z};
    const double grow[3] = {walk->grow.x, walk->grow.y, walk->grow.z};
    double wide[3], lost[3], inverse[3], near = 0, far = walk->cast->ray.max_distance;
    for (int k = 0; k < 3; k++) {
        const double scale = grid->scale[k], speed = way[k] * scale;
        inverse[k] = fabs(speed) > 1e-30 ? 1 / speed : 1e30;
        wide[k] = grow[k] * scale;
        /* The cast that follows loses less than 2^-44 of the coordinates. */
        lost[k] = (fabs(from[k]) + fabs(grid->origin[k])) * scale * 0x1p-44;
        const double middle = OBB_CODE_MOST / 2.0 - (from[k] - grid->origin[k]) * scale;
        const double half = OBB_CODE_MOST / 2.0 + wide[k] + lost[k] + 0.125;
        const double steep = fabs(inverse[k]);
        const double enter = middle * inverse[k] - half * steep;
        const double leave = middle * inverse[k] + half * steep;
        near = enter > near ? enter : near;
        far = leave < far ? leave : far;
    }
    if (near > far)
        return false;
    /* Codes have few digits, so on_grid begins where the ray enters the grid. */
    walk->start = near;
    walk->on_grid.level = -1;
    for (int k = 0; k < 3; k++) {
        const double place = (from[k] + way[k] * near - grid->origin[k]) * grid->scale[k];
        /* Floats lose less than 2^-21 of the codes they add up: a thirtieth of a code, and more if
         * the box is large. */
        const double slack = 0.125 + (wide[k] + fabs(place)) * 0x1p-20 + lost[k];
        walk->on_grid.ray.low[k] = (float)(place + wide[k] + slack);
        walk->on_grid.ray.high[k] = (float)(place - wide[k] - slack);
        walk->on_grid.ray.inverse[k] = (float)inverse[k];
    }
    return true;
}

/* Goes on towards the next leaf of which the ray meets a box, and notes at the end of the walk that
 * there is none. */
static void go_on(struct ray_walk *walk)
{
    const struct obb_index *index = walk->index;
    const double far = (walk->proven - walk->start) * (1 + 0x1p-18) + 0x1p-100;
    uint32_t leaf = 0, met = 0;
    walk->on_grid.far = (float)(far < 0x1p100 ? far : 0x1p100);
    walk->goes_on = walk->proven >= 0 &&
                    index->kernels->ray(&index->tree, &walk->on_grid, &leaf, &met, walk->from);
    if (walk->goes_on && met != 0)
        come_to_leaf(walk, leaf, met);
}

/* Begins the walk of a cast. Returns false if it is over: on a nonuniform grid it is walked as a
 * whole. */
static bool begin_walk(struct ray_walk *walk, const struct obb_index *index, struct obb_cast *cast,
                       obb_vec3 grow, bool closest, obb_index_reach *visit)
{
    const obb_vec3 o = cast->ray.origin;
    walk->index = index;
    walk->cast = cast;
    walk->grow = grow;
    walk->drift = (fabs(o.x) + fabs(o.y) + fabs(o.z)) * 0x1p-44;
    walk->reach = walk->proven = cast->ray.max_distance;
    walk->closest = closest;
    walk->visit = visit;
    walk->waiting = 0;
    walk->met = 0;
    walk->start = 0;
    if (index->nonuniform == NULL) {
        if (!begin_on_grid(walk))
            return false;
        go_on(walk);
        return walk->goes_on;
    }
    (void)walk_near(index, walk, ray_nonuniform, leaf_nonuniform, walk->proven, NULL, NULL);
    visit_waiting(walk);
    cast->ray.max_distance = walk->reach;
    return false;
}

/* Takes a walk on, up to where it waits for memory: for a leaf, its boxes, or the boxes to visit.
 * Returns false at its end. */
static bool step(struct ray_walk *walk)
{
    if (walk->met != 0)
        leave_leaf(walk);
    if (walk->goes_on) {
        go_on(walk);
        if (walk->goes_on || walk->waiting > 0)
            return true;
    }
    visit_waiting(walk);
    walk->cast->ray.max_distance = walk->reach;
    return false;
}

#define TOGETHER 4 /* walks that go on by turns */

void obb_index_rays(const struct obb_index *index, struct obb_cast *casts, size_t count,
                    obb_vec3 grow, bool closest, obb_index_reach *visit)
{
    struct ray_walk walks[TOGETHER], *going[TOGETHER];
    for (size_t i = 0; i < TOGETHER; i++)
        going[i] = &walks[i];
    size_t begun = 0, live = 0; /* the first `live` of `going` are on their way */
    do {
        while (live < TOGETHER && begun < count)
            live += begin_walk(going[live], index, &casts[begun++], grow, closest, visit);
        for (size_t i = 0; i < live;) {
            struct ray_walk *walk = going[i];
            if (step(walk)) {
                i++;
            } else {
                going[i] = going[--live];
                going[live] = walk;
            }
        }
    } while (live > 0 || begun < count);
}

struct nearest_walk {
    const obb_bounds *bounds;
    struct obb_grid_target target;
};

static uint32_t nearest_uniform(void *how, const struct obb_index *index,
                                const struct obb_node *node, double reach,
                                float out_from[static OBB_NODE])
{
    const struct nearest_walk *walk = how;
    const float far = (float)fmin(reach * (1 + 0x1p-20), 0x1p100);
    return index->kernels->nearest(node, &walk->target, far, out_from);
}

static uint32_t nearest_nonuniform(void *how, const struct obb_index *index,
                                   const struct obb_node *node, double reach,
                                   float out_from[static OBB_NODE])
{
    const struct nearest_walk *walk = how;
    uint32_t hits = 0;
    for (uint32_t i = 0; i < OBB_NODE; i++) {
        obb_bounds b;
        if (!child_bounds(index, node, i, &b))
            continue;
        const obb_vec3 by =
            obb_max(obb_sub(b.min, walk->bounds->max), obb_sub(walk->bounds->min, b.max));
        out_from[i] = float_down(obb_length(obb_max(by, (obb_vec3){0, 0, 0})));
        hits |= (uint32_t)((double)out_from[i] <= reach) << i;
    }
    return hits;
}

double obb_index_nearest(const struct obb_index *index, const obb_bounds *bounds,
                         double max_distance, void *context, obb_index_reach *visit)
{
    const obb_bounds wide = widened(bounds, 0);
    struct nearest_walk walk = {.bounds = &wide};
    if (index->nonuniform != NULL)
        return walk_near(index, &walk, nearest_nonuniform, NULL, max_distance, context, visit);
    for (int k = 0; k < 3; k++) {
        const double from = index->grid.origin[k], scale = index->grid.scale[k];
        const double low = (obb_component(wide.min, k) - from) * scale;
        const double high = (obb_component(wide.max, k) - from) * scale;
        walk.target.low[k] = (float)(low - 0.125 - fabs(low) * 0x1p-20);
        walk.target.high[k] = (float)(high + 0.125 + fabs(high) * 0x1p-20);
        walk.target.unit[k] = (float)((1 - 0x1p-20) / scale);
    }
    return walk_near(index, &walk, nearest_uniform, NULL, max_distance, context, visit);
}

/* ---- Check ----------------------------------------------------------------------------------- */

/* Returns whether the bounds of a node, stored in its parent, hold the bounds of its children. */
static bool holds(const struct obb_tree *tree, int level, uint32_t node)
{
    struct obb_quantised_bounds whole;
    for (int k = 0; k < 3; k++) {
        uint32_t low = 0xffffu, high = 0xffffu;
        for (uint32_t i = 0; i < OBB_NODE; i++) {
            const uint32_t word = tree->level[level][node].axis[k][i];
            low = (word & 0xffffu) < low ? word & 0xffffu : low;
            high = word >> 16 < high ? word >> 16 : high;
        }
        whole.axis[k] = low | high << 16;
    }
    if (level == tree->top)
        return true;
    const struct obb_quantised_bounds kept =
        obb_node_child(&tree->level[level + 1][node / OBB_NODE], node % OBB_NODE);
    for (int k = 0; k < 3; k++)
        if ((kept.axis[k] & 0xffffu) > (whole.axis[k] & 0xffffu) ||
            kept.axis[k] >> 16 > whole.axis[k] >> 16)
            return false;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct obb_version *const *p = a, *const *q = b;
    return ((uintptr_t)*p > (uintptr_t)*q) - ((uintptr_t)*p < (uintptr_t)*q);
}

bool obb_index_validate(const struct obb_index *index)
{
    const struct obb_tree *tree = &index->tree;
    for (int level = 0; level <= tree->top; level++)
        for (uint32_t i = 0; i < tree->nodes[level]; i++)
            if (!holds(tree, level, i))
                return false;
    /* Every box has its child, no other child is there, and the child holds its box. */
    for (size_t i = 0; i < (size_t)tree->nodes[0] * OBB_NODE; i++) {
        const struct obb_node *node = &tree->level[0][i / OBB_NODE];
        obb_bounds codes;
        if (child_bounds(index, node, (uint32_t)(i % OBB_NODE), &codes) != (i < index->count))
            return false;
        if (i >= index->count || index->moving)
            continue;
        const obb_bounds box = obb_packed_bounds(&index->boxes[i]);
        const double slack = (double)index->boxes[i].slack * 0.5; /* the rest is for later tests */
        if (codes.min.x > box.min.x + slack || codes.max.x < box.max.x - slack ||
            codes.min.y > box.min.y + slack || codes.max.y < box.max.y - slack ||
            codes.min.z > box.min.z + slack || codes.max.z < box.max.z - slack)
            return false;
    }
    const struct obb_version **sorted = obb_malloc(index->count, sizeof *sorted);
    if (sorted == NULL)
        return false;
    bool once = true;
    if (index->count > 0) {
        memcpy(sorted, index->versions, index->count * sizeof *sorted);
        qsort(sorted, index->count, sizeof *sorted, by_address);
    }
    for (size_t i = 0; i < index->count; i++)
        once = once && sorted[i] != NULL && (i == 0 || sorted[i] != sorted[i - 1]);
    obb_free(sorted);
    return once;
}
