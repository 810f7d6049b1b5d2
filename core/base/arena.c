#include "core/base/arena.h"

#include "core/base/alloc.h"
#include "core/base/least.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FIRST_CHUNK  ((size_t)8 << 10) /* bytes */
#define LARGEST_STEP ((size_t)4 << 20) /* bytes; only a larger block has a larger chunk */

struct obb_arena_chunk {
    struct obb_arena_chunk *next;
    size_t capacity; /* of bytes[] */
    _Alignas(16) char bytes[];
};

void obb_arena_init(struct obb_arena *arena) { *arena = (struct obb_arena){0}; }

/* Draws `more` bytes for a chunk. Returns false if the budget has no room. */
static bool hold(struct obb_arena *arena, size_t more)
{
    const size_t total = arena->total + more;
    const size_t drawn =
        obb_budget_beyond(total, arena->own) - obb_budget_beyond(arena->total, arena->own);
    if (drawn != 0 && !obb_budget_take(arena->budget, drawn)) {
        arena->refused = total;
        return false;
    }
    arena->total = total;
    return true;
}

/* Gives back what `hold` drew for `less` bytes. */
static void let_go(struct obb_arena *arena, size_t less)
{
    const size_t total = arena->total - less;
    const size_t drawn =
        obb_budget_beyond(arena->total, arena->own) - obb_budget_beyond(total, arena->own);
    if (drawn != 0)
        obb_budget_give(arena->budget, drawn);
    arena->total = total;
}

static void free_chunk(struct obb_arena *arena, struct obb_arena_chunk *chunk)
{
    const size_t capacity = chunk->capacity;
    obb_free(chunk);
    let_go(arena, capacity);
}

void obb_arena_fini(struct obb_arena *arena)
{
    for (struct obb_arena_chunk *c = arena->chunks, *next; c != NULL; c = next) {
        next = c->next;
        free_chunk(arena, c);
    }
    arena->chunks = NULL;
    arena->used = arena->refused = 0;
}

void obb_arena_reset(struct obb_arena *arena)
{
    /* The newest chunk need not be the largest: one large block may lie in an older chunk. */
    struct obb_arena_chunk *largest = arena->chunks;
    for (struct obb_arena_chunk *c = arena->chunks; c != NULL; c = c->next)
        largest = c->capacity > largest->capacity ? c : largest;
    for (struct obb_arena_chunk *c = arena->chunks; c != NULL;) {
        struct obb_arena_chunk *next = c->next;
        if (c != largest)
            free_chunk(arena, c);
        c = next;
    }
    if (largest != NULL)
        largest->next = NULL;
    arena->chunks = largest;
    arena->used = arena->refused = 0;
}

static size_t rounded(size_t bytes) { return (bytes + 15) & ~(size_t)15; }

void *obb_arena_alloc(struct obb_arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > (PTRDIFF_MAX / 2) / size)
        return NULL;
    const size_t bytes = rounded(count * size);
    struct obb_arena_chunk *top = arena->chunks;
    if (top == NULL || top->capacity - arena->used < bytes) {
        const size_t first = arena->first != 0 ? arena->first : FIRST_CHUNK;
        size_t capacity = top == NULL ? first : obb_least(top->capacity * 2, LARGEST_STEP);
        if (capacity < bytes)
            capacity = bytes;
        if (!hold(arena, capacity))
            return NULL;
        top = obb_malloc(1, sizeof *top + capacity);
        if (top == NULL) {
            let_go(arena, capacity);
            return NULL;
        }
        *top = (struct obb_arena_chunk){.next = arena->chunks, .capacity = capacity};
        arena->chunks = top;
        arena->used = 0;
    }
    void *block = top->bytes + arena->used;
    arena->used += bytes;
    return block;
}

void *obb_arena_grow(struct obb_arena *arena, void *block, size_t count, size_t capacity,
                     size_t size)
{
    if (size != 0 && capacity > (PTRDIFF_MAX / 2) / size)
        return NULL;
    struct obb_arena_chunk *top = arena->chunks;
    const size_t old = rounded(count * size), grown = rounded(capacity * size);
    if (block != NULL && top != NULL && (char *)block + old == top->bytes + arena->used) {
        if (grown - old <= top->capacity - arena->used) {
            arena->used += grown - old;
            return block;
        }
        /* If the block is the only one in its chunk, the chunk grows, large chunks without a
         * copy. */
        if ((char *)block == top->bytes) {
            const size_t more = grown - top->capacity;
            if (!hold(arena, more))
                return NULL;
            struct obb_arena_chunk *larger = obb_realloc(top, 1, sizeof *top + grown);
            if (larger == NULL) {
                let_go(arena, more);
                return NULL;
            }
            larger->capacity = grown;
            arena->chunks = larger;
            arena->used = grown;
            return larger->bytes;
        }
    }
    void *moved = obb_arena_alloc(arena, capacity, size);
    if (moved != NULL && block != NULL && count != 0)
        memcpy(moved, block, count * size);
    return moved;
}
