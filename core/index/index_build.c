/* The build of an index, in phases of independent chunks:
 *
 *   summarise  finds the key of each box: its column and its position along it (tiles.h)
 *   part       moves number and position of each box to its column, to a place counted before
 *   order      orders the boxes of each column along it
 *   pack       packs the boxes in that order, with their bounds and the bounds of 16 leaves
 *
 * Between the phases, the keys lie in the memory that becomes the versions, and what is parted in
 * that of the ids. */
#include "core/index/index.h"

#include "core/base/alloc.h"
#include "core/base/least.h"
#include "core/index/grid.h"
#include "core/index/index_body.h"
#include "core/index/packed.h"
#include "core/index/tiles.h"
#include "core/index/tree.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SUMMARISE_BOXES  8192 /* boxes summarised in a chunk, or more: 50 us */
#define SUMMARISE_CHUNKS 64   /* at most */
#define ORDER_BOXES      8192 /* boxes ordered in a chunk, about: 40 us */
#define PACK_BOXES       4096 /* boxes packed in a chunk, whole nodes of level 1: 60 us */
#define AHEAD            24   /* boxes prefetched ahead */
#define LEAST_SAMPLE     128  /* boxes in the sample: at least, at most, one in so many */
#define MOST_SAMPLE      16384
#define SAMPLE_SHARE     32
#define GRID_SAMPLE      1024 /* boxes of the sample that choose the grid */

/* An index of so many bytes gets its pages chunk by chunk. glibc maps such a block by itself; a
 * smaller one lies in the heap, where most pages were used before. */
#define LARGE ((size_t)256 << 10)

enum phase { START, SUMMARISE, PART, ORDER, PACK, DONE };

/* A sampled box. */
struct sampled {
    obb_vec3 center;
    double size; /* half the width of a cube that holds the box */
};

/* The result of one chunk of the phase summarise. */
struct chunk_summary {
    obb_bounds extent;
    uint32_t *counts; /* per column; later, where the boxes of this chunk begin in each */
};

/* What one chunk of the phase pack has seen. */
struct packed {
    uint64_t least_id, most_id;
    bool plain;
};

struct obb_build {
    struct obb_index *index;
    const struct obb_version *const *versions, *const *to;
    size_t count;
    const atomic_bool *cancel;
    struct obb_budget *budget;
    enum phase phase;
    size_t sample_count;
    struct sampled *sample;
    double usual;                /* median half width of the sample */
    struct obb_grid sample_grid; /* of the keys; holds the centres of the sample */
    struct obb_nonuniform_grid sample_nonuniform;
    struct obb_tiles *tiles;
    size_t summary_boxes, summary_chunks, order_chunks, pack_chunks;
    struct chunk_summary *summaries;
    uint32_t *counts;        /* of all chunks */
    uint32_t *column_starts; /* columns + 1 */
    uint32_t *order_first;   /* order_chunks + 1 columns */
    uint32_t *keys;          /* of the boxes in the order of `versions` */
    uint64_t *parted; /* by column: position along it in the high half, number of the box below */
    const struct obb_version **to_of; /* `to` in the order of the index; NULL: no motion */
    struct packed *packed;            /* of each chunk of packing */
};

static bool cancelled(const struct obb_build *b)
{
    return b->cancel != NULL && atomic_load_explicit(b->cancel, memory_order_relaxed);
}

/* ---- One box --------------------------------------------------------------------------------- */

/* Returns a distance from the centre that no part of a box exceeds along any axis. */
static double reach_of(const obb_box *box)
{
    return box->half_extents.x + box->half_extents.y + box->half_extents.z;
}

