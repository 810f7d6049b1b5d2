/* The levels over the boxes of an index. Internal to core. */
#ifndef OBB_TREE_H
#define OBB_TREE_H

#include "core/kernels/batch.h"

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

#endif
