#include "tests/proto/request/requests.h"

START_TEST(merges_are_read)
{
    obb_merge merge;
    wire_problem problem;
    const wire_body body = json("{\"with\":[\"b\",\"c\",\"b\"]}");
    ck_assert(wire_read_merge(&body, obb_str_of("a"), &arena, &merge, &problem));
    ck_assert_uint_eq(merge.with_count, 3);
    ck_assert(obb_str_equal(merge.target.name, obb_str_of("a")));
    ck_assert(obb_str_equal(merge.with[1].name, obb_str_of("c")));
    static const struct refusal refusals[] = {
        {"", 422, ""},
        {"{}", 422, ""},
        {"{\"with\":[]}", 422, "/with"},
        {"{\"with\":\"b\"}", 422, "/with"},
        {"{\"with\":[\"b\",1]}", 422, "/with/1"},
        {"{\"with\":[\"b\",{}]}", 422, "/with/1"},
        {"{\"with\":[\"b\",\"\"]}", 422, "/with/1"},
        {"{\"boxes\":[\"b\"]}", 422, "/boxes"},
        {"{\"with\":[\"b\"],\"with\":[\"b\"]}", 400, NULL},
        {"{\"with\":[\"b\"", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_MERGE, 3, refusals);
}
END_TEST

/* A merge with `count` names, in the arena. */
static wire_body names_body(size_t count)
{
    char *text = obb_arena_alloc(&arena, 32 + 8 * count, 1);
    ck_assert_ptr_nonnull(text);
    size_t length = (size_t)sprintf(text, "{\"with\":[");
    for (size_t i = 0; i < count; i++)
        length += (size_t)sprintf(text + length, "%s\"b%zu\"", i > 0 ? "," : "", i % 3);
    (void)sprintf(text + length, "]}");
    return json(text);
}

START_TEST(a_merge_takes_a_thousand_names_and_no_more)
{
    obb_merge merge;
    wire_problem problem;
    wire_body body = names_body(1000);
    ck_assert(wire_read_merge(&body, obb_str_of("a"), &arena, &merge, &problem));
    ck_assert_uint_eq(merge.with_count, 1000);
    body = names_body(1001);
    ck_assert(!wire_read_merge(&body, obb_str_of("a"), &arena, &merge, &problem));
    ck_assert_int_eq(problem.status, 422);
    ck_assert_str_eq(problem.pointer, "/with");
    ck_assert_str_eq(problem.detail, "found 1001 elements; a merge takes 1 to 1,000 names");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_merge");
    TCase *tc = tcase_create("request_merge");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, merges_are_read);
    tcase_add_test(tc, a_merge_takes_a_thousand_names_and_no_more);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
