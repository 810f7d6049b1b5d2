/* Requests that change a scene, and whose clients go meanwhile, or whose time is over. */
#include "tests/server/scenes/large.h"

static void setup(void) { service_start(NULL); }

/* Waits until the service has read, or lost, all that its clients sent, and is done with it.
 * Whoever asks is accepted last, so the only connection is that one. A body that is never dealt
 * with fails by the limit of the test. */
static void wait_for_no_body(void)
{
    while (ask("GET", "/metrics", "%s", "") != 200 ||
           strstr(heard, "\nobbd_connections 1\n") == NULL ||
           strstr(heard, "\nobbd_in_flight_bytes 0\n") == NULL)
        test_rest(5);
}

START_TEST(clients_that_go_meanwhile_change_nothing_or_all)
{
    size_t made = 0, given_up = 0;
    for (int round = 0; round < 20; round++) {
        char *commit = large_commit(round, "");
        const int s = begin("POST", "/v1/scenes/s/commit", commit);
        test_rest(round % 10);
        const struct linger reset = {.l_onoff = 1};
        setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(s);
        free(commit);
        wait_for_no_body();
        const int answer = ask("GET", "/v1/scenes/s", "%s", "");
        if (answer == 200) {
            ck_assert_msg(strstr(heard, "\"boxes\":5000,\"revision\":1,") != NULL, "%s", heard);
            ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
            made++;
        } else {
            ck_assert_int_eq(answer, 404);
            given_up++;
        }
    }
    printf("%zu commits were made, %zu given up\n", made, given_up);
}
END_TEST

static void setup_short(void)
{
    char limit[16];
    (void)snprintf(limit, sizeof limit, "%d", short_limit_ms());
    service_start((const char *[]){"--request-timeout", limit, "--history-max", "200000",
                                   "--history", "200000", NULL});
}

/* The changes of a query are tried on each state that it asks for, while the scene is locked. */
START_TEST(a_commit_is_given_up_while_the_changes_of_its_queries_are_tried)
{
    enum { BOXES = 1000, TIMES = 100000 };
    static char out[4096];
    char *text = malloc((size_t)BOXES * 40 + (size_t)TIMES * 24 + 1000);
    ck_assert_ptr_nonnull(text);
    make_row("/v1/scenes/s/commit", BOXES, 5);
    for (int t = 0; t <= TIMES; t += TIMES)
        ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                             "{\"time\":%d,\"pose\":{\"b0\":{\"center\":[%d,9,0]}}}", t + TIMES,
                             t + 1),
                         200);
    char *at = text + sprintf(text, "{\"pose\":{\"b0\":{\"center\":[7,7,7]}},\"queries\":["
                                    "{\"kind\":\"ray\",\"with\":{\"pose\":{");
    for (int i = 0; i < BOXES; i++)
        at += sprintf(at, "%s\"b%d\":{\"center\":[%d,1,0]}", i > 0 ? "," : "", i, i);
    static const char *const columns[] = {"}},\"rays\":{\"times", "],\"origins", "],\"directions"};
    for (int c = 0; c < 3; c++) {
        at += sprintf(at, "%s\":[", columns[c]);
        for (int i = 0; i < TIMES; i++)
            at += c == 0 ? sprintf(at, "%s%d", i > 0 ? "," : "", TIMES + i)
                         : sprintf(at, "%s0,0,1", i > 0 ? "," : "");
    }
    (void)sprintf(at, "]}}]}");
    ck_assert_msg(end(begin("POST", "/v1/scenes/s/commit", text), out, sizeof out) == 503, "%s",
                  out);
    ck_assert_msg(strstr(out, "the work took longer than --request-timeout") != NULL, "%s", out);
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "{}"), 200); /* the scene is free */
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/boxes/b0", "%s", ""), 200);
    ck_assert_msg(strstr(heard, "\"center\":[100001,9,0]") != NULL, "%s", heard);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("change");
    TCase *tc = tcase_create("change");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, clients_that_go_meanwhile_change_nothing_or_all);
    suite_add_tcase(suite, tc);
    TCase *late = tcase_create("late");
    tcase_add_checked_fixture(late, setup_short, service_stop);
    tcase_set_timeout(late, test_timeout(20));
    tcase_add_test(late, a_commit_is_given_up_while_the_changes_of_its_queries_are_tried);
    suite_add_tcase(suite, late);
    return test_main(suite);
}
