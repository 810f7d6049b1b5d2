#include "server/http/answer.h"

#include "server/http/answer_body.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

static bool add_header(struct MHD_Response *response, const char *name, const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

/* Browsers must not guess another type from the bytes. */
static bool add_type(struct MHD_Response *response, const char *content_type)
{
    return add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type) &&
           add_header(response, "X-Content-Type-Options", "nosniff");
}

/* Sets the answer, which is sent when the handler returns, or by waking the connection. */
static void ready(struct srv_exchange *x, int status, struct MHD_Response *response, bool constant)
{
    assert(x->response == NULL);
    x->response = response;
    x->constant = constant;
    x->status = status;
    srv_exchange_wake(x);
}

void srv_answer_out_of_memory(struct srv_exchange *x)
{
    x->answer_bytes = 0;
    ready(x, 503, x->all->constants->out_of_memory, true);
}

static bool add_cors(const struct srv_exchange *x, struct MHD_Response *response)
{
    if (!add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, x->cors))
        return false;
    if (!x->preflight)
        return add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS,
                          "ETag, Obbd-Epoch, Allow, Retry-After, Location, X-Request-Id");
    return add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, x->allow) &&
           add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS,
                      "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, "
                      "Obbd-If-Epoch, X-Request-Id") &&
           add_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, "600");
}

/* Returns the request's fields that the answer depends on, or NULL: a cache keeps one answer for
 * each of their values. The forms of an answer have one ETag. Answers to other methods than GET are
 * not kept. */
static const char *vary_of(const struct srv_exchange *x)
{
    const srv_route *route = x->request.route;
    const bool has_forms =
        route != NULL && route->method == SRV_GET && (route->offers & (route->offers - 1)) != 0;
    if (!has_forms)
        return x->cors != NULL ? "Origin" : NULL;
    return x->cors != NULL ? "Accept, Origin" : "Accept";
}

enum { EPOCH_DIGITS = 16, ETAG_ROOM = 42 }; /* of an ETag: 20 digits, and 2 quotes, a dot, a zero */

/* Writes the epoch as hex digits. (snprintf takes ten times as long, here and below: 3 % of a
 * GET.) */
static void write_epoch(uint64_t epoch, char out[static EPOCH_DIGITS])
{
    for (size_t i = EPOCH_DIGITS; i-- > 0; epoch >>= 4)
        out[i] = "0123456789abcdef"[epoch & 15];
}

/* Returns "<revision>.<epoch>" in quotes, written to the end of the room. */
static const char *etag_of(uint64_t revision, uint64_t epoch, char room[static ETAG_ROOM])
{
    char *at = room + ETAG_ROOM - 1;
    *at = '\0';
    *--at = '"';
    at -= EPOCH_DIGITS;
    write_epoch(epoch, at);
    *--at = '.';
    do
        *--at = (char)('0' + revision % 10);
    while ((revision /= 10) != 0);
    *--at = '"';
    return at;
}

void srv_answer_finish(struct srv_exchange *x, int status, struct MHD_Response *response,
                       const char *content_type)
{
    bool good = content_type == NULL || add_type(response, content_type);
    if (x->allow != NULL)
        good = good && add_header(response, MHD_HTTP_HEADER_ALLOW, x->allow);
    if (x->cors != NULL)
        good = good && add_cors(x, response);
    const char *vary = vary_of(x);
    if (vary != NULL)
        good = good && add_header(response, MHD_HTTP_HEADER_VARY, vary);
    if (x->request.id != NULL)
        good = good && add_header(response, "X-Request-Id", x->request.id);
    const uint64_t epoch = x->request.epoch;
    if (x->request.has_etag) {
        char etag[ETAG_ROOM];
        good = good &&
               add_header(response, MHD_HTTP_HEADER_ETAG, etag_of(x->request.etag, epoch, etag));
    }
    if (x->request.location != NULL)
        good = good && add_header(response, MHD_HTTP_HEADER_LOCATION, x->request.location);
    if (epoch != 0) {
        char digits[EPOCH_DIGITS + 1] = "";
        write_epoch(epoch, digits);
        good = good && add_header(response, "Obbd-Epoch", digits);
    }
    if (x->connection->all->closing)
        good = good && add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (good) {
        ready(x, status, response, false);
        return;
    }
    MHD_destroy_response(response);
    srv_answer_out_of_memory(x);
}

