/* The kinds of queries that have items. Internal to core.
 *
 * Each function writes the answer of one item of task->query. After an error the task has failed
 * and the answer is not valid. */
#ifndef OBB_QUERY_ITEMS_H
#define OBB_QUERY_ITEMS_H

#include "core/query/task.h"

void obb_answer_pair(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_overlap(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_point(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_sweep(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_nearest(struct obb_task *task, size_t item, obb_answer *answer);

/* Returns how many rays of a query may be answered at once: several only if each wants one hit,
 * because lists of hits grow in the scratch memory. O(1). */
size_t obb_rays_together(const obb_query *query);

/* Answers `count` rays, from `item` on: at most obb_rays_together. */
void obb_answer_rays(struct obb_task *task, size_t item, size_t count, obb_answer *answers);

#endif
