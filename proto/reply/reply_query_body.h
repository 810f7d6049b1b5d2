/* Answers to queries, for replies that hold them as parts. Internal to the room. */
#ifndef WIRE_REPLY_QUERY_BODY_H
#define WIRE_REPLY_QUERY_BODY_H

#include "proto/codec/out.h"

/* Writes the member "tag" if the query has one. */
void wire_put_tag(struct wire_out *out, const obb_query *query);

/* Writes the members of a query's answer into the open object, except "revision" and "time". */
void wire_put_result(struct wire_out *out, const struct obb_view *view, const obb_query *query,
                     const obb_result *result);

#endif
