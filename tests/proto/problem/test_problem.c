#include "proto/problem/problem.h"
#include "tests/support/sentence.h"
#include "tests/support/test.h"

#include <string.h>

START_TEST(every_status_of_core_has_its_place_in_http)
{
    static const struct {
        obb_status status;
        int http;
    } cases[] = {
        {OBB_NO_MEMORY, 503},      {OBB_CANCELLED, 503},    {OBB_BAD_NUMBER, 422},
        {OBB_BAD_EXTENT, 422},     {OBB_BAD_ROTATION, 422}, {OBB_NOT_ORTHONORMAL, 422},
        {OBB_SHEARED, 422},        {OBB_SINGULAR, 422},     {OBB_NOT_A_BOX, 422},
        {OBB_BAD_COUNT, 422},      {OBB_BAD_NAME, 422},     {OBB_BAD_VALUE, 422},
        {OBB_NO_SCENE, 404},       {OBB_NO_BOX, 404},       {OBB_DIMENSIONS, 409},
        {OBB_TIME_BACKWARDS, 409}, {OBB_GONE, 410},         {OBB_REVISION, 412},
        {OBB_LIMIT, 413},          {OBB_SCENE_MEMORY, 413}, {OBB_NO_FRAME, 404},
        {OBB_FRAMED, 409},
    };
    size_t statuses = 0;
#define COUNT_STATUS(id, name, sentence) statuses++;
    OBB_STATUS_TABLE(COUNT_STATUS)
#undef COUNT_STATUS
    ck_assert_uint_eq(sizeof cases / sizeof *cases, statuses - 1); /* all but OBB_OK */
    for (size_t i = 0; i < statuses - 1; i++) {
        const wire_problem problem = wire_problem_of(cases[i].status);
        ck_assert_int_eq(problem.status, cases[i].http);
        ck_assert_str_eq(problem.type, obb_status_name(cases[i].status));
        ck_assert_str_eq(problem.title, obb_status_sentence(cases[i].status));
        ck_assert_int_eq(problem.retry_after > 0, cases[i].http == 503);
        check_sentence(problem.detail);
        ck_assert_str_ne(problem.detail, problem.title);
        ck_assert(problem.pointer == NULL && !problem.has_range);
    }
}
END_TEST

START_TEST(every_cause_of_proto_is_a_400_or_422)
{
    static const wire_cause causes[] = {
#define ID(id, status, name, sentence, rule) id,
        WIRE_CAUSE_TABLE(ID)
#undef ID
    };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        const wire_problem problem = wire_problem_of_cause(causes[i]);
        ck_assert(problem.status == 400 || problem.status == 422);
        ck_assert(strlen(problem.type) > 0 && strlen(problem.title) > 0);
        check_sentence(problem.detail);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(problem.type, wire_problem_of_cause(causes[k]).type);
    }
    ck_assert_str_eq(wire_problem_of_cause(WIRE_OBB_SHEARED).type, "sheared");
    ck_assert_str_eq(wire_problem_of_cause(WIRE_MALFORMED).type, "malformed");
}
END_TEST

START_TEST(problems_of_http_have_a_type_and_a_sentence)
{
    static const int statuses[] = {400, 401, 403, 404, 405, 406, 413, 415, 429, 500, 503};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        const wire_problem problem = wire_problem_http(statuses[i], "why");
        ck_assert_int_eq(problem.status, statuses[i]);
        ck_assert_str_eq(problem.detail, "why");
        ck_assert(strlen(problem.type) > 0 && strlen(problem.title) > 0);
        ck_assert_int_eq(problem.retry_after > 0, statuses[i] == 429 || statuses[i] == 503);
    }
}
END_TEST

START_TEST(problems_say_what_was_found)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    const uint64_t five = 5;
    char long_name[200];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const wire_problem problems[] = {
        wire_problem_of_name(OBB_NO_SCENE, obb_str_of("a"), &arena),
        wire_problem_of_name(OBB_NO_BOX, obb_str_of(long_name), &arena),
        wire_problem_of_name(OBB_BAD_NAME, obb_str_of("a\n\xff"), &arena),
        wire_problem_of_revision(&five, obb_str_of("\"99\""), &arena),
        wire_problem_of_revision(NULL, obb_str_of("*"), &arena),
        wire_problem_of_epoch(0xab, UINT64_MAX, &arena),
        wire_problem_of_epoch(0, 0, &arena),
        wire_problem_of_dimensions(3, 2, &arena),
        wire_problem_of_limit("boxes", 7, "--box-limit", &arena),
        wire_problem_of_scene_memory(900, 100, 5000, &arena),
        wire_problem_of_gone(&(obb_at){.kind = OBB_AT_REVISION, .revision = 1},
                             (obb_moment){.revision = 2}, (obb_moment){.revision = 3}, &arena),
    };
    static const struct {
        int status;
        const char *detail;
    } expected[] = {
        {404, "there is no scene \"a\""},
        {404, "there is no box \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\""},
        {422, "found \"a??\"; a name is 1 to 128 bytes of UTF-8 without control characters, and "
              "neither \".\" nor \"..\""},
        {412, "found the scene at revision 5; the condition asks for \"99\""},
        {412, "found no scene; the condition asks for *"},
        {412, "found the epoch 00000000000000ab; the condition asks for ffffffffffffffff"},
        {412, "found no scene; the condition asks for the epoch 0000000000000000"},
        {409,
         "found 2 dimensions; the scene has 3, which may change while it has no box and no frame"},
        {413, "there are at most 7 boxes (--box-limit)"},
        {413,
         "found a commit of about 900 bytes; 100 of 5000 bytes are free (--scene-memory), and a "
         "commit that makes the scene smaller always has room"},
        {410, "found revision 1; kept are the revisions 2 to 3, of the times 0 to 0"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        ck_assert_int_eq(problems[i].status, expected[i].status);
        ck_assert_str_eq(problems[i].detail, expected[i].detail);
        check_sentence(problems[i].detail);
    }
    obb_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("problem");
    TCase *tc = tcase_create("problem");
    tcase_add_test(tc, every_status_of_core_has_its_place_in_http);
    tcase_add_test(tc, every_cause_of_proto_is_a_400_or_422);
    tcase_add_test(tc, problems_of_http_have_a_type_and_a_sentence);
    tcase_add_test(tc, problems_say_what_was_found);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
