/* Log streams of slow clients, and of clients that wait. What they say is in
 * tests/e2e/test_log.c. */
#include "tests/server/scenes/large.h"

#include <string.h>

enum { BOXES = 60000, MADE = BOXES / ROW_COMMIT /* revision of the scene that setup makes */ };

static void setup(void)
{
    char limit[16];
    (void)snprintf(limit, sizeof limit, "%d", short_limit_ms());
    service_start((const char *[]){"--request-timeout", limit, "--history-commits", "2", NULL});
    make_row("/v1/scenes/s/commit", BOXES, 5);
}

static int open_log(int from, const char *more, int kernel_bytes)
{
    char request[256];
    const int length = snprintf(request, sizeof request,
                                "GET /v1/scenes/s/log?from=%d%s HTTP/1.1\r\nHost: localhost\r\n"
                                "Connection: close\r\n\r\n",
                                from, more);
    const int s = dial();
    if (kernel_bytes > 0)
        ck_assert_int_eq(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &kernel_bytes, sizeof kernel_bytes),
                         0);
    ck_assert_int_eq(send(s, request, (size_t)length, MSG_NOSIGNAL), length);
    return s;
}

/* Reads to the end of the connection. Returns whether the answer came to its end. */
static bool ends_in_order(int s)
{
    static char bytes[65536];
    char last[5] = "";
    for (ssize_t n; (n = recv(s, bytes, sizeof bytes, 0)) > 0;)
        for (ssize_t i = n > 5 ? n - 5 : 0; i < n; i++) {
            memmove(last, last + 1, 4);
            last[4] = bytes[i];
        }
    (void)close(s);
    return memcmp(last, "0\r\n\r\n", 5) == 0;
}

static void move(int commits)
{
    for (int i = 0; i < commits; i++)
        ck_assert_int_eq(
            ask("POST", "/v1/scenes/s/boxes/b0/transform", "{\"translate\":[%d,0,0]}", 1), 200);
}

/* Reads a log in small steps, for longer than --request-timeout. Then makes so many commits, and
 * reads the rest. */
static bool log_ends(int commits)
{
    static char bytes[16384];
    const int s = open_log(MADE, "", 131072);
    for (int i = 0; i < 12; i++) {
        ck_assert_int_gt(recv(s, bytes, sizeof bytes, 0), 0);
        test_rest(short_limit_ms() / 10);
    }
    move(commits);
    return ends_in_order(s);
}

START_TEST(a_slow_log_is_cut_when_the_history_has_given_up_its_state)
{
    ck_assert(log_ends(1));  /* the state is still in the history */
    ck_assert(!log_ends(4)); /* begun at a revision that four more commits push out */
}
END_TEST

START_TEST(a_client_that_waits_holds_nothing_that_it_could_lose)
{
    char bytes[4096];
    move(1);
    const int s = open_log(MADE + 1, "&follow=true", 0);
    ssize_t idle = 0;
    while (idle < 5) { /* takes the state, and then waits for longer than --request-timeout */
        const ssize_t n = recv(s, bytes, sizeof bytes, MSG_DONTWAIT);
        ck_assert_int_ne((int)n, 0);
        idle = n < 0 ? idle + 1 : 0;
        if (n < 0)
            test_rest(short_limit_ms() * 3 / 10);
    }
    move(6);
    size_t lines = 0;
    while (lines < 6) {
        const ssize_t n = recv(s, bytes, sizeof bytes, 0);
        ck_assert_int_gt((int)n, 0);
        for (ssize_t i = 0; i < n; i++)
            lines += bytes[i] == '}' && i + 1 < n && bytes[i + 1] == '\n';
    }
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert(ends_in_order(s));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_stream");
    TCase *tc = tcase_create("log_stream");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_add_test(tc, a_slow_log_is_cut_when_the_history_has_given_up_its_state);
    tcase_add_test(tc, a_client_that_waits_holds_nothing_that_it_could_lose);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
