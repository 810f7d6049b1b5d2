#include "server/http/http.h"

#include "server/http/headers.h"
#include "server/http/linger.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTION_MEMORY =
        16384, /* of libmicrohttpd for each connection: request line and headers must fit; it clears
                * it one and a half times a request, so 32,768 cost 4 % of a GET more */
    FIRST_BODY = 65536,   /* a body's buffer starts with at most this and doubles as bytes arrive */
    KEPT_BUFFER = 65536,  /* larger ones are not kept for the next request */
    LONGEST_ID = 128,     /* bytes of an X-Request-Id; longer ones are not taken over */
    SLOW_MS = 1000,       /* requests that take longer are logged */
    KEPT_EXCHANGES = 256, /* kept for the next requests */
    ACCEPTS = 64,         /* connections accepted in one go, so that those at work get their turn */
    CONSTANTS = 16,       /* different constant answers */
    LISTENERS = 16,
    BLOCK = 65536, /* of a long answer that is sent in one go, so that the others get their turn */
    RETRY_MS = 100 /* to accept again when out of descriptors */
};

enum phase {
    READ,  /* idle, or a request is arriving */
    WORK,  /* a handler has it and will answer later */
    WRITE, /* an answer is on its way */
    STREAM /* likewise, but nobody knows how long it is */
};

struct connection {
    struct srv_http *http;
    struct engine *engine;
    struct MHD_Connection *mhd;
    int descriptor;
    const struct listener *listener;
    enum phase phase;
    uint64_t since_ms;                /* when the enum phase began */
    unsigned rounds;                  /* of the request timeout that the answer may still take */
    uint64_t acked;                   /* bytes that the client had taken at the last of them */
    struct connection *older, *newer; /* by since_ms */
    struct srv_exchange *exchange;    /* the request under way, or NULL */
    struct srv_watch *hangup;         /* while it waits for work */
};

struct srv_exchange {
    struct srv_request request; /* first, so that one is the other */
    struct connection *connection;
    struct srv_exchange *next; /* in the list of those not in use */
    obb_str target;            /* as sent; a copy */
    const char *line;          /* where libmicrohttpd has it */
    const char *method;        /* libmicrohttpd's, until the answer is sent */
    bool no_memory, headers_seen, malformed, suspended, handled, late;
    bool discard;      /* what of the body is still to come is not kept */
    const char *allow; /* answer OPTIONS with this */
    const char *cors;  /* Access-Control-Allow-Origin: the page may see the answer */
    bool preflight;    /* a browser asks what the page may send */
    bool reads_only;   /* a page of any origin: may read, whatever its token may */
    bool refused;      /* answer with `refusal` once the body has passed */
    wire_problem refusal;
    char *body;
    size_t body_length, body_capacity;
    uint64_t declared; /* Content-Length, or UINT64_MAX when chunked */
    size_t reserved;   /* of the memory budget, */
    size_t reply_room; /* and of that for the reply */
    double started;    /* srv_clock() at the end of the headers */
    srv_cost cost;
    struct srv_stream *stream;     /* where the answer is one */
    struct MHD_Response *response; /* ready to be sent */
    bool constant;                 /* and shared */
    int status;
    size_t answer_bytes;
};

struct constant {
    const char *bytes;
    int status;
    struct MHD_Response *response;
};

/* A daemon of libmicrohttpd. There is one for plain connections, one for secure ones, and, while connections last that were
 * made with an earlier certificate, theirs: libmicrohttpd cannot change it. */
struct engine {
    struct srv_http *http;
    struct MHD_Daemon *daemon;
    struct srv_watch *ready; /* on libmicrohttpd's epoll descriptor */
    bool secure;
    size_t connections;
    struct engine *next;
};

struct listener {
    struct srv_http *http;
    int descriptor;
    const char *host; /* served beside localhost and configured names; NULL: any name is */
    bool secure;
    struct srv_watch *watch;
};

struct srv_http {
    srv_http_options options;
    struct engine *engines;        /* all */
    struct engine *plain, *secure; /* those that take new connections; secure may be NULL */
    struct srv_timer *deadline;
    bool deadline_set;
    struct listener listeners[LISTENERS];
    size_t listener_count;
    const struct listener *accepting; /* of the connection that is being added, */
    struct engine *engine;            /* and where to */
    bool full; /* at the connection limit or out of descriptors: listeners are paused */
    struct srv_timer *retry; /* when out of descriptors */
    struct connection *oldest, *newest;
    size_t connections, active;
    uint64_t requests; /* so far */
    struct srv_exchange *free_exchanges;
    size_t free_exchange_count;
    struct constant constants[CONSTANTS];
    size_t constant_count;
    struct MHD_Response *out_of_memory;
    struct srv_lingerers lingerers;
    const struct engine *running; /* in MHD_run */
    bool closing;
    srv_callback *idle;
    void *idle_context;
};

static struct srv_exchange *exchange_of(struct srv_request *request) { return request->exchange; }

/* ---- Deadlines: one list by the time since when, as all phases have the same limit ------------------------ */

static void list_remove(struct connection *c)
{
    struct srv_http *http = c->http;
    *(c->older != NULL ? &c->older->newer : &http->oldest) = c->newer;
    *(c->newer != NULL ? &c->newer->older : &http->newest) = c->older;
}

static void list_append(struct connection *c)
{
    struct srv_http *http = c->http;
    c->since_ms = srv_loop_now_ms(http->options.loop);
    c->newer = NULL;
    c->older = http->newest;
    *(c->older != NULL ? &c->older->newer : &http->oldest) = c;
    http->newest = c;
    if (!http->deadline_set) {
        http->deadline_set = true;
        srv_timer_start(http->deadline, http->options.request_timeout_ms, 0);
    }
}

static void enter(struct connection *c, enum phase phase)
{
    list_remove(c);
    c->phase = phase;
    list_append(c);
}

/* libmicrohttpd then sees the end of the connection and lets it go. */
static void cut(struct connection *c) { (void)shutdown(c->descriptor, SHUT_RDWR); }

