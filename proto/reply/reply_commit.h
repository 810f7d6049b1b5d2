/* Replies to commits. */
#ifndef WIRE_REPLY_COMMIT_H
#define WIRE_REPLY_COMMIT_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/codec/media.h"
#include "proto/problem/problem.h"
#include "proto/request/request_commit.h"

/* Appends the answer to a commit. results[i] belongs to query i of the commit. So do as many views
 * as obb_query_views says, those of one query after those of the other. If the changes were made
 * and the queries could not be answered, `unanswered` says why: it stands in place of each result,
 * and views and results may be NULL. entries: where each result begins and ends in buf->bytes; may
 * be NULL. `omit_ids`: "ids_omitted" stands in place of the ids of new boxes. If memory fails,
 * buf->failed is set. */
void wire_write_committed(struct wire_buf *buf, wire_media media, const wire_commit *commit,
                          const obb_committed *committed, const struct obb_view *const *views,
                          const obb_result *const *results, const wire_problem *unanswered,
                          bool omit_ids, size_t (*entries)[2]);

#endif
