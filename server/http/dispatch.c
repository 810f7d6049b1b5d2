#include "server/http/dispatch.h"

#include "server/http/admission.h"
#include "server/http/answer_body.h"
#include "server/http/body.h"
#include "server/http/linger.h"
#include "server/http/stream_body.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    LONGEST_ID = 128, /* bytes of an X-Request-Id; longer ones are ignored */
    SLOW_MS = 1000    /* requests that take longer are logged */
};

/* ---- The request line ------------------------------------------------------------------------ */

void *srv_dispatch_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    struct srv_connection *c =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (c == NULL)
        return NULL;
    struct srv_exchange *x = srv_exchange_begin(context, c);
    if (x == NULL)
        return NULL;
    if (target == NULL)
        target = "";
    const size_t length = strlen(target);
    char *copy = obb_arena_alloc(&x->request.arena, length + 1, 1);
    if (copy == NULL) {
        x->no_memory = true;
        return x;
    }
    memcpy(copy, target, length + 1);
    x->target = (obb_str){.bytes = copy, .length = length};
    x->line = target;
    /* libmicrohttpd never sees the query string: it would list the parameters in the memory of the
     * connection, and some hundred would use that up and hang the connection. `target` lies in its
     * writable buffer. */
    const char *question = memchr(target, '?', length);
    if (question != NULL && question[1] != '\0')
        *(char *)((uintptr_t)question + 1) = '\0';
    return x;
}

/* ---- The headers ----------------------------------------------------------------------------- */

static enum MHD_Result take_header(void *headers, enum MHD_ValueKind kind, const char *name,
                                   size_t name_length, const char *value, size_t value_length)
{
    (void)kind;
    srv_headers_take(headers, name, name_length, value, value_length);
    return MHD_YES;
}

static bool is_id(const char *text)
{
    size_t length = 0;
    while (text[length] > ' ' && text[length] <= '~')
        length++;
    return length > 0 && length <= LONGEST_ID && text[length] == '\0';
}

static void read_headers(struct srv_exchange *x, const char *version, srv_headers *h)
{
    struct MHD_Connection *mhd = x->connection->mhd;
    (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, take_header, h);
    const size_t size =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
    srv_headers_finish(h, strcmp(version, "HTTP/1.1") == 0, (uintptr_t)x->method + size);
    if (x->line != NULL && (uintptr_t)version != (uintptr_t)x->line + x->target.length + 1)
        h->fault = "the request line holds a NUL";
    x->declared = h->chunked ? UINT64_MAX : h->length;
    x->no_memory = x->no_memory || h->no_memory;
    x->request.if_match = h->if_match;
    x->request.if_none_match = h->if_none_match;
    x->request.last_event_id = h->last_event_id;
    x->request.if_epoch_sent = h->if_epoch;
    if (h->fault == NULL && h->request_id != NULL && is_id(h->request_id))
        x->request.id = h->request_id;
}

/* The headers are complete, and the body has not begun. */
static bool on_headers(struct srv_exchange *x, const char *method, const char *version)
{
    struct srv_connection *c = x->connection;
    x->headers_seen = true;
    x->method = method;
    x->started = srv_clock();

    srv_headers h = {.arena = &x->request.arena};
    read_headers(x, version, &h);
    if (h.fault != NULL)
        srv_exchange_refuse(x, 400, h.fault);
    else
        srv_admission_check(x, &h, version);
    /* An answer given now closes the connection, as libmicrohttpd does not wait for the body. So a
     * refusal is sent now only if the end of the request is in doubt, or if a long body would be
     * read only to be forgotten. */
    if (x->refused &&
        (h.fault != NULL || x->declared > SRV_FIRST_BODY || (x->declared != 0 && h.expects))) {
        if (x->declared != 0)
            srv_linger(x->all->lingerers, c->descriptor);
        srv_reply_problem(&x->request, &x->refusal);
        return srv_answer_send(x);
    }
    x->discard = x->refused;
    if (x->declared != 0) {
        srv_connection_enter(c, SRV_PHASE_READ); /* the body has its own time */
        srv_connection_expect_body(c);
        c->body_run = c->all->runs;
    }
    return true;
}

/* ---- The handler ----------------------------------------------------------------------------- */