static void cancel(struct srv_exchange *x, bool late)
{
    if (atomic_load(&x->request.cancelled))
        return;
    x->late = late;
    atomic_store(&x->request.cancelled, true);
    x->connection->http->options.metrics->cancelled_total++;
    if (x->request.on_cancel != NULL)
        x->request.on_cancel(&x->request);
}

/* Has the client taken anything in this round? Where the system cannot tell (unix sockets), it has. */
static bool takes(struct connection *c)
{
    struct tcp_info info = {.tcpi_bytes_acked = 0};
    socklen_t size = sizeof info;
    if (getsockopt(c->descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return true;
    const bool taken = info.tcpi_bytes_acked != c->acked;
    c->acked = info.tcpi_bytes_acked;
    return taken;
}

static void expire(struct connection *c)
{
    switch (c->phase) {
    case WORK:
        cancel(c->exchange, true);
        break;
    case WRITE:
        if (c->rounds > 0 && takes(c)) {
            c->rounds--;
            break;
        }
        c->http->options.metrics->cut_total++;
        cut(c);
        break;
    case STREAM: {
        struct srv_stream *stream = c->exchange->stream;
        /* awake: libmicrohttpd has bytes that the client does not take, though none may be left in the stream */
        if ((!c->exchange->suspended || stream->working) && !stream->moving) {
            c->http->options.metrics->cut_total++;
            cut(c);
        }
        stream->moving = false;
        break;
    }
    case READ:
        c->http->options.metrics->cut_total += c->exchange != NULL;
        cut(c);
        break;
    }
}

static void on_deadline(void *context)
{
    struct srv_http *http = context;
    const uint64_t now = srv_loop_now_ms(http->options.loop);
    const uint64_t limit = http->options.request_timeout_ms;
    struct connection *c;
    while ((c = http->oldest) != NULL && now - c->since_ms >= limit) {
        list_remove(c); /* to the end: looked at again after another limit */
        http->deadline_set = true;
        list_append(c);
        expire(c);
    }
    http->deadline_set = http->oldest != NULL;
    if (http->deadline_set)
        srv_timer_start(http->deadline, http->oldest->since_ms + limit - now, 0);
}

/* ---- Memory budget ---------------------------------------------------------------------------------------- */

bool srv_request_reserve(struct srv_request *request, size_t bytes)
{
    struct srv_exchange *x = exchange_of(request);
    const srv_http_options *options = &x->connection->http->options;
    if (bytes > options->memory_limit - options->metrics->in_flight_bytes)
        return false;
    options->metrics->in_flight_bytes += bytes;
    x->reserved += bytes;
    return true;
}

/* ---- Exchanges ---------------------------------------------------------------------------------------------- */

static struct srv_exchange *exchange_take(struct srv_http *http)
{
    struct srv_exchange *x = http->free_exchanges;
    if (x == NULL)
        return obb_calloc(1, sizeof *x);
    http->free_exchanges = x->next;
    http->free_exchange_count--;
    x->next = NULL;
    return x;
}

static void exchange_free(struct srv_exchange *x)
{
    obb_arena_fini(&x->request.arena);
    wire_buf_fini(&x->request.reply);
    obb_free(x->body);
    obb_free(x);
}

/* Keeps buffers of ordinary size for the next request. */
static void exchange_give(struct srv_http *http, struct srv_exchange *x)
{
    http->options.metrics->in_flight_bytes -= x->reserved;
    if (http->free_exchange_count == KEPT_EXCHANGES) {
        exchange_free(x);
        return;
    }
    struct srv_exchange kept = {.next = http->free_exchanges};
    if (x->request.arena.total <= KEPT_BUFFER) {
        kept.request.arena = x->request.arena;
        obb_arena_reset(&kept.request.arena);
    } else {
        obb_arena_fini(&x->request.arena);
    }
    if (x->request.reply.capacity <= KEPT_BUFFER) {
        kept.request.reply.bytes = x->request.reply.bytes;
        kept.request.reply.capacity = x->request.reply.capacity;
    } else {
        wire_buf_fini(&x->request.reply);
    }
    if (x->body_capacity <= KEPT_BUFFER) {
        kept.body = x->body;
        kept.body_capacity = x->body_capacity;
    } else {
        obb_free(x->body);
    }
    *x = kept;
    http->free_exchanges = x;
    http->free_exchange_count++;
}

/* ---- Answers ---------------------------------------------------------------------------------------------------- */

static bool add_header(struct MHD_Response *response, const char *name, const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

static void on_hangup(void *context, unsigned events)
{
    (void)events;
    struct connection *c = context;
    srv_watch_pause(c->hangup);
    cancel(c->exchange, false);
}

/* The connection sleeps until wake; in one of its callbacks. */
static void sleep_until_woken(struct srv_exchange *x)
{
    struct connection *c = x->connection;
    MHD_suspend_connection(c->mhd);
    x->suspended = true;
    /* without it a client that goes is just not noticed before there is something to tell it */
    if (c->hangup == NULL)
        (void)srv_watch_create(c->http->options.loop, c->descriptor, SRV_HANGUP, on_hangup, c,
                               &c->hangup);
}

static void wake(struct srv_exchange *x)
{
    if (!x->suspended)
        return;
    x->suspended = false;
    MHD_resume_connection(x->connection->mhd);
    srv_loop_due(x->connection->http->options.loop);
}

/* The answer is ready: sent when the handler returns, or by waking the connection. */
static void ready(struct srv_exchange *x, int status, struct MHD_Response *response, bool constant)
{
    assert(x->response == NULL);
    x->response = response;
    x->constant = constant;
    x->status = status;
    wake(x);
}

static void ready_out_of_memory(struct srv_exchange *x)
{
    x->answer_bytes = 0;
    ready(x, 503, x->connection->http->out_of_memory, true);
}

static bool add_cors(const struct srv_exchange *x, struct MHD_Response *response)
{
    if (!add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, x->cors) ||
        !add_header(response, MHD_HTTP_HEADER_VARY, "Origin"))
        return false;
    if (!x->preflight)
        return add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS,
                          "ETag, Allow, Retry-After");
    return add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, x->allow) &&
           add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS,
                      "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID") &&
           add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, "600");
}

