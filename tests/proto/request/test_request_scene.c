#include "tests/proto/request/requests.h"

static const obb_settings most = {.history_span = 1e6, .history_commits = 10};

static obb_settings settings_of(const char *text)
{
    const obb_settings current = {
        .dimensions = 2, .history_span = 7.5, .history_commits = 9, .record = 5};
    const wire_body body = json(text);
    wire_settings sent;
    wire_problem problem;
    ck_assert(wire_read_settings(&body, &most, &arena, &sent, &problem));
    return wire_settings_over(&sent, current);
}

START_TEST(settings_change_what_they_state)
{
    obb_settings got = settings_of("{}");
    ck_assert(got.dimensions == 2 && got.history_span == 7.5 && got.history_commits == 9);
    got = settings_of("{\"history\":{\"commits\":0,\"span\":1e6},\"dimensions\":3}");
    ck_assert(got.dimensions == 3 && got.history_span == 1e6 && got.history_commits == 0);
    got = settings_of("{\"history\":{\"commits\":10}}");
    ck_assert(got.dimensions == 2 && got.history_span == 7.5 && got.history_commits == 10);
    ck_assert_uint_eq(settings_of("{\"history\":{}}").record, 5);
    ck_assert_uint_eq(settings_of("{\"record\":0}").record, 0);
    ck_assert_uint_eq(settings_of("{\"record\":10000}").record, 10000);
    got = settings_of("");
    ck_assert(got.dimensions == 2 && got.history_span == 7.5 && got.history_commits == 9);
}
END_TEST

START_TEST(a_history_beyond_the_maximum_is_refused)
{
    static const struct {
        const char *text, *pointer, *detail;
    } cases[] = {
        {"{\"history\":{\"span\":1000000.5}}", "/history/span",
         "found 1000000.5; 0 to 1000000, as --history-max says"},
        {"{\"history\":{\"span\":9007199254740992}}", "/history/span",
         "found 9007199254740992; 0 to 1000000, as --history-max says"},
        {"{\"history\":{\"span\":1,\"commits\":11}}", "/history/commits",
         "found 11; 0 to 10, as --history-commits-max says"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const wire_body body = json(cases[i].text);
        wire_settings sent;
        wire_problem problem;
        ck_assert(!wire_read_settings(&body, &most, &arena, &sent, &problem));
        ck_assert_int_eq(problem.status, 422);
        ck_assert_str_eq(problem.pointer, cases[i].pointer);
        ck_assert_str_eq(problem.detail, cases[i].detail);
    }
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
        {"{\"record\":-1}", 422, "/record"},
        {"{\"durable\":1}", 422, "/durable"},
        {"{\"durable\":null}", 422, "/durable"},
        {"{\"record\":10001}", 422, "/record"},
        {"{\"record\":0.5}", 422, "/record"},
        {"{\"record\":true}", 422, "/record"},
        {"{\"record\":{}}", 422, "/record"},
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
    tcase_add_test(tc, a_history_beyond_the_maximum_is_refused);
    tcase_add_test(tc, settings_that_are_wrong_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
