/* What no decent client sends: bytes written straight to the socket. Each gets a clear answer or a closed connection, and
 * the daemon goes on. */
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct test_daemon daemon;
static struct http_client *client;

static void start(void)
{
    daemon_start(&daemon,
                 (const char *[]){"--request-timeout", "700", "--body-limit", "1MiB", NULL});
    client = http_open(daemon.url);
}

static void stop(void)
{
    expect(client, "GET", "/healthz", NULL, 200, NULL); /* unharmed */
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

static int dial(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)daemon.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct outcome {
    int statuses[8]; /* of the answers that came, in order */
    int count;
    bool closed; /* by the server, within the time */
    char text[16384];
};

static void parse_statuses(struct outcome *out)
{
    out->count = 0;
    for (const char *at = out->text; (at = strstr(at, "HTTP/1.1 ")) != NULL && out->count < 8;
         at += 9)
        out->statuses[out->count++] = (int)strtol(at + 9, NULL, 10);
}

/* Reads until the server closes or `seconds` have passed. */
static void listen_to(int fd, double seconds, struct outcome *out)
{
    const double deadline = now_seconds() + test_timeout(seconds);
    size_t length = 0;
    *out = (struct outcome){0};
    for (double left; (left = deadline - now_seconds()) > 0;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        const ssize_t got = recv(fd, out->text + length, sizeof out->text - 1 - length, 0);
        if (got <= 0) {
            out->closed = true;
            break;
        }
        length += (size_t)got;
    }
    parse_statuses(out);
}

/* One connection that sends these bytes and then listens. */
static void send_raw(const char *bytes, size_t length, double seconds, struct outcome *out)
{
    const int fd = dial();
    (void)send(fd, bytes, length, MSG_NOSIGNAL);
    listen_to(fd, seconds, out);
    close(fd);
}

#define HOST    "Host: localhost\r\n"
#define PUT_BOX "PUT /v1/scenes/s/boxes/b HTTP/1.1\r\n"
#define BODY    "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}" /* 41 bytes */

START_TEST(ambiguous_and_broken_requests_are_refused_and_the_connection_closed)
{
    static const struct {
        const char *what, *bytes;
        int status;
    } cases[] = {
        {"both lengths",
         PUT_BOX HOST "Content-Type: application/json\r\nContent-Length: 41\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/scenes HTTP/1.1\r\n" HOST
                      "\r\n",
         400},
        {"two lengths",
         PUT_BOX HOST "Content-Type: application/json\r\nContent-Length: 41\r\nContent-Length: "
                      "5\r\n\r\n" BODY,
         400},
        {"a length with a sign",
         PUT_BOX HOST "Content-Type: application/json\r\nContent-Length: +41\r\n\r\n" BODY, 400},
        {"a length that is a word",
         PUT_BOX HOST "Content-Type: application/json\r\nContent-Length: many\r\n\r\n" BODY, 400},
        {"two hosts", "GET /v1/scenes HTTP/1.1\r\n" HOST "Host: localhost\r\n\r\n", 400},
        {"no host", "GET /v1/scenes HTTP/1.1\r\n\r\n", 400},
        {"a space before the colon", "GET /v1/scenes HTTP/1.1\r\n" HOST "X-Thing : 1\r\n\r\n", 400},
        {"a folded field", "GET /v1/scenes HTTP/1.1\r\n" HOST "X-Thing: 1\r\n  2\r\n\r\n", 400},
        {"a coding we do not know",
         PUT_BOX HOST "Content-Type: application/json\r\nTransfer-Encoding: gzip\r\n\r\n", 400},
        {"a body beyond the limit, before it is sent",
         PUT_BOX HOST "Content-Type: application/json\r\nContent-Length: 4294967296\r\n\r\n", 413},
        {"an absurd body",
         PUT_BOX HOST "Content-Type: application/json\r\nContent-Length: "
                      "1000000000000000\r\n\r\n",
         413},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome out;
        send_raw(cases[i].bytes, strlen(cases[i].bytes), 3, &out);
        ck_assert_msg(out.count == 1 && out.statuses[0] == cases[i].status,
                      "%s: %d answers, the first %d, not one %d:\n%s", cases[i].what, out.count,
                      out.statuses[0], cases[i].status, out.text);
        ck_assert_msg(out.closed, "%s: the connection stays open", cases[i].what);
    }
    printf("%zu ambiguous or broken requests tried\n", sizeof cases / sizeof *cases);
    expect_problem(client, "GET", "/v1/scenes/s", NULL, 404, NULL); /* none was carried out */
}
END_TEST

START_TEST(garbage_is_answered_or_cut)
{
    test_rng rng = {.s = 20261120};
    size_t tried = 0;
    for (int i = 0; i < 60; i++, tried++) {
        char bytes[2048];
        const size_t length = 1 + test_below(&rng, sizeof bytes - 1);
        for (size_t j = 0; j < length; j++)
            bytes[j] = (char)test_random(&rng);
        if (i % 3 == 0)
            memcpy(bytes, "GET / ", length < 6 ? length : 6);
        const int fd = dial();
        (void)send(fd, bytes, length, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        struct outcome out;
        listen_to(fd, 3, &out);
        close(fd);
        ck_assert_msg(out.closed, "garbage %d keeps its connection", i);
        for (int a = 0; a < out.count; a++)
            ck_assert_msg(out.statuses[a] >= 400, "garbage %d is answered %d", i, out.statuses[a]);
    }
    printf("%zu garbage requests tried\n", tried);
}
END_TEST

START_TEST(a_client_that_drips_is_cut_at_the_deadline)
{
    static const char *const slow[] = {
        "GET /v1/scenes HTTP/1.1\r\n" HOST "X-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        PUT_BOX HOST "Content-Type: application/json\r\nContent-Length: 41\r\n\r\n" BODY,
    };
    /* how much goes at once: the rest drips */
    const size_t at_once[] = {20, strlen(slow[1]) - 30};
    for (int i = 0; i < 2; i++) {
        const int fd = dial();
        (void)send(fd, slow[i], at_once[i], MSG_NOSIGNAL);
        const double begun = now_seconds();
        bool cut = false;
        for (size_t j = at_once[i]; slow[i][j] != '\0' && !cut; j++) {
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
            cut = send(fd, slow[i] + j, 1, MSG_NOSIGNAL) < 0;
            struct pollfd ready = {.fd = fd, .events = POLLIN};
            char bytes[4096];
            if (!cut && poll(&ready, 1, 0) > 0)
                cut = recv(fd, bytes, sizeof bytes, 0) <= 0;
        }
        const double lasted = now_seconds() - begun;
        ck_assert_msg(cut, "dripping client %d was served after %.1f s", i, lasted);
        ck_assert_msg(lasted > 0.5 && lasted < test_timeout(2.5), "cut after %.1f s", lasted);
        close(fd);
    }
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
    static const char bytes[] =
        "GET /healthz HTTP/1.1\r\n" HOST "\r\nGET /nowhere HTTP/1.1\r\n" HOST
        "\r\nGET /v1/scenes HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";
    struct outcome out;
    send_raw(bytes, sizeof bytes - 1, 3, &out);
    ck_assert_int_eq(out.count, 3);
    ck_assert_int_eq(out.statuses[0], 200);
    ck_assert_int_eq(out.statuses[1], 404);
    ck_assert_int_eq(out.statuses[2], 200);
    ck_assert(out.closed);
}
END_TEST

START_TEST(clients_that_vanish_leave_nothing_behind)
{
    for (int i = 0; i < 300; i++) {
        const int fd = dial();
        static const char head[] = PUT_BOX HOST
            "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"center\":";
        (void)send(fd, head, (size_t)(i % (int)sizeof head), MSG_NOSIGNAL);
        if (i % 2 == 0) { /* a reset instead of an orderly end */
            const struct linger now = {.l_onoff = 1, .l_linger = 0};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        close(fd);
    }
    for (int i = 0; i < 20; i++)
        expect(client, "PUT", "/v1/scenes/s/boxes/b", BODY, i == 0 ? 201 : 200, NULL);
}
END_TEST

START_TEST(hostile_bodies_are_refused_quickly)
{
    enum { SIZE = 1 << 20 };
    char *body = malloc(SIZE + 1);
    ck_assert_ptr_nonnull(body);
    memset(body, '[', SIZE - 100);
    body[SIZE - 100] = '\0';
    expect_problem(client, "PUT", "/v1/scenes/s/boxes/b", body, 400, NULL);

    (void)snprintf(body, SIZE, "{\"center\":[0,0,");
    const size_t head = strlen(body);
    memset(body + head, '9', 100000);
    (void)snprintf(body + head + 100000, 64, "],\"half_extents\":[1,1,1]}");
    expect_problem(client, "PUT", "/v1/scenes/s/boxes/b", body, 422, "/center/2");

    memset(body, ' ', SIZE);
    body[SIZE] = '\0';
    expect_problem(client, "PUT", "/v1/scenes/s/boxes/b", body, 400, NULL);
    char *big = malloc((size_t)2 * SIZE + 1);
    ck_assert_ptr_nonnull(big);
    memset(big, ' ', (size_t)2 * SIZE);
    big[(size_t)2 * SIZE] = '\0';
    expect_problem(client, "PUT", "/v1/scenes/s/boxes/b", big, 413, NULL);
    free(big);
    free(body);
    expect_problem(client, "GET", "/v1/scenes/s", NULL, 404, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abuse");
    TCase *tc = tcase_create("abuse");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, ambiguous_and_broken_requests_are_refused_and_the_connection_closed);
    tcase_add_test(tc, garbage_is_answered_or_cut);
    tcase_add_test(tc, a_client_that_drips_is_cut_at_the_deadline);
    tcase_add_test(tc, pipelined_requests_are_answered_in_order);
    tcase_add_test(tc, clients_that_vanish_leave_nothing_behind);
    tcase_add_test(tc, hostile_bodies_are_refused_quickly);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
