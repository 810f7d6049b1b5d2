/* The order of the boxes of an index, in which neighbours are near. Internal to core.
 *
 * Boxes that are much larger than most come first, by ranks. The boxes of each rank are ordered
 * sort-tile-recursively: the two shorter axes are cut into slabs of equal count, which gives
 * columns along the longest axis, and each column is ordered along it, to and fro. A sample of the
 * boxes gives the cuts. Then a box takes only two look-ups to find its column, and each column is
 * ordered by itself.
 *
 * Source   Leutenegger, Lopez, Edgington, "STR: a simple and efficient algorithm for R-tree
 *          packing", ICDE 1997. */
#ifndef OBB_TILES_H
#define OBB_TILES_H

#include "core/base/budget.h"
#include "core/base/status.h"
#include "core/kernels/batch.h"

#include <stddef.h>
#include <stdint.h>

struct obb_version;

/* A sampled box: the cell of its centre in a grid, and its rank. */
struct obb_grid_cell {
    uint16_t code[3];
    uint16_t rank; /* 0 to OBB_RANKS - 1 */
};
#define OBB_RANKS 8

/* Returns the rank of a box of that size. Rank 0 ends at `large`; each further rank ends at eight
 * times the size of the rank before. */
uint32_t obb_rank_of(double large, double size);

/* How all ranks are cut. */
struct obb_tiles {
    double large;     /* size at which rank 0 ends */
    uint32_t columns; /* less than 2^16 */
    uint16_t none[2]; /* the table of each rank that the sample does not have */
    struct obb_cuts ranks[OBB_RANKS];
    struct {
        uint16_t slab[1 << 10], column[1 << 14], beyond[2];
    } tables[];
};

/* Chooses the cuts from a sample of `count` boxes.
 *
 * sample   not empty.
 * width    widths of the grid along each axis, in any unit.
 * large    size at which rank 0 ends.
 * budget   the tables draw from it; NULL: no limit.
 * returns  OBB_NO_MEMORY, and then *out is not written.
 * The caller releases *out by obb_budget_free. O(sample_count * ranks). */
obb_status obb_tiles_create(const struct obb_grid_cell *sample, size_t sample_count, size_t count,
                            const double width[static 3], double large, struct obb_budget *budget,
                            struct obb_tiles **out);

/* Finds the keys of up to OBB_SUMMARIES boxes: the column of each in the high 16 bits, and its
 * position along the column in the low 16 bits. Adds the boxes to counts[column]. */
void obb_tiles_keys(const struct obb_tiles *tiles, const struct obb_kernels *kernels,
                    const struct obb_summaries *boxes, size_t count, uint32_t *out_keys,
                    uint32_t *counts);

/* Orders the boxes of one column by their positions along it. There are at least half as many bins
 * as boxes, but at most 2048, or a bin for each position if those would hold more than 16 boxes
 * each; boxes in the same bin keep their order.
 *
 * boxes    of each, the position in the high half, below 2^16, and the number in the low half.
 * versions by number.
 * out      becomes the versions of these boxes in their order.
 * spare    has room for as many boxes.
 * O(count). */
void obb_tiles_order_column(const uint64_t *boxes, size_t count,
                            const struct obb_version *const *versions,
                            const struct obb_version **out, uint64_t *spare);

#endif
