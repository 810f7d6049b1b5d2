#include "core/index.h"

#include "core/alloc.h"
#include "core/index_body.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define POLL   2048 /* boxes between two looks at the cancel flag: 20 to 100 us */
#define SAMPLE 1024 /* boxes that tell how large and how crowded all are */

/* ---- Building ---------------------------------------------------------------------------------------------------- */

/* What building needs beside the index. */
struct build {
    struct obb_index *index;
    const struct obb_version *const *versions, *const *to;
    const atomic_bool *cancel;
    obb_bounds extent;   /* holds every box */
    obb_vec3 base;       /* of the centres below */
    float (*centers)[3]; /* relative to base */
    float *sizes;        /* half the width of a cube that holds the box */
    struct obb_place *places;
    uint32_t *order;
};

static bool cancelled(const struct build *b)
{
    return b->cancel != NULL && atomic_load_explicit(b->cancel, memory_order_relaxed);
}

/* The reach of a box from its centre, on no axis more. */
static double size_of(const obb_box *box)
{
    return box->half_extents.x + box->half_extents.y + box->half_extents.z;
}

/* A turning box stays within the sphere about its centre, whose radius is largest at an end of the way. The rounding
 * of what is interpolated is far below the last factor. */
static obb_bounds bounds_of_way(const obb_box *a, const obb_box *b, int dimensions)
{
    const obb_solid from = obb_solid_from_box(a, dimensions),
                    to = obb_solid_from_box(b, dimensions);
    obb_bounds bounds = obb_solid_bounds(&from);
    const bool turns = a->rotation.x != b->rotation.x || a->rotation.y != b->rotation.y ||
                       a->rotation.z != b->rotation.z || a->rotation.w != b->rotation.w ||
                       a->angle != b->angle;
    const obb_bounds end = obb_solid_bounds(&to);
    if (turns) {
        double radius = fmax(obb_length(a->half_extents), obb_length(b->half_extents));
        radius *= 1 + 1e-12;
        const obb_vec3 reach = {radius, radius, dimensions == 3 ? radius : 0};
        bounds.min = obb_sub(obb_min(a->center, b->center), reach);
        bounds.max = obb_add(obb_max(a->center, b->center), reach);
    } else { /* widths are linear, so the ends hold what lies between */
        bounds.min = obb_min(bounds.min, end.min);
        bounds.max = obb_max(bounds.max, end.max);
    }
    const obb_vec3 width = obb_sub(bounds.max, bounds.min);
    const double slack =
        (width.x + width.y + width.z) * OBB_PACKED_ERROR +
        (fabs(a->center.x) + fabs(a->center.y) + fabs(a->center.z)) * OBB_PACKED_DRIFT +
        OBB_PACKED_LITTLE;
    const obb_vec3 by = {slack, slack, slack};
    return (obb_bounds){obb_sub(bounds.min, by), obb_add(bounds.max, by)};
}

/* Centres and sizes of all, and what holds them. */
static obb_status look_at_all(struct build *b, size_t count)
{
    b->base = b->versions[0]->box.center;
    obb_vec3 low = b->base, high = b->base;
    for (size_t i = 0; i < count; i++) {
        if (i % POLL == 0 && cancelled(b))
            return OBB_CANCELLED;
        const obb_box *box = &b->versions[i]->box;
        obb_vec3 center = box->center;
        double size = size_of(box);
        if (b->to != NULL) {
            const obb_bounds way = bounds_of_way(box, &b->to[i]->box, b->index->dimensions);
            center = obb_scale(obb_add(way.min, way.max), 0.5);
            const obb_vec3 half = obb_sub(way.max, center);
            size = fmax(half.x, fmax(half.y, half.z)) * (1 + 0x1p-40);
        }
        const obb_vec3 reach = {size, size, size};
        low = obb_min(low, obb_sub(center, reach));
        high = obb_max(high, obb_add(center, reach));
        b->centers[i][0] = (float)(center.x - b->base.x);
        b->centers[i][1] = (float)(center.y - b->base.y);
        b->centers[i][2] = (float)(center.z - b->base.z);
        b->sizes[i] = (float)size;
    }
    b->extent = (obb_bounds){low, high};
    return OBB_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that would stand at `place` if all were sorted. Hoare, "Algorithm 65: find", CACM 4(7), 1961; with the middle
 * as pivot, which is good for what is sorted already; at worst SAMPLE rounds. */
static double select_value(double *values, size_t count, size_t place)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, k = high;
        for (;;) {
            /* the pivot itself, and later what was exchanged, ends both runs inside low..high, which the analyser does not
             * see: NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult) */
            while (values[i] < pivot)
                i++;
            while (values[k] > pivot)
                k--;
            /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
            if (i >= k)
                break;
            const double value = values[i];
            values[i++] = values[k];
            values[k--] = value;
        }
        /* now low..k are at most the pivot, and k+1..high at least that */
        if (place <= k)
            high = k;
        else
            low = k + 1;
    }
    return values[place];
}

