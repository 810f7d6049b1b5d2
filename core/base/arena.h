/* An arena holds memory that lives as long as one request: many allocations, one release. */
#ifndef OBB_ARENA_H
#define OBB_ARENA_H

#include "core/base/budget.h"

#include <stddef.h>

struct obb_arena_chunk;

/* The struct is the caller's; zeroed memory is a valid empty arena. One thread at a time uses an
 * arena. */
struct obb_arena {
    struct obb_arena_chunk *chunks; /* newest first */
    size_t used;                    /* bytes handed out of the newest chunk */
    size_t total;                   /* bytes held from the heap, all chunks */
    struct obb_budget *budget;      /* the chunks draw from it; NULL: no limit */
    size_t refused; /* what `total` would be had the budget not refused a chunk; 0: it never did */
    size_t own;   /* of `total`, the bytes that are not drawn: the owner of the arena bounds them */
    size_t first; /* bytes of the first chunk; 0: 8 KiB, which hold everything of a small request */
};

/* Makes an empty arena without a budget. Allocates nothing. The owner may set `budget`, `own` and
 * `first` before the first block. */
void obb_arena_init(struct obb_arena *arena);

/* Releases all memory of the arena, which is empty afterwards and keeps what its owner has set. All
 * its blocks become invalid. */
void obb_arena_fini(struct obb_arena *arena);

/* Empties the arena and keeps its largest chunk for reuse. All its blocks become invalid. */
void obb_arena_reset(struct obb_arena *arena);

/* Returns a block of count * size bytes aligned to 16, not zeroed. A count of 0 gives a valid
 * pointer. Returns NULL on overflow, or if the heap or the budget has no room. The arena owns the
 * block. */
void *obb_arena_alloc(struct obb_arena *arena, size_t count, size_t size);

/* Grows a block from `count` to `capacity` elements of `size` bytes and returns its new place.
 *
 * The newest block grows in place. If it is the only block in its chunk, the chunk grows with it,
 * so that one long list leaves no old copies behind. Every other block is copied.
 *
 * block    a block of the arena, or NULL with count 0.
 * Errors   returns NULL on overflow or if there is no memory; the old block stays valid. */
void *obb_arena_grow(struct obb_arena *arena, void *block, size_t count, size_t capacity,
                     size_t size);

#endif
