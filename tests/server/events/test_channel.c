/* A channel ends with its scene or with the service, and its subscribers are told. */
#include "tests/server/events/following.h"

static struct follower one, two;

static void setup(void) { service_start(NULL); }

START_TEST(a_deleted_scene_says_so_and_one_made_again_is_another)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    expect(&one, "state", 1, "[]");
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b", BOX(1)), 201);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/c", BOX(0)), 201);
    expect(&one, "begin", -1, "[[\"a\",\"b\"]]");
    expect(&one, "boxes", -1, "\"b\"");
    expect(&one, "commit", 2, "");
    expect(&one, "gone", -1, "\"revision\":2");
    struct follower_message message;
    ck_assert(!follower_next(&one, 3000, &message));
    ck_assert(one.ended);
    follower_close(&one);
    static const char *const paths[] = {"/v1/scenes/s/events?topics=collisions",
                                        "/v1/scenes/s/events?topics=boxes",
                                        "/v1/scenes/s/events?topics=commits"};
    for (size_t i = 0; i < 3; i++) {
        follow(&two, paths[i], "2");
        expect(&two, "state", 2, "[[\"a\",\"c\"]]");
        follower_close(&two);
    }
}
END_TEST

START_TEST(the_end_of_the_service_is_the_last_message)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", "%s", BOX(0)), 201);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/t/boxes/a", "%s", BOX(0)), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    follow(&two, "/v1/scenes/t/events?topics=collisions,commits", NULL);
    expect(&two, "state", 1, "[]");
    expect(&one, "state", 1, "\"pairs\":[]");
    ck_assert_int_eq(ask("PUT", "/v1/scenes/t/boxes/b", "%s", BOX(9)), 201);
    expect(&two, "commit", 2, "\"put\":1");
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    expect(&one, "shutdown", -1, "{\"revision\":1,");
    expect(&two, "shutdown", -1, "{\"revision\":2,");
    struct follower_message message;
    struct follower *const both[] = {&one, &two};
    for (int i = 0; i < 2; i++) { /* and the streams end as they should */
        ck_assert_msg(!follower_next(both[i], 3000, &message), "%s", message.event);
        ck_assert(both[i]->ended);
        follower_close(both[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("channel");
    TCase *tc = tcase_create("channel");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_deleted_scene_says_so_and_one_made_again_is_another);
    suite_add_tcase(suite, tc);
    TCase *end = tcase_create("end");
    tcase_add_checked_fixture(end, setup, service_join);
    tcase_set_timeout(end, test_patience(60));
    tcase_add_test(end, the_end_of_the_service_is_the_last_message);
    suite_add_tcase(suite, end);
    return test_main(suite);
}
