/* Pairs of boxes that all-pairs found. Internal to core. */
#ifndef OBB_PAIRS_H
#define OBB_PAIRS_H

#include "core/query/filter.h"
#include "core/query/task.h"

/* A growing list in the memory of a task. */
struct obb_pairs {
    obb_box_pair *list;
    size_t count, capacity;
    bool just_count; /* true: no list, only the count */
};

/* Adds a pair, given in either order. Returns false if the task has failed. */
bool obb_pairs_add(struct obb_task *task, struct obb_pairs *pairs, const struct obb_version *a,
                   const struct obb_version *b);

/* Sorts by (id of a, id of b), with scratch memory of the task, which is reset. */
void obb_pairs_sort(struct obb_task *task, obb_box_pair *list, size_t count);

/* Returns true if the two may be a pair: by their own filters and by the filter of the query. */
bool obb_pairs_admit(const struct obb_compiled_filter *compiled, const struct obb_version *a,
                     const struct obb_version *b);

/* Writes details[i] for the pairs from..to-1 until the task fails. */
void obb_pairs_details(struct obb_task *task, const obb_box_pair *pairs, obb_details *details,
                       size_t from, size_t to);

#endif
