/* The HTTP service: its start, its certificate, and its end. Handlers include request.h, answer.h
 * and stream.h instead.
 *
 * The life of a request, all on the loop's thread:
 *   headers arrive     hostile ones are refused, the route and the sender's rights are found
 *   body arrives       into a buffer of its own
 *   handler(request)   answers with a srv_reply_… at once, or keeps the request and answers later;
 *                      meanwhile the connection sleeps
 *   answer is sent     the request and all that its arena holds are freed
 *
 * --request-timeout bounds the headers, the body and the work, each as a whole. A client must also
 * take its answer at a pace of SRV_LEAST_PACE or more, and some of it in each time of that length.
 * When the time is over or the client is gone, request->cancelled turns true and request->on_cancel
 * is called. The handler's side must then still answer soon, with any answer. */
#ifndef SRV_HTTP_H
#define SRV_HTTP_H

#include "server/http/listen.h"
#include "server/http/options.h"

struct srv_http;

/* Starts the service, without a listener yet, and labels options->metrics with the routes. It
 * copies *options; the objects behind its pointers must outlive it. Returns false without memory or
 * descriptors, or if libmicrohttpd refuses to start. */
bool srv_http_create(const srv_http_options *options, struct srv_http **out);

/* Uses this certificate chain and key (PEM) for new secure connections. Connections that are open
 * keep theirs. Returns false if the two are not valid; the certificate in use then stays. */
bool srv_http_use_certificate(struct srv_http *http, const char *certificate, const char *key);

/* Starts to accept on the listener, with HTTPS if `secure`, which needs a certificate in use. The
 * listener stays the caller's: it must be open until srv_http_quiesce, and its memory must last
 * until srv_http_destroy. Returns false if there are too many listeners, or no memory. */
bool srv_http_listen(struct srv_http *http, const srv_listener *listener, bool secure);

/* Accepts no more connections, and ends each open one after its present request or its next. `idle`
 * is called after each turn of the loop in which no request is under way. */
void srv_http_quiesce(struct srv_http *http, srv_callback *idle, void *context);

/* Returns true if no request is under way. */
bool srv_http_idle(const struct srv_http *http);

/* Returns the number of open connections. */
size_t srv_http_connections(const struct srv_http *http);

/* Closes the connections of streams whose request options.admit_again refuses, so that each client
 * sees that its answer is not complete. O(connections). */
void srv_http_recheck(struct srv_http *http);

/* Cancels all requests and cuts all connections. Each connection goes when its handler has
 * answered. */
void srv_http_cut(struct srv_http *http);

/* Closes all connections. Called after quiesce, while the service is idle and the loop does not
 * run. Accepts NULL. */
void srv_http_destroy(struct srv_http *http);

const char *srv_http_version(void); /* of libmicrohttpd */

#endif