/* A whole number in quotes, at the end of the room. (snprintf takes ten times as long: 3 % of a GET.) */
static const char *etag_of(uint64_t number, char room[static 24])
{
    char *at = room + 23;
    *at = '\0';
    *--at = '"';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    *--at = '"';
    return at;
}

/* Headers that depend on the request, then off it goes. Takes over the response. */
static void finish(struct srv_exchange *x, int status, struct MHD_Response *response,
                   const char *content_type)
{
    bool good =
        content_type == NULL || add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    if (x->allow != NULL)
        good = good && add_header(response, MHD_HTTP_HEADER_ALLOW, x->allow);
    if (x->cors != NULL)
        good = good && add_cors(x, response);
    if (x->request.id != NULL)
        good = good && add_header(response, "X-Request-Id", x->request.id);
    if (x->request.has_etag) {
        char etag[24];
        good = good && add_header(response, MHD_HTTP_HEADER_ETAG, etag_of(x->request.etag, etag));
    }
    if (x->connection->http->closing)
        good = good && add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (good) {
        ready(x, status, response, false);
        return;
    }
    MHD_destroy_response(response);
    ready_out_of_memory(x);
}

/* libmicrohttpd wants the next block of a long answer. */
static ssize_t read_reply(void *context, uint64_t position, char *out, size_t room)
{
    const struct srv_exchange *x = context;
    const size_t left = x->request.reply.length - (size_t)position;
    const size_t size = left < room ? left : room;
    memcpy(out, x->request.reply.bytes + position, size);
    return (ssize_t)size;
}

/* The bytes stay the exchange's, which lives until libmicrohttpd has sent them. Long answers go in blocks: the kernel takes
 * megabytes at once, and the loop with them for as long as it copies. */
static struct MHD_Response *response_of(struct srv_exchange *x)
{
    const struct wire_buf *reply = &x->request.reply;
    x->answer_bytes = reply->length;
    if (reply->failed)
        return NULL;
    return reply->length > (size_t)2 * BLOCK
               ? MHD_create_response_from_callback(reply->length, BLOCK, read_reply, x, NULL)
               : MHD_create_response_from_buffer(reply->length, reply->bytes,
                                                 MHD_RESPMEM_PERSISTENT);
}

bool srv_reply_room(struct srv_request *request)
{
    struct srv_exchange *x = exchange_of(request);
    const struct wire_buf *reply = &request->reply;
    const size_t needed = reply->capacity > KEPT_BUFFER ? reply->capacity : 0;
    if (reply->failed ||
        (needed > x->reply_room && !srv_request_reserve(request, needed - x->reply_room)))
        return false;
    x->reply_room = needed > x->reply_room ? needed : x->reply_room;
    return true;
}

wire_problem srv_problem_no_room(void)
{
    return wire_problem_http(503, "answers in flight use up the memory set aside for them");
}

void srv_reply(struct srv_request *request, int status, const char *content_type)
{
    struct srv_exchange *x = exchange_of(request);
    if (!srv_reply_room(request)) {
        const wire_problem problem = srv_problem_no_room();
        wire_buf_fini(&request->reply);
        srv_reply_problem(request, &problem);
        return;
    }
    struct MHD_Response *response = response_of(x);
    if (response == NULL)
        ready_out_of_memory(x);
    else
        finish(x, status, response, content_type);
}

void srv_reply_empty(struct srv_request *request, int status)
{
    struct srv_exchange *x = exchange_of(request);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        ready_out_of_memory(x);
    else
        finish(x, status, response, NULL);
}

void srv_reply_problem(struct srv_request *request, const wire_problem *problem)
{
    struct srv_exchange *x = exchange_of(request);
    request->reply.length = 0;
    request->has_etag = false;
    wire_write_problem(&request->reply, problem);
    struct MHD_Response *response = response_of(x);
    bool good = response != NULL;
    if (good && problem->allow != NULL)
        good = add_header(response, MHD_HTTP_HEADER_ALLOW, problem->allow);
    if (good && problem->status == 401)
        good = add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (good && problem->retry_after != 0) {
        char seconds[16];
        (void)snprintf(seconds, sizeof seconds, "%d", problem->retry_after);
        good = add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (good) {
        finish(x, problem->status, response, wire_media_type(WIRE_PROBLEM));
        return;
    }
    if (response != NULL)
        MHD_destroy_response(response);
    ready_out_of_memory(x);
}

/* The bytes and headers live as long as the process; NULL: no memory. */
static struct MHD_Response *response_around(obb_str bytes, const char *const *headers)
{
    union {
        const void *from;
        void *to; /* libmicrohttpd does not write to it */
    } data = {.from = bytes.bytes};
    struct MHD_Response *response =
        MHD_create_response_from_buffer(bytes.length, data.to, MHD_RESPMEM_PERSISTENT);
    for (; response != NULL && headers != NULL && *headers != NULL; headers += 2)
        if (!add_header(response, headers[0], headers[1])) {
            MHD_destroy_response(response);
            response = NULL;
        }
    return response;
}

static struct MHD_Response *constant_of(struct srv_http *http, int status, const char *content_type,
                                        obb_str bytes, const char *const *headers)
{
    for (size_t i = 0; i < http->constant_count; i++)
        if (http->constants[i].bytes == bytes.bytes && http->constants[i].status == status)
            return http->constants[i].response;
    struct MHD_Response *response = response_around(bytes, headers);
    if (response == NULL)
        return NULL;
    if (http->constant_count == CONSTANTS ||
        !add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type)) {
        MHD_destroy_response(response);
        return NULL;
    }
    http->constants[http->constant_count++] =
        (struct constant){.bytes = bytes.bytes, .status = status, .response = response};
    return response;
}

