/* Queries. */
#ifndef WIRE_REQUEST_QUERY_H
#define WIRE_REQUEST_QUERY_H

#include "proto/request/request.h"

/* Finds the kind of query that the last part of a path names. Returns false if there is none. */
bool wire_query_kind(obb_str name, obb_query_kind *out);

/* Reads a query of the kind. Boxes are named, or written out. With "by":"id" they may be given by
 * id, and pairs may be one flat array of ids. */
bool wire_read_query(const wire_body *body, obb_query_kind kind, int dimensions,
                     struct obb_arena *arena, obb_query *out, wire_problem *problem);

#endif