/* The centre of a box along an axis, in full. */
static double center_of(const struct build *b, size_t i, int axis)
{
    const double c = obb_component(b->versions[i]->box.center, axis);
    return b->to == NULL ? c : (c + obb_component(b->to[i]->box.center, axis)) * 0.5;
}

/* An even frame, unless most boxes are smaller than a few of its codes and crowded into a small part of it: then a warped
 * one. Also the size of most boxes. */
static obb_status choose_frame(struct build *b, size_t count, double *out_size)
{
    struct obb_index *index = b->index;
    index->frame = obb_frame_even(&b->extent);
    double sample[SAMPLE];
    const size_t n = count < SAMPLE ? count : SAMPLE;
    for (size_t i = 0; i < n; i++)
        sample[i] = (double)b->sizes[i * count / n];
    *out_size = select_value(sample, n, n / 2);

    bool crowded = false;
    for (int k = 0; k < 3 && n >= OBB_WARP_PIECES; k++) {
        const double code = 1 / index->frame.scale[k];
        if (*out_size > 4 * code)
            continue;
        for (size_t i = 0; i < n; i++)
            sample[i] = center_of(b, i * count / n, k);
        qsort(sample, n, sizeof sample[0], by_value);
        for (size_t i = 0; i + n / 8 < n; i++)
            crowded = crowded || sample[i + n / 8] - sample[i] < 64 * code;
    }
    if (!crowded)
        return OBB_OK;
    struct obb_warp *warp = obb_malloc(1, sizeof *warp);
    if (warp == NULL)
        return OBB_NO_MEMORY;
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++)
            sample[i] = center_of(b, i * count / n, k);
        qsort(sample, n, sizeof sample[0], by_value);
        warp->knot[k][0] = obb_component(b->extent.min, k);
        warp->knot[k][OBB_WARP_PIECES] = obb_component(b->extent.max, k);
        for (size_t i = 1; i < OBB_WARP_PIECES; i++)
            warp->knot[k][i] = sample[(i - 1) * (n - 1) / (OBB_WARP_PIECES - 2)];
        for (size_t i = 0; i < OBB_WARP_PIECES; i++) {
            const double width = warp->knot[k][i + 1] - warp->knot[k][i];
            warp->scale[k][i] = width > 1e-290 ? OBB_WARP_CODES / width : 0;
        }
    }
    index->warp = warp;
    index->frame.warp = warp;
    return OBB_OK;
}