void srv_reply_constant_with(struct srv_request *request, int status, const char *content_type,
                             obb_str bytes, const char *const *headers)
{
    struct srv_exchange *x = exchange_of(request);
    struct srv_http *http = x->connection->http;
    x->answer_bytes = bytes.length;
    struct MHD_Response *response = http->closing || x->cors != NULL || request->id != NULL
                                        ? NULL
                                        : constant_of(http, status, content_type, bytes, headers);
    if (response != NULL) {
        ready(x, status, response, true);
        return;
    }
    response = response_around(bytes, headers);
    if (response == NULL)
        ready_out_of_memory(x);
    else
        finish(x, status, response, content_type);
}

void srv_reply_constant(struct srv_request *request, int status, const char *content_type,
                        obb_str bytes)
{
    srv_reply_constant_with(request, status, content_type, bytes, NULL);
}

/* ---- Streams -------------------------------------------------------------------------------------------------- */

/* libmicrohttpd wants bytes. */
static ssize_t read_stream(void *context, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct srv_exchange *x = context;
    struct srv_stream *stream = x->stream;
    if (srv_stream_waiting(stream) == 0 && !stream->ended && !stream->broken) {
        stream->moving = true; /* all is taken; what comes next has its own time */
        stream->hungry(stream);
    }
    if (stream->broken) {
        /* An error here would end the request, but libmicrohttpd 0.9.75 then forgets the connection until all that are older have
         * gone. So it is given something to send, and learns that it cannot. */
        cut(x->connection);
        *out = '\n';
        return 1;
    }
    const size_t waiting = srv_stream_waiting(stream);
    if (waiting > 0) {
        const size_t size = waiting < room ? waiting : room;
        memcpy(out, stream->pending.bytes + stream->taken, size);
        stream->taken += size;
        if (size == waiting)
            stream->taken = stream->pending.length = 0;
        stream->moving = true;
        x->answer_bytes += size;
        x->connection->http->options.metrics->sent_bytes += size;
        return (ssize_t)size;
    }
    if (stream->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    sleep_until_woken(x);
    return 0;
}

void srv_reply_stream(struct srv_request *request, int status, const char *content_type,
                      struct srv_stream *stream)
{
    struct srv_exchange *x = exchange_of(request);
    stream->request = request;
    x->stream = stream;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, x, NULL);
    if (response == NULL) {
        ready_out_of_memory(x);
        return;
    }
    /* libmicrohttpd 0.9.75 ends the body of a chunked answer to HEAD, which has none */
    if (strcmp(x->method, "HEAD") == 0)
        (void)MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    finish(x, status, response, content_type);
}

void srv_stream_give(struct srv_stream *stream, struct wire_buf *buf)
{
    struct wire_buf *pending = &stream->pending;
    if (srv_stream_waiting(stream) == 0) {
        const struct wire_buf empty = {.bytes = pending->bytes, .capacity = pending->capacity};
        *pending = *buf;
        *buf = empty;
        stream->taken = 0;
    } else {
        wire_buf_append(pending, buf->bytes, buf->length);
        buf->length = 0;
    }
    stream->broken = stream->broken || buf->failed || pending->failed;
    wake(exchange_of(stream->request));
}

void srv_stream_append(struct srv_stream *stream, const char *bytes, size_t size)
{
    if (srv_stream_waiting(stream) == 0)
        stream->taken = stream->pending.length = 0;
    wire_buf_append(&stream->pending, bytes, size);
    stream->broken = stream->broken || stream->pending.failed;
    wake(exchange_of(stream->request));
}

void srv_stream_end(struct srv_stream *stream)
{
    stream->ended = true;
    wake(exchange_of(stream->request));
}

void srv_stream_cut(struct srv_stream *stream)
{
    stream->broken = true;
    wake(exchange_of(stream->request));
}

bool srv_request_late(const struct srv_request *request) { return request->exchange->late; }

/* Networks of IPv6 begin beyond 0::/8, so that the smallest numbers are free for others. */
uint64_t srv_request_peer(const struct srv_request *request)
{
    const struct connection *c = request->exchange->connection;
    const struct sockaddr *from =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    const unsigned char *bytes;
    size_t size = 4;
    uint64_t peer = 0xffff;
    if (from->sa_family == AF_INET) {
        bytes = (const void *)&((const struct sockaddr_in *)(const void *)from)->sin_addr;
    } else if (from->sa_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
        bytes = v6->s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(v6)) {
            bytes += 12;
        } else {
            peer = 0;
            size = 8;
        }
    } else {
        return 1 + (uint64_t)(c->listener - c->http->listeners);
    }
    for (size_t i = 0; i < size; i++)
        peer = peer << 8 | bytes[i];
    return peer;
}

static void drop_response(struct srv_exchange *x)
{
    if (x->response != NULL && !x->constant)
        MHD_destroy_response(x->response);
    x->response = NULL;
}

/* Hands the answer to libmicrohttpd; in one of its callbacks for this connection. */
static enum MHD_Result send_answer(struct srv_exchange *x)
{
    struct connection *c = x->connection;
    if (x->stream == NULL) {
        srv_watch_destroy(c->hangup);
        c->hangup = NULL;
    }
    const uint64_t pace =
        SRV_LEAST_PACE * c->http->options.request_timeout_ms / 1000; /* bytes a round */
    const uint64_t rounds = x->answer_bytes / (pace > 0 ? pace : 1);
    c->rounds = rounds < 1000000 ? (unsigned)rounds : 1000000;
    if (c->rounds > 0)
        (void)takes(c); /* from here on */
    enter(c, x->stream == NULL ? WRITE : STREAM);
    c->http->options.metrics->sent_bytes += x->answer_bytes;
    const enum MHD_Result result = MHD_queue_response(c->mhd, (unsigned)x->status, x->response);
    drop_response(x);
    return result;
}

/* ---- Headers ------------------------------------------------------------------------------------------------- */

static void refuse(struct srv_exchange *x, int status, const char *detail)
{
    x->refused = true;
    x->refusal = wire_problem_http(status, detail);
    if (status == 503)
        x->refusal.retry_after = 1;
}

