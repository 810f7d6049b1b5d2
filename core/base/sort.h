/* Sorting without allocation, in an order that is the same on every platform. */
#ifndef OBB_SORT_H
#define OBB_SORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts `count` values in ascending order, in place. Heapsort: O(n log n) for every input, so it
 * suits lists that a client sends. */
void obb_sort_u64(uint64_t *values, size_t count);

/* An element of a list to sort: its key and the item that it stands for. */
struct obb_ranked {
    uint64_t major, minor; /* ascending by major, then minor */
    const void *item;
};

/* Sorts `count` elements by their keys and returns the array that holds the result: list or spare.
 * Stable.
 *
 * spare    room for `count` elements; its contents are lost.
 * cancel   may be NULL; polled before every merge, and every 4,096 elements.
 * Errors   returns NULL if *cancel turned true; then the contents of both arrays are unspecified.
 * Cost     O(n log n); O(n) if the list is in order already. */
struct obb_ranked *obb_sort_ranked(struct obb_ranked *list, size_t count, struct obb_ranked *spare,
                                   const atomic_bool *cancel);

/* Sorts `count` elements of `size` bytes in place. Stable.
 *
 * compare  returns less than, equal to or more than 0, as for qsort.
 * spare    room for `count` elements; its contents are lost.
 * cancel   may be NULL; polled every 32 comparisons, and every 4,096 elements that stay in order.
 * Errors   returns false if *cancel turned true; then the contents of both arrays are unspecified.
 * Cost     O(n log n) comparisons; O(n) if the list is in order already. */
bool obb_sort_by(void *list, size_t count, size_t size,
                 int (*compare)(const void *left, const void *right), void *spare,
                 const atomic_bool *cancel);

/* Compares two uint64_t, for obb_sort_by and qsort. */
int obb_compare_u64(const void *left, const void *right);

/* Returns an integer key of a number >= 0 or +infinity: keys compare as the numbers do. */
uint64_t obb_sort_rank(double value);

#endif
