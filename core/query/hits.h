/* Hits: the boxes that one item found, in order. Internal to core. */
#ifndef OBB_HITS_H
#define OBB_HITS_H

#include "core/base/sort.h"
#include "core/query/task.h"

/* Boxes in the order they came, in scratch memory. */
struct obb_hits {
    struct obb_ranked *list; /* item: the obb_hit of a cast, else the obb_version itself */
    size_t count, capacity;
};

/* False once the task has failed. */
bool obb_hits_add(struct obb_task *task, struct obb_hits *hits, uint64_t rank,
                  const struct obb_version *box, const void *item);

/* By (rank, id). */
bool obb_hits_sort(struct obb_task *task, struct obb_hits *hits);

/* Writes hits, hit_count, count and truncated of the answer from `hits` in order: of versions, or, if is_cast, of
 * obb_hit. Returns the list, to be completed. */
obb_hit *obb_hits_answer(struct obb_task *task, const struct obb_hits *hits, bool is_cast,
                         obb_answer *answer);

#endif
