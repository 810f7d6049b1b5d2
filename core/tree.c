#include "core/tree.h"

#include "core/alloc.h"

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

/* ---- Frames --------------------------------------------------------------------------------------------------- */

struct obb_frame obb_frame_even(const obb_bounds *bounds)
{
    struct obb_frame frame = {.warp = NULL};
    for (int k = 0; k < 3; k++) {
        const double low = obb_component(bounds->min, k), high = obb_component(bounds->max, k);
        /* Encoding adds a box's slack and 2^-22 of the distance from the origin. Four codes at each end are more, as long
         * as the frame is not too narrow for where it lies. */
        const double width = fmax(high - low, (fabs(low) + fabs(high)) * 0x1p-28 + 0x1p-90);
        const float scale = float_below((OBB_CODE_MOST - 8) / width);
        const double origin = low - 4 / (double)scale;
        frame.hi[k] = (float)origin;
        frame.lo[k] = float_below(origin - (double)frame.hi[k]);
        frame.origin[k] = (double)frame.hi[k] + (double)frame.lo[k];
        frame.scale[k] = (double)scale;
    }
    return frame;
}

uint32_t obb_frame_code(const struct obb_frame *frame, int axis, double x)
{
    double code;
    if (frame->warp == NULL) {
        code = (x - frame->origin[axis]) * frame->scale[axis];
    } else {
        const double *knot = frame->warp->knot[axis];
        if (x >= knot[OBB_WARP_PIECES])
            return OBB_CODE_MOST;
        if (!(x >= knot[0]))
            return 0;
        uint32_t piece = 0; /* the last whose knot is not above x */
        for (uint32_t step = OBB_WARP_PIECES / 2; step > 0; step /= 2)
            piece += x >= knot[piece + step] ? step : 0;
        const double within = (x - knot[piece]) * frame->warp->scale[axis][piece];
        code = piece * OBB_WARP_CODES + fmin(within, OBB_WARP_CODES - 1);
    }
    return code >= OBB_CODE_MOST ? OBB_CODE_MOST : code > 0 ? (uint32_t)code : 0;
}

struct obb_codes obb_frame_codes(const struct obb_frame *frame, const obb_bounds *bounds)
{
    struct obb_codes codes = {{0, 0, 0}};
    for (int k = 0; k < 3; k++)
        codes.axis[k] = obb_code_word(obb_frame_code(frame, k, obb_component(bounds->min, k)),
                                      obb_frame_code(frame, k, obb_component(bounds->max, k)));
    return codes;
}

/* Where a code begins; the first and the one past the last have no ends. */
static double begin(const struct obb_frame *frame, int axis, uint32_t code)
{
    if (code == 0)
        return -HUGE_VAL;
    if (code > OBB_CODE_MOST)
        return HUGE_VAL;
    if (frame->warp == NULL)
        return frame->origin[axis] + code / frame->scale[axis];
    const uint32_t piece = code / OBB_WARP_CODES;
    if (piece >= OBB_WARP_PIECES)
        return frame->warp->knot[axis][OBB_WARP_PIECES];
    const double scale = frame->warp->scale[axis][piece];
    const uint32_t within = code % OBB_WARP_CODES;
    const double from = frame->warp->knot[axis][piece];
    return within == 0 || scale == 0 ? from : from + within / scale;
}

