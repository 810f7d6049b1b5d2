/* An HTTP service with the routes of a test, in a thread of its own on a free port of loopback, and
 * a client that speaks raw bytes. Each test program includes this header once. */
#ifndef TEST_SERVER_HTTP_SERVICE_H
#define TEST_SERVER_HTTP_SERVICE_H

#include "server/http/answer.h"
#include "server/http/http.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- The service ----------------------------------------------------------------------------- */

enum { TIMEOUT_MS = 1000, LONG_MS = 600000 };

static bool times_out; /* a request may take TIMEOUT_MS; else so long that no machine is too slow */
static struct srv_loop *loop;
static struct srv_http *http;
static struct srv_routes *routes;
static struct srv_metrics metrics;
static struct obb_budget budget;
static const srv_log quiet = {.descriptor = -1, .level = SRV_ERROR};
static srv_listener listener;
static pthread_t thread;
static const char *page_origin;
static void (*before_loop_runs)(void); /* makes what a test has on the loop; or NULL */
static void (*before_loop_ends)(void); /* frees it; or NULL */
static _Atomic int sleepers, cancelled_jobs, late_jobs; /* seen by handlers */

static inline void do_hello(struct srv_request *request)
{
    srv_reply_constant(request, 200, "text/plain", obb_str_of("hello"));
}

/* Answers with the number of bytes of the body, and their sum. */
static inline void do_count(struct srv_request *request)
{
    unsigned sum = 0;
    for (size_t i = 0; i < request->body.length; i++)
        sum += (unsigned char)request->body.bytes[i];
    char text[64];
    const int length = snprintf(text, sizeof text, "%zu %u", request->body.length, sum);
    wire_buf_append(&request->reply, text, (size_t)length);
    srv_reply(request, 200, "text/plain");
}

static inline void sleep_cancelled(struct srv_request *request)
{
    atomic_fetch_add(&cancelled_jobs, 1);
    if (srv_request_late(request))
        atomic_fetch_add(&late_jobs, 1);
    const wire_problem problem = wire_problem_of(OBB_CANCELLED);
    srv_reply_problem(request, &problem);
}

/* Work that never ends by itself. */
static inline void do_sleep(struct srv_request *request)
{
    request->on_cancel = sleep_cancelled;
    atomic_fetch_add(&sleepers, 1);
}

/* An answer of 8 MB. */
static inline void do_large(struct srv_request *request)
{
    char *room = wire_buf_room(&request->reply, 8u << 20);
    if (room != NULL) {
        memset(room, 'x', 8u << 20);
        wire_buf_added(&request->reply, 8u << 20);
    }
    srv_reply(request, 200, "text/plain");
}

/* How many connections were cut so far. */
static inline void do_cuts(struct srv_request *request)
{
    char text[32];
    const int length =
        snprintf(text, sizeof text, "cuts: %llu", (unsigned long long)metrics.cut_total);
    wire_buf_append(&request->reply, text, (size_t)length);
    srv_reply(request, 200, "text/plain");
}

static inline void on_empty(void *context)
{
    (void)context;
    srv_loop_stop(loop);
}

/* Ends the service as SIGTERM does. */
static inline void do_stop(struct srv_request *request)
{
    srv_http_quiesce(http, on_empty, NULL);
    do_hello(request);
}

static const srv_route base_table[] = {
    {SRV_GET, "/hello", do_hello, 0, 1u << WIRE_JSON, SRV_OPEN},
    {SRV_POST, "/count", do_count, 1u << WIRE_JSON, 0, SRV_OPEN},
    {SRV_GET, "/sleep", do_sleep, 0, 0, SRV_OPEN},
    {SRV_GET, "/large", do_large, 0, 0, SRV_OPEN},
    {SRV_GET, "/cuts", do_cuts, 0, 0, SRV_OPEN},
    {SRV_GET, "/stop", do_stop, 0, 0, SRV_OPEN},
    {SRV_GET, "/things/{thing}", do_hello, 0, 0, SRV_OPEN},
};
enum { ROUTES = sizeof base_table / sizeof base_table[0], MORE = 16 };
static srv_route table[ROUTES + MORE];

static inline void *serve(void *context)
{
    (void)context;
    srv_loop_run(loop);
    return NULL;
}

/* Starts the service. more: `count` further routes of the test. origin: of a page that may call, or
 * NULL. */
