/* Queries. */
#ifndef WIRE_REQUEST_QUERY_H
#define WIRE_REQUEST_QUERY_H

#include "proto/base/buf.h"
#include "proto/request/request.h"

enum {
    WIRE_MAX_TAG = 64,    /* bytes of a query's tag */
    WIRE_MAX_EXPLAIN = 16 /* boxes that a query may ask to explain */
};

/* Finds the kind of query that the last part of a path names. Returns false if there is none. */
bool wire_query_kind(obb_str name, obb_query_kind *out);

/* Returns the name of a kind, as in a path. */
obb_str wire_query_kind_name(obb_query_kind kind);

/* Reads a query of the kind. Boxes are named, or written out. With "by":"id" they may be given by
 * id, and pairs may be one flat array of ids.
 *
 * If this returns false and the one fault lies in `with`, *out is the query with the changes that
 * come before the fault. The scene may refuse one of those, and its refusal counts before the
 * fault. Otherwise out->with is NULL. */
bool wire_read_query(const wire_body *body, obb_query_kind kind, int dimensions,
                     struct obb_arena *arena, obb_query *out, wire_problem *problem);

/* Finds the tag in a body that may be at fault elsewhere: of the query that the body is, or, if
 * `query` is not SIZE_MAX, of that query of a commit. Returns false if there is none. For requests
 * that failed: O(length of the body). */
bool wire_find_tag(const wire_body *body, size_t query, struct obb_arena *arena, obb_str *out);

/* Appends the queries of a body that was decoded before, each as compact JSON that can be posted to
 * …/query/{kind}: the body itself, or, with of_commit, the `count` queries of the commit. ends[i]
 * is where query i ends in out->bytes. Returns false without memory. O(length of the body). */
bool wire_copy_queries(const wire_body *body, bool of_commit, struct obb_arena *arena,
                       struct wire_buf *out, size_t *ends, size_t count);

#endif
