/* Routes: the parts of a request's target, and the route that answers it. */
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
    SRV_NO_METHOD /* a method that no route has */
} srv_method;

/* Returns the method of that name; for HEAD, SRV_GET. Methods are case-sensitive. */
srv_method srv_method_of(const char *name);

/* Returns the name of the method, "GET" for SRV_GET. The method must not be SRV_NO_METHOD. */
const char *srv_method_name(srv_method method);

/* ---- Targets --------------------------------------------------------------------------------- */

enum { SRV_MAX_PARTS = 8 }; /* more than any route has */

typedef struct srv_target {
    /* The path, percent-decoded: "/" has no part, "/a/" has "a" and "". */
    obb_str parts[SRV_MAX_PARTS];
    size_t part_count;  /* SRV_MAX_PARTS + 1: there are more */
    wire_param *params; /* of the query string, decoded; + is a space */
    size_t param_count;
    obb_str authority; /* of an absolute target (http://host/…), else length 0 */
    bool asterisk;     /* "*" */
} srv_target;

/* Takes the target of a request line apart. The results live in the arena or point into `text`.
 * Returns NULL, or the sentence of a 400. Without memory it sets *out_no_memory and returns
 * NULL. */
const char *srv_target_read(obb_str text, struct obb_arena *arena, srv_target *out,
                            bool *out_no_memory);

/* ---- Routes ---------------------------------------------------------------------------------- */

/* SRV_READ_OR_WRITE: one of the two; the handler checks which. */
typedef enum srv_scope { SRV_OPEN, SRV_READ_OR_WRITE, SRV_READ, SRV_WRITE, SRV_ADMIN } srv_scope;

/* Answers the request now, or keeps it and answers later; see answer.h. On the loop. */
typedef void srv_handler(struct srv_request *request);

typedef struct srv_route {
    srv_method method;
    const char *pattern; /* "/v1/scenes/{scene}"; a part in braces matches any part */
    srv_handler *handler;
    unsigned takes;  /* bits 1 << wire_media: types of the body; 0: no body */
    unsigned offers; /* bits 1 << wire_media: types of the answer, for Accept; 0: not checked */
    srv_scope scope; /* that the token needs */
} srv_route;

struct srv_routes; /* a table prepared for srv_routes_find */

/* Prepares a table, which must outlive the routes. Returns false without memory. */
bool srv_routes_create(const srv_route *table, size_t count, struct srv_routes **out);
void srv_routes_destroy(struct srv_routes *routes); /* accepts NULL */

/* Return the number of routes, and the route at an index of the table. */
size_t srv_routes_count(const struct srv_routes *routes);
const srv_route *srv_route_at(const struct srv_routes *routes, size_t index);

/* Returns the index of the route in the table. */
size_t srv_route_index(const struct srv_routes *routes, const srv_route *route);

/* Finds the route of a method and a path. If there is none, returns NULL and sets *out_allow to the
 * value of an Allow field, in the arena, or to NULL if no method has this path. Cost: up to
 * SRV_MAX_PARTS comparisons a route. */
const srv_route *srv_routes_find(const struct srv_routes *routes, srv_method method,
                                 const srv_target *target, struct obb_arena *arena,
                                 const char **out_allow);

#endif
