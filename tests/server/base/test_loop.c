/* Watches: what they hear of a peer that stops to send, closes or resets. */
#include "server/base/loop.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

static struct srv_loop *loop;
static struct srv_watch *watch;
static struct srv_timer *timer;
static int ends[2]; /* ours and the peer's */
static unsigned heard;

static void on_end(void *context)
{
    (void)context;
    srv_loop_stop(loop);
}

static void on_events(void *context, unsigned events)
{
    (void)context;
    heard |= events;
    srv_watch_pause(watch);
}

static void connect_tcp(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(ends[1], (const struct sockaddr *)&at, sizeof at), 0);
    ends[0] = accept(listener, NULL, NULL);
    ck_assert_int_ge(ends[0], 0);
    close(listener);
}

/* Acts as the peer, and runs the loop until it has nothing more to say. Returns what a watch of
 * `events` heard. */
static unsigned after(bool tcp, void (*act)(void), unsigned events)
{
    if (tcp)
        connect_tcp();
    else
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    heard = 0;
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_timer_create(loop, on_end, NULL, &timer));
    ck_assert(srv_watch_create(loop, ends[0], events, on_events, NULL, &watch));
    srv_timer_start(timer, 20, 0);
    act();
    srv_loop_run(loop);
    srv_watch_destroy(watch);
    srv_timer_destroy(timer);
    srv_loop_destroy(loop);
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    return heard;
}

static void speak(void) { ck_assert_int_eq(send(ends[1], "x", 1, 0), 1); }
static void speak_urgently(void) { ck_assert_int_eq(send(ends[1], "x", 1, MSG_OOB), 1); }
static void close_half(void) { ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0); }
static void close_all(void)
{
    close(ends[1]);
    ends[1] = -1;
}
static void reset(void)
{
    const struct linger now = {.l_onoff = 1};
    ck_assert_int_eq(setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close_all();
}

START_TEST(a_hangup_is_the_end_of_both_directions)
{
    static const struct {
        bool tcp;
        void (*act)(void);
        unsigned half_closed, hangup; /* heard by a watch for each */
    } acts[] = {
        {false, speak, 0, 0},
        {true, speak, 0, 0},
        {true, speak_urgently, 0, 0},
        {false, close_half, SRV_HALF_CLOSED, 0},
        {true, close_half, SRV_HALF_CLOSED, 0},
        {false, close_all, SRV_HALF_CLOSED, SRV_HANGUP},
        {true, close_all, SRV_HALF_CLOSED, 0}, /* as if it still read */
        {true, reset, SRV_HALF_CLOSED, SRV_HANGUP},
    };
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        const unsigned half_closed = after(acts[i].tcp, acts[i].act, SRV_HALF_CLOSED);
        const unsigned hangup = after(acts[i].tcp, acts[i].act, SRV_HANGUP);
        ck_assert_msg(half_closed == acts[i].half_closed && hangup == acts[i].hangup, "%zu: %u %u",
                      i, half_closed, hangup);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tc = tcase_create("watches");
    tcase_set_timeout(tc, test_timeout(10));
    tcase_add_test(tc, a_hangup_is_the_end_of_both_directions);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
