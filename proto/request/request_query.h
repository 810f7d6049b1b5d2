/* Queries. */
#ifndef WIRE_REQUEST_QUERY_H
#define WIRE_REQUEST_QUERY_H

#include "proto/request/request.h"

enum {
    WIRE_MAX_TAG = 64,    /* bytes of a query's tag */
    WIRE_MAX_EXPLAIN = 16 /* boxes that a query may ask to explain */
};

/* Finds the kind of query that the last part of a path names. Returns false if there is none. */
bool wire_query_kind(obb_str name, obb_query_kind *out);

/* Reads a query of the kind. Boxes are named, or written out. With "by":"id" they may be given by
 * id, and pairs may be one flat array of ids. */
bool wire_read_query(const wire_body *body, obb_query_kind kind, int dimensions,
                     struct obb_arena *arena, obb_query *out, wire_problem *problem);

/* Finds the tag in a body that may be at fault elsewhere: of the query that the body is, or, if
 * `query` is not SIZE_MAX, of that query of a commit. Returns false if there is none. For requests
 * that failed: O(length of the body). */
bool wire_find_tag(const wire_body *body, size_t query, struct obb_arena *arena, obb_str *out);

#endif