obb_bounds obb_frame_bounds(const struct obb_frame *frame, const struct obb_codes *codes)
{
    double low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = begin(frame, k, codes->axis[k] & 0xffffu);
        high[k] = begin(frame, k, OBB_CODE_MOST - (codes->axis[k] >> 16) + 1);
        /* Scaling back rounds. */
        low[k] -= fabs(low[k]) < HUGE_VAL ? (fabs(low[k]) + fabs(frame->origin[k])) * 0x1p-50 : 0;
        high[k] +=
            fabs(high[k]) < HUGE_VAL ? (fabs(high[k]) + fabs(frame->origin[k])) * 0x1p-50 : 0;
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

void obb_tree_fill(struct obb_tree *tree, const struct obb_kernels *kernels, struct obb_node *nodes)
{
    tree->level[0] = nodes;
    for (int level = 1; level <= tree->top; level++) {
        const struct obb_node *below = nodes;
        const size_t count = tree->nodes[level - 1];
        nodes += count;
        tree->level[level] = nodes;
        for (size_t i = 0; i < tree->nodes[level]; i++) {
            const size_t rest = count - i * OBB_NODE;
            kernels->unite(below + i * OBB_NODE, rest < OBB_NODE ? rest : OBB_NODE, &nodes[i]);
        }
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

void obb_tree_over(struct obb_tree *tree, const struct obb_kernels *kernels,
                   const struct obb_frame *frame, const struct obb_packed *boxes, size_t count,
                   double grow, struct obb_node *nodes)
{
    (void)obb_tree_shape(count, tree);
    for (size_t i = 0; i < tree->nodes[0]; i++) {
        const size_t rest = count - i * OBB_NODE;
        const size_t n = rest < OBB_NODE ? rest : OBB_NODE;
        const struct obb_packed *from = boxes + i * OBB_NODE;
        if (frame->warp == NULL && n > 0 && grow == 0) {
            kernels->encode(from, n, frame, &nodes[i]);
            continue;
        }
        memset(&nodes[i], 0xff, sizeof nodes[i]); /* OBB_CODE_NONE */
        for (size_t k = 0; k < n; k++) {
            const obb_bounds bounds = grown(obb_packed_bounds(&from[k]), grow);
            const struct obb_codes codes = obb_frame_codes(frame, &bounds);
            for (int axis = 0; axis < 3; axis++)
                nodes[i].axis[axis][k] = codes.axis[axis];
        }
    }
    obb_tree_fill(tree, kernels, nodes);
}

struct obb_walk obb_walk_start(const struct obb_tree *tree, const struct obb_kernels *kernels,
                               const struct obb_codes *codes)
{
    struct obb_walk walk;
    walk.level = tree->top;
    walk.node[tree->top] = 0;
    for (int k = 0; k < 3; k++)
        walk.asked.axis[k] = obb_code_asked(codes->axis[k]);
    walk.left[tree->top] = kernels->meet(tree->level[tree->top], &walk.asked);
    return walk;
}

/* ---- Order ---------------------------------------------------------------------------------------------------- */

#define MOST_BINS  2048  /* of codes, and of positions along the longest axis */
#define MOST_CELLS 4096  /* columns: slabs of one short axis times those of the other */
#define FINE_BINS  16384 /* slabs of the first axis times bins of the second */

/* What ordering needs beside its input and output; the tables are 120 KB in all. */
struct ordering {
    uint64_t *items, *moved; /* column << 43 | bin << 32 | which */
    uint32_t bins[MOST_BINS];
    uint32_t cells[MOST_CELLS];
    uint16_t slab[MOST_BINS];   /* of the first axis, by bin */
    uint32_t counts[FINE_BINS]; /* of the second axis, by slab and bin */
    uint16_t column[FINE_BINS]; /* likewise */
};

static unsigned bits_of(uint32_t x) { return x == 0 ? 0 : 32 - (unsigned)__builtin_clz(x); }

/* The counts of bins to slabs of about equal count, in order. */
static void cut(const uint32_t *counts, size_t bins, size_t total, size_t slabs, uint16_t *out)
{
    size_t before = 0;
    for (size_t i = 0; i < bins; i++) {
        const size_t middle = before + counts[i] / 2;
        const size_t slab = total == 0 ? 0 : middle * slabs / total;
        out[i] = (uint16_t)(slab < slabs ? slab : slabs - 1);
        before += counts[i];
    }
}

/* Counts to the places where each begins. */
static void accumulate(uint32_t *counts, size_t n)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t count = counts[i];
        counts[i] = sum;
        sum += count;
    }
}

/* How many slabs along the two shorter axes make tiles of sixteen boxes about cubic. */
static void slabs_of(const double width[3], const int axis[3], size_t count, size_t slabs[2])
{
    const double tiles = (double)(count + OBB_NODE - 1) / OBB_NODE;
    const double a = width[axis[0]], b = width[axis[1]], c = width[axis[2]];
    /* Of cubes: along the shortest first; an axis too short for two tiles has one slab. */
    double first = 1, second = 1;
    while (first < 64 && tiles * a * a > (first + 0.5) * (first + 0.5) * (first + 0.5) * b * c)
        first++;
    if (b > 0)
        second = fmax(1, floor(sqrt(tiles / first * b / c) + 0.5));
    slabs[0] = (size_t)first;
    slabs[1] = (size_t)fmin(second, MOST_CELLS / (double)slabs[0]);
}

/* One rank: `list` names the boxes (NULL: 0 to count - 1) whose places are given. */
static void order_rank(struct ordering *o, const struct obb_place *places, const uint32_t *list,
                       size_t count, const double unit[3], uint32_t *out)
{
    uint16_t least[3] = {UINT16_MAX, UINT16_MAX, UINT16_MAX}, most[3] = {0, 0, 0};
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            const uint16_t code = places[i].code[k];
            least[k] = code < least[k] ? code : least[k];
            most[k] = code > most[k] ? code : most[k];
        }
    double width[3];
    unsigned shift[3];
    const unsigned bin_bits = count >= 4096 ? 11 : count >= 256 ? 8 : 5;
    for (int k = 0; k < 3; k++) {
        width[k] = (most[k] - least[k] + 1) * unit[k];
        const unsigned bits = bits_of((uint32_t)(most[k] - least[k]));
        shift[k] = bits > bin_bits ? bits - bin_bits : 0;
    }
    int axis[3] = {0, 1, 2}; /* shortest first */
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (width[axis[k]] > width[axis[k + 1]]) {
                const int t = axis[k];
                axis[k] = axis[k + 1];
                axis[k + 1] = t;
            }
    size_t slabs[2];
    slabs_of(width, axis, count, slabs);
    const int u = axis[0], v = axis[1], w = axis[2];
    const size_t bins = (size_t)1 << bin_bits;

    memset(o->slab, 0, bins * sizeof o->slab[0]);
    if (slabs[0] > 1) {
        memset(o->bins, 0, bins * sizeof o->bins[0]);
        for (size_t i = 0; i < count; i++)
            o->bins[(places[i].code[u] - least[u]) >> shift[u]]++;
        cut(o->bins, bins, count, slabs[0], o->slab);
    }
    /* Bins of the second axis: fewer where there are many slabs. */
    unsigned fine_bits = bin_bits;
    while (slabs[0] << fine_bits > FINE_BINS)
        fine_bits--;
    const size_t fine = (size_t)1 << fine_bits;
    const unsigned fine_shift = shift[v] + (bin_bits - fine_bits);
    memset(o->counts, 0, slabs[0] * fine * sizeof o->counts[0]);
    for (size_t i = 0; i < count; i++) {
        const size_t slab = o->slab[(places[i].code[u] - least[u]) >> shift[u]];
        o->counts[slab * fine + (size_t)((places[i].code[v] - least[v]) >> fine_shift)]++;
    }
    for (size_t s = 0; s < slabs[0]; s++) {
        size_t here = 0;
        for (size_t i = 0; i < fine; i++)
            here += o->counts[s * fine + i];
        uint16_t *column = o->column + s * fine;
        cut(o->counts + s * fine, fine, here, slabs[1], column);
        for (size_t i = 0; i < fine; i++) /* to and fro */
            column[i] =
                (uint16_t)(s * slabs[1] + (s % 2 == 0 ? column[i] : slabs[1] - 1 - column[i]));
    }

    const size_t cells = slabs[0] * slabs[1];
    memset(o->bins, 0, bins * sizeof o->bins[0]);
    memset(o->cells, 0, cells * sizeof o->cells[0]);
    for (size_t i = 0; i < count; i++) {
        const struct obb_place *p = &places[i];
        const size_t slab = o->slab[(p->code[u] - least[u]) >> shift[u]];
        const uint32_t column =
            o->column[slab * fine + (size_t)((p->code[v] - least[v]) >> fine_shift)];
        uint32_t bin = (uint32_t)(p->code[w] - least[w]) >> shift[w];
        bin = column % 2 == 0 ? bin : (uint32_t)bins - 1 - bin;
        o->bins[bin]++;
        o->cells[column]++;
        o->items[i] = (uint64_t)column << 43 | (uint64_t)bin << 32 | i;
    }
    accumulate(o->bins, bins);
    accumulate(o->cells, cells);
    for (size_t i = 0; i < count; i++)
        o->moved[o->bins[o->items[i] >> 32 & (MOST_BINS - 1)]++] = o->items[i];
    for (size_t i = 0; i < count; i++) {
        const uint32_t which = (uint32_t)o->moved[i];
        out[o->cells[o->moved[i] >> 43]++] = list != NULL ? list[which] : which;
    }
}

