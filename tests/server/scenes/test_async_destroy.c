/* Scenes that are destroyed on the pool, while they are still read and while the service ends. */
#include "tests/server/scenes/large.h"

static void setup(void) { service_start(NULL); }

START_TEST(a_deleted_scene_is_read_to_its_end_and_the_service_may_stop_then)
{
    static char out[1 << 21];
    char *commit = large_commit(1, "");
    for (int i = 0; i < 2; i++) {
        const int s = begin("POST", i == 0 ? "/v1/scenes/s/commit" : "/v1/scenes/t/commit", commit);
        ck_assert_int_eq(end(s, out, sizeof out), 200);
    }
    free(commit);
    const int s = begin("GET", "/v1/scenes/s/export", "");
    ck_assert_int_eq(recv(s, out, 1, MSG_PEEK), 1); /* it has its view, the last one */
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 404);
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    char last[16];
    (void)snprintf(last, sizeof last, "\"b%d\"", LARGE - 1);
    ck_assert_msg(strstr(out, last) != NULL, "%s is missing", last);
    ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    (void)snprintf(last, sizeof last, "_boxes %d\n", LARGE);
    ck_assert_msg(strstr(heard, last) != NULL, "not %s", last);
    /* and while this one is destroyed the service stops */
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/t", "%s", ""), 204);
}
END_TEST

/* A scene so large that it takes a while to destroy, while the service should end; and one with a
 * query that takes longer. */
static void setup_large(void)
{
    service_start(NULL);
    make_row("/v1/scenes/s/commit", 200000, 3);
    make_row("/v1/scenes/few/commit", 1000, 0);
}

START_TEST(requests_that_come_while_it_ends_are_answered)
{
    static const char get[] = "GET /v1/scenes/few/boxes/b0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      query[] = "POST /v1/scenes/few/query/all-pairs HTTP/1.1\r\n"
                                "Host: localhost\r\nContent-Type: application/json\r\n"
                                "Content-Length: 33\r\n\r\n{\"want\":[\"volume\"],\"limit\":99999}";
    char answer[4096];
    const int s = dial();
    ck_assert_int_eq(send(s, get, sizeof get - 1, MSG_NOSIGNAL), sizeof get - 1);
    ck_assert_int_gt(recv(s, answer, sizeof answer, 0), 0);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    test_rest(3);
    /* it may be over already, then there is no answer; half of one there never is */
    (void)send(s, query, sizeof query - 1, MSG_NOSIGNAL);
    const int status = end(s, answer, sizeof answer);
    printf("answered %d\n", status);
    ck_assert_msg(status == 0 || strstr(answer, "\r\nConnection: close\r\n") != NULL, "%s", answer);
    service_join();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("async_destroy");
    TCase *tc = tcase_create("readers");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_deleted_scene_is_read_to_its_end_and_the_service_may_stop_then);
    suite_add_tcase(suite, tc);
    TCase *end_case = tcase_create("end");
    tcase_add_checked_fixture(end_case, setup_large, NULL);
    tcase_set_timeout(end_case, test_patience(60));
    tcase_add_test(end_case, requests_that_come_while_it_ends_are_answered);
    suite_add_tcase(suite, end_case);
    return test_main(suite);
}
