/* Memory that lives as long as one request: allocate often, free once. */
#ifndef OBB_ARENA_H
#define OBB_ARENA_H

#include "core/base/budget.h"

#include <stddef.h>

struct obb_arena_chunk;

/* Works in the caller's memory; zeroed memory is a valid empty arena. One thread at a time. */
struct obb_arena {
    struct obb_arena_chunk *chunks; /* newest first */
    size_t used;                    /* bytes handed out of the newest chunk */
    size_t total;                   /* bytes held from the heap, all chunks */
    struct obb_budget *
        budget; /* what the chunks draw from, set by the owner before the first block; NULL: no limit */
};

void obb_arena_init(struct obb_arena *arena);
void obb_arena_fini(struct obb_arena *arena);  /* gives everything back; the arena is empty again */
void obb_arena_reset(struct obb_arena *arena); /* forgets all, keeps the largest chunk for reuse */

/* count * size bytes aligned to 16, not zeroed; NULL on overflow or when there is no memory. A count of 0
 * gives a valid pointer. Owned by the arena. */
void *obb_arena_alloc(struct obb_arena *arena, size_t count, size_t size);

/* Grow the block of `count` elements to `capacity` elements: in place when it is the newest block, or with its chunk when it is
 * alone there (so that one long list keeps no old copies), else by a copy. NULL when there is no memory; the old block stays
 * valid. block may be NULL with count 0. */
void *obb_arena_grow(struct obb_arena *arena, void *block, size_t count, size_t capacity,
                     size_t size);

#endif