/* Returns bounds of all poses between two. A box that turns stays within a sphere about its centre,
 * and the radius of the sphere is largest at one of the two poses. The rounding of an interpolated
 * pose is far below the factor 1 + 1e-12. */
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
    } else { /* widths change linearly, so the ends hold all poses between */
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

/* Returns a cube about box i, or about all its poses. */
static struct sampled where(const struct obb_build *b, size_t i)
{
    const obb_box *box = &b->versions[i]->box;
    if (b->to == NULL)
        return (struct sampled){.center = box->center, .size = reach_of(box)};
    const obb_bounds way = bounds_of_way(box, &b->to[i]->box, b->index->dimensions);
    const obb_vec3 center = obb_scale(obb_add(way.min, way.max), 0.5);
    const obb_vec3 half = obb_sub(way.max, center);
    const double size = fmax(half.x, fmax(half.y, half.z)) * (1 + 0x1p-40);
    return (struct sampled){.center = center, .size = size};
}

static obb_bounds bounds_of(const struct sampled *s)
{
    const obb_vec3 reach = {s->size, s->size, s->size};
    return (obb_bounds){obb_sub(s->center, reach), obb_add(s->center, reach)};
}

static obb_bounds united(const obb_bounds *a, const obb_bounds *b)
{
    return (obb_bounds){obb_min(a->min, b->min), obb_max(a->max, b->max)};
}

/* ---- The sample: sizes, grids and tables ----------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the value that would stand at `place` if all values were sorted. The pivot is the middle
 * value, which suits sorted values. At worst `count` rounds.
 *
 * Source   Hoare, "Algorithm 65: find", CACM 4(7), 1961. */
static double select_value(double *values, size_t count, size_t place)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, k = high;
        for (;;) {
            /* The pivot, and later the exchanged values, end both runs inside low..high. The
             * analyser does not see this:
             * NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult) */
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
        /* values low..k are now at most the pivot, and values k+1..high at least the pivot */
        if (place <= k)
            high = k;
        else
            low = k + 1;
    }
    return values[place];
}

/* One number of each of up to GRID_SAMPLE boxes, evenly chosen from the sample. */
struct few {
    size_t count;
    double value[GRID_SAMPLE];
};

static void few_sizes(const struct obb_build *b, struct few *out)
{
    out->count = obb_least(b->sample_count, GRID_SAMPLE);
    for (size_t i = 0; i < out->count; i++)
        out->value[i] = b->sample[i * b->sample_count / out->count].size;
}

static void few_centers(const struct obb_build *b, int axis, struct few *out)
{
    out->count = obb_least(b->sample_count, GRID_SAMPLE);
    for (size_t i = 0; i < out->count; i++)
        out->value[i] = obb_component(b->sample[i * b->sample_count / out->count].center, axis);
    qsort(out->value, out->count, sizeof out->value[0], by_value);
}

/* Chooses a grid that holds `extent`. The grid is uniform, unless most boxes are smaller than a few
 * of its codes and crowded into a small part of it. Returns whether the grid is nonuniform; then it
 * refers to `nonuniform`. */
static bool choose_grid(const struct obb_build *b, const obb_bounds *extent, double size,
                        struct obb_grid *out, struct obb_nonuniform_grid *nonuniform)
{
    *out = obb_grid_uniform(extent);
    struct few few;
    bool crowded = false;
    for (int k = 0; k < 3 && b->sample_count >= OBB_GRID_PIECES; k++) {
        const double code = 1 / out->scale[k];
        if (size > 4 * code)
            continue;
        few_centers(b, k, &few);
        for (size_t i = 0; i + few.count / 8 < few.count; i++)
            crowded = crowded || few.value[i + few.count / 8] - few.value[i] < 64 * code;
    }
    if (!crowded)
        return false;
    for (int k = 0; k < 3; k++) {
        few_centers(b, k, &few);
        nonuniform->knot[k][0] = obb_component(extent->min, k);
        nonuniform->knot[k][OBB_GRID_PIECES] = obb_component(extent->max, k);
        for (size_t i = 1; i < OBB_GRID_PIECES; i++)
            nonuniform->knot[k][i] = few.value[(i - 1) * (few.count - 1) / (OBB_GRID_PIECES - 2)];
        for (size_t i = 0; i < OBB_GRID_PIECES; i++) {
            const double width = nonuniform->knot[k][i + 1] - nonuniform->knot[k][i];
            nonuniform->scale[k][i] = width > 1e-290 ? OBB_GRID_PIECE_CODES / width : 0;
        }
    }
    out->nonuniform = nonuniform;
    return true;
}

