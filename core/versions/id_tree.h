/* The records of a scene by id: a radix tree of 64-way nodes, for one writer and readers that never
 * wait. Internal to core.
 *
 * Ids only grow and are never used again, so a plain array would keep a slot for every box that
 * ever existed. This tree frees a node when its last record is removed.
 *
 * Memory   about 8.3 bytes a record if ids are dense; one node (544 bytes) a record at worst. */
#ifndef OBB_ID_TREE_H
#define OBB_ID_TREE_H

#include "core/base/status.h"
#include "core/versions/version.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct obb_id_tree_node {
    _Atomic uint64_t used; /* bit i is set if child i is there */
    unsigned shift;        /* bits of the id below this node's digit; 0: children are records */
    struct obb_id_tree_node *retired; /* the writer's: the next node that awaits its release */
    _Atomic(void *) children[64];     /* nodes, or records if shift is 0 */
};

struct obb_id_tree {
    _Atomic(struct obb_id_tree_node *) root; /* NULL: empty */
    size_t nodes;                            /* the writer's */
    /* The writer's: the lowest node with the largest id, NULL if a removal may have freed it. */
    struct obb_id_tree_node *last;
    uint64_t last_id;
};

/* Frees the nodes. The records belong to their owner. Zeroed memory is an empty tree, so there is
 * no obb_id_tree_init. */
void obb_id_tree_fini(struct obb_id_tree *tree);

/* Adds a record under its id, which must be larger than all other ids in the tree. OBB_NO_MEMORY
 * leaves the tree as it was. The writer's. */
obb_status obb_id_tree_insert(struct obb_id_tree *tree, struct obb_record *record);

/* Takes a record out. Nodes that became empty are pushed to the front of the list *retired, because
 * readers may still walk in them. The writer's. */
void obb_id_tree_remove(struct obb_id_tree *tree, const struct obb_record *record,
                        struct obb_id_tree_node **retired);

/* Frees a retired node once no reader can walk in it. The writer's. */
void obb_id_tree_node_free(struct obb_id_tree *tree, struct obb_id_tree_node *node);

/* Returns the record of that id, or NULL. Any thread. */
struct obb_record *obb_id_tree_find(const struct obb_id_tree *tree, uint64_t id);

/* Returns the record with the smallest id >= from, or NULL. Any thread. */
struct obb_record *obb_id_tree_seek(const struct obb_id_tree *tree, uint64_t from);

/* Checks the structure, for tests: masks, no empty node, and records under their own ids.
 * *out_count is the number of records. */
bool obb_id_tree_validate(const struct obb_id_tree *tree, size_t *out_count);

#endif
