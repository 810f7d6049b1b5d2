/* Queries, for decoders that read them as parts. Internal to the room. */
#ifndef WIRE_REQUEST_QUERY_BODY_H
#define WIRE_REQUEST_QUERY_BODY_H

#include "proto/codec/cursor.h"

/* Reads one query object. If kind is NULL, the object states its kind itself, as the queries of a
 * commit do. Returns false if the cursor failed. If the one fault then lies in `with`, *out is the
 * query with the changes that come before the fault; otherwise out->with is NULL. */
bool wire_read_query_object(struct wire_cursor *c, const obb_query_kind *kind, int dimensions,
                            obb_query *out);

/* Reads the state that is asked for. Returns false if the cursor failed. */
bool wire_read_at(struct wire_cursor *c, obb_at *out);

#endif