/* The path has no such method; it may have others. */
static void refuse_method(struct srv_exchange *x, srv_method method, const char *allow)
{
    if (allow != NULL && method == SRV_OPTIONS) {
        x->allow = allow;
        return;
    }
    if (allow == NULL) {
        refuse(x, 404, "nothing is found under this path");
        return;
    }
    refuse(x, 405,
           wire_detail(&x->request.arena, "found %s; this path takes %s",
                       wire_show(obb_str_of(x->method)).text, allow));
    x->refusal.allow = allow;
}

/* A header names no media type of this set, which is not empty. */
static void refuse_media(struct srv_exchange *x, int status, const char *header, const char *found,
                         unsigned media)
{
    struct obb_arena *arena = &x->request.arena;
    const char *list = "";
    for (wire_media m = WIRE_JSON; m < WIRE_PROBLEM; m++)
        if ((media & 1u << m) != 0)
            list =
                wire_detail(arena, "%s%s%s", list, *list != '\0' ? ", " : "", wire_media_type(m));
    refuse(x, status,
           found == NULL ? wire_detail(arena, "found no %s; it is one of %s", header, list)
                         : wire_detail(arena, "found the %s %s; it is one of %s", header,
                                       wire_show(obb_str_of(found)).text, list));
}

/* length: of the body, as far as it is known. */
static const char *body_too_long(struct srv_exchange *x, uint64_t length)
{
    return wire_detail(&x->request.arena,
                       "found %" PRIu64 " bytes; a body has at most %" PRIu64 " (--body-limit)",
                       length, x->connection->http->options.body_limit);
}

/* May a page of that origin see answers of this scope? An origin is compared as it is written, which is how browsers write it. */
static const char *cors_of(const struct srv_http *http, const char *origin, srv_scope scope)
{
    const char *found = NULL;
    for (size_t i = 0; i < http->options.origin_count; i++) {
        if (strcmp(http->options.origins[i], origin) == 0)
            return origin;
        if (strcmp(http->options.origins[i], "*") == 0 && scope <= SRV_READ)
            found = "*";
    }
    return found;
}

/* Is the page this service's own? */
static bool same_origin(const char *origin, obb_str host)
{
    const char *name = strstr(origin, "://");
    return name != NULL && obb_str_equal(obb_str_of(name + 3), host);
}

/* Calls from pages elsewhere are for browsers to stop, but these stop just those that are unusual, and let the page not see the answer;
 * here it is not even worked out. */
static bool check_origin(struct srv_exchange *x, const srv_headers *h, obb_str host,
                         srv_scope scope)
{
    if (h->origin == NULL)
        return true;
    const bool own = same_origin(h->origin, host);
    x->cors = cors_of(x->connection->http, h->origin, scope);
    x->reads_only = x->cors != NULL && strcmp(x->cors, "*") == 0 && !own;
    if (x->cors != NULL || scope == SRV_OPEN || own)
        return true;
    refuse(x, 403, "pages of this origin may not call this service (see --cors-origin)");
    return false;
}

/* A browser asks on behalf of a page what it may send. */
static void check_preflight(struct srv_exchange *x, const srv_headers *h, obb_str host)
{
    const char *allow;
    const srv_route *route =
        srv_routes_find(x->connection->http->options.routes, srv_method_of(h->request_method),
                        &x->request.target, &x->request.arena, &allow);
    if (route != NULL && check_origin(x, h, host, route->scope))
        x->preflight = x->cors != NULL;
}

/* May a page call the listener by that name? */
static bool is_known(const struct listener *l, obb_str host)
{
    const srv_http_options *options = &l->http->options;
    return l->host == NULL || srv_host_is_known(host, &l->host, 1) ||
           srv_host_is_known(host, options->hosts, options->host_count);
}

/* Everything that can be refused before the body, in the order of what the answer tells. */
static void check_headers(struct srv_exchange *x, const srv_headers *h, const char *version)
{
    struct connection *c = x->connection;
    struct srv_http *http = c->http;
    struct srv_request *request = &x->request;
    bool no_memory = x->no_memory;
    const char *fault =
        no_memory ? NULL
                  : srv_target_read(x->target, &request->arena, &request->target, &no_memory);
    if (no_memory) {
        refuse(x, 503, "there is not enough memory for this request");
        return;
    }
    if (fault != NULL) {
        refuse(x, 400, fault);
        return;
    }

    obb_str host = h->host != NULL ? obb_str_of(h->host) : (obb_str){.bytes = "", .length = 0};
    if (request->target.authority.length != 0)
        host = request->target.authority;
    if (h->host == NULL && strcmp(version, "HTTP/1.1") == 0) {
        refuse(x, 400, "there is no Host field");
        return;
    }
    /* HTTP/1.0 goes without: health checks speak it, browsers do not */
    const bool named = h->host != NULL || request->target.authority.length != 0;
    if (named && !is_known(c->listener, host)) {
        refuse(x, 403, "this service is not known by that name (see --host)");
        return;
    }

    const srv_method method = srv_method_of(x->method);
    const char *allow = NULL;
    if (request->target.asterisk) {
        if (method == SRV_OPTIONS)
            x->allow = "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS";
        else
            refuse(x, 400, "the target does not start with /");
        return;
    }
    request->route =
        srv_routes_find(http->options.routes, method, &request->target, &request->arena, &allow);
    if (request->route == NULL) {
        refuse_method(x, method, allow);
        if (x->refused && h->origin != NULL)
            x->cors = cors_of(http, h->origin, SRV_OPEN);
        if (x->allow != NULL && h->request_method != NULL)
            check_preflight(x, h, host);
        return;
    }
    const srv_route *route = request->route;
    if (!check_origin(x, h, host, route->scope))
        return;
    if (http->options.admit != NULL &&
        !http->options.admit(request, h->authorization, &x->refusal)) {
        x->refused = true;
        return;
    }
    if (x->reads_only)
        request->scopes &= WIRE_SCOPE_READ;
    if (route->offers != 0) {
        wire_media offered[WIRE_PROBLEM];
        size_t count = 0;
        for (wire_media media = WIRE_JSON; media < WIRE_PROBLEM; media++)
            if (route->offers & 1u << media)
                offered[count++] = media;
        if (!wire_media_from_accept(h->accept, offered, count, &request->accept)) {
            refuse_media(x, 406, "Accept", h->accept, route->offers);
            return;
        }
    }
    if (x->declared == 0)
        return;
    if (route->takes == 0)
        refuse(x, 400, "this request takes no body");
    else if (h->content_type == NULL ||
             !wire_media_from_content_type(h->content_type, &request->body.media) ||
             (route->takes & 1u << request->body.media) == 0)
        refuse_media(x, 415, "Content-Type", h->content_type, route->takes);
    else if (x->declared != UINT64_MAX && x->declared > http->options.body_limit)
        refuse(x, 413, body_too_long(x, x->declared));
}

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

