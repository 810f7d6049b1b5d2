#include "tests/proto/request/requests.h"

START_TEST(a_commit_is_read_whole)
{
    const wire_body body = json(WHOLE_TICK);
    const wire_commit commit = commit_of(&body, 3);
    const obb_edit *e = &commit.edit;
    ck_assert(e->has_time && e->time == 1234.5 && e->has_if_revision && e->if_revision == 41);
    ck_assert(e->ignore_missing && e->dimensions == 3 && !e->remove_must_exist && !e->replace_all);
    ck_assert(e->remove_count == 2 && obb_str_equal(e->removes[1].name, obb_str_of("x/y")));
    ck_assert(e->put_count == 2 && e->puts[0].parts == OBB_PUT_ALL);
    ck_assert(obb_str_equal(e->puts[0].target.name, obb_str_of("crate-8")));
    ck_assert(e->puts[0].box.center.y == 1);
    ck_assert(e->pose_count == 3 && e->poses[0].teleport && e->poses[0].has_center);
    ck_assert(e->poses[0].has_rotation && e->poses[0].center.z == 9);
    ck_assert(!e->poses[1].has_center && e->poses[1].has_rotation && e->poses[1].rotation.w == 1);
    ck_assert(!e->poses[2].has_center && !e->poses[2].has_rotation && !e->poses[2].teleport);
    ck_assert(e->transform_count == 1 && e->transforms[0].transform.local);
    ck_assert(commit.query_count == 2 && commit.queries[0].kind == OBB_QUERY_RAY);
    ck_assert(commit.queries[0].has_at && commit.queries[0].at.time == 1180.0);
    ck_assert(commit.queries[1].kind == OBB_QUERY_ALL_PAIRS && commit.queries[1].count_only);
    ck_assert(e->moment_count == 2 && e->moments[0].dimensions == 3);
    ck_assert(e->moments[0].at.kind == OBB_AT_TIME && e->moments[0].at.time == 1180.0);
    ck_assert(e->moments[1].at.kind == OBB_AT_NOW && e->moments[1].dimensions == 3);
    ck_assert(!commit.columnar_ids && !commit.columnar_names);
    check_taken(DUMP_COMMIT, 3, WHOLE_TICK);
    check_same(DUMP_COMMIT, 3, "", "{}");
    check_same(DUMP_COMMIT, 3,
               "{\"put\":{},\"pose\":{},\"transform\":{},\"remove\":[],\"queries\":[]}", "{}");
}
END_TEST