/* Returns the median half width of the sample. */
static double usual_size(const struct obb_build *b)
{
    struct few few;
    few_sizes(b, &few);
    return select_value(few.value, few.count, few.count / 2);
}

/* Returns the size at which rank 0 ends: a larger box is much larger than most boxes and than a
 * tile of 16. */
static double large_size(const struct obb_build *b, const obb_bounds *extent, double size)
{
    double tile = 1; /* the volume of a tile, in units of size^3 */
    for (int k = 0; k < 3; k++) {
        const double width = obb_component(extent->max, k) - obb_component(extent->min, k);
        tile *= fmax(width, size * 2) / fmax(size, 1e-100);
    }
    tile = tile * OBB_NODE / (double)b->count;
    double edge = 1; /* the edge of the tile: a cube root, roughly */
    while (edge * edge * edge < tile && edge < 1e6)
        edge *= 1.25;
    return size * fmax(4, 2 * edge);
}

/* Takes the sample, and chooses the sample grid and the tiles from it. */
static obb_status take_sample(struct obb_build *b)
{
    size_t n = b->count / SAMPLE_SHARE;
    n = obb_least(n < LEAST_SAMPLE ? LEAST_SAMPLE : n, MOST_SAMPLE);
    n = b->sample_count = obb_least(n, b->count);
    b->sample = obb_budget_malloc(b->budget, n, sizeof *b->sample);
    struct obb_grid_cell *cells = obb_budget_malloc(b->budget, n, sizeof *cells);
    obb_status status = OBB_NO_MEMORY;
    if (b->sample == NULL || cells == NULL)
        goto out;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(b->versions[(i + AHEAD) * b->count / n]);
        b->sample[i] = where(b, i * b->count / n);
    }
    obb_bounds extent = bounds_of(&b->sample[0]);
    obb_bounds middle = {b->sample[0].center, b->sample[0].center};
    for (size_t i = 1; i < n; i++) {
        const obb_bounds one = bounds_of(&b->sample[i]);
        extent = united(&extent, &one);
        middle.min = obb_min(middle.min, b->sample[i].center);
        middle.max = obb_max(middle.max, b->sample[i].center);
    }
    b->usual = usual_size(b);
    const bool nonuniform =
        choose_grid(b, &middle, b->usual, &b->sample_grid, &b->sample_nonuniform);
    double width[3]; /* a nonuniform grid is equally crowded along each axis */
    for (int k = 0; k < 3; k++)
        width[k] = nonuniform ? 1 : obb_component(middle.max, k) - obb_component(middle.min, k);
    const double large = large_size(b, &extent, b->usual);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            cells[i].code[k] =
                (uint16_t)obb_grid_code(&b->sample_grid, k, obb_component(b->sample[i].center, k));
        cells[i].rank = (uint16_t)obb_rank_of(large, b->sample[i].size);
    }
    status = obb_tiles_create(cells, n, b->count, width, large, b->budget, &b->tiles);
out:
    obb_budget_free(cells);
    return status;
}

/* ---- Summarising ----------------------------------------------------------------------------- */

/* Returns the extents of no box. */
static struct obb_extents no_extents(void)
{
    struct obb_extents out = {.low = {{0}}};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < OBB_LANES; i++) {
            out.low[k][i] = HUGE_VAL;
            out.high[k][i] = -HUGE_VAL;
        }
    return out;
}

/* Returns bounds of all boxes that were summarised. */
static obb_bounds bounds_of_extents(const struct obb_extents *extents)
{
    const double(*low)[OBB_LANES] = extents->low, (*high)[OBB_LANES] = extents->high;
    obb_bounds out = {{low[0][0], low[1][0], low[2][0]}, {high[0][0], high[1][0], high[2][0]}};
    for (int i = 1; i < OBB_LANES; i++) {
        out.min = obb_min(out.min, (obb_vec3){low[0][i], low[1][i], low[2][i]});
        out.max = obb_max(out.max, (obb_vec3){high[0][i], high[1][i], high[2][i]});
    }
    return out;
}

