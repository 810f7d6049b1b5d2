/* Pairs of boxes that all-pairs found. Internal to core. */
#ifndef OBB_PAIRS_H
#define OBB_PAIRS_H

#include "core/query/filter.h"
#include "core/query/task.h"

/* A growing list in a task's memory. */
struct obb_pairs {
    obb_box_pair *list;
    size_t count, capacity;
    bool just_count;
};

/* Adds a pair in either order; false once the task has failed. */
bool obb_pairs_add(struct obb_task *task, struct obb_pairs *pairs, const struct obb_version *a,
                   const struct obb_version *b);

/* Orders by (id of a, id of b), in the task's scratch memory. */
void obb_pairs_sort(struct obb_task *task, obb_box_pair *list, size_t count);

/* May the two be a pair, by their own filters and the query's? */
bool obb_pairs_admit(const struct obb_compiled_filter *compiled, const struct obb_version *a,
                     const struct obb_version *b);

/* Writes details[i] for the pairs from..to-1, unless the task fails. */
void obb_pairs_details(struct obb_task *task, const obb_box_pair *pairs, obb_details *details,
                       size_t from, size_t to);

#endif
