/* The options of the HTTP service: its collaborators, its limits, and who may call. Fixed when the
 * service starts. */
#ifndef SRV_HTTP_OPTIONS_H
#define SRV_HTTP_OPTIONS_H

#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/base/metrics.h"
#include "server/http/route.h"

struct srv_request;
struct srv_services;

typedef struct srv_http_options {
    struct srv_loop *loop;
    const srv_log *log;
    struct srv_metrics *metrics; /* made for as many routes as `routes` has */
    const struct srv_routes *routes;
    struct srv_services *services; /* passed on to handlers */
    struct obb_budget *budget;     /* of --memory-limit: bodies, arenas and replies draw from it */
    uint64_t connection_limit, body_limit, request_timeout_ms;
    const char *const *hosts; /* further names that a Host field may hold */
    size_t host_count;
    const char *const *origins; /* of pages that may call; "*": any page, which may only read */
    size_t origin_count;
    bool check_host; /* on loopback, refuse requests to other names */

    /* Decides whether the request may go on to its route. authorization: the value of the
     * Authorization field, or NULL. Returns false after it has filled *problem. May be NULL. */
    bool (*admit)(struct srv_request *request, const char *authorization, wire_problem *problem);

    /* Sets request->epoch to that of the scene that the request is about, or to 0. Called before a
     * problem is sent to a request that was admitted and has no epoch yet. May be NULL. */
    void (*find_epoch)(struct srv_request *request);

    /* Called before the handler. Returns true if the request was answered, or waits: its handler is
     * called later. May be NULL. */
    bool (*precede)(struct srv_request *request);

    /* Decides whether a request that was admitted may still go on: the tokens may be others since.
     * Called before the handler, and for open streams. Returns false after it has filled *problem.
     * May be NULL if `admit` is NULL and srv_http_recheck is not called. */
    bool (*admit_again)(struct srv_request *request, wire_problem *problem);
} srv_http_options;

#endif