/* First call for a request: its headers are here, its body is not. */
static enum MHD_Result on_headers(struct srv_exchange *x, const char *method, const char *version)
{
    struct connection *c = x->connection;
    x->headers_seen = true;
    x->method = method;
    x->started = srv_clock();

    srv_headers h = {.arena = &x->request.arena};
    (void)MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, take_header, &h);
    const size_t size =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
    srv_headers_finish(&h, strcmp(version, "HTTP/1.1") == 0, (uintptr_t)method + size);
    if (x->line != NULL && (uintptr_t)version != (uintptr_t)x->line + x->target.length + 1)
        h.fault = "the request line holds a NUL";
    x->declared = h.chunked ? UINT64_MAX : h.length;
    x->no_memory = x->no_memory || h.no_memory;
    x->request.if_match = h.if_match;
    x->request.if_none_match = h.if_none_match;
    x->request.last_event_id = h.last_event_id;
    if (h.fault == NULL && h.request_id != NULL && is_id(h.request_id))
        x->request.id = h.request_id;

    if (h.fault != NULL)
        refuse(x, 400, h.fault);
    else
        check_headers(x, &h, version);
    /* An answer given now closes the connection, as libmicrohttpd will not wait for the body. So it is given now where
     * one cannot trust where the request ends, or would have to read much only to forget it. */
    if (x->refused &&
        (h.fault != NULL || x->declared > FIRST_BODY || (x->declared != 0 && h.expects))) {
        if (x->declared != 0)
            srv_linger(&c->http->lingerers, c->descriptor);
        srv_reply_problem(&x->request, &x->refusal);
        return send_answer(x);
    }
    x->discard = x->refused;
    if (x->declared != 0)
        enter(c, READ); /* the body has its own time */
    return MHD_YES;
}

/* ---- Bodies --------------------------------------------------------------------------------------------------- */

static void discard_rest(struct srv_exchange *x, int status, const char *detail)
{
    refuse(x, status, detail);
    x->discard = true;
    obb_free(x->body);
    x->body = NULL;
    x->body_length = x->body_capacity = 0;
}

/* Room for `more` bytes: at first what is declared up to FIRST_BODY, then twice as much each time, so that a client must send
 * what it wants memory for. */
static bool grow(struct srv_exchange *x, size_t more)
{
    const size_t need = x->body_length + more;
    if (need <= x->body_capacity)
        return true;
    size_t capacity = x->body_capacity < FIRST_BODY / 2 ? FIRST_BODY : x->body_capacity * 2;
    if (x->declared < capacity)
        capacity = (size_t)x->declared;
    if (capacity < need)
        capacity = need;
    char *body = NULL;
    if (srv_request_reserve(&x->request, capacity - x->body_capacity))
        body = obb_realloc(x->body, capacity, 1);
    if (body == NULL) {
        discard_rest(x, 503, "bodies in flight use up the memory set aside for them");
        return false;
    }
    x->body = body;
    x->body_capacity = capacity;
    return true;
}

static void on_body(struct srv_exchange *x, const char *bytes, size_t size)
{
    const srv_http_options *options = &x->connection->http->options;
    options->metrics->received_bytes += size;
    if (x->discard)
        return;
    if (size > options->body_limit - x->body_length) {
        discard_rest(x, 413, body_too_long(x, x->body_length + size));
        return;
    }
    if (!grow(x, size))
        return;
    memcpy(x->body + x->body_length, bytes, size);
    x->body_length += size;
}

/* ---- The handler's turn ----------------------------------------------------------------------------------------- */

/* The request is complete: answers it, or puts the connection to sleep until somebody does. */
static void handle(struct srv_exchange *x)
{
    struct connection *c = x->connection;
    struct srv_request *request = &x->request;
    x->handled = true;
    if (x->refused) {
        srv_reply_problem(request, &x->refusal);
        return;
    }
    if (x->allow != NULL) {
        srv_reply_empty(request, 204);
        return;
    }
    request->body.bytes = x->body;
    request->body.length = x->body_length;
    request->route->handler(request);
    if (x->response != NULL)
        return;
    x->cost = SRV_ON_POOL;
    sleep_until_woken(x);
    enter(c, WORK);
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *mhd, const char *url,
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
        return on_headers(x, method, version);
    if (*upload_size != 0) {
        on_body(x, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (!x->handled)
        handle(x);
    return x->response != NULL ? send_answer(x) : MHD_YES;
}

/* ---- Beginnings and ends ------------------------------------------------------------------------------------------ */

/* A request line is complete. What is returned becomes the request's state. */
static void *on_request_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    struct srv_http *http = context;
    struct connection *c =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (c == NULL)
        return NULL;
    struct srv_exchange *x = exchange_take(http);
    if (x == NULL)
        return NULL;
    x->request.exchange = x;
    x->request.number = ++http->requests;
    x->request.services = http->options.services;
    x->connection = c;
    c->exchange = x;
    http->active++;
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
    /* libmicrohttpd is not shown the query string: it would make a list of it in the connection's memory, and some hundred
     * parameters would use that up and hang the connection. The line is its own writable buffer. */
    const char *question = memchr(target, '?', length);
    if (question != NULL && question[1] != '\0')
        *(char *)((uintptr_t)question + 1) = '\0';
    return x;
}

static void log_request(const struct srv_exchange *x, bool complete, double seconds)
{
    const srv_log *log = x->connection->http->options.log;
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
            srv_text("end", complete ? "complete" : "aborted"));
}

