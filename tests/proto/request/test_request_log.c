#include "tests/proto/request/requests.h"

/* Returns the line in the arena, without a terminator. */
static wire_body line_of(const char *text)
{
    const obb_str line = obb_str_of(text);
    char *copy = obb_arena_alloc(&arena, line.length, 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, line.bytes, line.length);
    return (wire_body){.bytes = copy, .length = line.length, .media = WIRE_NDJSON};
}

#define HEAD                                                                                     \
    "{\"format\":\"obbd-scene\",\"version\":1,\"scene\":\"yard\",\"dimensions\":2,\"history\":{" \
    "\"span\":5,"                                                                                \
    "\"commits\":6},\"boxes\":3,\"revision\":41,\"time\":-7.5,\"hash\":\"00c64e6d9ed2c1f3\","    \
    "\"ids\":{\"next\":18,\"hash\":\"ffffffffffffffff\"}}"

START_TEST(a_head_says_the_state)
{
    wire_log_head head;
    wire_problem problem;
    wire_body body = line_of(HEAD);
    ck_assert(wire_read_log_head(&body, &arena, &head, &problem));
    ck_assert(obb_str_equal(head.scene, obb_str_of("yard")));
    ck_assert_int_eq(head.settings.dimensions, 2);
    ck_assert_double_eq(head.settings.history_span, 5);
    ck_assert_uint_eq(head.settings.history_commits, 6);
    ck_assert_uint_eq(head.boxes, 3);
    ck_assert_uint_eq(head.moment.revision, 41);
    ck_assert_double_eq(head.moment.time, -7.5);
    ck_assert_uint_eq(head.hash, 0x00c64e6d9ed2c1f3);
    ck_assert_uint_eq(head.exact, UINT64_MAX);
    ck_assert_uint_eq(head.next_id, 18);

    static const struct {
        const char *from, *to, *pointer, *detail;
    } wrong[] = {
        {"\"hash\":\"00c64e6d9ed2c1f3\",", "", "",
         "\"hash\" is missing: this is an export, not a log"},
        {"\"boxes\":3,", "", "", "\"boxes\" is missing"},
        {"00c64e6d9ed2c1f3", "00c64e6d9ed2c1f", "/hash",
         "found \"00c64e6d9ed2c1f\"; the hash of a state is 16 hexadecimal digits in lower case"},
        {"00c64e6d9ed2c1f3", "00C64E6D9ED2C1F3", "/hash",
         "found \"00C64E6D9ED2C1F3\"; the hash of a state is 16 hexadecimal digits in lower case"},
        {"\"next\":18,", "", "/ids", "\"next\" is missing"},
        {"obbd-scene", "obbd-log", "/format", "found \"obbd-log\"; it is one of \"obbd-scene\""},
        {"\"version\":1", "\"version\":9", "/version", "found 9; a whole number from 1 to 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[sizeof HEAD + 64];
        const char *at = strstr(HEAD, wrong[i].from);
        ck_assert_ptr_nonnull(at);
        const int length = (int)(at - HEAD);
        (void)snprintf(text, sizeof text, "%.*s%s%s", length, HEAD, wrong[i].to,
                       at + strlen(wrong[i].from));
        body = line_of(text);
        ck_assert(!wire_read_log_head(&body, &arena, &head, &problem));
        ck_assert_int_eq(problem.status, 422);
        ck_assert_str_eq(problem.pointer != NULL ? problem.pointer : "", wrong[i].pointer);
        ck_assert_ptr_nonnull(problem.detail);
        if (problem.pointer == NULL || strcmp(wrong[i].pointer, "/hash") == 0 ||
            *wrong[i].pointer == '\0')
            ck_assert_str_eq(problem.detail, wrong[i].detail);
    }
}
END_TEST

START_TEST(a_box_keeps_its_id)
{
    obb_put put;
    wire_problem problem;
    wire_body body =
        line_of("{\"name\":\"a\",\"id\":17,\"center\":[1,2],\"half_extents\":[1,1],\"angle\":30}");
    ck_assert(wire_read_log_box(&body, 2, &arena, &put, &problem));
    ck_assert(!put.target.has_id && put.target.id == 17);
    ck_assert(obb_str_equal(put.target.name, obb_str_of("a")));
    ck_assert_double_eq(put.box.angle, 30);
    body = line_of("{\"name\":\"a\",\"center\":[1,2],\"half_extents\":[1,1]}");
    ck_assert(wire_read_log_box(&body, 2, &arena, &put, &problem));
    ck_assert_uint_eq(put.target.id, 0);
}
END_TEST

START_TEST(a_commit_is_what_post_takes_and_more)
{
    const obb_settings space = {3, 500, 64, 0};
    wire_log_commit commit;
    wire_problem problem;
    wire_body body = line_of("{\"time\":8,\"remove\":[\"c\"],\"put\":{\"a\":{\"center\":[1,2,3],"
                             "\"half_extents\":[1,1,1]}},"
                             "\"pose\":{\"b\":{\"center\":[-0.0,0,0],\"teleport\":true}},"
                             "\"revision\":42,\"hash\":\"000000000000000a\"}");
    ck_assert(wire_read_log_commit(&body, &space, &arena, &commit, &problem));
    ck_assert_uint_eq(commit.moment.revision, 42);
    ck_assert_double_eq(commit.moment.time, 8);
    ck_assert_uint_eq(commit.hash, 10);
    ck_assert(commit.edit.has_time && commit.edit.settings == NULL && !commit.edit.replace_all);
    ck_assert_int_eq(commit.edit.dimensions, 3);
    ck_assert_uint_eq(commit.edit.remove_count, 1);
    ck_assert_uint_eq(commit.edit.put_count, 1);
    ck_assert_uint_eq(commit.edit.pose_count, 1);
    ck_assert(commit.edit.poses[0].teleport && test_same_bits(commit.edit.poses[0].center.x, -0.0));

    body = line_of("{\"time\":8,\"settings\":{\"dimensions\":3,\"history\":{\"span\":1,\"commits\":"
                   "2}},\"revision\":42,\"hash\":\"000000000000000a\"}");
    ck_assert(wire_read_log_commit(&body, &space, &arena, &commit, &problem));
    ck_assert(commit.edit.settings != NULL && !commit.edit.replace_all);
    ck_assert_double_eq(commit.edit.settings->history_span, 1);

    /* other dimensions need a scene without boxes: the line removes them all, and puts others */
    body = line_of("{\"time\":8,\"settings\":{\"dimensions\":2,\"history\":{\"span\":1,\"commits\":"
                   "2}},\"remove\":[\"a\"],"
                   "\"put\":{\"b\":{\"center\":[1,2],\"half_extents\":[1,1],\"angle\":3}},"
                   "\"revision\":42,\"hash\":\"000000000000000a\"}");
    ck_assert(wire_read_log_commit(&body, &space, &arena, &commit, &problem));
    ck_assert(commit.edit.replace_all && commit.edit.dimensions == 2);
    ck_assert_double_eq(commit.edit.puts[0].box.angle, 3);

    static const struct {
        const char *line, *pointer;
        int status;
    } wrong[] = {
        {"{\"time\":8,\"revision\":42}", NULL, 422},
        {"{\"time\":8,\"hash\":\"000000000000000a\"}", NULL, 422},
        {"{\"revision\":42,\"hash\":\"000000000000000a\"}", NULL, 422},
        {"{\"time\":8,\"revision\":42,\"hash\":10}", "/hash", 422},
        {"{\"time\":8,\"revision\":42,\"hash\":\"000000000000000a\",\"queries\":[]}", "/queries",
         422},
        {"{\"time\":8,\"revision\":42,\"hash\":\"000000000000000a\",\"put\":{\"a\":{\"center\":[1,"
         "2]}}}",
         "/put/a/center", 422},
        {"{\"time\":8,\"revision\":42,\"hash\":\"000000000000000a\"", NULL, 400},
        {"", NULL, 422},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        body = line_of(wrong[i].line);
        ck_assert(!wire_read_log_commit(&body, &space, &arena, &commit, &problem));
        ck_assert_msg(problem.status == wrong[i].status, "row %zu: %d %s", i, problem.status,
                      problem.detail);
        if (wrong[i].pointer != NULL)
            ck_assert_str_eq(problem.pointer, wrong[i].pointer);
    }
}
END_TEST

#define DONE  ",\"revision\":42,\"hash\":\"000000000000000a\"}"
#define PLACE "\"center\":[0,0,0],\"half_extents\":[1,1,1]"

START_TEST(lines_that_are_wrong_are_refused)
{
    static const struct refusal heads[] = {
        {"", 422, ""},
        {"[]", 422, ""},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"dimensions\":4}", 422, "/dimensions"},
        {"{\"format\":\"obbd-scene\",\"version\":3}", 422, "/version"},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"boxes\":-1}", 422, "/boxes"},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"frames\":1.5}", 422, "/frames"},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"time\":1e309}", 422, "/time"},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"record\":-1}", 422, "/record"},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"ids\":[]}", 422, "/ids"},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"colour\":1}", 422, "/colour"},
        {"{\"format\":\"obbd-scene\",\"format\":\"obbd-scene\"}", 400, NULL},
        {"{\"format\":\"obbd-scene\"", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_LOG_HEAD, 3, heads);
    static const struct refusal frames[] = {
        {"{}", 422, ""},
        {"{\"frame\":\"\"}", 422, "/frame"},
        {"{\"frame\":7}", 422, "/frame"},
        {"{\"frame\":\"f\",\"center\":[0,0]}", 422, "/center"},
        {"{\"frame\":\"f\",\"center\":[0,0,1e309]}", 422, "/center/2"},
        {"{\"frame\":\"f\",\"center\":[0,0,1.1e9]}", 422, "/center/2"},
        {"{\"frame\":\"f\",\"rotation\":[0,0,0,0]}", 422, "/rotation"},
        {"{\"frame\":\"f\",\"half_extents\":[1,1,1]}", 422, "/half_extents"},
        {"{\"frame\":\"f\",\"frame\":\"f\"}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_LOG_FRAME, 3, frames);
    static const struct refusal boxes[] = {
        {"{}", 422, ""},
        {"{" PLACE "}", 422, ""},
        {"{\"name\":\"a\",\"id\":0," PLACE "}", 422, "/id"},
        {"{\"name\":\"a\",\"id\":1.5," PLACE "}", 422, "/id"},
        {"{\"name\":\"a\",\"center\":[0,0,1e309],\"half_extents\":[1,1,1]}", 422, "/center/2"},
        {"{\"name\":\"a\"," PLACE ",\"ttl\":-1}", 422, "/ttl"},
        {"{\"name\":\"a\"," PLACE ",\"ttl\":5,\"since\":\"x\"}", 422, "/since"},
        {"{\"name\":\"a\"," PLACE ",\"local\":{\"center\":[0,0,0]}}", 422, "/local"},
        {"{\"name\":\"a\"," PLACE ",\"colour\":1}", 422, "/colour"},
        {"{\"name\":\"a\",\"name\":\"a\"," PLACE "}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_LOG_BOX, 3, boxes);
    static const struct refusal commits[] = {
        {"[]", 422, ""},
        {"{\"time\":1e309" DONE, 422, "/time"},
        {"{\"time\":8,\"revision\":-1,\"hash\":\"000000000000000a\"}", 422, "/revision"},
        {"{\"time\":8,\"revision\":42,\"hash\":\"00000000000000ag\"}", 422, "/hash"},
        {"{\"time\":8,\"if_revision\":3" DONE, 422, "/if_revision"},
        {"{\"time\":8,\"if_box\":{}" DONE, 422, "/if_box"},
        {"{\"time\":8,\"dry_run\":true" DONE, 422, "/dry_run"},
        {"{\"time\":8,\"colour\":1" DONE, 422, "/colour"},
        {"{\"time\":8,\"settings\":{\"dimensions\":4}" DONE, 422, "/settings/dimensions"},
        {"{\"time\":8,\"frames\":{\"f\":{\"center\":[0]}}" DONE, 422, "/frames/f/center"},
        {"{\"time\":8,\"put\":{\"names\":[\"a\"],\"centers\":[0,0],\"half_extents\":[1,1,1]}" DONE,
         422, "/put/centers"},
        {"{\"time\":8,\"time\":8" DONE, 400, NULL},
        {"{\"time\":8,\"pose\":{\"a\":{},\"a\":{}}" DONE, 400, NULL},
        {"{\"time\":NaN" DONE, 400, NULL},
    };
    CHECK_REFUSALS(DUMP_LOG_COMMIT, 3, commits);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_log");
    TCase *tc = tcase_create("request_log");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, a_head_says_the_state);
    tcase_add_test(tc, a_box_keeps_its_id);
    tcase_add_test(tc, a_commit_is_what_post_takes_and_more);
    tcase_add_test(tc, lines_that_are_wrong_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
