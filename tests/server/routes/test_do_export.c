/* Exports and imports over HTTP. */
#include "tests/server/scenes/large.h"

#include <string.h>

static void setup(void)
{
    service_start((const char *[]){"--history-max", "800", "--history-commits-max", "70", NULL});
}

#define HEADER(span, commits, time)                                                         \
    "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":" span \
    ",\"commits\":" commits "},\"time\":" time "}\n"

/* Imports a scene without boxes, and returns the answer. */
__attribute__((format(printf, 2, 3))) static int lines(const char *path, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int answer =
        ask_v("Content-Type: application/x-ndjson\r\n", "POST", path, format, values);
    va_end(values);
    return answer;
}

static const char *import(const char *header)
{
    ck_assert_int_eq(lines("/v1/scenes/s/import", "%s", header), 200);
    return heard;
}

START_TEST(a_backup_goes_back_into_its_scene)
{
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":%d,\"put\":{\"a\":{\"center\":[0,0,0],\"half_extents\":[1,1,1]}}}", 1000),
        200);
    ck_assert_ptr_nonnull(strstr(import(HEADER("500", "64", "2000")), "\"time\":2000,"));
    ck_assert_ptr_nonnull(strstr(import(HEADER("500", "64", "1000")), "\"time\":2000,"));
    ck_assert_ptr_nonnull(strstr(heard, "\"revision\":3,"));
}
END_TEST

START_TEST(the_history_of_an_import_is_cut_to_the_maximum)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "%s", "{}"), 201);
    ck_assert_ptr_nonnull(
        strstr(import(HEADER("1e9", "64", "1")), "\"history\":{\"span\":800,\"commits\":64}"));
    ck_assert_ptr_nonnull(
        strstr(import(HEADER("7", "4294967295", "1")), "\"history\":{\"span\":7,\"commits\":70}"));
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "%s", "{\"history\":{\"span\":801}}"), 422);
    ck_assert_ptr_nonnull(
        strstr(heard, "\"detail\":\"found 801; 0 to 800, as --history-max says\""));
    ck_assert_ptr_nonnull(strstr(heard, "\"pointer\":\"/history/span\""));
}
END_TEST

static void setup_short(void)
{
    char limit[16];
    (void)snprintf(limit, sizeof limit, "%d", short_limit_ms());
    service_start((const char *[]){"--request-timeout", limit, "--history-commits", "2", NULL});
    make_row("/v1/scenes/s/commit", 60000, 5);
}

/* Reads an export in small steps, for longer than --request-timeout. Then makes so many commits,
 * and reads the rest. Returns whether the answer came to its end. */
static bool export_ends(int commits)
{
    static const char request[] = "GET /v1/scenes/s/export HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\n\r\n";
    static char bytes[65536];
    char last[5] = "";
    const int s = dial();
    ck_assert_int_eq(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &(int){131072}, sizeof(int)), 0);
    ck_assert_int_eq(send(s, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
    for (int i = 0; i < 12; i++) {
        ck_assert_int_gt(recv(s, bytes, 16384, 0), 0);
        test_rest(short_limit_ms() / 10);
    }
    for (int i = 0; i < commits; i++)
        ck_assert_int_eq(
            ask("POST", "/v1/scenes/s/boxes/b0/transform", "{\"translate\":[%d,0,0]}", 1), 200);
    for (ssize_t n; (n = recv(s, bytes, sizeof bytes, 0)) > 0;)
        for (ssize_t i = n > 5 ? n - 5 : 0; i < n; i++) {
            memmove(last, last + 1, 4);
            last[4] = bytes[i];
        }
    close(s);
    return memcmp(last, "0\r\n\r\n", 5) == 0;
}

START_TEST(a_slow_export_is_cut_when_the_history_has_given_up_its_state)
{
    ck_assert(export_ends(1)); /* the state is still in the history */
    ck_assert(!export_ends(4));
    ck_assert(export_ends(0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("do_export");
    TCase *tc = tcase_create("do_export");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_backup_goes_back_into_its_scene);
    tcase_add_test(tc, the_history_of_an_import_is_cut_to_the_maximum);
    suite_add_tcase(suite, tc);
    TCase *late = tcase_create("short");
    tcase_add_checked_fixture(late, setup_short, service_stop);
    tcase_set_timeout(late, test_patience(60));
    tcase_add_test(late, a_slow_export_is_cut_when_the_history_has_given_up_its_state);
    suite_add_tcase(suite, late);
    return test_main(suite);
}
