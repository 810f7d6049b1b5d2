/* The records of a scene by id: a radix tree of 64-way nodes, for one writer and readers that never wait. Internal to
 * core.
 *
 * Ids only grow and are never used again, so a plain array would keep the place of every box that ever was; here a node
 * goes when its last record goes. Memory: about 8.3 bytes a record where ids are dense, a node (544 bytes) a record at
 * worst. */
#ifndef OBB_ID_TREE_H
#define OBB_ID_TREE_H

#include "core/base/status.h"
#include "core/versions/version.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct obb_id_tree_node {
    _Atomic uint64_t used; /* bit i: child i is there */
    unsigned shift;        /* bits of the id below this node's digit; 0: children are records */
    struct obb_id_tree_node *retired; /* the writer's: the next that awaits its release */
    _Atomic(void *) children[64];     /* nodes, or records where shift is 0 */
};

struct obb_id_tree {
    _Atomic(struct obb_id_tree_node *) root; /* NULL: empty */
    size_t nodes;                            /* the writer's */
};

/* Zeroed memory is an empty tree. Frees the nodes; the records are their owner's. */
void obb_id_tree_fini(struct obb_id_tree *tree);

/* Adds a record under its id, which is larger than all others'. OBB_NO_MEMORY leaves the tree as it was. */
obb_status obb_id_tree_insert(struct obb_id_tree *tree, struct obb_record *record);

/* Takes the record out. Nodes that became empty go in front of the list *retired: readers may still walk in them. */
void obb_id_tree_remove(struct obb_id_tree *tree, const struct obb_record *record,
                        struct obb_id_tree_node **retired);
void obb_id_tree_node_free(struct obb_id_tree *tree, struct obb_id_tree_node *node);

/* The record of that id; the one with the smallest id >= from; NULL: none. Any thread. */
struct obb_record *obb_id_tree_find(const struct obb_id_tree *tree, uint64_t id);
struct obb_record *obb_id_tree_seek(const struct obb_id_tree *tree, uint64_t from);

/* Structure check for tests: masks, no empty node, *out_count records in ascending order of id. */
bool obb_id_tree_validate(const struct obb_id_tree *tree, size_t *out_count);

#endif
