/* The sockets of --listen: which addresses the whole service takes, and what it announces. */
#include "server/listeners.h"
#include "server/server.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *no_environment[] = {NULL};

/* Starts and ends a service with these options (up to NULL): what is wrong with them, or "". Valid
 * until the next call. */
static const char *start(const char *const *options)
{
    static char error[512];
    char *argv[16] = {(char *)(uintptr_t) "obbd", (char *)(uintptr_t) "--log-level",
                      (char *)(uintptr_t) "error"};
    int argc = 3;
    for (; *options != NULL; options++)
        argv[argc++] = (char *)(uintptr_t)*options;
    srv_config config;
    ck_assert_msg(srv_config_read(argc, argv, no_environment, &config, error, sizeof error), "%s",
                  error);
    struct srv_server *server;
    error[0] = '\0';
    if (srv_server_create(&config, &server, error, sizeof error)) {
        srv_server_destroy(server);
        error[0] = '\0';
    }
    srv_config_fini(&config);
    return error;
}

#define START(...) start((const char *const[]){__VA_ARGS__, NULL})

START_TEST(addresses_that_others_reach_need_tokens_or_a_word)
{
    static const char *const reached[] = {"0.0.0.0:0", "[::]:0"};
    for (size_t i = 0; i < 2; i++) {
        const char *error = START("--listen", reached[i]);
        ck_assert_msg(strstr(error, "anybody who reaches this address") != NULL ||
                          strstr(error, "Address family") != NULL,
                      "%s", error);
    }
    ck_assert_ptr_nonnull(strstr(START("--listen", "127.0.0.1:0", "--listen", "0.0.0.0:0"),
                                 "--listen 0.0.0.0:0: anybody"));
    ck_assert_str_eq(START("--listen", "0.0.0.0:0", "--allow-anonymous"), "");
    ck_assert_str_eq(START("--listen", "127.0.0.1:0"), "");
}
END_TEST

START_TEST(what_cannot_be_opened_is_named_and_leaves_nothing)
{
    char path[64], local[80];
    (void)snprintf(path, sizeof path, "%s/obbd-listeners-%d", test_folder(), (int)getpid());
    (void)snprintf(local, sizeof local, "unix:%s", path);
    ck_assert_ptr_nonnull(strstr(START("--listen", "nonsense"), "nonsense"));
    /* the socket that was opened before the other failed is gone */
    ck_assert_ptr_nonnull(strstr(START("--listen", local, "--listen", "nonsense"), "nonsense"));
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_ptr_nonnull(
        strstr(START("--listen", local, "--listen", local), local)); /* in use by itself */
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_str_eq(START("--listen", local, "--listen", "127.0.0.1:0"), "");
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(none_is_fine_to_destroy)
{
    srv_listeners_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listeners");
    TCase *tc = tcase_create("listeners");
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, addresses_that_others_reach_need_tokens_or_a_word);
    tcase_add_test(tc, what_cannot_be_opened_is_named_and_leaves_nothing);
    tcase_add_test(tc, none_is_fine_to_destroy);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