/* The places of all: centres as codes, and the ranks of those much larger than most and than a tile of sixteen. */
static obb_status place_all(struct build *b, size_t count, double size, double unit[3])
{
    const struct obb_frame *frame = &b->index->frame;
    double tile = 1; /* the volume of a tile, in units of boxes' sizes */
    for (int k = 0; k < 3; k++) {
        const double width = obb_component(b->extent.max, k) - obb_component(b->extent.min, k);
        unit[k] = width / OBB_CODE_MOST;
        tile *= fmax(width, size * 2) / fmax(size, 1e-100);
    }
    tile = tile * OBB_NODE / (double)count;
    double edge = 1; /* its edge: a cube root, roughly */
    while (edge * edge * edge < tile && edge < 1e6)
        edge *= 1.25;
    const double large = size * fmax(4, 2 * edge);

    if (frame->warp != NULL) {
        for (size_t i = 0; i < count; i++)
            for (int k = 0; k < 3; k++)
                b->places[i].code[k] = (uint16_t)obb_frame_code(frame, k, center_of(b, i, k));
        unit[0] = unit[1] = unit[2] = 1; /* as crowded along each axis */
    } else {
        float from[3], scale[3];
        for (int k = 0; k < 3; k++) {
            from[k] = (float)(frame->origin[k] - obb_component(b->base, k));
            scale[k] = (float)frame->scale[k];
        }
        for (size_t i = 0; i < count; i++)
            for (int k = 0; k < 3; k++) {
                float code = (b->centers[i][k] - from[k]) * scale[k];
                code = code > 0 ? code : 0;
                code = code < (float)OBB_CODE_MOST ? code : (float)OBB_CODE_MOST;
                b->places[i].code[k] = (uint16_t)code;
            }
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t rank = 0;
        double above = large;
        while ((double)b->sizes[i] > above && rank < OBB_RANKS - 1) {
            above *= 8;
            rank++;
        }
        b->places[i].rank = rank;
    }
    return cancelled(b) ? OBB_CANCELLED : OBB_OK;
}

/* Boxes are looked at in an order in which they do not lie in memory. */
static void fetch_ahead(const struct build *b, size_t i, size_t count)
{
    for (size_t k = i; k < i + OBB_NODE && k < count; k++) {
        const char *version = (const char *)b->versions[b->order[k]];
        __builtin_prefetch(version);
        __builtin_prefetch(version + offsetof(struct obb_version, id));
    }
}

/* The boxes in their order, and the tree over them. */
static obb_status place_boxes(struct build *b, size_t count)
{
    struct obb_index *index = b->index;
    const bool by_kernel = b->to == NULL && index->dimensions == 3 && index->warp == NULL;
    for (size_t i = 0; i < count; i += OBB_NODE) {
        if (i % POLL == 0 && cancelled(b))
            return OBB_CANCELLED;
        fetch_ahead(b, i + (size_t)2 * OBB_NODE, count);
        const size_t n = count - i < OBB_NODE ? count - i : OBB_NODE;
        const obb_box *boxes[OBB_NODE];
        for (size_t k = 0; k < n; k++) {
            const struct obb_version *version = b->versions[b->order[i + k]];
            const uint64_t id = version->id;
            boxes[k] = &version->box;
            index->versions[i + k] = version;
            index->ids[i + k] = id;
            index->least_id = id < index->least_id ? id : index->least_id;
            index->most_id = id > index->most_id ? id : index->most_id;
        }
        if (by_kernel)
            index->kernels->pack(boxes, n, &index->frame, index->boxes + i,
                                 &index->nodes[i / OBB_NODE]);
        else if (b->to == NULL)
            for (size_t k = 0; k < n; k++)
                index->boxes[i + k] = obb_packed_from_box(boxes[k], index->dimensions);
    }
    if (by_kernel) {
        obb_tree_fill(&index->tree, index->kernels, index->nodes);
        return OBB_OK;
    }
    if (b->to == NULL) {
        obb_tree_over(&index->tree, index->kernels, &index->frame, index->boxes, count, 0,
                      index->nodes);
        return OBB_OK;
    }
    memset(index->nodes, 0xff, index->tree.nodes[0] * sizeof *index->nodes);
    for (size_t i = 0; i < count; i++) {
        const uint32_t from = b->order[i];
        const obb_bounds way =
            bounds_of_way(&b->versions[from]->box, &b->to[from]->box, index->dimensions);
        const struct obb_codes codes = obb_frame_codes(&index->frame, &way);
        for (int k = 0; k < 3; k++)
            index->nodes[i / OBB_NODE].axis[k][i % OBB_NODE] = codes.axis[k];
    }
    obb_tree_fill(&index->tree, index->kernels, index->nodes);
    return OBB_OK;
}

