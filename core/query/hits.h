/* Hits: the boxes that one item found, in order. Internal to core. */
#ifndef OBB_HITS_H
#define OBB_HITS_H

#include "core/base/sort.h"
#include "core/query/task.h"

/* The hits of an item in the order of arrival, in scratch memory of the task. */
struct obb_hits {
    struct obb_ranked *list; /* item: the obb_hit of a cast; of other kinds the obb_version */
    size_t count, capacity;
};

/* Adds a hit. Returns false if the task has failed. */
bool obb_hits_add(struct obb_task *task, struct obb_hits *hits, uint64_t rank,
                  const struct obb_version *box, const void *item);

/* Sorts the hits by (rank, id). Returns false if the task has failed. */
bool obb_hits_sort(struct obb_task *task, struct obb_hits *hits);

/* Writes hits, hit_count, count and truncated of the answer from the sorted hits: the items are
 * versions or, if is_cast, of type obb_hit. Returns the list of the answer, which the caller
 * completes, or NULL if it is empty or the task has failed. */
obb_hit *obb_hits_answer(struct obb_task *task, const struct obb_hits *hits, bool is_cast,
                         obb_answer *answer);

#endif
