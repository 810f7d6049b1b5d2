/* What subscribers are told of a commit, topic by topic. */
#include "tests/server/events/following.h"

static struct follower one, two;

static void setup(void) { service_start(NULL); }

START_TEST(collisions_begin_and_end_and_go_with_their_boxes)
{
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"time\":1,\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) "}}"),
                     200);
    follow(&one, "/v1/scenes/s/events?topics=collisions", NULL);
    expect(&one, "state", 1, "{\"revision\":1,\"time\":1,\"pairs\":[[\"a\",\"b\"]]}");
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":2,\"put\":{\"c\":" BOX(9) "},\"pose\":{\"a\":{\"center\":[9,0,0]}}}"),
        200);
    expect(&one, "end", -1, "{\"revision\":2,\"time\":2,\"pairs\":[[\"a\",\"b\"]]}");
    expect(&one, "begin", 2, "{\"revision\":2,\"time\":2,\"pairs\":[[\"a\",\"c\"]]}");
    /* what moves without touching anything says nothing */
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit", "{\"time\":3,\"pose\":{\"b\":{\"center\":[50,0,0]}}}"),
        200);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/boxes/c", "%s", ""), 204);
    expect(&one, "end", 4, "\"pairs\":[[\"a\",\"c\"]],\"reason\":\"removed\"}");
    /* groups and masks decide as in all-pairs */
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/d",
                         "{\"center\":[9,0,0],\"half_extents\":[1,1,1],\"mask\":0}"),
                     201);
    expect_nothing(&one);
    ck_assert_int_eq(ask("PATCH", "/v1/scenes/s/boxes/d", "{\"mask\":1}"), 200);
    expect(&one, "begin", 6, "[[\"a\",\"d\"]]");
    follower_close(&one);
}
END_TEST

START_TEST(topics_are_told_apart_and_the_last_message_of_a_commit_has_the_id)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    follow(&two, "/v1/scenes/s/events?topics=boxes,commits", NULL);
    expect(&one, "state", 0, "\"pairs\":[]");
    expect_nothing(&two);
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":5,\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) ",\"c\":" BOX(50) "}}"),
        200);
    expect(&one, "begin", -1, "[[\"a\",\"b\"]]");
    for (struct follower *f = &one; f != NULL; f = f == &one ? &two : NULL) {
        expect(f, "boxes", -1, "\"put\":[\"a\",\"b\",\"c\"],\"posed\":[],\"removed\":[]}");
        expect(f, "commit", 1,
               "{\"revision\":1,\"time\":5,\"put\":3,\"posed\":0,\"transformed\":0,\"removed\":0}");
    }
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":6,\"remove\":[\"b\"],\"put\":{\"d\":" BOX(70) ",\"c\":" BOX(
                60) "},\"pose\":{\"c\":{\"center\":[61,0,0]},\"a\":{\"center\":[2,0,0]}},"
                    "\"transform\":{\"d\":{\"translate\":[1,0,0]}}}"),
        200);
    expect(&one, "end", -1, "\"reason\":\"removed\"");
    expect(&two, "boxes", -1, "\"put\":[\"c\",\"d\"],\"posed\":[\"a\"],\"removed\":[\"b\"]}");
    expect(&two, "commit", 2, "\"put\":2,\"posed\":2,\"transformed\":1,\"removed\":1}");
    /* settings are a commit without boxes; a commit that changes nothing is none */
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":9}}"), 200);
    expect(&two, "commit", 3, "\"put\":0,");
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "{\"time\":7}"), 200);
    expect_nothing(&two);
    follower_close(&one);
    follower_close(&two);
}
END_TEST

START_TEST(boxes_are_told_in_the_order_of_their_ids)
{
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"put\":{\"d\":" BOX(0) ",\"c\":" BOX(10) ",\"b\":" BOX(20) ",\"a\":" BOX(30) "}}"),
        200);
    follow(&one, "/v1/scenes/s/events?topics=boxes", "0");
    expect(&one, "state", 1, "");
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"pose\":{\"a\":{\"center\":[31,0,0]},\"d\":{\"center\":[1,0,0]}},"
                         "\"transform\":{\"b\":{\"translate\":[1,0,0]}}}"),
                     200);
    expect(&one, "boxes", 2, "\"put\":[],\"posed\":[\"d\",\"b\",\"a\"],\"removed\":[]}");
    /* a name that is removed and put is that of the newest box */
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"remove\":[\"a\",\"c\",\"d\"],\"put\":{\"f\":" BOX(40) ",\"d\":" BOX(
                             50) ",\"b\":" BOX(60) "}}"),
                     200);
    expect(&one, "boxes", 3,
           "\"put\":[\"b\",\"f\",\"d\"],\"posed\":[],\"removed\":[\"d\",\"c\",\"a\"]}");
    follower_close(&one);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("channel_steps");
    TCase *tc = tcase_create("steps");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, collisions_begin_and_end_and_go_with_their_boxes);
    tcase_add_test(tc, topics_are_told_apart_and_the_last_message_of_a_commit_has_the_id);
    tcase_add_test(tc, boxes_are_told_in_the_order_of_their_ids);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