/* Summarises up to OBB_SUMMARIES boxes from `first` on. */
static void summarise_boxes(const struct obb_build *b, size_t first, size_t n,
                            struct obb_summaries *out, struct obb_extents *extents)
{
    if (b->to != NULL) {
        for (size_t i = 0; i < n; i++) {
            const struct sampled s = where(b, first + i);
            out->size[i] = (float)s.size;
            for (int k = 0; k < 3; k++) {
                const double center = obb_component(s.center, k);
                out->code[k][i] = obb_grid_code(&b->sample_grid, k, center);
                extents->low[k][0] = fmin(extents->low[k][0], center - s.size);
                extents->high[k][0] = fmax(extents->high[k][0], center + s.size);
            }
        }
        return;
    }
    const struct obb_box *boxes[OBB_SUMMARIES];
    for (size_t i = 0; i < n; i++) {
        boxes[i] = &b->versions[first + i]->box;
        __builtin_prefetch(b->versions[obb_least(first + i + AHEAD, b->count - 1)]);
    }
    b->index->kernels->summarise(boxes, n, &b->sample_grid, out, extents);
    if (b->sample_grid.nonuniform != NULL)
        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < 3; k++)
                out->code[k][i] =
                    obb_grid_code(&b->sample_grid, k, obb_component(boxes[i]->center, k));
}

/* Gives the pages of a large index that the phases before packing write: all of them write both
 * arrays, in no order of memory. */
static void fill_versions(const struct obb_index *index, size_t begin, size_t end)
{
    if (index->bytes < LARGE)
        return;
    obb_fill_pages(index->versions + begin, (end - begin) * sizeof *index->versions);
    obb_fill_pages(index->ids + begin, (end - begin) * sizeof *index->ids);
}

static obb_status summarise(struct obb_build *b, size_t chunk)
{
    struct chunk_summary *summary = &b->summaries[chunk];
    const size_t begin = chunk * b->summary_boxes,
                 end = obb_least(begin + b->summary_boxes, b->count);
    fill_versions(b->index, begin, end);
    struct obb_summaries boxes;
    struct obb_extents extents = no_extents();
    for (size_t first = begin; first < end; first += OBB_SUMMARIES) {
        if (cancelled(b))
            return OBB_CANCELLED;
        const size_t n = obb_least(end - first, OBB_SUMMARIES);
        summarise_boxes(b, first, n, &boxes, &extents);
        obb_tiles_keys(b->tiles, b->index->kernels, &boxes, n, b->keys + first, summary->counts);
    }
    summary->extent = bounds_of_extents(&extents);
    return OBB_OK;
}

/* Turns the counts per chunk and column into positions, gives columns to the chunks of the phase
 * order, and chooses the grid of the index. */
static obb_status start_parting(struct obb_build *b)
{
    struct obb_index *index = b->index;
    const uint32_t columns = b->tiles->columns;
    uint32_t sum = 0, limit = 0;
    b->order_chunks = 0;
    for (uint32_t column = 0; column < columns; column++) {
        b->column_starts[column] = sum;
        if (sum >= limit) {
            b->order_first[b->order_chunks++] = column;
            limit = sum + ORDER_BOXES;
        }
        for (size_t c = 0; c < b->summary_chunks; c++) {
            uint32_t *at = &b->summaries[c].counts[column];
            const uint32_t n = *at;
            *at = sum;
            sum += n;
        }
    }
    b->column_starts[columns] = sum;
    b->order_first[b->order_chunks] = columns;

    obb_bounds extent = b->summaries[0].extent;
    for (size_t c = 1; c < b->summary_chunks; c++)
        extent = united(&extent, &b->summaries[c].extent);
    struct obb_nonuniform_grid nonuniform;
    if (choose_grid(b, &extent, b->usual, &index->grid, &nonuniform)) {
        index->nonuniform = obb_budget_malloc(b->budget, 1, sizeof nonuniform);
        if (index->nonuniform == NULL)
            return OBB_NO_MEMORY;
        *index->nonuniform = nonuniform;
        index->grid.nonuniform = index->nonuniform;
    }
    return OBB_OK;
}

