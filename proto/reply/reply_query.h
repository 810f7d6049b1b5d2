/* Replies to queries. They append to buf; check buf->failed once, at the end. */
#ifndef WIRE_REPLY_QUERY_H
#define WIRE_REPLY_QUERY_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/codec/media.h"

/* Writes the answer to a query of any kind. */
void wire_write_result(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                       const obb_query *query, const obb_result *result);

/* Write all pairs as NDJSON: first a line for each of the pairs from..to-1 of the result, in as
 * many calls as the caller likes; then the last line, with the number of pairs and whether some
 * were left out. */
void wire_write_pair_lines(struct wire_buf *buf, const struct obb_view *view,
                           const obb_query *query, const obb_result *result, size_t from,
                           size_t to);
void wire_write_pair_end(struct wire_buf *buf, const struct obb_view *view, const obb_query *query,
                         uint64_t count, bool truncated);

#endif