obb_status obb_order(const struct obb_place *places, size_t count, const double unit[static 3],
                     uint32_t *out_order)
{
    size_t counts[OBB_RANKS] = {0};
    for (size_t i = 0; i < count; i++)
        counts[places[i].rank]++;
    if (count <= OBB_NODE && counts[0] == count) {
        for (size_t i = 0; i < count; i++)
            out_order[i] = (uint32_t)i;
        return OBB_OK;
    }
    struct ordering *o = obb_malloc(1, sizeof *o);
    uint64_t *items = obb_malloc(count, 2 * sizeof *items);
    struct obb_place *apart = NULL;
    uint32_t *list = NULL;
    if (counts[0] < count) {
        apart = obb_malloc(count, sizeof *apart);
        list = obb_malloc(count, sizeof *list);
    }
    obb_status status = OBB_NO_MEMORY;
    if (o == NULL || items == NULL || (counts[0] < count && (apart == NULL || list == NULL)))
        goto out;
    status = OBB_OK;
    o->items = items;
    o->moved = items + count;
    if (counts[0] == count) {
        order_rank(o, places, NULL, count, unit, out_order);
        goto out;
    }
    size_t first[OBB_RANKS], sum = 0;
    for (int c = OBB_RANKS; c-- > 0;) {
        first[c] = sum;
        sum += counts[c];
    }
    for (size_t i = 0; i < count; i++) {
        const size_t at = first[places[i].rank]++;
        apart[at] = places[i];
        list[at] = (uint32_t)i;
    }
    for (int c = 0; c < OBB_RANKS; c++) {
        const size_t from = first[c] - counts[c];
        if (counts[c] > 0)
            order_rank(o, apart + from, list + from, counts[c], unit, out_order + from);
    }
out:
    obb_free(o);
    obb_free(items);
    obb_free(apart);
    obb_free(list);
    return status;
}