static inline void start_with(uint64_t connections, uint64_t memory, const srv_route *more,
                              size_t count, const char *origin)
{
    ck_assert_uint_le(count, MORE);
    page_origin = origin;
    memcpy(table, base_table, sizeof base_table);
    if (count > 0)
        memcpy(table + ROUTES, more, count * sizeof *more);
    char error[256];
    srv_address address;
    static const char *const hosts[] = {"obbd.example"};
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_metrics_init(&metrics, ROUTES + count));
    ck_assert(srv_routes_create(table, ROUTES + count, &routes));
    obb_budget_init(&budget, memory);
    const srv_http_options options = {.loop = loop,
                                      .log = &quiet,
                                      .metrics = &metrics,
                                      .routes = routes,
                                      .connection_limit = connections,
                                      .body_limit = 1u << 20,
                                      .budget = &budget,
                                      .request_timeout_ms = times_out ? TIMEOUT_MS : LONG_MS,
                                      .hosts = hosts,
                                      .host_count = 1,
                                      .check_host = true,
                                      .origins = &page_origin,
                                      .origin_count = origin != NULL};
    ck_assert(srv_http_create(&options, &http));
    ck_assert(srv_address_read("127.9.9.9:0", &address, error, sizeof error));
    ck_assert_msg(srv_listener_open(&address, &listener, error, sizeof error), "%s", error);
    ck_assert(srv_http_listen(http, &listener, false));
    if (before_loop_runs != NULL)
        before_loop_runs();
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
}

/* ---- The client ------------------------------------------------------------------------------ */

static inline int dial(void)
{
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(s, 0);
    ck_assert_int_eq(connect(s, &listener.address.as.any, listener.address.length), 0);
    return s;
}

static inline void say_bytes(int s, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t n = send(s, bytes, length, MSG_NOSIGNAL);
        if (n < 0)
            return; /* the service may close while we speak */
        bytes += n;
        length -= (size_t)n;
    }
}

/* Closes with a reset. */
static inline void reset(int s)
{
    const struct linger now = {.l_onoff = 1};
    ck_assert_int_eq(setsockopt(s, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(s);
}

static inline void say(int s, const char *text) { say_bytes(s, text, strlen(text)); }

static inline double now_ms(void) { return srv_clock() * 1e3; }

static inline void wait_ms(double ms)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(ms * 1e6)}, NULL);
}

/* What was read of a connection: its beginning, its end, and how much it was. */
struct received {
    char head[8192], tail[6];
    size_t length;
};

static inline void receive(struct received *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++, r->length++) {
        if (r->length + 1 < sizeof r->head)
            r->head[r->length] = bytes[i];
        memmove(r->tail, r->tail + 1, 4);
        r->tail[4] = bytes[i];
    }
}

/* Returns the value of a header field of the first answer, or NULL. */
static inline const char *field_of(const struct received *r, const char *name)
{
    const char *end = strstr(r->head, "\r\n\r\n"), *at = strstr(r->head, name);
    return end != NULL && at != NULL && at < end ? at + strlen(name) : NULL;
}

/* Has the first answer come to its end? */
static inline bool is_whole(const struct received *r)
{
    const char *end = strstr(r->head, "\r\n\r\n");
    if (end == NULL)
        return false;
    if (field_of(r, "\r\nTransfer-Encoding: chunked") != NULL)
        return memcmp(r->tail, "0\r\n\r\n", 5) == 0;
    const char *length = field_of(r, "\r\nContent-Length: ");
    return r->length >=
           (size_t)(end + 4 - r->head) + (length != NULL ? (size_t)strtoul(length, NULL, 10) : 0);
}

/* Reads until the other side closes (true), or until `ms` have passed without a byte (false). While
 * the answer is not whole, or the other side has said that it will close, it is waited for
 * `patience_ms`. */
static inline bool hear_for(int s, char *out, size_t size, double ms, double patience_ms)
{
    struct received r = {.length = 0};
    size_t kept = 0;
    bool closed = false;
    for (double last = now_ms();;) {
        const bool due = !is_whole(&r) || field_of(&r, "\r\nConnection: close") != NULL;
        const double wait = due && patience_ms > ms ? patience_ms : ms;
        struct pollfd ready = {.fd = s, .events = POLLIN};
        if (poll(&ready, 1, (int)wait) <= 0)
            break;
        char bytes[4096];
        const ssize_t n = recv(s, bytes, sizeof bytes, 0);
        if (n <= 0) {
            closed = now_ms() - last <= wait; /* else it was open for so long */
            break;
        }
        last = now_ms();
        receive(&r, bytes, (size_t)n);
        for (ssize_t i = 0; i < n; i++)
            if (kept + 1 < size)
                out[kept++] = bytes[i];
    }
    out[kept] = '\0';
    return closed;
}

