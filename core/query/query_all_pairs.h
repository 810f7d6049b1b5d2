/* All pairs by a join of the layers with themselves. Internal to core. */
#ifndef OBB_QUERY_ALL_PAIRS_H
#define OBB_QUERY_ALL_PAIRS_H

#include "core/query/task.h"

struct obb_all_pairs;

/* The calls are those of a plan (plan.h): advance writes *result when it returns 0 and OBB_OK.
 *
 * task    is copied to begin the task of every chunk.
 * errors  OBB_NO_MEMORY, OBB_CANCELLED. OBB_LIMIT from a chunk: there are more candidates than may
 *         be held at once, and obb_pages (query_pages.h) must answer the query. */
obb_status obb_all_pairs_create(const struct obb_task *task, struct obb_all_pairs **out);
size_t obb_all_pairs_advance(struct obb_all_pairs *all, obb_status *out_status, obb_result *result);
obb_status obb_all_pairs_chunk(struct obb_all_pairs *all, size_t chunk);
void obb_all_pairs_destroy(struct obb_all_pairs *all); /* NULL is fine */

#endif
