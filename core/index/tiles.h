/* The order of boxes in which neighbours are near: those much larger than most in front, by ranks, each rank
 * sort-tile-recursive: slabs of equal count along the two shorter axes, and along the longest to and fro. Slabs come from a
 * sample: they make columns, each of some rank, and the rest is parting boxes by their columns and ordering each column.
 *
 * Source: Leutenegger, Lopez, Edgington, "STR: a simple and efficient algorithm for R-tree packing", ICDE 1997. Internal to core. */
#ifndef OBB_TILES_H
#define OBB_TILES_H

#include "core/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A box as the order sees it: the code of its centre in a grid, and its rank. */
struct obb_grid_cell {
    uint16_t code[3];
    uint16_t
        rank; /* 0 to OBB_RANKS - 1; above 0 every rank is eight times as large as the one before */
};
#define OBB_RANKS 8

/* Ranks begin above `large`. */
uint32_t obb_rank_of(double large, double size);

struct obb_rank {
    uint8_t axis[3];         /* shortest first */
    unsigned shift[2];       /* codes to bins, of the first two */
    unsigned bits;           /* of the bins along the second */
    uint32_t first, columns; /* its columns */
    uint16_t *slab, *column; /* by bin of the first axis; by slab and bin of the second */
};

struct obb_tiles {
    double large;
    uint32_t columns; /* less than 2^16 */
    uint16_t none;    /* the table of ranks that the sample did not show */
    struct obb_rank ranks[OBB_RANKS];
    struct {
        uint16_t slab[1 << 10], column[1 << 14];
    } tables[];
};

/* From a sample (not empty) of `count` boxes. width: how wide the grid is along each axis. Freed by obb_free. OBB_NO_MEMORY. */
obb_status obb_tiles_create(const struct obb_grid_cell *sample, size_t sample_count, size_t count,
                            const double width[static 3], double large, struct obb_tiles **out);

/* Where a box belongs: its column, and in the low 16 bits its place along it. */
static inline uint32_t obb_tiles_key(const struct obb_tiles *tiles, const uint32_t code[3],
                                     double size)
{
    const struct obb_rank *r = &tiles->ranks[0];
    if (size > tiles->large)
        r = &tiles->ranks[obb_rank_of(tiles->large, size)];
    const size_t slab = r->slab[code[r->axis[0]] >> r->shift[0]];
    const uint32_t column = r->column[(slab << r->bits) + (code[r->axis[1]] >> r->shift[1])];
    const uint32_t along = code[r->axis[2]] ^ (column % 2) * 0xffffu;
    return (r->first + column) << 16 | along;
}

/* The boxes of one column in the order of their places along it; spare has room for as many. O(count). */
void obb_tiles_order_column(const uint16_t *along, size_t count, uint32_t *out, uint32_t *spare);

#endif
