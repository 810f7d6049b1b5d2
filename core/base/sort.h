/* Sorting without allocation by the library, in an order that is the same everywhere. Internal to core. */
#ifndef OBB_SORT_H
#define OBB_SORT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Ascending, in place. O(n log n) always (heapsort); for lists that a client sends. */
void obb_sort_u64(uint64_t *values, size_t count);

/* What a sorted list is made of: keys and what they stand for. */
struct obb_ranked {
    uint64_t major, minor; /* ascending by major, then minor */
    const void *item;
};

/* Orders the list; spare has room for as many. Returns whichever of the two arrays holds the result, or NULL when *cancel
 * (may be NULL) turned true, which is looked at with every merge of a few ms at most. Stable, O(n log n), and O(n)
 * where it is in order already. */
struct obb_ranked *obb_sort_ranked(struct obb_ranked *list, size_t count, struct obb_ranked *spare,
                                   const atomic_bool *cancel);

/* A number >= 0 (or +infinity) as an integer of the same order. */
uint64_t obb_sort_rank(double value);

#endif
