#include "core/base/trash.h"

#include <malloc.h>
#include <stdlib.h>

struct obb_trash_block { /* lies in the block itself */
    struct obb_trash_block *next;
};

static _Thread_local struct {
    obb_trash_note *note; /* NULL: nothing is collected */
    void *context;
    size_t waiting, held; /* bytes: `held` of those that wait are not taken yet */
    struct obb_trash_block *first;
} trash;

void obb_trash_collect(obb_trash_note *note, void *context)
{
    trash.note = note;
    trash.context = context;
}

bool obb_trash_put(void *block)
{
    if (trash.note == NULL) /* as a rule */
        return false;
    const size_t bytes = malloc_usable_size(block);
    if (bytes < OBB_TRASH_LARGE)
        return false;
    struct obb_trash_block *head = block;
    head->next = trash.first;
    trash.first = head;
    trash.waiting += bytes;
    trash.held += bytes;
    trash.note(trash.context, bytes);
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