START_TEST(commits_that_are_wrong_are_refused_at_the_first_fault)
{
    static const struct refusal refusals[] = {
        {"[]", 422, ""},
        {"{\"extra\":1}", 422, "/extra"},
        {"{\"time\":\"now\"}", 422, "/time"},
        {"{\"time\":1e16}", 422, "/time"},
        {"{\"time\":null}", 422, "/time"},
        {"{\"if_revision\":-1}", 422, "/if_revision"},
        {"{\"if_revision\":1.5}", 422, "/if_revision"},
        {"{\"if_revision\":9007199254740994}", 422, "/if_revision"},
        {"{\"ignore_missing\":1}", 422, "/ignore_missing"},
        {"{\"remove\":\"a\"}", 422, "/remove"},
        {"{\"remove\":[\"a\",7]}", 422, "/remove/1"},
        {"{\"put\":[]}", 422, "/put"},
        {"{\"put\":{\"z\":null}}", 422, "/put/z"},
        {"{\"put\":{\"z\":{}}}", 422, "/put/z"},
        {"{\"put\":{\"\":{" POSE "}}}", 422, "/put/"},
        {"{\"put\":{\"..\":{" POSE "}}}", 422, "/put/.."},
        {"{\"put\":{\"a\\u0001\":{" POSE "}}}", 422, "/put/a\x01"},
        {"{\"put\":{\"a/b~c\":{\"center\":[0,0],\"half_extents\":[1,1,1]}}}", 422,
         "/put/a~1b~0c/center"},
        {"{\"put\":{\"a\":{" POSE "},\"z\":{\"center\":[0,0,0],\"half_extents\":[1,-1,1]}}}", 422,
         "/put/z/half_extents/1"},
        {"{\"pose\":{\"a\":{\"half_extents\":[1,1,1]}}}", 422, "/pose/a/half_extents"},
        {"{\"pose\":{\"a\":{\"rotation\":[0,0,0,0]}}}", 422, "/pose/a/rotation"},
        {"{\"pose\":{\"a\":{\"teleport\":1}}}", 422, "/pose/a/teleport"},
        {"{\"pose\":{\"a\":{\"center\":[0,0,0]},\"names\":[\"a\"]}}", 422, "/pose/names"},
        {"{\"pose\":{\"names\":[\"a\"],\"ids\":[1],\"centers\":[0,0,0]}}", 422, "/pose/ids"},
        {"{\"pose\":{\"centers\":[0,0,0]}}", 422, "/pose"},
        {"{\"pose\":{\"names\":[\"a\"]}}", 422, "/pose"},
        {"{\"pose\":{\"names\":[\"a\",1],\"centers\":[0,0,0,0,0,0]}}", 422, "/pose/names/1"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0]}}", 422, "/pose/centers"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0,0,0,0]}}", 422, "/pose/centers"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,2e9,0]}}", 422, "/pose/centers/1"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,\"0\",0]}}", 422, "/pose/centers/1"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"rotations\":[0,0,0]}}", 422,
         "/pose/rotations"},
        {"{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,0,0,0,0],\"rotations\":[0,0,0,1,0,0,"
         "0,0]}}",
         422, "/pose/rotations/4"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"angles\":[0]}}", 422, "/pose/angles"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"teleport\":[true]}}", 422,
         "/pose/teleport"},
        {"{\"pose\":{\"ids\":[0],\"centers\":[0,0,0]}}", 422, "/pose/ids/0"},
        {"{\"pose\":{\"ids\":[1,1.5],\"centers\":[0,0,0,0,0,0]}}", 422, "/pose/ids/1"},
        {"{\"transform\":{\"a\":{\"scale\":[1]}}}", 422, "/transform/a/scale"},
        {"{\"transform\":{\"a\":{}}}", 422, "/transform/a"},
        {"{\"queries\":{}}", 422, "/queries"},
        {"{\"queries\":[{\"kind\":\"all-pairs\"},{\"kind\":\"guess\"}]}", 422, "/queries/1/kind"},
        {"{\"queries\":[{\"kind\":\"all-pairs\"},{\"count_only\":true}]}", 422, "/queries/1"},
        {"{\"queries\":[{\"kind\":7}]}", 422, "/queries/0/kind"},
        {"{\"queries\":[[]]}", 422, "/queries/0"},
        {"{\"queries\":[{\"points\":[[0,0]],\"kind\":\"point\"}]}", 422, "/queries/0/points/0"},
        {"{\"queries\":[{\"kind\":\"point\",\"points\":[],\"at\":{\"ago\":-1}}]}", 422,
         "/queries/0/at/ago"},
        /* the order of application, not of the text */
        {"{\"queries\":[1],\"transform\":1,\"pose\":1,\"put\":1,\"remove\":1,\"time\":\"x\"}", 422,
         "/time"},
        {"{\"queries\":[1],\"transform\":1,\"pose\":1,\"put\":1,\"remove\":[1]}", 422, "/remove/0"},
        {"{\"queries\":[1],\"transform\":1,\"pose\":{\"a\":1},\"put\":{\"b\":1}}", 422, "/put/b"},
        {"{\"queries\":[1],\"transform\":1,\"pose\":{\"a\":1}}", 422, "/pose/a"},
        {"{\"queries\":[1],\"transform\":{\"a\":1}}", 422, "/transform/a"},
        {"{\"pose\":{\"a\":1},\"put\":{\"b\":1},\"extra\":1}", 422, "/extra"},
        /* and what is malformed comes before all */
        {"{\"put\":{\"z\":{" POSE "},\"z\":{" POSE "}}}", 400, NULL},
        {"{\"put\":{\"z\":1},\"pose\":{\"a\":{},\"a\":{}}}", 400, NULL},
        {"{\"transform\":{\"a\":{\"scale\":1},\"\\u0061\":{\"scale\":1}}}", 400, NULL},
        {"{\"put\":{\"z\":1},\"pose\":{\"a\":{}}", 400, NULL},
        {"{\"put\":{},\"put\":{}}", 400, NULL},
        {"{\"queries\":[{\"kind\":\"all-pairs\",\"kind\":\"all-pairs\"}]}", 400, NULL},
        {"{\"queries\":[{\"x\":{\"a\":1,\"a\":1},\"kind\":\"all-pairs\"}]}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_COMMIT, 3, refusals);
    static const struct refusal planar[] = {
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0],\"rotations\":[0,0,0,1]}}", 422,
         "/pose/rotations"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0]}}", 422, "/pose/centers"},
        {"{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,0,0],\"angles\":[0]}}", 422,
         "/pose/angles"},
        {"{\"pose\":{\"a\":{\"rotation\":[0,0,0,1]}}}", 422, "/pose/a/rotation"},
    };
    CHECK_REFUSALS(DUMP_COMMIT, 2, planar);
}
END_TEST

