/* Starting the whole service while the n-th allocation fails: it says so in one
 * line, and leaves nothing behind. */
#include "server/routes/demo.h"
#include "server/server.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char tokens[64];

static void setup(void)
{
    static const char text[] =
        "{\"tokens\":[{\"name\":\"a\",\"sha256\":"
        "\"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\","
        "\"scopes\":[\"read\"],\"scenes\":[\"*\"]}]}";
    (void)snprintf(tokens, sizeof tokens, "%s/obbd-start-XXXXXX", test_folder());
    const int file = mkstemp(tokens);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, sizeof text - 1), sizeof text - 1);
    ck_assert_int_eq(close(file), 0);
}

static void teardown(void) { ck_assert_int_eq(unlink(tokens), 0); }

static char *no_environment[] = {NULL};

static size_t count_descriptors(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += dup2(fd, fd) == fd;
    return count;
}

/* Returns the line that a start with these two arguments is refused with. */
static const char *refusal_of(const char *a, const char *b)
{
    static char error[512];
    const char *const arguments[] = {"obbd", "--listen", "127.0.0.1:0", a, b};
    char *argv[5];
    for (size_t i = 0; i < 5; i++)
        argv[i] = (char *)(uintptr_t)arguments[i];
    srv_config config;
    struct srv_server *server;
    ck_assert(srv_config_read(5, argv, no_environment, &config, error, sizeof error));
    ck_assert(!srv_server_create(&config, &server, error, sizeof error));
    srv_config_fini(&config);
    return error;
}

static void check_refused(const char *a, const char *b, const char *expected)
{
    ck_assert_str_eq(refusal_of(a, b), expected);
}

START_TEST(a_history_beyond_its_maximum_is_refused)
{
    check_refused("--history", "60001",
                  "--history: found 60001; 0 to 60000, as --history-max says");
    check_refused("--history-max=100", "--demo",
                  "--history: found 500; 0 to 100, as --history-max says");
    check_refused("--history-commits", "4097",
                  "--history-commits: found 4097; 0 to 4096, as --history-commits-max says");
}
END_TEST

/* libuv would end the daemon at the first heavy request. */
START_TEST(threads_that_the_system_does_not_start_are_refused)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_STACK, &limit), 0);
    limit.rlim_cur = (rlim_t)1 << 40;
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &limit), 0);
    static const char expected[] = "--workers: of 256 threads the system starts ";
    const char *line = refusal_of("--workers", "256");
    ck_assert_msg(strncmp(line, expected, sizeof expected - 1) == 0, "%s", line);
}
END_TEST

/* What would be answered 401 is no hint: each line carries the token where one is asked for. */
START_TEST(the_lines_to_try_carry_a_token_where_one_is_needed)
{
    static const char token[] = "-H \"Authorization: Bearer $TOKEN\" ";
    static const char *const urls[] = {"http://127.0.0.1:7480", "unix:/run/obbd.sock"};
    for (size_t i = 0; i < 4; i++) {
        char text[2048] = "";
        FILE *out = fmemopen(text, sizeof text, "w");
        ck_assert_ptr_nonnull(out);
        srv_demo_hints(out, urls[i % 2], i >= 2, true);
        ck_assert_int_eq(fclose(out), 0);
        size_t lines = 0, carried = 0;
        for (const char *at = text; (at = strstr(at, "  curl ")) != NULL; lines++) {
            at += strlen("  curl ");
            carried += strncmp(at, token, strlen(token)) == 0;
        }
        ck_assert_uint_eq(lines, 3);
        ck_assert_uint_eq(carried, i >= 2 ? 3 : 0);
    }
}
END_TEST

static void check_hint(const char *url, bool page, const char *begins)
{
    char text[2048] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    srv_demo_hints(out, url, false, page);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_msg(strncmp(text, begins, strlen(begins)) == 0, "%s: %s", url, text);
}

START_TEST(the_first_line_says_where_the_page_is_or_how_it_is_built)
{
    check_hint("http://127.0.0.1:7480", true,
               "open:\n  http://127.0.0.1:7480/ for the web editor, http://127.0.0.1:7480/docs for "
               "the reference\ntry:\n");
    check_hint("http://[::1]:7480", false,
               "no web editor is built in; make page-deps run does that\ntry:\n");
    check_hint("unix:/run/obbd.sock", true, "try:\n"); /* no browser goes there */
}
END_TEST

START_TEST(every_failing_allocation_is_an_error)
{
    const char *const arguments[] = {
        "obbd",        "--listen", "127.0.0.1:0", "--workers",    "2",
        "--log-level", "error",    "--demo",      "--token-file", tokens};
    enum { COUNT = sizeof arguments / sizeof arguments[0] };
    char *argv[COUNT], error[512];
    for (size_t i = 0; i < COUNT; i++)
        argv[i] = (char *)(uintptr_t)arguments[i];
    srv_config config;
    ck_assert_msg(srv_config_read(COUNT, argv, no_environment, &config, error, sizeof error), "%s",
                  error);
    struct srv_server *server;
    ck_assert_msg(srv_server_create(&config, &server, error, sizeof error), "%s", error);
    srv_server_destroy(server);
    const size_t descriptors = count_descriptors(); /* libuv keeps some from the first loop on */
    size_t refused = 0;
    for (size_t n = 1;; n++) {
        error[0] = '\0';
        fault_arm(n);
        const bool good = srv_server_create(&config, &server, error, sizeof error);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        if (good)
            srv_server_destroy(server);
        refused += !good;
        ck_assert_msg(good || (error[0] != '\0' && strchr(error, '\n') == NULL), "%zu: %s", n,
                      error);
        ck_assert_msg(count_descriptors() == descriptors, "%zu: %zu descriptors, not %zu", n,
                      count_descriptors(), descriptors);
        if (!reached) {
            ck_assert_msg(good, "%s", error);
            break;
        }
    }
    printf("%zu starts refused\n", refused);
    ck_assert_uint_gt(refused, 20);
    srv_config_fini(&config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("start");
    TCase *tc = tcase_create("start");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, the_first_line_says_where_the_page_is_or_how_it_is_built);
    tcase_add_test(tc, every_failing_allocation_is_an_error);
    tcase_add_test(tc, a_history_beyond_its_maximum_is_refused);
    tcase_add_test(tc, threads_that_the_system_does_not_start_are_refused);
    tcase_add_test(tc, the_lines_to_try_carry_a_token_where_one_is_needed);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