/* One block for all arrays, each at a cache line. */
static obb_status room_for(struct obb_index *index, size_t count)
{
    const size_t nodes = obb_tree_shape(count, &index->tree);
    const size_t boxes = index->moving ? 0 : count;
    if (count > OBB_PACKED_SURE - 1)
        return OBB_NO_MEMORY;
    const size_t sizes[] = {nodes * sizeof *index->nodes, boxes * sizeof *index->boxes,
                            count * sizeof *index->versions, count * sizeof *index->ids};
    size_t sum = 64;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        sum += (sizes[i] + 63) / 64 * 64;
    index->block = obb_malloc(sum, 1);
    if (index->block == NULL)
        return OBB_NO_MEMORY;
    index->bytes = sum;
    void *at[4];
    char *next = obb_first_line(index->block);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        at[i] = next;
        next += (sizes[i] + 63) / 64 * 64;
    }
    index->nodes = at[0];
    index->boxes = at[1];
    index->versions = at[2];
    index->ids = at[3];
    return OBB_OK;
}

obb_status obb_index_build(const struct obb_version *const *versions,
                           const struct obb_version *const *to, size_t count, int dimensions,
                           const struct obb_kernels *kernels, const atomic_bool *cancel,
                           struct obb_index **out)
{
    struct obb_index *index = obb_calloc(1, sizeof *index);
    if (index == NULL)
        return OBB_NO_MEMORY;
    index->references = 1;
    index->count = count;
    index->dimensions = dimensions;
    index->moving = to != NULL;
    index->least_id = UINT64_MAX;
    index->kernels = kernels != NULL ? kernels : obb_kernels_choose(OBB_KERNEL_AUTO);
    struct build b = {.index = index, .versions = versions, .to = to, .cancel = cancel};
    obb_status status = room_for(index, count);
    if (status == OBB_OK) {
        b.centers = obb_malloc(count, sizeof *b.centers);
        b.sizes = obb_malloc(count, sizeof *b.sizes);
        b.places = obb_malloc(count, sizeof *b.places);
        b.order = obb_malloc(count, sizeof *b.order);
        if (b.centers == NULL || b.sizes == NULL || b.places == NULL || b.order == NULL)
            status = OBB_NO_MEMORY;
    }
    if (status == OBB_OK && count > 0) {
        double size = 0, unit[3];
        status = look_at_all(&b, count);
        if (status == OBB_OK)
            status = choose_frame(&b, count, &size);
        if (status == OBB_OK)
            status = place_all(&b, count, size, unit);
        if (status == OBB_OK)
            status = obb_order(b.places, count, unit, b.order);
        if (status == OBB_OK)
            status = place_boxes(&b, count);
    } else if (status == OBB_OK) {
        index->frame = obb_frame_even(&(obb_bounds){{0, 0, 0}, {0, 0, 0}});
        memset(index->nodes, 0xff, sizeof *index->nodes);
        obb_tree_fill(&index->tree, index->kernels, index->nodes);
    }
    obb_free(b.centers);
    obb_free(b.sizes);
    obb_free(b.places);
    obb_free(b.order);
    if (status == OBB_OK)
        *out = index;
    else
        obb_index_unref(index);
    return status;
}

void obb_index_ref(struct obb_index *index) { index->references++; }

void obb_index_unref(struct obb_index *index)
{
    if (index == NULL || --index->references > 0)
        return;
    obb_free(index->block);
    obb_free(index->warp);
    obb_free(index);
}

size_t obb_index_count(const struct obb_index *index) { return index->count; }

size_t obb_index_bytes(const struct obb_index *index)
{
    return sizeof *index + index->bytes + (index->warp != NULL ? sizeof *index->warp : 0);
}

const struct obb_version *const *obb_index_versions(const struct obb_index *index)
{
    return index->versions;
}

/* ---- Walks by bounds ------------------------------------------------------------------------------------------- */

#define FOUND 128 /* found at a time */

/* The double tests that follow may see contact where bounds are apart by their rounding. */
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
    const struct obb_codes codes = obb_frame_codes(&index->frame, &wide);
    struct obb_walk walk = obb_walk_start(&index->tree, index->kernels, &codes);
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
    const struct obb_codes codes = obb_frame_codes(&index->frame, &wide);
    struct obb_walk walk = obb_walk_start(&index->tree, index->kernels, &codes);
    uint32_t found[FOUND + OBB_NODE];
    size_t count;
    while ((count = index->kernels->walk(&index->tree, &walk, 0, found, FOUND)) > 0) {
        if (!index->moving)
            count = index->kernels->against(&packed, index->boxes, found, count, &limits, found);
        for (size_t i = 0; i < count; i++) {
            const obb_verdict verdict = found[i] & OBB_PACKED_SURE ? OBB_SURE : OBB_DOUBT;
            if (!visit(context, index->versions[found[i] & ~OBB_PACKED_SURE], verdict))
                return false;
        }
    }
    return true;
}

