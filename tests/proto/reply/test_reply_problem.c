#include "tests/proto/reply/yard.h"

START_TEST(problems_say_what_where_and_what_next)
{
    wire_problem problem = {.status = 422,
                            .type = "bad-extent",
                            .title = "a half extent, radius or distance is negative",
                            .detail = "found -1",
                            .pointer = "/put/cra\"te/half_extents/1"};
    struct wire_buf json = {0};
    wire_write_problem(&json, &problem);
    check_reply("Problem", &json, NULL,
                "{\"type\":\"/problems/bad-extent\","
                "\"title\":\"a half extent, radius or distance is negative\",\"status\":422,"
                "\"detail\":\"found -1\",\"pointer\":\"/put/cra\\\"te/half_extents/1\"}");
    problem = (wire_problem){.status = 410,
                             .type = "gone",
                             .title = "the state asked for lies outside the kept history",
                             .detail = "it is too old",
                             .has_range = true,
                             .oldest = {3, 10.0},
                             .newest = {9, 22.5},
                             .allow = "GET, PUT",
                             .retry_after = 2};
    wire_write_problem(&json, &problem);
    check_reply("Problem", &json, NULL,
                "{\"type\":\"/problems/gone\","
                "\"title\":\"the state asked for lies outside the kept history\",\"status\":410,"
                "\"detail\":\"it is too old\",\"oldest\":{\"revision\":3,\"time\":10},"
                "\"newest\":{\"revision\":9,\"time\":22.5},\"allow\":\"GET, PUT\","
                "\"retry_after\":2}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply_problem");
    TCase *tc = tcase_create("reply_problem");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_add_test(tc, problems_say_what_where_and_what_next);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
