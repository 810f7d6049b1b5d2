/* Connections and their deadlines, without sockets. */
#include "server/http/connection.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <unistd.h>

#define COUNT ((size_t)50)

enum { LIMIT_MS = 40 };

static struct srv_loop *loop;
static struct srv_metrics metrics;
static struct srv_connections connections;
static struct srv_connection *opened[COUNT];
static struct srv_connection *expired[4 * COUNT];
static uint64_t expired_ms[4 * COUNT];
static size_t expired_count, closed_count, wanted;

static void on_expired(struct srv_connection *c)
{
    ck_assert_uint_lt(expired_count, 4 * COUNT);
    expired_ms[expired_count] = srv_loop_now_ms(loop);
    expired[expired_count++] = c;
    if (expired_count == wanted)
        srv_loop_stop(loop);
}

static void on_closed(void *context)
{
    ck_assert_ptr_eq(context, &metrics);
    closed_count++;
}

static const struct srv_endpoint endpoint = {.host = NULL, .number = 0};
static srv_http_options options = {.request_timeout_ms = LIMIT_MS, .metrics = &metrics};

static void setup(void)
{
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_metrics_init(&metrics, 0));
    options.loop = loop;
    connections = (struct srv_connections){.options = &options,
                                           .on_expired = on_expired,
                                           .on_closed = on_closed,
                                           .on_closed_context = &metrics};
    ck_assert(srv_connections_init(&connections));
}

static void teardown(void)
{
    srv_connections_fini(&connections);
    srv_loop_destroy(loop);
    srv_metrics_fini(&metrics);
}

static void open_all(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        opened[i] = srv_connection_open(&connections, NULL, -1, &endpoint, false);
        ck_assert_ptr_nonnull(opened[i]);
        ck_assert_int_eq(opened[i]->phase, SRV_PHASE_READ);
    }
}

static void close_all(void)
{
    for (size_t i = 0; i < COUNT; i++)
        srv_connection_close(opened[i]);
    ck_assert_ptr_null(connections.oldest);
    ck_assert_ptr_null(connections.newest);
}

START_TEST(connections_are_counted)
{
    open_all();
    ck_assert_uint_eq(connections.count, COUNT);
    ck_assert_uint_eq(metrics.connections, COUNT);
    close_all();
    ck_assert_uint_eq(connections.count, 0);
    ck_assert_uint_eq(metrics.connections, 0);
    ck_assert_uint_eq(metrics.connections_total, COUNT);
    ck_assert_uint_eq(closed_count, COUNT);
}
END_TEST

/* The list after random phases is that of a model: a connection that enters a phase goes to the
 * end. */
START_TEST(the_list_is_ordered_by_the_beginning_of_the_phase)
{
    open_all();
    size_t order[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        order[i] = i;
    test_rng rng = {.s = 20261122};
    for (size_t round = 0; round < test_effort(2000); round++) {
        const size_t at = test_below(&rng, COUNT), moved = order[at];
        for (size_t i = at; i + 1 < COUNT; i++)
            order[i] = order[i + 1];
        order[COUNT - 1] = moved;
        const srv_phase phase = (srv_phase)test_below(&rng, 4);
        srv_connection_enter(opened[moved], phase);
        ck_assert_int_eq(opened[moved]->phase, phase);
        const struct srv_connection *c = connections.oldest, *before = NULL;
        for (size_t i = 0; i < COUNT; i++) {
            ck_assert_ptr_eq(c, opened[order[i]]);
            ck_assert_ptr_eq(c->older, before);
            before = c;
            c = c->newer;
        }
        ck_assert_ptr_null(c);
        ck_assert_ptr_eq(connections.newest, before);
    }
    close_all();
}
END_TEST

START_TEST(each_phase_expires_once_in_every_limit)
{
    open_all();
    uint64_t since_ms[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        since_ms[i] = opened[i]->since_ms;
    wanted = 3 * COUNT;
    srv_loop_run(loop);
    ck_assert_uint_eq(expired_count, wanted);
    for (size_t i = 0; i < wanted; i++) { /* the oldest first, then again */
        ck_assert_ptr_eq(expired[i], opened[i % COUNT]);
        ck_assert_uint_ge(expired_ms[i] - since_ms[i % COUNT], LIMIT_MS);
        since_ms[i % COUNT] = expired_ms[i];
    }
    close_all();
}
END_TEST

static void enter_again(void *context)
{
    (void)context;
    srv_connection_enter(opened[0], SRV_PHASE_WORK);
}

START_TEST(a_new_phase_has_its_own_time)
{
    open_all();
    struct srv_timer *timer;
    ck_assert(srv_timer_create(loop, enter_again, NULL, &timer));
    srv_timer_start(timer, LIMIT_MS / 2, 0);
    wanted = COUNT;
    srv_loop_run(loop);
    for (size_t i = 0; i < wanted; i++)
        ck_assert_ptr_eq(expired[i], opened[(i + 1) % COUNT]); /* the first comes last */
    srv_timer_destroy(timer);
    close_all();
}
END_TEST

START_TEST(want_of_memory_changes_nothing)
{
    fault_arm(1);
    ck_assert_ptr_null(srv_connection_open(&connections, NULL, -1, &endpoint, false));
    fault_arm(0);
    ck_assert_uint_eq(connections.count, 0);
    ck_assert_ptr_null(connections.oldest);
}
END_TEST

/* Of a unix socket the system tells only how much waits. */
START_TEST(a_unix_client_takes_what_no_longer_waits)
{
    static char bytes[4096];
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct srv_connection *c = srv_connection_open(&connections, NULL, ends[0], &endpoint, false);
    ck_assert_ptr_nonnull(c);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(send(ends[0], bytes, sizeof bytes, 0), (int)sizeof bytes);
    (void)srv_connection_takes(c, false);
    ck_assert(!srv_connection_takes(c, false));
    ck_assert(srv_connection_takes(c, true)); /* what was sent meanwhile hides it */
    ck_assert_int_eq(recv(ends[1], bytes, sizeof bytes, 0), (int)sizeof bytes);
    ck_assert(srv_connection_takes(c, false));
    ck_assert(!srv_connection_takes(c, false));
    srv_connection_close(c);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connection");
    TCase *tc = tcase_create("connection");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, connections_are_counted);
    tcase_add_test(tc, a_unix_client_takes_what_no_longer_waits);
    tcase_add_test(tc, the_list_is_ordered_by_the_beginning_of_the_phase);
    tcase_add_test(tc, each_phase_expires_once_in_every_limit);
    tcase_add_test(tc, a_new_phase_has_its_own_time);
    tcase_add_test(tc, want_of_memory_changes_nothing);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
