/* The implicit 16-ary tree over the boxes of an index (struct obb_tree, batch.h). It has no
 * pointers: the children of node i are nodes 16 i to 16 i + 15 of the level below, and the children
 * of level 0 are the boxes. Internal to core. */
#ifndef OBB_TREE_H
#define OBB_TREE_H

#include "core/kernels/batch.h"

/* Sets the levels and their node counts for `count` boxes, at least two levels. Returns the sum of
 * the nodes of all levels. */
size_t obb_tree_shape(size_t count, struct obb_tree *tree);

/* Places the levels one after the other in `nodes`, level 0 first. */
void obb_tree_place(struct obb_tree *tree, struct obb_node *nodes);

/* Fills the nodes from..to-1 of a level above 0 with the bounds of the nodes below. `nodes` is the
 * array that was given to obb_tree_place. */
void obb_tree_merge(const struct obb_tree *tree, const struct obb_kernels *kernels,
                    struct obb_node *nodes, int level, size_t from, size_t to);

/* Returns the first cache line in a block that has 63 bytes to spare. */
static inline void *obb_first_line(void *block)
{
    return (char *)block + (64 - (uintptr_t)block % 64) % 64;
}

/* Fills a leaf with the bounds of up to 16 packed boxes, grown by `grow` (>= 0, scene units), on
 * any grid. */
void obb_tree_leaf(const struct obb_kernels *kernels, const struct obb_grid *grid,
                   const struct obb_packed *boxes, size_t count, double grow, struct obb_node *out);

/* Builds all levels over packed boxes; `grow` and `grid` as in obb_tree_leaf. `nodes` must have
 * room for the sum that obb_tree_shape returns. */
void obb_tree_over(struct obb_tree *tree, const struct obb_kernels *kernels,
                   const struct obb_grid *grid, const struct obb_packed *boxes, size_t count,
                   double grow, struct obb_node *nodes);

/* Starts a walk to all children whose bounds meet `quantised` (in the stored form). The kernel
 * `walk` continues it. */
struct obb_walk obb_walk_start(const struct obb_tree *tree, const struct obb_kernels *kernels,
                               const struct obb_quantised_bounds *quantised);

/* Returns the bounds of a child of a node, in the stored form. */
static inline struct obb_quantised_bounds obb_node_child(const struct obb_node *node,
                                                         uint32_t child)
{
    return (struct obb_quantised_bounds){
        {node->axis[0][child], node->axis[1][child], node->axis[2][child]}};
}

/* Sets the bounds of a child of a node, in the stored form. */
static inline void obb_node_set(struct obb_node *node, uint32_t child,
                                struct obb_quantised_bounds quantised)
{
    for (int k = 0; k < 3; k++)
        node->axis[k][child] = quantised.axis[k];
}

#endif
