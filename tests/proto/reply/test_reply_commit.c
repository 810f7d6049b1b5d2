#include "tests/proto/reply/yard.h"

START_TEST(a_commit_answers_counts_ids_missing_and_results)
{
    const obb_put puts[] = {put_of("n\"1", (obb_vec3){0}, (obb_vec3){1.0, 1.0, 1.0}),
                            put_of("a", (obb_vec3){0}, (obb_vec3){1.0, 1.0, 1.0})};
    const obb_pose poses[] = {{.target = {.name = obb_str_of("ghost")}, .has_center = true},
                              {.target = {.has_id = true, .id = 77}, .has_center = true},
                              {.target = {.name = obb_str_of("a")}, .has_center = true}};
    const obb_transform_edit change = {.target = {.name = obb_str_of("no\"body")},
                                       .transform = {.has_translate = true}};
    const obb_query queries[] = {
        {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .by_id = true},
        {.kind = OBB_QUERY_POINT, .dimensions = 3, .count = 1, .has_at = true},
    };
    const wire_commit commit = {.edit = {.dimensions = 3,
                                         .ignore_missing = true,
                                         .puts = puts,
                                         .put_count = 2,
                                         .poses = poses,
                                         .pose_count = 3,
                                         .transforms = &change,
                                         .transform_count = 1},
                                .queries = queries,
                                .query_count = 2};
    const uint64_t new_ids[] = {17, 0};
    const bool missed_poses[] = {true, true, false}, missed_transforms[] = {true};
    const obb_committed committed = {.moment = {42, 1234.5},
                                     .changed = true,
                                     .removed = 1,
                                     .put = 2,
                                     .posed = 1,
                                     .transformed = 0,
                                     .new_ids = new_ids,
                                     .missed_poses = missed_poses,
                                     .missed_transforms = missed_transforms,
                                     .missed = 3};
    const obb_box_pair pair = {a, b};
    const obb_hit found = {.box = a};
    const obb_answer answer = {.hits = &found, .hit_count = 1, .count = 1};
    const obb_result all = {.pairs = &pair, .pair_count = 1, .count = 1};
    const obb_result point = {.answers = &answer, .answer_count = 1};
    struct wire_buf json = {0}, cbor = {0};
    wire_write_committed(&json, WIRE_JSON, &commit, &committed,
                         (const struct obb_view *const[]){view, view},
                         (const obb_result *const[]){&all, &point}, NULL, false, NULL);
    wire_write_committed(&cbor, WIRE_CBOR, &commit, &committed,
                         (const struct obb_view *const[]){view, view},
                         (const obb_result *const[]){&all, &point}, NULL, false, NULL);
    check_reply("CommitAnswer", &json, &cbor,
                "{\"revision\":42,\"time\":1234.5,\"removed\":1,\"put\":2,\"posed\":1,"
                "\"transformed\":0,\"ids\":{\"n\\\"1\":17},"
                "\"missing\":[\"ghost\",77,\"no\\\"body\"],\"results\":["
                "{\"count\":1,\"pairs\":[1,2]},"
                "{\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},"
                "\"results\":[{\"boxes\":[\"a\"]}]}]}");

    const wire_commit asked = {.edit = {.dimensions = 3}, .queries = queries, .query_count = 2};
    const wire_problem busy = {.status = 503, .type = "unavailable", .title = "t", .detail = "d"};
    wire_write_committed(&json, WIRE_JSON, &asked, &(obb_committed){.moment = {2, 1.0}}, NULL, NULL,
                         &busy, false, NULL);
    wire_write_committed(&cbor, WIRE_CBOR, &asked, &(obb_committed){.moment = {2, 1.0}}, NULL, NULL,
                         &busy, false, NULL);
#define BUSY                                                                           \
    "{\"problem\":{\"type\":\"/problems/unavailable\",\"title\":\"t\",\"status\":503," \
    "\"detail\":\"d\"}}"
    check_reply("CommitAnswer", &json, &cbor,
                "{\"revision\":2,\"time\":1,\"removed\":0,\"put\":0,\"posed\":0,"
                "\"transformed\":0,\"results\":[" BUSY "," BUSY "]}");

    const obb_query marked[] = {
        {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .has_tag = true, .tag = obb_str_of("x\"y")},
        {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .has_at = true, .has_tag = true}};
    const wire_commit tagged = {.edit = {.dimensions = 3}, .queries = marked, .query_count = 2};
    for (int unanswered = 0; unanswered < 2; unanswered++) {
        const struct obb_view *const views[] = {view, view};
        const obb_result *const results[] = {&all, &all};
        const wire_problem *const problem = unanswered == 1 ? &busy : NULL;
        wire_write_committed(&json, WIRE_JSON, &tagged, &(obb_committed){.moment = {2, 1.0}}, views,
                             results, problem, false, NULL);
        wire_write_committed(&cbor, WIRE_CBOR, &tagged, &(obb_committed){.moment = {2, 1.0}}, views,
                             results, problem, false, NULL);
#define NOTHING "{\"revision\":2,\"time\":1,\"removed\":0,\"put\":0,\"posed\":0,\"transformed\":0,"
        check_reply("CommitAnswer", &json, &cbor,
                    unanswered == 1 ? NOTHING
                        "\"results\":[{\"tag\":\"x\\\"y\",\"problem\":{\"type\":\"/problems/"
                        "unavailable\",\"title\":\"t\",\"status\":503,\"detail\":\"d\"}},"
                        "{\"tag\":\"\",\"problem\":{\"type\":\"/problems/"
                        "unavailable\",\"title\":\"t\",\"status\":503,\"detail\":\"d\"}}]}"
                                    : NOTHING
                        "\"results\":[{\"tag\":\"x\\\"y\",\"count\":1,\"pairs\":[[\"a\"," B
                        "]]},{\"tag\":\"\","
                        "\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},\"count\":1,"
                        "\"pairs\":[[\"a\"," B "]]}]}");
    }

    const wire_commit empty = {.edit = {.dimensions = 3}};
    wire_write_committed(&json, WIRE_JSON, &empty, &(obb_committed){.moment = {1, 0.0}}, NULL, NULL,
                         NULL, false, NULL);
    wire_write_committed(&cbor, WIRE_CBOR, &empty, &(obb_committed){.moment = {1, 0.0}}, NULL, NULL,
                         NULL, false, NULL);
    check_reply("CommitAnswer", &json, &cbor,
                "{\"revision\":1,\"time\":0,\"removed\":0,\"put\":0,\"posed\":0,"
                "\"transformed\":0,\"results\":[]}");
}
END_TEST