/* ---- On their way ---------------------------------------------------------------------------- */

void srv_answer_drop(struct srv_exchange *x)
{
    if (x->response != NULL && !x->constant)
        MHD_destroy_response(x->response);
    x->response = NULL;
}

bool srv_answer_send(struct srv_exchange *x)
{
    struct srv_connection *c = x->connection;
    const srv_http_options *options = x->all->options;
    if (x->stream == NULL)
        srv_connection_unwatch(c);
    if (strcmp(x->method, "HEAD") == 0)
        x->answer_bytes = 0; /* libmicrohttpd sends no body */
    const uint64_t pace =
        SRV_LEAST_PACE * options->request_timeout_ms / 1000; /* bytes in each --request-timeout */
    const uint64_t rounds = x->answer_bytes / (pace > 0 ? pace : 1);
    c->rounds = rounds < 1000000 ? (unsigned)rounds : 1000000;
    if (c->rounds > 0 || x->stream != NULL)
        (void)srv_connection_takes(c, false); /* count from here on */
    srv_connection_enter(c, x->stream == NULL ? SRV_PHASE_WRITE : SRV_PHASE_STREAM);
    options->metrics->sent_bytes += x->answer_bytes;
    const bool queued = MHD_queue_response(c->mhd, (unsigned)x->status, x->response) == MHD_YES;
    srv_answer_drop(x);
    return queued;
}

/* ---- Constants ------------------------------------------------------------------------------- */

/* Returns a response around bytes and header fields that live as long as the process, or NULL
 * without memory. */
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

/* Returns the shared response for these bytes and this status, made at the first call. Returns NULL
 * without memory, and if there are SRV_CONSTANTS others already. */
static struct MHD_Response *constant_of(struct srv_constants *constants, int status,
                                        const char *content_type, obb_str bytes,
                                        const char *const *headers)
{
    for (size_t i = 0; i < constants->count; i++)
        if (constants->items[i].bytes == bytes.bytes && constants->items[i].status == status)
            return constants->items[i].response;
    struct MHD_Response *response = response_around(bytes, headers);
    if (response == NULL)
        return NULL;
    if (constants->count == SRV_CONSTANTS || !add_type(response, content_type)) {
        MHD_destroy_response(response);
        return NULL;
    }
    constants->items[constants->count++] =
        (struct srv_constant){.bytes = bytes.bytes, .status = status, .response = response};
    return response;
}

static const char out_of_memory[] =
    "{\"type\":\"/problems/no-memory\",\"title\":\"there is not enough memory for this request\","
    "\"status\":503,\"detail\":\"all memory is in use, and the request may be sent again\"}";

bool srv_constants_init(struct srv_constants *constants)
{
    constants->out_of_memory =
        constant_of(constants, 503, wire_media_type(WIRE_PROBLEM), obb_str_of(out_of_memory), NULL);
    return constants->out_of_memory != NULL &&
           add_header(constants->out_of_memory, MHD_HTTP_HEADER_RETRY_AFTER, "1");
}

void srv_constants_fini(struct srv_constants *constants)
{
    for (size_t i = 0; i < constants->count; i++)
        MHD_destroy_response(constants->items[i].response);
    constants->count = 0;
}

/* ---- For handlers ---------------------------------------------------------------------------- */

/* Copies the next block of a long answer for libmicrohttpd. */
static ssize_t read_reply(void *context, uint64_t position, char *out, size_t room)
{
    const struct srv_exchange *x = context;
    const size_t left = x->request.reply.length - (size_t)position;
    const size_t size = left < room ? left : room;
    memcpy(out, x->request.reply.bytes + position, size);
    return (ssize_t)size;
}

/* Returns a response around request->reply, or NULL without memory. The exchange owns the bytes,
 * and lives until libmicrohttpd has sent them. Long answers go in blocks: the kernel would take
 * megabytes at once, and the loop would wait while it copies. */