/* ---- Walks by distance ----------------------------------------------------------------------------------------- */

/* A child that is still to be looked at, and from which distance on it matters. */
struct waiting {
    float from;
    uint32_t node; /* of the level below the one it was found in; at the lowest, a box */
    int level;
};

/* Children of a node that matter, with where each begins to; bits as kernels give them. */
typedef uint32_t look(void *how, const struct obb_index *index, const struct obb_node *node,
                      double reach, float out_from[static OBB_NODE]);

/* Depth first, of each node the nearest child first. */
static double walk_near(const struct obb_index *index, void *how, look *at, double reach,
                        void *context, obb_index_reach *visit)
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
        for (uint32_t m = at(how, index, &index->tree.level[top.level][top.node], reach, from);
             m != 0; m &= m - 1) {
            const uint32_t child = (uint32_t)__builtin_ctz(m);
            size_t i = height++;
            for (; i > base && stack[i - 1].from < from[child]; i--)
                stack[i] = stack[i - 1];
            stack[i] = (struct waiting){
                .from = from[child], .node = top.node * OBB_NODE + child, .level = top.level - 1};
        }
    }
    return reach;
}

/* A double as a float that is not above it, where it is not negative. */
static float float_down(double x) { return (float)(x * (1 - 0x1p-22)); }

/* The bounds of a child, and whether it is there. */
static bool child_bounds(const struct obb_index *index, const struct obb_node *node, uint32_t child,
                         obb_bounds *out)
{
    const struct obb_codes codes = obb_node_child(node, child);
    if (codes.axis[0] == OBB_CODE_NONE)
        return false;
    *out = obb_frame_bounds(&index->frame, &codes);
    return true;
}

struct ray_walk {
    const obb_ray *ray;
    obb_vec3 grow;
    double start; /* where codes take over: distances in them count from here */
    struct obb_code_ray codes;
};

/* Where the ray is within the bounds: from *near, which may only rise, to *far, which may only fall. Rounding of the cast
 * that follows is a few 1e-16 of the distances here. */
static bool clip(const obb_ray *ray, const obb_bounds *b, double *near, double *far)
{
    for (int k = 0; k < 3; k++) {
        const double from = obb_component(ray->origin, k), way = obb_component(ray->direction, k);
        const double low = obb_component(b->min, k), high = obb_component(b->max, k);
        const double slack = (fabs(from) + fmin(fabs(low), fabs(high))) * 0x1p-44;
        if (fabs(way) < 1e-100) {
            if (from < low - slack || from > high + slack)
                return false;
            continue;
        }
        const double one = (low - slack - from) / way, other = (high + slack - from) / way;
        *near = fmax(*near, fmin(one, other));
        *far = fmin(*far, fmax(one, other));
    }
    return *near <= *far;
}

static uint32_t ray_even(void *how, const struct obb_index *index, const struct obb_node *node,
                         double reach, float out_from[static OBB_NODE])
{
    const struct ray_walk *walk = how;
    const float far = (float)fmin((reach - walk->start) * (1 + 0x1p-20), 0x1p100);
    uint32_t hits = index->kernels->ray(node, &walk->codes, 0, far, out_from);
    for (uint32_t m = hits; m != 0; m &= m - 1) {
        const int child = __builtin_ctz(m);
        out_from[child] = float_down((double)out_from[child] * (1 - 0x1p-20) + walk->start);
    }
    return hits;
}

static uint32_t ray_warped(void *how, const struct obb_index *index, const struct obb_node *node,
                           double reach, float out_from[static OBB_NODE])
{
    const struct ray_walk *walk = how;
    uint32_t hits = 0;
    for (uint32_t i = 0; i < OBB_NODE; i++) {
        obb_bounds bounds;
        if (!child_bounds(index, node, i, &bounds))
            continue;
        bounds = (obb_bounds){obb_sub(bounds.min, walk->grow), obb_add(bounds.max, walk->grow)};
        double near = 0, far = reach;
        if (clip(walk->ray, &bounds, &near, &far)) {
            out_from[i] = float_down(near);
            hits |= 1u << i;
        }
    }
    return hits;
}

