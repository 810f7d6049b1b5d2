/* The face of event streams: requests that are refused. */
#include "tests/server/events/following.h"

static void setup(void) { service_start(NULL); }

START_TEST(wrong_requests_are_refused)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), 201);
    ck_assert_int_eq(ask("GET", "/v1/scenes/none/events", "%s", ""), 404);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topics=weather", "%s", ""), 400);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topics=", "%s", ""), 400);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topic=boxes", "%s", ""), 400);
    ck_assert_int_eq(ask("HEAD", "/v1/scenes/s/events", "%s", ""), 200);
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/events", "{}"), 405);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events");
    TCase *tc = tcase_create("events");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, wrong_requests_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