static void on_completed(void *context, struct MHD_Connection *mhd, void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)mhd;
    struct srv_http *http = context;
    struct srv_exchange *x = *state;
    if (x == NULL)
        return;
    assert(!x->suspended);
    *state = NULL;
    struct connection *c = x->connection;
    const bool complete = code == MHD_REQUEST_TERMINATED_COMPLETED_OK && x->status != 0;
    if (x->headers_seen) {
        const size_t route = x->request.route != NULL
                                 ? srv_route_index(http->options.routes, x->request.route)
                                 : http->options.metrics->routes;
        const double seconds = srv_clock() - x->started;
        srv_metrics_request(http->options.metrics, route, complete ? x->status : 0, x->cost,
                            seconds);
        log_request(x, complete, seconds);
    } else if (x->malformed)
        srv_metrics_request(http->options.metrics, http->options.metrics->routes, 400, SRV_ON_LOOP,
                            0);
    drop_response(x); /* it came too late */
    srv_watch_destroy(c->hangup);
    c->hangup = NULL;
    if (x->stream != NULL) {
        wire_buf_fini(&x->stream->pending);
        x->stream->closed(x->stream);
    }
    c->exchange = NULL;
    http->active--;
    exchange_give(http, x);
    enter(c, READ);
}

static void accept_again(struct srv_http *http)
{
    http->full = false;
    if (!http->closing)
        for (size_t i = 0; i < http->listener_count; i++)
            srv_watch_go(http->listeners[i].watch);
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct srv_http *http = context;
    struct connection *c = *state;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        c = obb_calloc(1, sizeof *c);
        *state = c;
        if (c == NULL)
            return; /* its first request line ends it */
        c->http = http;
        c->mhd = mhd;
        c->descriptor = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        c->listener = http->accepting;
        c->engine = http->engine;
        c->engine->connections++;
        list_append(c);
        http->connections++;
        http->options.metrics->connections = http->connections;
        http->options.metrics->connections_total++;
        return;
    }
    if (c == NULL)
        return;
    list_remove(c);
    c->engine->connections--;
    obb_free(c);
    *state = NULL;
    http->connections--;
    http->options.metrics->connections = http->connections;
    if (http->full)
        accept_again(http);
}

/* ---- Accepting ------------------------------------------------------------------------------------------------- */

static void pause_listeners(struct srv_http *http)
{
    http->full = true;
    for (size_t i = 0; i < http->listener_count; i++)
        srv_watch_pause(http->listeners[i].watch);
}

static void on_retry(void *context) { accept_again(context); }

static void on_listener(void *context, unsigned events)
{
    (void)events;
    struct listener *l = context;
    struct srv_http *http = l->http;
    http->accepting = l;
    http->engine = l->secure ? http->secure : http->plain;
    for (int i = 0; i < ACCEPTS; i++) {
        if (http->connections >= http->options.connection_limit) {
            pause_listeners(http);
            return;
        }
        struct sockaddr_storage from;
        socklen_t length = sizeof from;
        const int descriptor = accept(l->descriptor, (struct sockaddr *)&from, &length);
        if (descriptor >= 0) {
            (void)MHD_add_connection(http->engine->daemon, descriptor, (struct sockaddr *)&from,
                                     length);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN) { /* out of descriptors or memory */
            SRV_LOG(http->options.log, SRV_WARN, "accept", srv_text("error", strerror(errno)));
            pause_listeners(http);
            srv_timer_start(http->retry, RETRY_MS, 0);
        }
        return;
    }
}

bool srv_http_listen(struct srv_http *http, const srv_listener *listener, bool secure)
{
    assert(!secure || http->secure != NULL);
    if (http->listener_count == LISTENERS)
        return false;
    const bool check_host =
        http->options.check_host && listener->address.loopback && !listener->address.is_unix;
    struct listener *l = &http->listeners[http->listener_count];
    *l = (struct listener){.http = http,
                           .descriptor = listener->descriptor,
                           .host = check_host ? listener->host : NULL,
                           .secure = secure};
    if (!srv_watch_create(http->options.loop, l->descriptor, SRV_READABLE, on_listener, l,
                          &l->watch))
        return false;
    http->listener_count++;
    return true;
}

/* ---- The daemon ------------------------------------------------------------------------------------------------- */

static void engine_stop(struct engine *engine)
{
    srv_watch_destroy(engine->ready);
    if (engine->daemon != NULL)
        MHD_stop_daemon(engine->daemon);
    obb_free(engine);
}

/* Stops those of earlier certificates that nobody uses any more. */
static void stop_retired(struct srv_http *http)
{
    for (struct engine **at = &http->engines; *at != NULL;) {
        struct engine *engine = *at;
        if (engine == http->plain || engine == http->secure || engine->connections > 0) {
            at = &engine->next;
            continue;
        }
        *at = engine->next;
        engine_stop(engine);
    }
}