static void part(struct obb_build *b, size_t chunk)
{
    uint32_t *starts = b->summaries[chunk].counts;
    const size_t begin = chunk * b->summary_boxes,
                 end = obb_least(begin + b->summary_boxes, b->count);
    for (size_t i = begin; i < end; i++) {
        const uint32_t key = b->keys[i], later = b->keys[obb_least(i + AHEAD, end - 1)];
        __builtin_prefetch(&b->parted[starts[later >> 16]], 1);
        b->parted[starts[key >> 16]++] = (uint64_t)(key & 0xffff) << 32 | i;
    }
}

static obb_status order(struct obb_build *b, size_t chunk)
{
    const uint32_t *starts = b->column_starts;
    const uint32_t first = b->order_first[chunk], end = b->order_first[chunk + 1];
    size_t most = 0;
    for (uint32_t column = first; column < end; column++) {
        const size_t n = starts[column + 1] - starts[column];
        most = n > most ? n : most;
    }
    uint64_t *spare = obb_budget_malloc(b->budget, most, sizeof *spare);
    if (spare == NULL)
        return OBB_NO_MEMORY;
    for (uint32_t column = first; column < end; column++) {
        const size_t from = starts[column], n = starts[column + 1] - from;
        obb_tiles_order_column(b->parted + from, n, b->versions, b->index->versions + from, spare);
        if (b->to != NULL)
            obb_tiles_order_column(b->parted + from, n, b->to, b->to_of + from, spare);
    }
    obb_budget_free(spare);
    return OBB_OK;
}

/* ---- Packing --------------------------------------------------------------------------------- */

/* Returns a box by its place, or the last one beyond the end. */
static const obb_box *box_at(const struct obb_index *index, size_t i)
{
    return &index->versions[obb_least(i, index->count - 1)]->box;
}

/* Lists 16 boxes by their places; the last one stands for each beyond the end. */
static void list_boxes(const struct obb_index *index, size_t first, const obb_box *out[OBB_NODE])
{
    _Static_assert(offsetof(struct obb_version, box) == 0, "a version begins with its box");
    if (first + OBB_NODE <= index->count)
        memcpy((void *)out, (const void *)(index->versions + first), OBB_NODE * sizeof *out);
    else
        for (size_t k = 0; k < OBB_NODE; k++)
            out[k] = box_at(index, first + k);
}

/* Quantises the ways of up to 16 boxes. */
static void bound_ways(const struct obb_build *b, size_t first, size_t n, struct obb_node *node)
{
    const struct obb_index *index = b->index;
    memset(node, 0xff, sizeof *node); /* OBB_CODE_NONE */
    for (size_t k = 0; k < n; k++) {
        const obb_bounds way = bounds_of_way(&index->versions[first + k]->box,
                                             &b->to_of[first + k]->box, index->dimensions);
        obb_node_set(node, (uint32_t)k, obb_grid_quantise(&index->grid, &way));
    }
}

/* Packs up to 16 boxes. The order of packing is not that of the memory, so the lines of the boxes
 * that come AHEAD are fetched: between the steps of the kernel, since a processor takes about as
 * many prefetches at a time as eight boxes need, and waits before it takes more. */
static void pack_boxes(const struct obb_index *index, size_t first, size_t n, struct obb_node *node)
{
    if (index->dimensions == 3) {
        const obb_box *boxes[OBB_NODE], *next[OBB_NODE];
        list_boxes(index, first, boxes);
        list_boxes(index, first + AHEAD, next);
        index->kernels->pack(boxes, n, next, &index->grid, index->boxes + first, node);
        if (index->nonuniform == NULL)
            return;
    } else {
        for (size_t k = 0; k < n; k++)
            index->boxes[first + k] =
                obb_packed_from_box(box_at(index, first + k), index->dimensions);
    }
    obb_tree_leaf(index->kernels, &index->grid, index->boxes + first, n, 0, node);
}

