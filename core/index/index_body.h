/* The inside of an index, for the build that fills it, and the join and the layers that read it.
 * Internal to core/index. */
#ifndef OBB_INDEX_BODY_H
#define OBB_INDEX_BODY_H

#include "core/index/index.h"
#include "core/index/pair_cache.h"
#include "core/kernels/batch.h"

struct obb_index {
    size_t references, count;
    size_t bytes;    /* of the index, its block and its nonuniform grid */
    size_t *account; /* holds `bytes`; NULL: none */
    int dimensions;
    bool moving; /* bounds cover motions, and there are no packed boxes */
    const struct obb_kernels *kernels;
    struct obb_grid grid;
    struct obb_nonuniform_grid *nonuniform; /* owned, used by `grid`; NULL: the grid is uniform */
    struct obb_tree tree;
    void *block; /* the memory of the four arrays, in the order of the tree */
    struct obb_node *nodes;
    struct obb_packed *boxes;
    const struct obb_version **versions;
    uint64_t *ids;
    uint64_t least_id, most_id;        /* UINT64_MAX and 0 if empty */
    bool plain;                        /* obb_version_plain of all versions */
    struct obb_pair_cache *pair_cache; /* owned; NULL: none, as the index is small */
};

#endif
