/* All pairs by a join of the layers with themselves. Internal to core. */
#ifndef OBB_QUERY_ALL_PAIRS_H
#define OBB_QUERY_ALL_PAIRS_H

#include "core/query/task.h"

/* By a join of the layers with themselves. OBB_LIMIT, from a chunk: there are more candidates than should be held at
 * once; obb_pages must do it. task: what the tasks of chunks begin as. */
struct obb_all_pairs;
obb_status obb_all_pairs_create(const struct obb_task *task, struct obb_all_pairs **out);
size_t obb_all_pairs_advance(struct obb_all_pairs *all, obb_status *out_status, obb_result *result);
obb_status obb_all_pairs_chunk(struct obb_all_pairs *all, size_t chunk);
void obb_all_pairs_destroy(struct obb_all_pairs *all); /* NULL is fine */

#endif
