/* Requests that change a scene, and whose clients go meanwhile. */
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
        wait_ms(5);
}

START_TEST(clients_that_go_meanwhile_change_nothing_or_all)
{
    size_t made = 0, given_up = 0;
    for (int round = 0; round < 20; round++) {
        char *commit = large_commit(round, "");
        const int s = begin("POST", "/v1/scenes/s/commit", commit);
        wait_ms(round % 10);
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

int main(void)
{
    Suite *suite = suite_create("change");
    TCase *tc = tcase_create("change");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, clients_that_go_meanwhile_change_nothing_or_all);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
