#include "tests/proto/request/requests.h"

START_TEST(settings_change_what_they_state)
{
    const obb_settings current = {.dimensions = 2, .history_span = 7.5, .history_commits = 9};
    obb_settings got;
    wire_problem problem;
    wire_body body = json("{}");
    ck_assert(wire_read_settings(&body, &current, &arena, &got, &problem));
    ck_assert(got.dimensions == 2 && got.history_span == 7.5 && got.history_commits == 9);
    body = json("{\"history\":{\"commits\":0,\"span\":1e6},\"dimensions\":3}");
    ck_assert(wire_read_settings(&body, &current, &arena, &got, &problem));
    ck_assert(got.dimensions == 3 && got.history_span == 1e6 && got.history_commits == 0);
    body = (wire_body){.length = 0};
    ck_assert(wire_read_settings(&body, &current, &arena, &got, &problem));
    ck_assert(got.dimensions == 2 && got.history_span == 7.5 && got.history_commits == 9);
}
END_TEST

START_TEST(settings_that_are_wrong_are_refused)
{
    static const struct refusal refusals[] = {
        {"[]", 422, ""},
        {"42", 422, ""},
        {"\"x\"", 422, ""},
        {"null", 422, ""},
        {"{\"dimensions\":4}", 422, "/dimensions"},
        {"{\"dimensions\":1}", 422, "/dimensions"},
        {"{\"dimensions\":2.5}", 422, "/dimensions"},
        {"{\"dimensions\":\"3\"}", 422, "/dimensions"},
        {"{\"dimensions\":null}", 422, "/dimensions"},
        {"{\"dimension\":3}", 422, "/dimension"},
        {"{\"history\":[]}", 422, "/history"},
        {"{\"history\":{\"span\":-1}}", 422, "/history/span"},
        {"{\"history\":{\"span\":1e16}}", 422, "/history/span"},
        {"{\"history\":{\"span\":true}}", 422, "/history/span"},
        {"{\"history\":{\"commits\":-1}}", 422, "/history/commits"},
        {"{\"history\":{\"commits\":4294967296}}", 422, "/history/commits"},
        {"{\"history\":{\"commits\":1.5}}", 422, "/history/commits"},
        {"{\"history\":{\"length\":1}}", 422, "/history/length"},
        {"{\"dimensions\":4,\"dimensions\":3}", 400, NULL},
        {"{\"dimensions\":4", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_SETTINGS, 3, refusals);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_scene");
    TCase *tc = tcase_create("request_scene");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, settings_change_what_they_state);
    tcase_add_test(tc, settings_that_are_wrong_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
