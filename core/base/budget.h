/* A budget: how many bytes the requests of a service may hold at the same time.
 *
 * Whatever grows with what a client sends draws from a budget: the blocks of an arena, buffers,
 * lists and sets. An empty budget is told as missing memory (OBB_NO_MEMORY), so a caller handles
 * both in one way. A NULL budget has no limit and counts nothing. All functions may be called
 * from any thread at the same time.
 *
 * A budget may be a part of another one: what is drawn from it is drawn from both. Its own limit is
 * what one request may hold at most, so it tells a request that can never fit from one that has to
 * wait for others. */
#ifndef OBB_BUDGET_H
#define OBB_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct obb_budget {
    atomic_size_t used;       /* bytes drawn and not given back */
    size_t limit;             /* bytes; constant once the budget is in use */
    struct obb_budget *whole; /* of which this is a part; NULL: none */
    atomic_size_t beyond;     /* what obb_budget_refused returns */
};

/* Makes an empty budget in the caller's memory. `limit` is in bytes. Nothing is to be released. */
void obb_budget_init(struct obb_budget *budget, size_t limit);

/* Makes an empty part of `whole`, which must outlive it; NULL: of none. */
void obb_budget_init_part(struct obb_budget *budget, size_t limit, struct obb_budget *whole);

/* Returns how many bytes would have been in use, at most, if the limit of this budget had refused
 * none; 0 if it never did. What a whole refuses does not count. */
size_t obb_budget_refused(const struct obb_budget *budget);

/* Draws `bytes`. Returns false, and draws nothing, if more than the limit would be in use. One
 * atomic operation, and one for each whole. */
bool obb_budget_take(struct obb_budget *budget, size_t bytes);

/* Counts `bytes` that are in use in any case, also beyond the limit: until they are given back,
 * less can be drawn. */
void obb_budget_charge(struct obb_budget *budget, size_t bytes);

/* Gives back `bytes`, which the caller must have drawn before, or charged. */
void obb_budget_give(struct obb_budget *budget, size_t bytes);

/* Returns how many of `bytes` are drawn by an owner who has the first `own` bytes anyway. */
static inline size_t obb_budget_beyond(size_t bytes, size_t own)
{
    return bytes > own ? bytes - own : 0;
}

/* Returns the bytes in use at this moment; 0 for a NULL budget. */
size_t obb_budget_used(const struct obb_budget *budget);

/* ---- Blocks of the heap that draw from a budget ---------------------------------------------
 *
 * Each block remembers its budget and its size in 16 bytes in front of it, so obb_budget_free needs
 * only the block. */

#define OBB_BUDGET_HEAD 16

/* Returns count * size bytes aligned to 16, not zeroed (obb_budget_calloc: zeroed), or NULL if
 * the heap or the budget has no room or the product overflows. A count or size of 0 returns a
 * block that may be freed. The caller frees the block with obb_budget_free, and the budget must
 * outlive it. */
void *obb_budget_malloc(struct obb_budget *budget, size_t count, size_t size);
void *obb_budget_calloc(struct obb_budget *budget, size_t count, size_t size);

/* Returns the block grown or shrunk to count * size bytes, still drawn from its own budget. If
 * block is NULL, allocates from `budget`. On NULL the old block is untouched and still owned by
 * the caller. */
void *obb_budget_realloc(struct obb_budget *budget, void *block, size_t count, size_t size);

void obb_budget_free(void *block); /* NULL is fine */

#endif
