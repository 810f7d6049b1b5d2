#include "core/index/tree.h"

#include "core/base/least.h"
#include "core/index/grid.h"
#include "core/index/packed.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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
    by += by > 0 ? most * 0x1p-50 : 0; /* makes up for the rounding of the sums */
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