START_TEST(every_prefix_of_a_commit_is_refused)
{
    const size_t whole = strlen(WHOLE_TICK);
    size_t looked_at = 0;
    char *got;
    for (size_t length = 1; length < whole; length++, looked_at++) {
        ck_assert(!decode(DUMP_COMMIT, 3, WHOLE_TICK, length, WIRE_JSON, &got));
        ck_assert_str_eq(got, "400 none");
        free(got);
    }
    for (int typed = 0; typed < 2; typed++) {
        struct cbor_maker m = {0};
        ck_assert(maker_from_json(&m, WHOLE_TICK, whole, typed == 1));
        for (size_t length = 1; length < m.length; length++, looked_at++) {
            ck_assert(!decode(DUMP_COMMIT, 3, (const char *)m.bytes, length, WIRE_CBOR, &got));
            ck_assert_str_eq(got, "400 none");
            free(got);
        }
        free(m.bytes);
    }
    printf("%zu prefixes\n", looked_at);
}
END_TEST

START_TEST(a_commit_takes_a_hundred_thousand_queries_and_no_more)
{
    enum { MOST = 100000 };
    static const char query[] = "{\"kind\":\"all-pairs\"},";
    char *text = malloc(sizeof query * (MOST + 2));
    ck_assert_ptr_nonnull(text);
    for (int more = 0; more < 2; more++) {
        size_t length = (size_t)sprintf(text, "{\"queries\":[");
        for (int i = 0; i < MOST + more; i++, length += sizeof query - 1)
            memcpy(text + length, query, sizeof query);
        (void)strcpy(text + length - 1, "]}");
        const wire_body body = json(text);
        wire_commit commit;
        wire_problem problem;
        ck_assert_int_eq(wire_read_commit(&body, 3, &arena, &commit, &problem), more == 0);
        if (more == 0) {
            ck_assert_uint_eq(commit.query_count, MOST);
            continue;
        }
        ck_assert_int_eq(problem.status, 422);
        ck_assert_str_eq(problem.pointer, "/queries");
        ck_assert_str_eq(problem.detail,
                         "found more than 100,000 queries; a commit takes at most 100,000");
    }
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_commit");
    TCase *tc = tcase_create("request_commit");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_commit_is_read_whole);
    tcase_add_test(tc, commits_that_are_wrong_are_refused_at_the_first_fault);
    tcase_add_test(tc, every_prefix_of_a_commit_is_refused);
    tcase_add_test(tc, a_commit_takes_a_hundred_thousand_queries_and_no_more);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
