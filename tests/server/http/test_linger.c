/* Lingering sockets, each the end of a pair. */
#include "server/http/linger.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct srv_loop *loop;
static struct srv_lingerers lingerers;
static struct srv_timer *timer;
static int client; /* the other end */
static size_t sent;

static void on_time(void *context)
{
    (void)context;
    if (lingerers.count == 0)
        srv_loop_stop(loop);
}

static void setup(void)
{
    ck_assert(srv_loop_create(&loop));
    lingerers = (struct srv_lingerers){.loop = loop};
    ck_assert(srv_timer_create(loop, on_time, NULL, &timer));
    srv_timer_start(timer, 5, 5);
}

static void teardown(void)
{
    srv_linger_stop(&lingerers);
    ck_assert_uint_eq(lingerers.count, 0);
    srv_timer_destroy(timer);
    srv_loop_destroy(loop);
}

/* Lingers on a socket, says a word on it as its owner would, and closes it. */
static void begin(void)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    srv_linger(&lingerers, ends[0]);
    ck_assert_int_eq(send(ends[0], "why", 3, MSG_NOSIGNAL), 3);
    (void)shutdown(ends[0], SHUT_WR);
    close(ends[0]);
    client = ends[1];
}

START_TEST(a_client_that_still_sends_reads_why)
{
    char bytes[65536] = "";
    begin();
    ck_assert_uint_eq(lingerers.count, 1);
    ck_assert_int_eq(send(client, bytes, 1000, MSG_NOSIGNAL), 1000);
    ck_assert_int_eq(recv(client, bytes, sizeof bytes, 0), 3);
    ck_assert_int_eq(memcmp(bytes, "why", 3), 0);
    (void)shutdown(client, SHUT_WR); /* the client has said all */
    srv_loop_run(loop);
    ck_assert_uint_eq(lingerers.count, 0);
    close(client);
}
END_TEST

static void send_more(void *context)
{
    (void)context;
    static char bytes[65536];
    const ssize_t n = send(client, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    sent += n > 0 ? (size_t)n : 0;
    on_time(NULL);
}

START_TEST(nobody_is_read_for_ever)
{
    struct srv_timer *sender;
    begin();
    ck_assert(srv_timer_create(loop, send_more, NULL, &sender));
    srv_timer_start(sender, 1, 1);
    const double start = srv_clock();
    srv_loop_run(loop);
    printf("%zu bytes were read in %.0f ms\n", sent, (srv_clock() - start) * 1e3);
    ck_assert_uint_gt(sent, 1u << 19);
    ck_assert_uint_lt(sent, 3u << 20);
    srv_timer_destroy(sender);
    close(client);
}
END_TEST

START_TEST(a_silent_client_is_let_go)
{
    const uint64_t start_ms = srv_loop_now_ms(loop); /* timers begin at the loop's time */
    begin();
    srv_loop_run(loop);
    ck_assert_uint_ge(srv_loop_now_ms(loop) - start_ms, 2000);
    close(client);
}
END_TEST

START_TEST(there_are_sixty_four_at_most)
{
    int clients[70];
    for (int i = 0; i < 70; i++) {
        begin();
        clients[i] = client;
    }
    ck_assert_uint_eq(lingerers.count, 64);
    srv_linger_stop(&lingerers);
    for (int i = 0; i < 70; i++)
        close(clients[i]);
}
END_TEST

START_TEST(want_of_memory_lingers_on_nobody)
{
    size_t failures = 0;
    for (size_t n = 1; n < 10; n++) {
        fault_arm(n);
        begin();
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        ck_assert_uint_eq(lingerers.count, !reached);
        failures += reached;
        close(client);
        if (!reached)
            break;
    }
    ck_assert_uint_ge(failures, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linger");
    TCase *tc = tcase_create("linger");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_client_that_still_sends_reads_why);
    tcase_add_test(tc, nobody_is_read_for_ever);
    tcase_add_test(tc, a_silent_client_is_let_go);
    tcase_add_test(tc, there_are_sixty_four_at_most);
    tcase_add_test(tc, want_of_memory_lingers_on_nobody);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