/* Of a connection on which an answer is due: however slow the machine is, it is waited for. */
static inline bool hear(int s, char *out, size_t size, double ms)
{
    return hear_for(s, out, size, ms, 10e3 * test_timeout(1));
}

/* Of one on which perhaps nothing comes, or an answer without a body, or without an end. */
static inline bool overhear(int s, char *out, size_t size, double ms)
{
    return hear_for(s, out, size, ms, ms);
}

/* Reads until the header of an answer has come, or the other side closes. */
static inline void hear_head(int s, char *out, size_t size)
{
    size_t length = 0;
    out[0] = '\0';
    while (strstr(out, "\r\n\r\n") == NULL && length + 1 < size && recv(s, out + length, 1, 0) == 1)
        out[++length] = '\0';
}

/* The status of the first answer in it, 0 when there is none. */
static inline int status_of(const char *heard)
{
    return strncmp(heard, "HTTP/1.1 ", 9) == 0 ? (int)strtol(heard + 9, NULL, 10) : 0;
}

static inline size_t count_of(const char *heard, const char *sought)
{
    size_t count = 0;
    for (const char *at = heard; (at = strstr(at, sought)) != NULL; at++)
        count++;
    return count;
}

enum { PATIENCE_MS = 150 }; /* for what may follow an answer: a further one, or the end */

/* Waits until so many requests sleep. One that never does fails by the limit of the test. */
static inline void await_sleepers(int count)
{
    while (atomic_load(&sleepers) < count)
        wait_ms(1);
}

static inline void setup(void) { start_with(64, 8u << 20, NULL, 0, NULL); }

static inline void setup_short(void)
{
    times_out = true;
    setup();
}

/* Waits until the service has ended, and frees it. */
static inline void finish(void)
{
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(srv_http_idle(http));
    srv_http_destroy(http);
    srv_listener_close(&listener);
    srv_routes_destroy(routes);
    if (before_loop_ends != NULL)
        before_loop_ends();
    srv_loop_destroy(loop);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_uint_eq(metrics.connections, 0);
    srv_metrics_fini(&metrics);
}

static inline void teardown(void)
{
    const int s = dial();
    char heard[1024];
    say(s, "GET /stop HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ck_assert(hear(s, heard, sizeof heard, 5000));
    ck_assert_int_eq(status_of(heard), 200);
    ck_assert_ptr_nonnull(strstr(heard, "Connection: close"));
    close(s);
    finish();
}

/* ---- Requests and their answers -------------------------------------------------------------- */

#define H    "Host: localhost\r\n"
#define TYPE "Content-Type: application/json\r\n"

struct exchange {
    const char *sent;
    int status;
    bool closes;
    const char *says; /* part of the answer */
    size_t length;    /* of what is sent, where it holds a NUL */
};

static inline void check(const struct exchange *exchanges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct exchange *x = &exchanges[i];
        char heard[8192];
        const int s = dial();
        say_bytes(s, x->sent, x->length != 0 ? x->length : strlen(x->sent));
        const bool has_body = strncmp(x->sent, "HEAD ", 5) != 0;
        const bool closed = (has_body ? hear : overhear)(s, heard, sizeof heard, PATIENCE_MS);
        ck_assert_msg(status_of(heard) == x->status && closed == x->closes &&
                          count_of(heard, "HTTP/1.1 ") == 1 &&
                          (x->says == NULL || strstr(heard, x->says) != NULL),
                      "%s\n-> (%s)\n%s", x->sent, closed ? "closed" : "open", heard);
        ck_assert_msg(count_of(heard, "X-Content-Type-Options: nosniff\r\n") ==
                          count_of(heard, "\r\nContent-Type: "),
                      "%s", heard);
        if (x->status >= 400)
            ck_assert_msg(strstr(heard, "Content-Type: application/problem+json") != NULL, "%s",
                          heard);
        close(s);
    }
    printf("%zu exchanges\n", count);
}

/* Runs the tests of a program in one case with this fixture. */
static inline TCase *http_case(Suite *suite, void (*begin)(void))
{
    TCase *tc = tcase_create("http");
    tcase_add_checked_fixture(tc, begin, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    suite_add_tcase(suite, tc);
    return tc;
}

#endif
