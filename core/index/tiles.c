#include "core/index/tiles.h"

#include "core/index/rounding.h"

#include <math.h>
#include <string.h>

#define MOST_COLUMNS 4096  /* of a rank: slabs of one short axis times slabs of the other */
#define MOST_SLABS   64    /* along the first axis */
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

/* Cuts bins, with the counts of their boxes, into slabs of about equal count. Sets out[i] to the
 * slab of bin i; slabs ascend. */
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

/* Chooses how many slabs along the two shorter axes make a tile of 16 boxes about cubic. */
static void slabs_of(const double width[3], const uint8_t axis[3], double count, size_t slabs[2])
{
    const double tiles = ceil(count / OBB_NODE);
    const double a = width[axis[0]], b = width[axis[1]], c = width[axis[2]];
    /* The number of cubes along the shortest axis first. An axis too short for two tiles gets one
     * slab. */
    double first = 1, second = 1;
    while (first < MOST_SLABS &&
           tiles * a * a > (first + 0.5) * (first + 0.5) * (first + 0.5) * b * c)
        first++;
    if (b > 0)
        second = fmax(1, floor(sqrt(tiles / first * b / c) + 0.5));
    slabs[0] = (size_t)first;
    slabs[1] = (size_t)fmin(second, MOST_COLUMNS / (double)slabs[0]);
}

/* Cuts a rank of which the sample has at least one box. `scale` is the number of boxes that one box
 * of the sample stands for. */
static void choose_columns(struct obb_cuts *r, const struct obb_grid_cell *sample, size_t count,
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
        for (size_t i = 0; i < (size_t)1 << bits; i++) /* every second slab backwards */
            column[i] =
                (uint16_t)(s * slabs[1] + (s % 2 == 0 ? column[i] : slabs[1] - 1 - column[i]));
    }
    r->columns = (uint32_t)(slabs[0] * slabs[1]);
}

obb_status obb_tiles_create(const struct obb_grid_cell *sample, size_t sample_count, size_t count,
                            const double width[static 3], double large, struct obb_budget *budget,
                            struct obb_tiles **out)
{
    bool seen[OBB_RANKS] = {false};
    size_t tables = 0;
    for (size_t i = 0; i < sample_count; i++)
        seen[sample[i].rank] = true;
    for (int rank = 0; rank < OBB_RANKS; rank++)
        tables += seen[rank];
    uint32_t *counts = obb_budget_malloc(budget, FINE_BINS, sizeof *counts);
    struct obb_tiles *tiles =
        obb_budget_malloc(budget, 1, sizeof *tiles + tables * sizeof tiles->tables[0]);
    if (tiles == NULL || counts == NULL) {
        obb_budget_free(tiles);
        obb_budget_free(counts);
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
    memset(tiles->none, 0, sizeof tiles->none);
    size_t used = 0;
    for (uint32_t rank = OBB_RANKS; rank-- > 0;) {
        struct obb_cuts *r = &tiles->ranks[rank];
        *r = (struct obb_cuts){.first = tiles->columns, .columns = 1, .shift = {16, 16}};
        memcpy(r->axis, axis, sizeof axis);
        r->slab = r->column = tiles->none;
        if (seen[rank]) {
            r->slab = tiles->tables[used].slab;
            r->column = tiles->tables[used++].column;
            choose_columns(r, sample, sample_count, rank, (double)count / (double)sample_count,
                           width, counts);
        }
        tiles->columns += r->columns;
    }
    obb_budget_free(counts);
    *out = tiles;
    return OBB_OK;
}

void obb_tiles_keys(const struct obb_tiles *tiles, const struct obb_kernels *kernels,
                    const struct obb_summaries *boxes, size_t count, uint32_t *out_keys,
                    uint32_t *counts)
{
    const float limit = obb_float_below(tiles->large);
    uint32_t large = kernels->keys(&tiles->ranks[0], limit, boxes, count, out_keys);
    for (; large != 0; large &= large - 1) { /* few */
        const uint32_t i = (uint32_t)__builtin_ctz(large);
        const uint32_t rank = obb_rank_of(tiles->large, (double)boxes->size[i]);
        struct obb_summaries one;
        for (int k = 0; k < 3; k++)
            one.code[k][0] = boxes->code[k][i];
        one.size[0] = boxes->size[i];
        (void)kernels->keys(&tiles->ranks[rank], limit, &one, 1, &out_keys[i]);
    }
    for (size_t i = 0; i < count; i++)
        counts[out_keys[i] >> 16]++;
}

/* Counts boxes by the `bits` bits from bit `shift` on, and finds where those of each bin begin. */
static void begin_bins(const uint64_t *boxes, size_t count, unsigned shift, unsigned bits,
                       uint32_t *starts)
{
    const uint32_t bins = 1u << bits;
    uint32_t sum = 0;
    memset(starts, 0, bins * sizeof starts[0]);
    for (size_t i = 0; i < count; i++)
        starts[boxes[i] >> shift & (bins - 1)]++;
    for (uint32_t i = 0; i < bins; i++) {
        const uint32_t n = starts[i];
        starts[i] = sum;
        sum += n;
    }
}

/* Sorts the versions of boxes by the `bits` bits from bit `shift` on. Stable. */
static void sort_versions(const uint64_t *boxes, size_t count, unsigned shift, unsigned bits,
                          const struct obb_version *const *versions, const struct obb_version **out)
{
    uint32_t starts[MOST_BINS];
    const uint32_t mask = (1u << bits) - 1;
    begin_bins(boxes, count, shift, bits, starts);
    for (size_t i = 0; i < count; i++)
        out[starts[boxes[i] >> shift & mask]++] = versions[(uint32_t)boxes[i]];
}

void obb_tiles_order_column(const uint64_t *boxes, size_t count,
                            const struct obb_version *const *versions,
                            const struct obb_version **out, uint64_t *spare)
{
    unsigned bits = 4; /* two boxes in a bin, about: a bin takes as long as a box */
    while (1u << bits < MOST_BINS && (size_t)2 << bits < count)
        bits++;
    if (count <= (size_t)OBB_NODE << bits) {
        sort_versions(boxes, count, 48 - bits, bits, versions, out);
        return;
    }
    uint32_t starts[1 << 8];
    begin_bins(boxes, count, 32, 8, starts);
    for (size_t i = 0; i < count; i++)
        spare[starts[boxes[i] >> 32 & 0xff]++] = boxes[i];
    sort_versions(spare, count, 40, 8, versions, out);
}