static struct MHD_Response *response_of(struct srv_exchange *x)
{
    const struct wire_buf *reply = &x->request.reply;
    x->answer_bytes = reply->length;
    if (reply->failed)
        return NULL;
    return reply->length > (size_t)2 * SRV_BLOCK
               ? MHD_create_response_from_callback(reply->length, SRV_BLOCK, read_reply, x, NULL)
               : MHD_create_response_from_buffer(reply->length, reply->bytes,
                                                 MHD_RESPMEM_PERSISTENT);
}

wire_problem srv_problem_no_room(void)
{
    return wire_problem_http(503, "answers in flight use up the memory set aside for them");
}

void srv_reply(struct srv_request *request, int status, const char *content_type)
{
    struct srv_exchange *x = request->exchange;
    if (request->reply.failed) {
        const wire_problem problem = srv_problem_no_room();
        srv_reply_problem(request, &problem);
        return;
    }
    struct MHD_Response *response = response_of(x);
    if (response == NULL)
        srv_answer_out_of_memory(x);
    else
        srv_answer_finish(x, status, response, content_type);
}

void srv_reply_empty(struct srv_request *request, int status)
{
    struct srv_exchange *x = request->exchange;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        srv_answer_out_of_memory(x);
    else
        srv_answer_finish(x, status, response, NULL);
}

/* Returns how many bytes the request would have drawn with the memory that its arena was refused,
 * if these are more than --memory-limit: it could never be served, not even alone. Otherwise
 * returns 0. */
static size_t never_fits(const struct srv_exchange *x)
{
    const struct obb_arena *arena = &x->request.arena;
    const size_t need = obb_budget_beyond(arena->refused, arena->own) +
                        obb_budget_beyond(x->body_capacity, SRV_OWN_BUFFER);
    return arena->refused != 0 && need > x->all->options->budget->limit ? need : 0;
}

void srv_reply_problem(struct srv_request *request, const wire_problem *problem)
{
    struct srv_exchange *x = request->exchange;
    const size_t need = problem->status == 503 ? never_fits(x) : 0;
    char detail[128];
    wire_problem too_large;
    if (need != 0) {
        (void)snprintf(detail, sizeof detail,
                       "found a request that takes at least %zu bytes; --memory-limit is %zu", need,
                       x->all->options->budget->limit);
        too_large = wire_problem_http(413, detail);
        problem = &too_large;
    }
    if (request->reply.failed || request->reply.capacity > SRV_OWN_BUFFER)
        wire_buf_fini(&request->reply); /* the problem needs no more than the reply's own bytes */
    request->reply.length = 0;
    request->has_etag = false;
    request->location = NULL;
    if (request->epoch == 0 && x->admitted && x->all->options->find_epoch != NULL)
        x->all->options->find_epoch(request);
    wire_problem tagged = *problem;
    if (request->has_tag) {
        tagged.has_tag = true;
        tagged.tag = request->tag;
    }
    wire_write_problem(&request->reply, &tagged);
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
        srv_answer_finish(x, problem->status, response, wire_media_type(WIRE_PROBLEM));
        return;
    }
    if (response != NULL)
        MHD_destroy_response(response);
    srv_answer_out_of_memory(x);
}

void srv_reply_constant_with(struct srv_request *request, int status, const char *content_type,
                             obb_str bytes, const char *const *headers)
{
    struct srv_exchange *x = request->exchange;
    x->answer_bytes = bytes.length;
    struct MHD_Response *response =
        x->connection->all->closing || x->cors != NULL || request->id != NULL
            ? NULL
            : constant_of(x->all->constants, status, content_type, bytes, headers);
    if (response != NULL) {
        ready(x, status, response, true);
        return;
    }
    response = response_around(bytes, headers);
    if (response == NULL)
        srv_answer_out_of_memory(x);
    else
        srv_answer_finish(x, status, response, content_type);
}

void srv_reply_constant(struct srv_request *request, int status, const char *content_type,
                        obb_str bytes)
{
    srv_reply_constant_with(request, status, content_type, bytes, NULL);
}