static bool turn(void *context)
{
    struct srv_http *http = context;
    bool again = false;
    for (struct engine *engine = http->engines; engine != NULL; engine = engine->next) {
        http->running = engine;
        MHD_run(engine->daemon);
        MHD_UNSIGNED_LONG_LONG timeout_ms;
        again |= MHD_get_timeout(engine->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0;
    }
    http->running = NULL;
    stop_retired(http);
    if (http->closing && http->active == 0)
        http->idle(http->idle_context);
    return again;
}

static void on_ready(void *context, unsigned events)
{
    (void)events;
    const struct engine *engine = context;
    srv_loop_due(engine->http->options.loop);
}

/* Targets are taken apart in route.c. */
static size_t no_unescape(void *context, struct MHD_Connection *mhd, char *text)
{
    (void)context;
    (void)mhd;
    return strlen(text);
}

/* libmicrohttpd 0.9.75 answers a Content-Length that is no number by itself, before any handler is called, and sends the
 * headers of that answer twice. All that is seen of it beforehand is that it complains to the log. So when it does, and a
 * connection has just read its headers but not come to its handler, that one is answered from here and its sending side
 * shut down: libmicrohttpd's own answer goes nowhere, and ends the connection. */
static void answer_malformed(struct srv_http *http)
{
    static const char body[] =
        "{\"type\":\"/problems/bad-request\",\"title\":\"the request is not valid\",\"status\":400,"
        "\"detail\":\"a header field is malformed\"}";
    char answer[512];
    const int length = snprintf(answer, sizeof answer,
                                "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
                                "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                                wire_media_type(WIRE_PROBLEM), sizeof body - 1, body);
    for (struct connection *c = http->newest; c != NULL; c = c->older) {
        struct srv_exchange *x = c->exchange;
        if (x == NULL || x->headers_seen || x->malformed ||
            MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) == NULL)
            continue;
        x->malformed = true;
        srv_linger(&http->lingerers, c->descriptor);
        if (!c->engine->secure) /* else it gets no answer */
            (void)send(c->descriptor, answer, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(c->descriptor, SHUT_WR);
        return;
    }
}

__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format,
                                                         va_list values)
{
    struct srv_http *http = context;
    /* it complains twice an answer that unix sockets have no TCP_NODELAY and TCP_CORK: "Setting %s option to …" */
    static const char setting[] = "Setting ";
    if (strncmp(format, setting, sizeof setting - 1) == 0)
        return;
    if (http->running != NULL)
        answer_malformed(http);
    if (!srv_log_wants(http->options.log, SRV_DEBUG))
        return;
    char text[512];
    const int length = vsnprintf(text, sizeof text, format, values);
    if (length <= 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    SRV_LOG(http->options.log, SRV_DEBUG, "libmicrohttpd", srv_text("message", text));
}

static const char out_of_memory[] =
    "{\"type\":\"/problems/no-memory\",\"title\":\"there is not enough memory for this request\","
    "\"status\":503,\"detail\":\"all memory is in use, and the request may be sent again\"}";

/* certificate NULL: for plain connections. NULL: it cannot be started. */
static struct engine *engine_start(struct srv_http *http, const char *certificate, const char *key)
{
    struct engine *engine = obb_calloc(1, sizeof *engine);
    if (engine == NULL)
        return NULL;
    engine->http = http;
    engine->secure = certificate != NULL;
    const struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
        {MHD_OPTION_END, 0, NULL}};
    engine->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (engine->secure ? MHD_USE_TLS : 0u),
        0, NULL, NULL, on_access, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, (void *)http,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)http->options.connection_limit + ACCEPTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, (void *)http,
        MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        (void *)http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, (void *)http, MHD_OPTION_ARRAY,
        engine->secure ? secure : &secure[2], MHD_OPTION_END);
    if (engine->daemon == NULL ||
        !srv_watch_create(http->options.loop,
                          MHD_get_daemon_info(engine->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
                          SRV_READABLE, on_ready, engine, &engine->ready)) {
        engine_stop(engine);
        return NULL;
    }
    engine->next = http->engines;
    http->engines = engine;
    return engine;
}

bool srv_http_use_certificate(struct srv_http *http, const char *certificate, const char *key)
{
    struct engine *engine = engine_start(http, certificate, key);
    if (engine == NULL)
        return false;
    http->secure = engine;
    srv_loop_due(http->options.loop); /* the one before may have nobody left */
    return true;
}

bool srv_http_create(const srv_http_options *options, struct srv_http **out)
{
    struct srv_http *http = obb_calloc(1, sizeof *http);
    if (http == NULL)
        return false;
    http->options = *options;
    http->lingerers.loop = options->loop;
    http->plain = engine_start(http, NULL, NULL);
    if (http->plain == NULL ||
        (http->out_of_memory = constant_of(http, 503, wire_media_type(WIRE_PROBLEM),
                                           obb_str_of(out_of_memory), NULL)) == NULL ||
        !add_header(http->out_of_memory, MHD_HTTP_HEADER_RETRY_AFTER, "1") ||
        !srv_timer_create(options->loop, on_deadline, http, &http->deadline) ||
        !srv_timer_create(options->loop, on_retry, http, &http->retry)) {
        srv_http_destroy(http);
        return false;
    }
    srv_loop_set_turn(options->loop, turn, http);
    *out = http;
    return true;
}

const char *srv_http_version(void) { return MHD_get_version(); }

static void stop_listening(struct srv_http *http)
{
    for (size_t i = 0; i < http->listener_count; i++)
        srv_watch_destroy(http->listeners[i].watch);
    http->listener_count = 0;
}

void srv_http_quiesce(struct srv_http *http, srv_callback *idle, void *context)
{
    stop_listening(http);
    http->closing = true;
    http->idle = idle;
    http->idle_context = context;
    srv_loop_due(http->options.loop);
}

size_t srv_http_connections(const struct srv_http *http) { return http->connections; }

bool srv_http_idle(const struct srv_http *http) { return http->active == 0; }

void srv_http_cut(struct srv_http *http)
{
    for (struct connection *c = http->oldest; c != NULL; c = c->newer) {
        if (c->phase == WORK || c->phase == STREAM)
            cancel(c->exchange, false);
        cut(c);
    }
    srv_loop_due(http->options.loop);
}

void srv_http_destroy(struct srv_http *http)
{
    if (http == NULL)
        return;
    stop_listening(http);
    srv_loop_set_turn(http->options.loop, NULL, NULL);
    for (struct engine *engine = http->engines, *next; engine != NULL; engine = next) {
        next = engine->next;
        engine_stop(engine);
    }
    srv_timer_destroy(http->deadline);
    srv_timer_destroy(http->retry);
    srv_linger_stop(&http->lingerers);
    for (size_t i = 0; i < http->constant_count; i++)
        MHD_destroy_response(http->constants[i].response);
    for (struct srv_exchange *x = http->free_exchanges, *next; x != NULL; x = next) {
        next = x->next;
        exchange_free(x);
    }
    obb_free(http);
}
