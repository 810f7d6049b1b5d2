/* From a request's target to what answers it: taking the path and the query string apart, and the one table of routes. */
#ifndef SRV_ROUTE_H
#define SRV_ROUTE_H

#include "proto/wire.h"

struct srv_request;

typedef enum srv_method {
    SRV_GET, /* HEAD too: the body is left out on the way */
    SRV_PUT,
    SRV_PATCH,
    SRV_POST,
    SRV_DELETE,
    SRV_OPTIONS,
    SRV_NO_METHOD /* one that no route has */
} srv_method;

/* HEAD gives SRV_GET. Methods are case-sensitive. */
srv_method srv_method_of(const char *name);

/* "GET" for SRV_GET. The method must not be SRV_NO_METHOD. */
const char *srv_method_name(srv_method method);

/* ---- Targets --------------------------------------------------------------------------------------------- */

enum { SRV_MAX_PARTS = 8 }; /* more than any route has */

typedef struct srv_target {
    obb_str
        parts[SRV_MAX_PARTS]; /* of the path, percent-decoded; "/" has none, "/a/" has "a" and "" */
    size_t part_count;        /* SRV_MAX_PARTS + 1: more than there is room for */
    wire_param *params;       /* of the query string, decoded, + being a space */
    size_t param_count;
    obb_str authority; /* of an absolute target (http://host/…), else length 0 */
    bool asterisk;     /* "*" */
} srv_target;

/* Takes a request target as it stands in the request line apart. Results live in the arena or point into `text`.
 * Returns NULL, or the sentence of a 400; *out_no_memory tells want of memory (NULL is returned then). */
const char *srv_target_read(obb_str text, struct obb_arena *arena, srv_target *out,
                            bool *out_no_memory);

/* ---- Routes ---------------------------------------------------------------------------------------------- */

typedef enum srv_scope { SRV_OPEN, SRV_READ, SRV_WRITE, SRV_ADMIN } srv_scope;

/* Answers the request now, or hands it on to the pool and answers later; see http.h. On the loop. */
typedef void srv_handler(struct srv_request *request);

typedef struct srv_route {
    srv_method method;
    const char *pattern; /* "/v1/scenes/{scene}": a part in braces matches any one part */
    srv_handler *handler;
    unsigned takes; /* bits 1 << wire_media: what a body may be in; 0: there must be none */
    unsigned
        offers; /* bits 1 << wire_media: what the answer may be in, to hold against Accept; 0: anything goes */
    srv_scope scope; /* what a token must grant */
} srv_route;

struct srv_routes; /* a table made ready for finding */

bool srv_routes_create(const srv_route *table, size_t count, struct srv_routes **out);
void srv_routes_destroy(struct srv_routes *routes); /* NULL is fine */

/* The number of routes, and the route at an index of the table. */
size_t srv_routes_count(const struct srv_routes *routes);
const srv_route *srv_route_at(const struct srv_routes *routes, size_t index);

/* The place of the route in the table: labels metrics. */
size_t srv_route_index(const struct srv_routes *routes, const srv_route *route);

/* The route of that method and path, or NULL; then *out_allow is the value of an Allow header where the path exists with
 * other methods, else NULL. Up to SRV_MAX_PARTS comparisons a route. */
const srv_route *srv_routes_find(const struct srv_routes *routes, srv_method method,
                                 const srv_target *target, struct obb_arena *arena,
                                 const char **out_allow);

#endif