static void pack_leaf(struct obb_build *b, size_t first, size_t n, struct packed *packed)
{
    struct obb_index *index = b->index;
    struct obb_node *node = &index->nodes[first / OBB_NODE];
    if (b->to != NULL)
        bound_ways(b, first, n, node);
    else
        pack_boxes(index, first, n, node);
    struct packed seen = *packed;
    for (size_t k = first; k < first + n; k++) { /* their lines are here now */
        const struct obb_version *version = index->versions[k];
        const uint64_t id = version->id;
        index->ids[k] = id;
        seen.least_id = id < seen.least_id ? id : seen.least_id;
        seen.most_id = id > seen.most_id ? id : seen.most_id;
        seen.plain &= obb_version_plain(version);
    }
    *packed = seen;
}

/* Gives the pages of a large index that a chunk of packing is about to write. */
static void fill_boxes(const struct obb_index *index, size_t begin, size_t end)
{
    if (index->bytes < LARGE)
        return;
    const size_t first = begin / OBB_NODE, last = (end + OBB_NODE - 1) / OBB_NODE;
    obb_fill_pages(index->nodes + first, (last - first) * sizeof *index->nodes);
    if (!index->moving)
        obb_fill_pages(index->boxes + begin, (end - begin) * sizeof *index->boxes);
}

static obb_status pack(struct obb_build *b, size_t chunk)
{
    struct obb_index *index = b->index;
    const size_t begin = chunk * PACK_BOXES, end = obb_least(begin + PACK_BOXES, b->count);
    struct packed *packed = &b->packed[chunk];
    *packed = (struct packed){.least_id = UINT64_MAX, .plain = true};
    fill_boxes(index, begin, end);
    for (size_t i = begin; i < end; i += OBB_NODE) {
        if (i % 1024 == 0 && cancelled(b))
            return OBB_CANCELLED;
        pack_leaf(b, i, obb_least(end - i, OBB_NODE), packed);
    }
    obb_tree_merge(&index->tree, index->kernels, index->nodes, 1, begin / OBB_GROUP,
                   (end + OBB_GROUP - 1) / OBB_GROUP);
    return OBB_OK;
}

static void finish(struct obb_build *b)
{
    struct obb_index *index = b->index;
    for (size_t c = 0; c < b->pack_chunks; c++) {
        const struct packed *packed = &b->packed[c];
        index->least_id = packed->least_id < index->least_id ? packed->least_id : index->least_id;
        index->most_id = packed->most_id > index->most_id ? packed->most_id : index->most_id;
        index->plain = index->plain && packed->plain;
    }
    for (int level = 2; level <= index->tree.top; level++)
        obb_tree_merge(&index->tree, index->kernels, index->nodes, level, 0,
                       index->tree.nodes[level]);
}

/* ---- From phase to phase --------------------------------------------------------------------- */

/* Allocates one block for all arrays of the index. Each array begins at a cache line. */
static obb_status room_for(struct obb_index *index, size_t count, struct obb_budget *budget)
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
    index->bytes =
        obb_heap_bytes(OBB_BUDGET_HEAD + sizeof *index) + obb_heap_bytes(OBB_BUDGET_HEAD + sum);
    index->block = obb_budget_malloc(budget, sum, 1);
    if (index->block == NULL)
        return OBB_NO_MEMORY;
    obb_use_large_pages(index->block, sum);
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
    obb_tree_place(&index->tree, index->nodes);
    return OBB_OK;
}

