#include "core/index/tree.h"

#include "core/base/alloc.h"
#include "core/base/least.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- Packed boxes --------------------------------------------------------------------------------------------- */

struct obb_packed obb_packed_from_solid(const obb_solid *solid)
{
    struct obb_packed out;
    obb_vec3 half = solid->half_extents;
    double size = half.x + half.y + half.z;
    if (solid->dimensions == 2) {
        half.z = size;
        size += size;
    }
    double far = 0;
    for (int k = 0; k < 3; k++) {
        const double c = obb_component(solid->center, k);
        far += fabs(c);
        out.hi[k] = (float)c;
        out.lo[k] = (float)(c - (double)out.hi[k]);
        out.half[k] = (float)obb_component(half, k);
        out.u[k] = (float)obb_component(solid->axis[0], k);
        out.v[k] = (float)obb_component(solid->axis[1], k);
    }
    /* The last factor covers the rounding to a float and of this sum. */
    out.slack = (float)((size * OBB_PACKED_ERROR + far * OBB_PACKED_DRIFT + OBB_PACKED_LITTLE) *
                        (1 + 0x1p-22));
    return out;
}

struct obb_packed obb_packed_from_box(const obb_box *box, int dimensions)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    return obb_packed_from_solid(&solid);
}

obb_bounds obb_packed_bounds(const struct obb_packed *packed)
{
    const obb_vec3 u = {(double)packed->u[0], (double)packed->u[1], (double)packed->u[2]};
    const obb_vec3 v = {(double)packed->v[0], (double)packed->v[1], (double)packed->v[2]};
    const obb_vec3 w = obb_cross(u, v);
    double low[3], high[3];
    for (int k = 0; k < 3; k++) {
        const double half = (double)packed->half[0] * fabs(obb_component(u, k)) +
                            (double)packed->half[1] * fabs(obb_component(v, k)) +
                            (double)packed->half[2] * fabs(obb_component(w, k)) +
                            (double)packed->slack;
        const double c = (double)packed->hi[k] + (double)packed->lo[k];
        low[k] = c - half;
        high[k] = c + half;
    }
    return (obb_bounds){{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

/* A float not below x, or not above it, within an ulp or two. */
static float float_above(double x)
{
    const float f = (float)x;
    return (double)f >= x ? f : f + (fabsf(f) * 0x1p-23F + 0x1p-149F);
}

static float float_below(double x) { return -float_above(-x); }

struct obb_limits obb_limits_of(double margin)
{
    return (struct obb_limits){
        .face = float_above(margin),
        .cross = float_above(fmax(margin, 0)),
        .sure = float_below(fmin(margin, 0)),
        .error = float_above(fabs(margin) * OBB_PACKED_ERROR * (1 + 0x1p-22)),
    };
}

/* ---- Grids --------------------------------------------------------------------------------------------------- */

struct obb_grid obb_grid_uniform(const obb_bounds *bounds)
{
    struct obb_grid grid = {.nonuniform = NULL};
    for (int k = 0; k < 3; k++) {
        const double low = obb_component(bounds->min, k), high = obb_component(bounds->max, k);
        /* Encoding adds a box's slack and 2^-22 of the distance from the origin. Four codes at each end are more, as long
         * as the grid is not too narrow for where it lies. */
        const double width = fmax(high - low, (fabs(low) + fabs(high)) * 0x1p-28 + 0x1p-90);
        const float scale = float_below((OBB_CODE_MOST - 8) / width);
        const double origin = low - 4 / (double)scale;
        grid.hi[k] = (float)origin;
        grid.lo[k] = float_below(origin - (double)grid.hi[k]);
        grid.origin[k] = (double)grid.hi[k] + (double)grid.lo[k];
        grid.scale[k] = (double)scale;
    }
    return grid;
}

uint32_t obb_grid_code(const struct obb_grid *grid, int axis, double x)
{
    double code;
    if (grid->nonuniform == NULL) {
        code = (x - grid->origin[axis]) * grid->scale[axis];
    } else {
        const double *knot = grid->nonuniform->knot[axis];
        if (x >= knot[OBB_GRID_PIECES])
            return OBB_CODE_MOST;
        if (!(x >= knot[0]))
            return 0;
        uint32_t piece = 0; /* the last whose knot is not above x */
        for (uint32_t step = OBB_GRID_PIECES / 2; step > 0; step /= 2)
            piece += x >= knot[piece + step] ? step : 0;
        const double within = (x - knot[piece]) * grid->nonuniform->scale[axis][piece];
        code = piece * OBB_GRID_PIECE_CODES + fmin(within, OBB_GRID_PIECE_CODES - 1);
    }
    return code >= OBB_CODE_MOST ? OBB_CODE_MOST : code > 0 ? (uint32_t)code : 0;
}

struct obb_quantised_bounds obb_grid_quantise(const struct obb_grid *grid, const obb_bounds *bounds)
{
    struct obb_quantised_bounds quantised = {{0, 0, 0}};
    for (int k = 0; k < 3; k++)
        quantised.axis[k] = obb_code_word(obb_grid_code(grid, k, obb_component(bounds->min, k)),
                                          obb_grid_code(grid, k, obb_component(bounds->max, k)));
    return quantised;
}

/* Where a code begins; the first and the one past the last have no ends. */
static double begin(const struct obb_grid *grid, int axis, uint32_t code)
{
    if (code == 0)
        return -HUGE_VAL;
    if (code > OBB_CODE_MOST)
        return HUGE_VAL;
    if (grid->nonuniform == NULL)
        return grid->origin[axis] + code / grid->scale[axis];
    const uint32_t piece = code / OBB_GRID_PIECE_CODES;
    if (piece >= OBB_GRID_PIECES)
        return grid->nonuniform->knot[axis][OBB_GRID_PIECES];
    const double scale = grid->nonuniform->scale[axis][piece];
    const uint32_t within = code % OBB_GRID_PIECE_CODES;
    const double from = grid->nonuniform->knot[axis][piece];
    return within == 0 || scale == 0 ? from : from + within / scale;
}

obb_bounds obb_grid_bounds(const struct obb_grid *grid,
                           const struct obb_quantised_bounds *quantised)
{
    double low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = begin(grid, k, quantised->axis[k] & 0xffffu);
        high[k] = begin(grid, k, OBB_CODE_MOST - (quantised->axis[k] >> 16) + 1);
        /* Scaling back rounds. */
        low[k] -= fabs(low[k]) < HUGE_VAL ? (fabs(low[k]) + fabs(grid->origin[k])) * 0x1p-50 : 0;
        high[k] += fabs(high[k]) < HUGE_VAL ? (fabs(high[k]) + fabs(grid->origin[k])) * 0x1p-50 : 0;
    }
    return (obb_bounds){{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

/* ---- Trees ---------------------------------------------------------------------------------------------------- */

size_t obb_tree_shape(size_t count, struct obb_tree *tree)
{
    size_t sum = 0, nodes = count;
    for (int level = 0;; level++) {
        nodes = nodes == 0 ? 1 : (nodes + OBB_NODE - 1) / OBB_NODE;
        assert(level < OBB_LEVELS && nodes <= UINT32_MAX);
        tree->nodes[level] = (uint32_t)nodes;
        tree->top = level;
        sum += nodes;
        if (nodes == 1 && level > 0)
            return sum;
    }
}

void obb_tree_place(struct obb_tree *tree, struct obb_node *nodes)
{
    for (int level = 0; level <= tree->top; level++) {
        tree->level[level] = nodes;
        nodes += tree->nodes[level];
    }
}

void obb_tree_merge(const struct obb_tree *tree, const struct obb_kernels *kernels,
                    struct obb_node *nodes, int level, size_t from, size_t to)
{
    const size_t count = tree->nodes[level - 1];
    struct obb_node *out = nodes + (tree->level[level] - tree->level[0]);
    for (size_t i = from; i < to; i++) {
        const size_t rest = count - i * OBB_NODE;
        kernels->merge_nodes(&tree->level[level - 1][i * OBB_NODE], obb_least(rest, OBB_NODE),
                             &out[i]);
    }
}

static obb_bounds grown(obb_bounds bounds, double by)
{
    const obb_vec3 far = obb_max(obb_negate(bounds.min), bounds.max);
    const double most = fmax(fmax(fabs(far.x), fabs(far.y)), fmax(fabs(far.z), by));
    by += by > 0 ? most * 0x1p-50 : 0; /* sums round */
    const obb_vec3 all = {by, by, by};
    return (obb_bounds){obb_sub(bounds.min, all), obb_add(bounds.max, all)};
}

void obb_tree_leaf(const struct obb_kernels *kernels, const struct obb_grid *grid,
                   const struct obb_packed *boxes, size_t count, double grow, struct obb_node *out)
{
    if (grid->nonuniform == NULL && count > 0 && grow == 0) {
        kernels->encode(boxes, count, grid, out);
        return;
    }
    memset(out, 0xff, sizeof *out); /* OBB_CODE_NONE */
    for (size_t k = 0; k < count; k++) {
        const obb_bounds bounds = grown(obb_packed_bounds(&boxes[k]), grow);
        obb_node_set(out, (uint32_t)k, obb_grid_quantise(grid, &bounds));
    }
}

void obb_tree_over(struct obb_tree *tree, const struct obb_kernels *kernels,
                   const struct obb_grid *grid, const struct obb_packed *boxes, size_t count,
                   double grow, struct obb_node *nodes)
{
    (void)obb_tree_shape(count, tree);
    obb_tree_place(tree, nodes);
    for (size_t i = 0; i < tree->nodes[0]; i++) {
        const size_t rest = count - i * OBB_NODE;
        obb_tree_leaf(kernels, grid, boxes + i * OBB_NODE, obb_least(rest, OBB_NODE), grow,
                      &nodes[i]);
    }
    for (int level = 1; level <= tree->top; level++)
        obb_tree_merge(tree, kernels, nodes, level, 0, tree->nodes[level]);
}

struct obb_walk obb_walk_start(const struct obb_tree *tree, const struct obb_kernels *kernels,
                               const struct obb_quantised_bounds *quantised)
{
    struct obb_walk walk;
    walk.level = tree->top;
    walk.node[tree->top] = 0;
    for (int k = 0; k < 3; k++)
        walk.query.axis[k] = obb_code_query(quantised->axis[k]);
    walk.left[tree->top] = kernels->test_node(tree->level[tree->top], &walk.query);
    return walk;
}

/* ---- Order ---------------------------------------------------------------------------------------------------- */

#define MOST_COLUMNS 4096  /* of a rank: slabs of one short axis times those of the other */
#define MOST_SLABS   64    /* of the first */
#define MOST_BINS    2048  /* along a column */
#define FINE_BINS    16384 /* slabs of the first axis times bins of the second */

uint32_t obb_rank_of(double large, double size)
{
    uint32_t rank = 0;
    while (size > large && rank < OBB_RANKS - 1) {
        large *= 8;
        rank++;
    }
    return rank;
}

/* The counts of bins to slabs of about equal count, in order; bin i is at out[i]. */
static void cut(const uint32_t *counts, size_t bins, size_t slabs, uint16_t *out)
{
    size_t total = 0, before = 0, slab = 0;
    for (size_t i = 0; i < bins; i++)
        total += counts[i];
    for (size_t i = 0; i < bins; i++) {
        const size_t middle = before + counts[i] / 2;
        while (slab + 1 < slabs && middle * slabs >= (slab + 1) * total)
            slab++;
        out[i] = (uint16_t)slab;
        before += counts[i];
    }
}

/* How many slabs along the two shorter axes make tiles of sixteen boxes about cubic. */
static void slabs_of(const double width[3], const uint8_t axis[3], double count, size_t slabs[2])
{
    const double tiles = ceil(count / OBB_NODE);
    const double a = width[axis[0]], b = width[axis[1]], c = width[axis[2]];
    /* Of cubes: along the shortest first; an axis too short for two tiles has one slab. */
    double first = 1, second = 1;
    while (first < MOST_SLABS &&
           tiles * a * a > (first + 0.5) * (first + 0.5) * (first + 0.5) * b * c)
        first++;
    if (b > 0)
        second = fmax(1, floor(sqrt(tiles / first * b / c) + 0.5));
    slabs[0] = (size_t)first;
    slabs[1] = (size_t)fmin(second, MOST_COLUMNS / (double)slabs[0]);
}

/* A rank from its places in the sample, of which there are some. `scale` of all boxes are one of the sample. */
static void choose_columns(struct obb_rank *r, const struct obb_grid_cell *sample, size_t count,
                           uint32_t rank, double scale, const double width[3], uint32_t *counts)
{
    size_t here = 0;
    for (size_t i = 0; i < count; i++)
        here += sample[i].rank == rank;
    size_t slabs[2];
    slabs_of(width, r->axis, (double)here * scale, slabs);
    unsigned bits = 5; /* of the bins along an axis */
    while (bits < 10 && (size_t)2 << bits < here)
        bits++;
    r->shift[0] = 16 - bits;
    memset(counts, 0, sizeof *counts << bits);
    for (size_t i = 0; i < count; i++)
        if (sample[i].rank == rank)
            counts[sample[i].code[r->axis[0]] >> r->shift[0]]++;
    cut(counts, (size_t)1 << bits, slabs[0], r->slab);

    while (slabs[0] << bits > FINE_BINS)
        bits--;
    r->shift[1] = 16 - bits;
    r->bits = bits;
    memset(counts, 0, (slabs[0] * sizeof *counts) << bits);
    for (size_t i = 0; i < count; i++)
        if (sample[i].rank == rank)
            counts[((uint32_t)r->slab[sample[i].code[r->axis[0]] >> r->shift[0]] << bits) +
                   ((uint32_t)sample[i].code[r->axis[1]] >> r->shift[1])]++;
    for (size_t s = 0; s < slabs[0]; s++) {
        uint16_t *column = r->column + (s << bits);
        cut(counts + (s << bits), (size_t)1 << bits, slabs[1], column);
        for (size_t i = 0; i < (size_t)1 << bits; i++) /* to and fro */
            column[i] =
                (uint16_t)(s * slabs[1] + (s % 2 == 0 ? column[i] : slabs[1] - 1 - column[i]));
    }
    r->columns = (uint32_t)(slabs[0] * slabs[1]);
}

obb_status obb_tiles_create(const struct obb_grid_cell *sample, size_t sample_count, size_t count,
                            const double width[static 3], double large, struct obb_tiles **out)
{
    bool seen[OBB_RANKS] = {false};
    size_t tables = 0;
    for (size_t i = 0; i < sample_count; i++)
        seen[sample[i].rank] = true;
    for (int rank = 0; rank < OBB_RANKS; rank++)
        tables += seen[rank];
    uint32_t *counts = obb_malloc(FINE_BINS, sizeof *counts);
    struct obb_tiles *tiles = obb_malloc(1, sizeof *tiles + tables * sizeof tiles->tables[0]);
    if (tiles == NULL || counts == NULL) {
        obb_free(tiles);
        obb_free(counts);
        return OBB_NO_MEMORY;
    }
    uint8_t axis[3] = {0, 1, 2}; /* shortest first */
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (width[axis[k]] > width[axis[k + 1]]) {
                const uint8_t t = axis[k];
                axis[k] = axis[k + 1];
                axis[k + 1] = t;
            }
    tiles->large = large;
    tiles->columns = 0;
    tiles->none = 0;
    size_t used = 0;
    for (uint32_t rank = OBB_RANKS; rank-- > 0;) {
        struct obb_rank *r = &tiles->ranks[rank];
        *r = (struct obb_rank){.first = tiles->columns, .columns = 1, .shift = {16, 16}};
        memcpy(r->axis, axis, sizeof axis);
        r->slab = r->column = &tiles->none;
        if (seen[rank]) {
            r->slab = tiles->tables[used].slab;
            r->column = tiles->tables[used++].column;
            choose_columns(r, sample, sample_count, rank, (double)count / (double)sample_count,
                           width, counts);
        }
        tiles->columns += r->columns;
    }
    obb_free(counts);
    *out = tiles;
    return OBB_OK;
}

/* What is listed (NULL: 0 to count - 1), by the bits of its place from `shift` on, stable. */
static void count_sort(const uint16_t *along, const uint32_t *list, size_t count, unsigned shift,
                       unsigned bits, uint32_t *out)
{
    uint32_t starts[MOST_BINS];
    const uint32_t bins = 1u << bits;
    memset(starts, 0, bins * sizeof starts[0]);
    for (size_t i = 0; i < count; i++)
        starts[(uint32_t)along[i] >> shift & (bins - 1)]++;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < bins; i++) {
        const uint32_t n = starts[i];
        starts[i] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t which = list != NULL ? list[i] : (uint32_t)i;
        out[starts[(uint32_t)along[which] >> shift & (bins - 1)]++] = which;
    }
}

void obb_tiles_order_column(const uint16_t *along, size_t count, uint32_t *out, uint32_t *spare)
{
    unsigned bits = 4;
    while (1u << bits < MOST_BINS && (size_t)1 << bits < count)
        bits++;
    if (count <= (size_t)OBB_NODE << bits) {
        count_sort(along, NULL, count, 16 - bits, bits, out);
    } else {
        count_sort(along, NULL, count, 0, 8, spare);
        count_sort(along, spare, count, 8, 8, out);
    }
}
