#include "core/base/trash.h"

#include <malloc.h>
#include <stdlib.h>

struct obb_trash_block { /* lies in the block itself */
    struct obb_trash_block *next;
};

static _Thread_local struct {
    size_t most, waiting, held; /* bytes: `held` of those that wait are not taken yet */
    struct obb_trash_block *first;
} trash;

void obb_trash_collect(size_t most) { trash.most = most; }

bool obb_trash_put(void *block, bool drawn)
{
    if (trash.waiting >= trash.most) /* as a rule nothing is collected */
        return false;
    const size_t bytes = malloc_usable_size(block);
    if (bytes < OBB_TRASH_LARGE || (drawn && bytes > trash.most - trash.waiting))
        return false;
    struct obb_trash_block *head = block;
    head->next = trash.first;
    trash.first = head;
    trash.waiting += bytes;
    trash.held += bytes;
    return true;
}

size_t obb_trash_waiting(void) { return trash.waiting; }

struct obb_trash_block *obb_trash_take(size_t *out_bytes)
{
    struct obb_trash_block *blocks = trash.first;
    *out_bytes = trash.held;
    trash.first = NULL;
    trash.held = 0;
    return blocks;
}

void obb_trash_empty(struct obb_trash_block *blocks)
{
    while (blocks != NULL) {
        struct obb_trash_block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

void obb_trash_emptied(size_t bytes) { trash.waiting -= bytes; }