static obb_status start(struct obb_build *b)
{
    struct obb_index *index = b->index;
    obb_status status = room_for(index, b->count, b->budget);
    if (status != OBB_OK)
        return status;
    if (b->count == 0) {
        index->grid = obb_grid_uniform(&(obb_bounds){{0, 0, 0}, {0, 0, 0}});
        memset(index->nodes, 0xff, sizeof *index->nodes);
        obb_tree_merge(&index->tree, index->kernels, index->nodes, 1, 0, 1);
        return OBB_OK;
    }
    status = take_sample(b);
    if (status != OBB_OK)
        return status;
    b->keys = (uint32_t *)(void *)index->versions;
    b->parted = index->ids;
    b->summary_boxes = SUMMARISE_BOXES;
    while (b->summary_boxes * SUMMARISE_CHUNKS < b->count)
        b->summary_boxes *= 2;
    b->summary_chunks = (b->count + b->summary_boxes - 1) / b->summary_boxes;
    b->pack_chunks = (b->count + PACK_BOXES - 1) / PACK_BOXES;
    const size_t columns = b->tiles->columns;
    b->summaries = obb_budget_malloc(b->budget, b->summary_chunks, sizeof *b->summaries);
    b->counts = obb_budget_calloc(b->budget, b->summary_chunks, columns * sizeof *b->counts);
    b->column_starts = obb_budget_malloc(b->budget, columns + 1, sizeof *b->column_starts);
    b->order_first = obb_budget_malloc(b->budget, columns + 1, sizeof *b->order_first);
    b->packed = obb_budget_malloc(b->budget, b->pack_chunks, sizeof *b->packed);
    if (b->to != NULL)
        b->to_of = obb_budget_malloc(b->budget, b->count, sizeof *b->to_of);
    if ((b->to != NULL && b->to_of == NULL) || b->summaries == NULL || b->counts == NULL ||
        b->column_starts == NULL || b->order_first == NULL || b->packed == NULL)
        return OBB_NO_MEMORY;
    for (size_t c = 0; c < b->summary_chunks; c++)
        b->summaries[c].counts = b->counts + c * columns;
    return OBB_OK;
}

/* Returns an index without arrays, or NULL if there is no memory. */
static struct obb_index *create_index(size_t count, int dimensions, bool moving,
                                      const struct obb_kernels *kernels, struct obb_budget *budget)
{
    struct obb_index *index = obb_budget_calloc(budget, 1, sizeof *index);
    if (index == NULL)
        return NULL;
    index->references = 1;
    index->count = count;
    index->dimensions = dimensions;
    index->moving = moving;
    index->least_id = UINT64_MAX;
    index->plain = true;
    index->kernels = kernels != NULL ? kernels : obb_kernels_choose(OBB_KERNEL_AUTO);
    if (moving || count < OBB_PAIR_CACHE_BOXES)
        return index;
    index->pair_cache = obb_budget_calloc(budget, 1, sizeof *index->pair_cache);
    if (index->pair_cache != NULL)
        return index;
    obb_index_unref(index);
    return NULL;
}

obb_status obb_build_create(const struct obb_version *const *versions,
                            const struct obb_version *const *to, size_t count, int dimensions,
                            const struct obb_kernels *kernels, const atomic_bool *cancel,
                            struct obb_budget *budget, struct obb_build **out)
{
    struct obb_build *b = obb_budget_calloc(budget, 1, sizeof *b);
    struct obb_index *index = create_index(count, dimensions, to != NULL, kernels, budget);
    if (b == NULL || index == NULL) {
        obb_budget_free(b);
        obb_index_unref(index);
        return OBB_NO_MEMORY;
    }
    b->index = index;
    b->versions = versions;
    b->to = to;
    b->count = count;
    b->cancel = cancel;
    b->budget = budget;
    const obb_status status = start(b);
    if (status == OBB_OK)
        *out = b;
    else
        obb_build_destroy(b);
    return status;
}

