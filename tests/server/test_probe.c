/* The probe, against a listener that answers what it is told to. The real service is probed in
 * test_service.c. */
#include "server/probe.h"
#include "tests/server/certificates.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listening;
static char where[64], error[256];
static const char *answer;
static char heard[1024];
static srv_config config;
static const char *item = where;

static void setup(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listening = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(listening, 1), 0);
    ck_assert_int_eq(getsockname(listening, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(where, sizeof where, "127.0.0.1:%d", ntohs(address.sin_port));
    config = (srv_config){.listen = {.items = &item, .count = 1}};
}

static void teardown(void) { close(listening); }

/* Answers one request. */
static void *serve(void *context)
{
    (void)context;
    const int s = accept(listening, NULL, NULL);
    size_t got = 0;
    while (strstr(heard, "\r\n\r\n") == NULL) {
        const ssize_t n = recv(s, heard + got, sizeof heard - 1 - got, 0);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    (void)send(s, answer, strlen(answer), MSG_NOSIGNAL);
    close(s);
    return NULL;
}

/* Does the same with TLS. */
static void *serve_secretly(void *context)
{
    (void)context;
    const gnutls_datum_t certificate = {.data = (void *)(uintptr_t)first_certificate,
                                        .size = sizeof first_certificate - 1},
                         key = {.data = (void *)(uintptr_t)first_key, .size = sizeof first_key - 1};
    gnutls_certificate_credentials_t own;
    gnutls_session_t session;
    const int s = accept(listening, NULL, NULL);
    ck_assert_int_eq(gnutls_certificate_allocate_credentials(&own), 0);
    ck_assert_int_ge(
        gnutls_certificate_set_x509_key_mem(own, &certificate, &key, GNUTLS_X509_FMT_PEM), 0);
    ck_assert_int_eq(gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NO_SIGNAL), 0);
    ck_assert_int_eq(gnutls_set_default_priority(session), 0);
    ck_assert_int_eq(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, own), 0);
    gnutls_transport_set_int(session, s);
    ck_assert_int_eq(gnutls_handshake(session), 0);
    size_t got = 0;
    while (strstr(heard, "\r\n\r\n") == NULL) {
        const ssize_t n = gnutls_record_recv(session, heard + got, sizeof heard - 1 - got);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    for (const char *byte = answer; *byte != '\0'; byte++) /* a record for each */
        (void)gnutls_record_send(session, byte, 1);
    (void)gnutls_bye(session, GNUTLS_SHUT_WR);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(own);
    close(s);
    return NULL;
}

static void *close_at_once(void *context)
{
    (void)context;
    close(accept(listening, NULL, NULL));
    return NULL;
}

static void *answer_at_once(void *context)
{
    (void)context;
    const int s = accept(listening, NULL, NULL);
    (void)send(s, answer, strlen(answer), MSG_NOSIGNAL);
    (void)recv(s, heard, sizeof heard - 1, 0);
    close(s);
    return NULL;
}

static void *(*server)(void *context) = serve;

static bool probe(const char *given)
{
    pthread_t thread;
    answer = given;
    memset(heard, 0, sizeof heard);
    ck_assert_int_eq(pthread_create(&thread, NULL, server, NULL), 0);
    const bool ready = srv_probe(&config, error, sizeof error);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return ready;
}

static void only_200_is_ready(void)
{
    ck_assert_msg(probe("HTTP/1.1 200 OK\r\n\r\n"), "%s", error);
    ck_assert_msg(strncmp(heard, "GET /readyz HTTP/1.1\r\n", 22) == 0, "%s", heard);
    static const char *const others[] = {"HTTP/1.1 503 Service Unavailable\r\n\r\n",
                                         "HTTP/1.1 404 Not Found\r\n\r\n", "no HTTP at all",
                                         "HTTP/1.1 20", ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(!probe(others[i]));
        ck_assert_msg(strncmp(error, "--probe: 127.0.0.1:", 19) == 0 &&
                          strstr(error, "it is not ready") != NULL,
                      "%s", error);
    }
}

START_TEST(only_status_200_is_ready)
{
    only_200_is_ready();
}
END_TEST

START_TEST(only_status_200_is_ready_with_tls)
{
    config.tls_cert = "certificate";
    server = serve_secretly;
    only_200_is_ready();
    server = close_at_once;
    ck_assert(!probe(""));
    server = answer_at_once;
    ck_assert(!probe("HTTP/1.1 200 OK\r\n\r\n"));
}
END_TEST

START_TEST(wildcard_addresses_are_reached_on_loopback)
{
    char any[64];
    (void)snprintf(any, sizeof any, "0.0.0.0%s", strchr(where, ':'));
    item = any;
    ck_assert(probe("HTTP/1.1 200 OK\r\n\r\n"));
    item = where;
}
END_TEST

START_TEST(who_is_not_there_is_not_ready)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int taken = socket(AF_INET, SOCK_STREAM, 0); /* does not listen, and keeps its port */
    ck_assert_int_eq(bind(taken, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(getsockname(taken, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(where, sizeof where, "127.0.0.1:%d", ntohs(address.sin_port));
    ck_assert(!srv_probe(&config, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "refused"));
    close(taken);
    item = "nonsense";
    ck_assert(!srv_probe(&config, error, sizeof error));
    item = where;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe");
    TCase *tc = tcase_create("probe");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, only_status_200_is_ready);
    tcase_add_test(tc, only_status_200_is_ready_with_tls);
    tcase_add_test(tc, wildcard_addresses_are_reached_on_loopback);
    tcase_add_test(tc, who_is_not_there_is_not_ready);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