static bool holds(const struct wire_buf *buf, const char *bytes, size_t length)
{
    for (size_t i = 0; i + length <= buf->length; i++)
        if (memcmp(buf->bytes + i, bytes, length) == 0)
            return true;
    return false;
}

START_TEST(a_put_in_columns_answers_the_ids_of_all_rows)
{
    const obb_put puts[3] = {{.target = {.name = obb_str_of("x")}},
                             {.target = {.name = obb_str_of("y")}},
                             {.target = {.name = obb_str_of("z")}}};
    struct wire_buf json = {0}, cbor = {0};
    for (int wide = 0; wide < 2; wide++) {
        const uint64_t ids[] = {7, wide ? 4294967296u : 4294967295u, 1};
        const wire_commit commit = {
            .edit = {.dimensions = 3, .puts = puts, .put_count = 3, .all_put_ids = true},
            .form.put_columns = true};
        const obb_committed committed = {.moment = {2, 1.0}, .put = 3, .new_ids = ids};
        wire_write_committed(&json, WIRE_JSON, &commit, &committed, NULL, NULL, NULL, false, NULL);
        wire_write_committed(&cbor, WIRE_CBOR, &commit, &committed, NULL, NULL, NULL, false, NULL);
        /* a typed array of 12 bytes of tag 70, or a plain array of three */
        static const char typed[] = "cids\xd8\x46\x4c\x07\0\0\0\xff\xff\xff\xff\x01\0\0\0";
        static const char plain[] = "cids\x83\x07\x1b\0\0\0\x01\0\0\0\0\x01";
        ck_assert(wide ? holds(&cbor, plain, sizeof plain - 1)
                       : holds(&cbor, typed, sizeof typed - 1));
        check_reply("CommitAnswer", &json, &cbor,
                    wide ? "{\"revision\":2,\"time\":1,\"removed\":0,\"put\":3,\"posed\":0,"
                           "\"transformed\":0,\"ids\":[7,4294967296,1],\"results\":[]}"
                         : "{\"revision\":2,\"time\":1,\"removed\":0,\"put\":3,\"posed\":0,"
                           "\"transformed\":0,\"ids\":[7,4294967295,1],\"results\":[]}");
        wire_write_committed(&json, WIRE_JSON, &commit, &committed, NULL, NULL, NULL, true, NULL);
        wire_write_committed(&cbor, WIRE_CBOR, &commit, &committed, NULL, NULL, NULL, true, NULL);
        check_reply("CommitAnswer", &json, &cbor,
                    "{\"revision\":2,\"time\":1,\"removed\":0,\"put\":3,\"posed\":0,"
                    "\"transformed\":0,\"ids_omitted\":true,\"results\":[]}");
    }
    const wire_commit none = {.edit = {.dimensions = 3, .all_put_ids = true},
                              .form.put_columns = true};
    wire_write_committed(&json, WIRE_JSON, &none, &(obb_committed){.moment = {1, 0.0}}, NULL, NULL,
                         NULL, false, NULL);
    wire_write_committed(&cbor, WIRE_CBOR, &none, &(obb_committed){.moment = {1, 0.0}}, NULL, NULL,
                         NULL, false, NULL);
    check_reply("CommitAnswer", &json, &cbor,
                "{\"revision\":1,\"time\":0,\"removed\":0,\"put\":0,\"posed\":0,"
                "\"transformed\":0,\"ids\":[],\"results\":[]}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply_commit");
    TCase *tc = tcase_create("reply_commit");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_add_test(tc, a_commit_answers_counts_ids_missing_and_results);
    tcase_add_test(tc, a_put_in_columns_answers_the_ids_of_all_rows);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