size_t obb_build_advance(struct obb_build *b, obb_status *out_status)
{
    *out_status = OBB_OK;
    switch (b->phase) {
    case START:
        b->phase = b->count > 0 ? SUMMARISE : DONE;
        return b->summary_chunks;
    case SUMMARISE:
        b->phase = PART;
        *out_status = start_parting(b);
        return *out_status == OBB_OK ? b->summary_chunks : 0;
    case PART:
        b->phase = ORDER;
        return b->order_chunks;
    case ORDER:
        b->phase = PACK;
        return b->pack_chunks;
    case PACK:
        finish(b);
        b->phase = DONE;
        return 0;
    case DONE:
        break;
    }
    return 0;
}

obb_status obb_build_chunk(struct obb_build *b, size_t chunk)
{
    if (cancelled(b))
        return OBB_CANCELLED;
    switch (b->phase) {
    case SUMMARISE:
        return summarise(b, chunk);
    case PART:
        part(b, chunk);
        return OBB_OK;
    case ORDER:
        return order(b, chunk);
    case PACK:
        return pack(b, chunk);
    case START:
    case DONE:
        break;
    }
    assert(false);
    return OBB_OK;
}

struct obb_index *obb_build_take(struct obb_build *b)
{
    assert(b->phase == DONE);
    struct obb_index *index = b->index;
    b->index = NULL;
    if (index->nonuniform != NULL)
        index->bytes += obb_heap_bytes(OBB_BUDGET_HEAD + sizeof *index->nonuniform);
    if (index->pair_cache != NULL)
        index->bytes += obb_heap_bytes(OBB_BUDGET_HEAD + sizeof *index->pair_cache);
    return index;
}

void obb_build_destroy(struct obb_build *b)
{
    if (b == NULL)
        return;
    obb_index_unref(b->index);
    obb_budget_free(b->sample);
    obb_budget_free(b->tiles);
    obb_budget_free(b->summaries);
    obb_budget_free(b->counts);
    obb_budget_free(b->column_starts);
    obb_budget_free(b->order_first);
    obb_budget_free(b->to_of);
    obb_budget_free(b->packed);
    obb_budget_free(b);
}

obb_status obb_index_build(const struct obb_version *const *versions,
                           const struct obb_version *const *to, size_t count, int dimensions,
                           const struct obb_kernels *kernels, const atomic_bool *cancel,
                           struct obb_budget *budget, struct obb_index **out)
{
    struct obb_build *build;
    obb_status status =
        obb_build_create(versions, to, count, dimensions, kernels, cancel, budget, &build);
    if (status != OBB_OK)
        return status;
    for (size_t chunks; status == OBB_OK && (chunks = obb_build_advance(build, &status)) > 0;)
        for (size_t i = 0; i < chunks && status == OBB_OK; i++)
            status = obb_build_chunk(build, i);
    if (status == OBB_OK)
        *out = obb_build_take(build);
    obb_build_destroy(build);
    return status;
}

obb_status obb_index_build_few(const struct obb_version *const *versions, size_t count,
                               int dimensions, const struct obb_kernels *kernels,
                               struct obb_index **out)
{
    assert(0 < count && count <= OBB_INDEX_FEW && count <= PACK_BOXES);
    struct obb_index *index = create_index(count, dimensions, false, kernels, NULL);
    if (index == NULL)
        return OBB_NO_MEMORY;
    const obb_status status = room_for(index, count, NULL);
    if (status != OBB_OK) {
        obb_index_unref(index);
        return status;
    }
    struct packed packed;
    struct obb_build b = {
        .index = index, .versions = versions, .count = count, .pack_chunks = 1, .packed = &packed};
    obb_bounds extent = {{0, 0, 0}, {0, 0, 0}};
    for (size_t i = 0; i < count; i++) {
        const struct sampled s = where(&b, i);
        const obb_bounds one = bounds_of(&s);
        extent = i == 0 ? one : united(&extent, &one);
    }
    index->grid = obb_grid_uniform(&extent);
    memcpy((void *)index->versions, (const void *)versions, count * sizeof(struct obb_version *));
    (void)pack(&b, 0); /* nobody cancels it */
    finish(&b);
    *out = index;
    return OBB_OK;
}
