/* All pairs, box by box: for pages, and for scenes with too many candidates for the join. Internal
 * to core. */
#ifndef OBB_QUERY_PAGES_H
#define OBB_QUERY_PAGES_H

#include "core/query/task.h"

struct obb_pages;

/* The calls are those of query_all_pairs.h, without OBB_LIMIT. */
obb_status obb_pages_create(const struct obb_task *task, struct obb_pages **out);
size_t obb_pages_advance(struct obb_pages *pages, obb_status *out_status, obb_result *result);
obb_status obb_pages_chunk(struct obb_pages *pages, size_t chunk);
void obb_pages_destroy(struct obb_pages *pages); /* NULL is fine */

#endif
