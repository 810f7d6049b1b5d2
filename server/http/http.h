/* HTTP: connections, requests and answers, by libmicrohttpd on the event loop.
 *
 * The life of a request, all on the loop's thread:
 *   headers arrive     hostile ones are refused, the route is found, the body's buffer is made
 *   body arrives       into that buffer
 *   handler(request)   answers with srv_reply_… at once, or keeps the request and answers later: meanwhile the connection sleeps
 *   answer is sent     the request and all that its arena holds are gone
 *
 * --request-timeout bounds headers, body, and work, each as a whole; a client must also take its answer at a pace of at least
 * SRV_LEAST_PACE, and something of it in each time of that length. Over time, or when the client is gone, `cancelled` turns true and on_cancel is called;
 * the handler's side must then still answer soon (what it answers does not matter). */
#ifndef SRV_HTTP_H
#define SRV_HTTP_H

#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/base/metrics.h"
#include "server/http/listen.h"
#include "server/http/route.h"

#include <stdatomic.h>

#define SRV_LEAST_PACE 16384 /* bytes of an answer a second */

struct srv_http;
struct srv_services;

typedef struct srv_http_options {
    struct srv_loop *loop;
    const srv_log *log;
    struct srv_metrics *metrics;
    const struct srv_routes *routes;
    struct srv_services *services; /* handed on to handlers */
    uint64_t connection_limit, body_limit, memory_limit, request_timeout_ms;
    const char *const *hosts; /* further names that a Host header may have */
    size_t host_count;
    const char *const *origins; /* of pages that may call; "*": any, for reading */
    size_t origin_count;
    bool check_host; /* on loopback, refuse requests to other names */
    /* May the request go on to its route? authorization: the header's value, or NULL. When not, *problem is filled. */
    bool (*admit)(struct srv_request *request, const char *authorization, wire_problem *problem);
} srv_http_options;

/* What a handler works with. */
struct srv_request {
    struct srv_services *services;
    const srv_route *route;
    srv_target target;
    wire_body body;
    wire_media accept;                         /* of what the route offers */
    const char *if_match;                      /* the header's value, or NULL */
    const char *if_none_match, *last_event_id; /* likewise */
    struct obb_arena arena;                    /* as long as the request */
    struct wire_buf reply;                     /* what a srv_reply_… with a body sends */
    unsigned scopes;         /* WIRE_SCOPE_… that its sender has; set by admit */
    const wire_token *token; /* likewise, until the handler returns; NULL: no tokens are in use */
    const char
        *id; /* X-Request-Id, if it was sent and is printable: goes into the log and the answer */
    uint64_t number; /* of the request in this process: its id in the log where none was sent */
    bool has_etag;   /* for srv_reply: send the revision below as ETag */
    uint64_t etag;
    atomic_bool cancelled; /* give up: the client is gone or time is over; any thread may read it */
    void (*on_cancel)(
        struct srv_request
            *request); /* called once on the loop when cancelled turns true; may be NULL */
    void *work;        /* the handler's own */
    struct srv_exchange *exchange; /* http.c's own */
};

/* false: no memory, or libmicrohttpd refused to start. */
bool srv_http_create(const srv_http_options *options, struct srv_http **out);

/* From now on secure connections use this certificate chain and key (PEM); those that are there keep theirs. false: they
 * are not good, and what was in use stays. */
bool srv_http_use_certificate(struct srv_http *http, const char *certificate, const char *key);

/* Starts to accept on the listener, in HTTPS when secure, for which a certificate must be in use. The listener stays the
 * caller's: it must be open until srv_http_quiesce, and be there until srv_http_destroy. */
bool srv_http_listen(struct srv_http *http, const srv_listener *listener, bool secure);

/* Accepts no more connections; requests that come on those that are there are the last of theirs. `idle` is called whenever the
 * loop has looked and no request is under way. */
void srv_http_quiesce(struct srv_http *http, srv_callback *idle, void *context);

bool srv_http_idle(const struct srv_http *http); /* no request is under way */

size_t srv_http_connections(const struct srv_http *http);

/* Cancels all work and cuts all connections; they go as their handlers answer. */
void srv_http_cut(struct srv_http *http);

/* After quiesce, while it is idle and the loop does not run. NULL is fine. */
void srv_http_destroy(struct srv_http *http);

const char *srv_http_version(void); /* of libmicrohttpd */

/* ---- Answers: exactly one a request ---------------------------------------------------------------------------- */

/* request->reply as the body; where there is no room for that, a problem. */
void srv_reply(struct srv_request *request, int status, const char *content_type);

/* Sets memory aside for request->reply, as srv_reply does; may be repeated. false: there is too little, or was too little to
 * write it. */
bool srv_reply_room(struct srv_request *request);

wire_problem srv_problem_no_room(void); /* 503 for that reason */

/* No body: 204, 304. */
void srv_reply_empty(struct srv_request *request, int status);

void srv_reply_problem(struct srv_request *request, const wire_problem *problem);

/* Bytes that live as long as the process, sent without a copy. */
void srv_reply_constant(struct srv_request *request, int status, const char *content_type,
                        obb_str bytes);

/* The same with further headers: names and values in turn, then NULL. They, too, live as long as the process, and are the
 * same whenever the bytes are. */
void srv_reply_constant_with(struct srv_request *request, int status, const char *content_type,
                             obb_str bytes, const char *const *headers);

/* ---- Answers without a known end ------------------------------------------------------------------------------------
 *
 * The owner is asked for bytes as the client takes them, so that no more than a piece is in memory; or it gives them as
 * they come up. Between two pieces the connection sleeps. A client must take what is there at some pace: one that takes
 * nothing for the time of --request-timeout is cut. */

struct srv_stream {
    /* The owner's, on the loop. */
    void (*on_drained)(
        struct srv_stream
            *stream); /* all that was given is taken: give, end or cut, now or later */
    void (*on_closed)(
        struct srv_stream *stream); /* over, for whatever reason; the request goes with it */
    bool
        working; /* on what comes next, which then must come within the time of --request-timeout */

    /* http.c's */
    struct srv_request *request;
    struct wire_buf pending;
    size_t taken; /* of pending */
    bool ended, broken, moving;
};

/* Starts the answer; `stream` lives until `closed`. When the client is gone, or the service ends, request->on_cancel is called,
 * and the owner must then end or cut soon. */
void srv_reply_stream(struct srv_request *request, int status, const char *content_type,
                      struct srv_stream *stream);

/* More bytes, taken out of buf, which is empty afterwards. Where buf has failed, the stream is cut. */
void srv_stream_give(struct srv_stream *stream, struct wire_buf *buf);
void srv_stream_append(struct srv_stream *stream, const char *bytes, size_t size); /* a copy */
void srv_stream_end(struct srv_stream *stream); /* when what was given is taken */
void srv_stream_cut(
    struct srv_stream *stream); /* at once, so that the client sees that something is missing */

/* Bytes given and not taken. */
static inline size_t srv_stream_waiting(const struct srv_stream *stream)
{
    return stream->pending.length - stream->taken;
}

/* Was the request cancelled by its deadline (rather than by a client that went)? */
bool srv_request_late(const struct srv_request *request);

/* Whoever sent the request, as a number: all that comes from one address of IPv4, from one network (/64) of IPv6, or through one
 * unix socket of ours has the same, and nothing else has it. */
uint64_t srv_request_peer(const struct srv_request *request);

/* Makes room in the budget for bodies and answers in flight; false: over it (answer 503). Given back with the request. */
bool srv_request_reserve(struct srv_request *request, size_t bytes);

#endif
