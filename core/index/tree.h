/* What an index is made of: packed boxes, the grid of its codes, the order of its boxes and the levels over them.
 * Internal to core. */
#ifndef OBB_TREE_H
#define OBB_TREE_H

#include "core/base/status.h"
#include "core/geometry/box.h"
#include "core/kernels/batch.h"

/* ---- Packed boxes --------------------------------------------------------------------------------------------- */

/* How far a box reaches from its centre, along no axis more. */
static inline double obb_reach(const obb_box *box)
{
    return box->half_extents.x + box->half_extents.y + box->half_extents.z;
}

struct obb_packed obb_packed_from_solid(const obb_solid *solid);
struct obb_packed obb_packed_from_box(const obb_box *box, int dimensions);

/* Bounds in scene units, outwards by the slack. */
obb_bounds obb_packed_bounds(const struct obb_packed *packed);

/* The margin, with the roundings that keep verdicts right. */
struct obb_limits obb_limits_of(double margin);

/* ---- Grids --------------------------------------------------------------------------------------------------- */

/* A nonuniform grid: where most boxes would crowd into few codes (because a few are far away, or huge), codes are
 * spread over each axis as the centres are. The piece between knots i and i + 1 has OBB_GRID_PIECE_CODES codes. */
#define OBB_GRID_PIECES      64
#define OBB_GRID_PIECE_CODES 1023u
struct obb_nonuniform_grid {
    double knot[3][OBB_GRID_PIECES + 1]; /* ascending */
    double scale[3][OBB_GRID_PIECES];    /* codes per scene unit; 0 where knots coincide */
};

/* A uniform grid that holds `bounds`, with room for what codes add. */
struct obb_grid obb_grid_uniform(const obb_bounds *bounds);

/* The code of a coordinate along an axis, 0 to OBB_CODE_MOST also where it lies outside. */
uint32_t obb_grid_code(const struct obb_grid *grid, int axis, double x);

/* Bounds as codes, as they are kept. */
struct obb_quantised_bounds obb_grid_quantise(const struct obb_grid *grid,
                                              const obb_bounds *bounds);

/* Bounds that hold everything of these codes, as they are kept. */
obb_bounds obb_grid_bounds(const struct obb_grid *grid,
                           const struct obb_quantised_bounds *quantised);

/* ---- Trees ---------------------------------------------------------------------------------------------------- */

/* The levels over `count` boxes, at least two; returns how many nodes they have all together. */
size_t obb_tree_shape(size_t count, struct obb_tree *tree);

/* Puts the levels one after the other into `nodes`. */
void obb_tree_place(struct obb_tree *tree, struct obb_node *nodes);

/* Fills the nodes from..to-1 of a level above 0, from those below; `nodes` as they were placed. */
void obb_tree_merge(const struct obb_tree *tree, const struct obb_kernels *kernels,
                    struct obb_node *nodes, int level, size_t from, size_t to);

/* The first cache line in a block that has 63 bytes to spare. */
static inline void *obb_first_line(void *block)
{
    return (char *)block + (64 - (uintptr_t)block % 64) % 64;
}

/* A leaf over up to sixteen packed boxes in any grid, their bounds grown by `grow` (>= 0). */
void obb_tree_leaf(const struct obb_kernels *kernels, const struct obb_grid *grid,
                   const struct obb_packed *boxes, size_t count, double grow, struct obb_node *out);

/* All levels over packed boxes, likewise. */
void obb_tree_over(struct obb_tree *tree, const struct obb_kernels *kernels,
                   const struct obb_grid *grid, const struct obb_packed *boxes, size_t count,
                   double grow, struct obb_node *nodes);

/* A walk to everything that meets these codes (as they are kept), for the kernels to go on with. */
struct obb_walk obb_walk_start(const struct obb_tree *tree, const struct obb_kernels *kernels,
                               const struct obb_quantised_bounds *quantised);

/* Child `child` of a node, as its codes are kept. */
static inline struct obb_quantised_bounds obb_node_child(const struct obb_node *node,
                                                         uint32_t child)
{
    return (struct obb_quantised_bounds){
        {node->axis[0][child], node->axis[1][child], node->axis[2][child]}};
}

static inline void obb_node_set(struct obb_node *node, uint32_t child,
                                struct obb_quantised_bounds quantised)
{
    for (int k = 0; k < 3; k++)
        node->axis[k][child] = quantised.axis[k];
}

/* ---- Order ----------------------------------------------------------------------------------------------------
 *
 * The order of boxes in which neighbours are near: those much larger than most in front, by ranks, each rank
 * sort-tile-recursive: slabs of equal count along the two shorter axes, and along the longest to and fro. Slabs come from a
 * sample: they make columns, each of some rank, and the rest is parting boxes by their columns and ordering each column.
 *
 * Source: Leutenegger, Lopez, Edgington, "STR: a simple and efficient algorithm for R-tree packing", ICDE 1997. */

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
