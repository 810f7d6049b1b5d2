/* What an index is made of: packed boxes, the frame of its codes, the order of its boxes and the levels over them.
 * Internal to core. */
#ifndef OBB_TREE_H
#define OBB_TREE_H

#include "core/batch.h"
#include "core/box.h"

/* ---- Packed boxes --------------------------------------------------------------------------------------------- */

struct obb_packed obb_packed_from_solid(const obb_solid *solid);
struct obb_packed obb_packed_from_box(const obb_box *box, int dimensions);

/* Bounds in scene units, outwards by the slack. */
obb_bounds obb_packed_bounds(const struct obb_packed *packed);

/* The margin, with the roundings that keep verdicts right. */
struct obb_limits obb_limits_of(double margin);

/* ---- Frames --------------------------------------------------------------------------------------------------- */

/* A frame that is not even: where most boxes would crowd into few codes (because a few are far away, or huge), codes are
 * spread over each axis as the centres are. The piece between knots i and i + 1 has OBB_WARP_CODES codes. */
#define OBB_WARP_PIECES 64
#define OBB_WARP_CODES  1023u
struct obb_warp {
    double knot[3][OBB_WARP_PIECES + 1]; /* ascending */
    double scale[3][OBB_WARP_PIECES];    /* codes per scene unit; 0 where knots coincide */
};

/* An even frame that holds `bounds`, with room for what codes add. */
struct obb_frame obb_frame_even(const obb_bounds *bounds);

/* The code of a coordinate along an axis, 0 to OBB_CODE_MOST also where it lies outside. */
uint32_t obb_frame_code(const struct obb_frame *frame, int axis, double x);

/* Bounds as codes, as they are kept. */
struct obb_codes obb_frame_codes(const struct obb_frame *frame, const obb_bounds *bounds);

/* Bounds that hold everything of these codes, as they are kept. */
obb_bounds obb_frame_bounds(const struct obb_frame *frame, const struct obb_codes *codes);

/* ---- Trees ---------------------------------------------------------------------------------------------------- */

/* The levels over `count` boxes, at least two; returns how many nodes they have all together. */
size_t obb_tree_shape(size_t count, struct obb_tree *tree);

/* Puts the levels one after the other into `nodes`, of which level 0 is there, and fills those above. */
void obb_tree_fill(struct obb_tree *tree, const struct obb_kernels *kernels,
                   struct obb_node *nodes);

/* The first cache line in a block that has 63 bytes to spare. */
static inline void *obb_first_line(void *block)
{
    return (char *)block + (64 - (uintptr_t)block % 64) % 64;
}

/* Level 0 over packed boxes in any frame, their bounds grown by `grow` (>= 0), then the rest. */
void obb_tree_over(struct obb_tree *tree, const struct obb_kernels *kernels,
                   const struct obb_frame *frame, const struct obb_packed *boxes, size_t count,
                   double grow, struct obb_node *nodes);

/* A walk to everything that meets these codes (as they are kept), for the kernels to go on with. */
struct obb_walk obb_walk_start(const struct obb_tree *tree, const struct obb_kernels *kernels,
                               const struct obb_codes *codes);

/* Child `child` of a node, as its codes are kept. */
static inline struct obb_codes obb_node_child(const struct obb_node *node, uint32_t child)
{
    return (struct obb_codes){{node->axis[0][child], node->axis[1][child], node->axis[2][child]}};
}

/* ---- Order ---------------------------------------------------------------------------------------------------- */

/* A box as the order sees it: the code of its centre, and how much larger than most it is (0: not; else apart). */
struct obb_place {
    uint16_t code[3];
    uint16_t rank; /* 0 to OBB_RANKS - 1 */
};
#define OBB_RANKS 8

/* The order of boxes in which neighbours are near: those of higher ranks in front, each rank sort-tile-recursive: slabs
 * of equal count along the two shorter axes, and along the longest to and fro. Stable; O(count). unit: how large a code is
 * on each axis, about. OBB_NO_MEMORY.
 *
 * Source: Leutenegger, Lopez, Edgington, "STR: a simple and efficient algorithm for R-tree packing", ICDE 1997. */
obb_status obb_order(const struct obb_place *places, size_t count, const double unit[static 3],
                     uint32_t *out_order);

#endif