double obb_index_ray(const struct obb_index *index, const obb_ray *ray, obb_vec3 grow,
                     void *context, obb_index_reach *visit)
{
    struct ray_walk walk = {.ray = ray, .grow = grow};
    if (index->warp != NULL)
        return walk_near(index, &walk, ray_warped, ray->max_distance, context, visit);

    /* Codes have few digits: they begin where the ray comes to the frame. */
    const struct obb_frame *frame = &index->frame;
    double low[3], high[3], near = 0, far = ray->max_distance;
    for (int k = 0; k < 3; k++) {
        low[k] = frame->origin[k] - obb_component(grow, k);
        high[k] = frame->origin[k] + OBB_CODE_MOST / frame->scale[k] + obb_component(grow, k);
    }
    const obb_bounds whole = {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
    if (!clip(ray, &whole, &near, &far))
        return ray->max_distance;
    walk.start = near;
    for (int k = 0; k < 3; k++) {
        const double from = obb_component(ray->origin, k), way = obb_component(ray->direction, k);
        const double scale = frame->scale[k];
        const double place = (from + way * near - frame->origin[k]) * scale;
        const double inverse = fabs(way) * scale > 1e-30 ? 1 / (way * scale) : 1e30;
        const double wide = obb_component(grow, k) * scale;
        /* What floats lose is below 2^-21 of the codes they add up: a thirtieth, and more where the box is large; and what
         * casting loses, below 2^-44 of the coordinates. */
        const double slack = 0.125 + (wide + fabs(place)) * 0x1p-20 +
                             (fabs(from) + fabs(frame->origin[k])) * scale * 0x1p-44;
        walk.codes.place[k] = (float)place;
        walk.codes.inverse[k] = (float)inverse;
        walk.codes.grow[k] = (float)(wide + slack);
    }
    return walk_near(index, &walk, ray_even, ray->max_distance, context, visit);
}

struct nearest_walk {
    const obb_bounds *bounds;
    struct obb_code_place place;
};

static uint32_t nearest_even(void *how, const struct obb_index *index, const struct obb_node *node,
                             double reach, float out_from[static OBB_NODE])
{
    const struct nearest_walk *walk = how;
    const float far = (float)fmin(reach * (1 + 0x1p-20), 0x1p100);
    return index->kernels->nearest(node, &walk->place, far, out_from);
}

static uint32_t nearest_warped(void *how, const struct obb_index *index,
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
    if (index->warp != NULL)
        return walk_near(index, &walk, nearest_warped, max_distance, context, visit);
    for (int k = 0; k < 3; k++) {
        const double from = index->frame.origin[k], scale = index->frame.scale[k];
        const double low = (obb_component(wide.min, k) - from) * scale;
        const double high = (obb_component(wide.max, k) - from) * scale;
        walk.place.low[k] = (float)(low - 0.125 - fabs(low) * 0x1p-20);
        walk.place.high[k] = (float)(high + 0.125 + fabs(high) * 0x1p-20);
        walk.place.unit[k] = (float)((1 - 0x1p-20) / scale);
    }
    return walk_near(index, &walk, nearest_even, max_distance, context, visit);
}

/* ---- Check ----------------------------------------------------------------------------------------------------- */

/* Do the codes of a child hold those of everything under it? */
static bool holds(const struct obb_tree *tree, int level, uint32_t node)
{
    struct obb_codes whole;
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
    const struct obb_codes kept =
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
    /* Every child that should be there is, and holds its box. */
    for (size_t i = 0; i < (size_t)tree->nodes[0] * OBB_NODE; i++) {
        const struct obb_node *node = &tree->level[0][i / OBB_NODE];
        obb_bounds codes;
        if (child_bounds(index, node, (uint32_t)(i % OBB_NODE), &codes) != (i < index->count))
            return false;
        if (i >= index->count || index->moving)
            continue;
        const obb_bounds box = obb_packed_bounds(&index->boxes[i]);
        const double slack = (double)index->boxes[i].slack * 0.5; /* a part is for what follows */
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