/* Admits the request again: the tokens may have been read anew while its body arrived. */
static void check_again(struct srv_exchange *x)
{
    const srv_http_options *options = x->all->options;
    if (x->refused || !x->admitted || options->admit_again == NULL ||
        options->admit_again(&x->request, &x->refusal))
        return;
    x->refused = true;
    x->admitted = false;
}

/* The request is complete. Answers it, or leaves that to its handler. */
static void handle(struct srv_exchange *x)
{
    struct srv_request *request = &x->request;
    x->handled = true;
    check_again(x);
    if (x->refused) {
        srv_reply_problem(request, &x->refusal);
        return;
    }
    if (x->allow != NULL) {
        srv_reply_empty(request, 204);
        return;
    }
    if (x->body_length == 0)
        request->body.media = WIRE_JSON; /* whatever was said of it */
    request->body.bytes = x->body;
    request->body.length = x->body_length;
    const srv_http_options *options = x->all->options;
    if (options->precede == NULL || !options->precede(request))
        request->route->handler(request);
    if (x->response != NULL)
        return;
    x->cost = SRV_ON_POOL;
    srv_exchange_suspend_later(x);
    srv_connection_enter(x->connection, SRV_PHASE_WORK);
}

enum MHD_Result srv_dispatch_access(void *context, struct MHD_Connection *mhd, const char *url,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **state)
{
    (void)context;
    (void)mhd;
    (void)url;
    struct srv_exchange *x = *state;
    if (x == NULL)
        return MHD_NO; /* there was no memory for it */
    if (!x->headers_seen)
        return on_headers(x, method, version) ? MHD_YES : MHD_NO;
    if (*upload_size != 0) {
        x->connection->body_run = x->connection->all->runs;
        srv_body_take(x, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (!x->handled) {
        if (x->declared != 0)
            srv_connection_unwatch(x->connection);
        handle(x);
    }
    return x->response == NULL || srv_answer_send(x) ? MHD_YES : MHD_NO;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void log_request(const struct srv_exchange *x, bool complete, double seconds)
{
    const srv_log *log = x->all->options->log;
    const bool slow = seconds * 1e3 >= SLOW_MS && x->stream == NULL;
    const srv_level level = slow ? SRV_WARN : SRV_DEBUG;
    if (!srv_log_wants(log, level))
        return;
    char number[24];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)x->request.number);
    SRV_LOG(log, level, slow ? "slow" : "request",
            srv_text("id", x->request.id != NULL ? x->request.id : number),
            srv_text("method", x->method != NULL ? x->method : ""), srv_bytes("target", x->target),
            srv_integer("status", x->status), srv_integer("received", (int64_t)x->body_length),
            srv_integer("sent", (int64_t)x->answer_bytes), srv_number("ms", seconds * 1e3),
            srv_text("end", complete ? "complete" : "aborted"),
            srv_bytes(x->request.has_tag ? "tag" : NULL, x->request.tag));
}

static void count_request(const struct srv_exchange *x, bool complete)
{
    const srv_http_options *options = x->all->options;
    struct srv_metrics *metrics = options->metrics;
    if (x->headers_seen) {
        const size_t route = x->request.route != NULL
                                 ? srv_route_index(options->routes, x->request.route)
                                 : metrics->route_count;
        const double seconds = srv_clock() - x->started;
        if (srv_exchange_endless(x))
            srv_metrics_status(metrics, route, x->status);
        else
            srv_metrics_request(metrics, route, complete ? x->status : 0, x->cost, seconds);
        log_request(x, complete, seconds);
    } else if (x->malformed) {
        srv_metrics_request(metrics, metrics->route_count, 400, SRV_ON_LOOP, 0);
    }
}

void srv_dispatch_completed(void *context, struct MHD_Connection *mhd, void **state,
                            enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)mhd;
    struct srv_exchange *x = *state;
    if (x == NULL)
        return;
    assert(!x->suspended && !x->sleeps);
    *state = NULL;
    count_request(x, code == MHD_REQUEST_TERMINATED_COMPLETED_OK && x->status != 0);
    srv_answer_drop(x); /* an answer that came too late */
    srv_connection_unwatch(x->connection);
    if (x->stream != NULL)
        srv_stream_close(x->stream);
    srv_exchange_end(x);
}
