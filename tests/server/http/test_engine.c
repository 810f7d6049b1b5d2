/* Engines and their certificates, on a loop without a listener. Secure connections are made in
 * tests/server. */
#include "server/http/engine.h"
#include "server/http/linger.h"
#include "tests/server/certificates.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <sys/socket.h>
#include <unistd.h>

static struct srv_loop *loop;
static struct srv_metrics metrics;
static struct srv_connections connections;
static struct srv_exchanges exchanges;
static struct srv_lingerers lingerers;
static struct srv_engines engines;
static const srv_log quiet = {.descriptor = -1, .level = SRV_ERROR};
static srv_http_options options = {
    .log = &quiet, .metrics = &metrics, .connection_limit = 8, .request_timeout_ms = 60000};
static const struct srv_endpoint endpoint = {.host = NULL, .number = 3};

static void on_closed(void *context) { (void)context; }

static void setup(void)
{
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_metrics_init(&metrics, 0));
    options.loop = lingerers.loop = loop;
    connections = (struct srv_connections){.options = &options, .on_closed = on_closed};
    exchanges = (struct srv_exchanges){.options = &options, .lingerers = &lingerers};
    engines = (struct srv_engines){.options = &options,
                                   .connections = &connections,
                                   .exchanges = &exchanges,
                                   .lingerers = &lingerers};
    ck_assert(srv_connections_init(&connections));
    ck_assert(srv_engines_start(&engines));
}

static void teardown(void)
{
    srv_engines_stop(&engines);
    ck_assert_uint_eq(connections.count, 0);
    srv_connections_fini(&connections);
    srv_exchanges_fini(&exchanges);
    srv_loop_destroy(loop);
    srv_metrics_fini(&metrics);
}

/* Adds a connection to a socket whose other end is returned. */
static int add(bool secure)
{
    int ends[2];
    const struct sockaddr from = {.sa_family = AF_UNIX};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    srv_engines_add(&engines, secure, ends[0], &from, sizeof from, &endpoint);
    return ends[1];
}

START_TEST(a_connection_knows_how_it_came)
{
    const int plain = add(false);
    ck_assert_uint_eq(connections.count, 1);
    ck_assert_ptr_eq(connections.newest->endpoint, &endpoint);
    ck_assert(!connections.newest->secure);
    ck_assert(srv_engines_use_certificate(&engines, first_certificate, first_key));
    const int secure = add(true);
    ck_assert_uint_eq(connections.count, 2);
    ck_assert(connections.newest->secure);
    close(plain);
    close(secure);
    for (int i = 0; i < 1000 && connections.count > 0; i++)
        (void)srv_engines_run(&engines);
    ck_assert_uint_eq(connections.count, 0);
}
END_TEST

START_TEST(a_bad_certificate_leaves_the_one_in_use)
{
    ck_assert(!srv_engines_use_certificate(&engines, "", ""));
    ck_assert_ptr_null(engines.secure);
    ck_assert(srv_engines_use_certificate(&engines, first_certificate, first_key));
    const struct srv_engine *first = engines.secure;
    ck_assert_ptr_nonnull(first);
    ck_assert(!srv_engines_use_certificate(&engines, "no certificate", first_key));
    ck_assert(!srv_engines_use_certificate(&engines, second_certificate, "no key"));
    ck_assert(!srv_engines_use_certificate(&engines, second_certificate, first_key));
    ck_assert_ptr_eq(engines.secure, first);
}
END_TEST

START_TEST(an_engine_lasts_as_long_as_its_connections)
{
    ck_assert(srv_engines_use_certificate(&engines, first_certificate, first_key));
    const struct srv_engine *first = engines.secure;
    const int client = add(true);
    ck_assert(srv_engines_use_certificate(&engines, second_certificate, second_key));
    ck_assert_ptr_ne(engines.secure, first);
    (void)srv_engines_run(&engines);
    ck_assert_uint_eq(connections.count, 1); /* with the certificate it began with */
    close(client);
    for (int i = 0; i < 1000 && connections.count > 0; i++)
        (void)srv_engines_run(&engines);
    ck_assert_uint_eq(connections.count, 0);
}
END_TEST

START_TEST(want_of_memory_refuses_a_connection)
{
    fault_arm(1);
    const int client = add(false);
    fault_arm(0);
    ck_assert_uint_eq(connections.count, 0);
    close(client);
    for (int i = 0; i < 10; i++)
        (void)srv_engines_run(&engines);
    fault_arm(1);
    ck_assert(!srv_engines_use_certificate(&engines, first_certificate, first_key));
    fault_arm(0);
    ck_assert_ptr_null(engines.secure);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *tc = tcase_create("engine");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_connection_knows_how_it_came);
    tcase_add_test(tc, a_bad_certificate_leaves_the_one_in_use);
    tcase_add_test(tc, an_engine_lasts_as_long_as_its_connections);
    tcase_add_test(tc, want_of_memory_refuses_a_connection);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
