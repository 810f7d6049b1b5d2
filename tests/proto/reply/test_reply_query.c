#include "tests/proto/reply/yard.h"
#include "tests/support/fault.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static void check_result(const obb_query *query, const obb_result *result, const char *schema_name,
                         const char *expected)
{
    struct wire_buf json = {0}, cbor = {0};
    wire_write_result(&json, WIRE_JSON, view, query, result);
    wire_write_result(&cbor, WIRE_CBOR, view, query, result);
    check_reply(schema_name, &json, &cbor, expected);
}

static const obb_details touching = {
    .relation = OBB_TOUCHING,
    .separation = {.axis = 6, .normal = {1.0, -0.0, 0.0}, .gap = -0.0},
    .witness = {0.0, {2.0, -0.0, 0.0}, {2.0, 0.0, 0.0}},
    .volume = 0.0,
    .iou = 0.0};
static const obb_details apart = {.relation = OBB_SEPARATE,
                                  .separation = {.axis = 14, .normal = {0.0, 1.0, 0.0}, .gap = 2.5},
                                  .witness = {3.0, {0.0, 0.0, 0.0}, {0.0, 3.0, 0.0}}};

START_TEST(pairs_say_overlap_and_what_was_wanted)
{
    const obb_ref ghost = {.kind = OBB_REF_NAME, .name = obb_str_of("gh\"ost")};
    const obb_ref number = {.kind = OBB_REF_ID, .id = 99};
    const obb_answer answers[] = {
        {.overlap = true, .pair = {a, b}},
        {.overlap = false, .pair = {a, NULL}},
        {.missing_count = 2, .missing = {&ghost, &number}},
    };
    obb_query query = {.kind = OBB_QUERY_PAIRS, .dimensions = 3, .count = 3};
    const obb_result result = {.answers = answers, .answer_count = 3};
    check_result(&query, &result, "PairsAnswer",
                 HEAD "\"results\":[{\"overlap\":true},{\"overlap\":false},"
                      "{\"missing\":[\"gh\\\"ost\",99]}]}");

    obb_details details[2] = {touching, apart};
    const obb_answer detailed[] = {
        {.overlap = true, .pair = {a, b}, .details = &details[0]},
        {.overlap = false, .pair = {b, NULL}, .details = &details[1]},
    };
    query.want = OBB_WANT_OF_PAIR | OBB_WANT_DATA | OBB_WANT_ENTITY | OBB_WANT_POSE;
    query.has_at = true;
    check_result(
        &query, &(obb_result){.answers = detailed, .answer_count = 2}, "PairsAnswer",
        HEAD "\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},\"results\":["
             "{\"overlap\":true,\"relation\":\"touching\",\"mtv\":{\"normal\":[1,0,0],\"depth\":0},"
             "\"distance\":0,\"points\":[[2,0,0],[2,0,0]],"
             "\"axis\":{\"name\":\"a.x*b.x\",\"normal\":[1,0,0],\"gap\":0},\"volume\":0,\"iou\":0,"
             "\"data\":[null,{\"hp\":[1,2.5,null]}],\"entity\":[null,\"player \\\"1\\\"\"],"
             "\"pose\":[{\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],\"rotation\":[0,0,0,1]},"
             "{\"center\":[2.5,0,0],\"half_extents\":[1,1,0],\"rotation\":[0,0,0.6,0.8]}]},"
             "{\"overlap\":false,\"relation\":\"separate\",\"distance\":3,"
             "\"points\":[[0,0,0],[0,3,0]],\"axis\":{\"name\":\"a.z*b.z\",\"normal\":[0,1,0],"
             "\"gap\":2.5},\"volume\":0,\"iou\":0,\"data\":[{\"hp\":[1,2.5,null]},null],"
             "\"entity\":[\"player \\\"1\\\"\",null],\"pose\":[{\"center\":[2.5,0,0],"
             "\"half_extents\":[1,1,0],\"rotation\":[0,0,0.6,0.8]},null]}]}");
}
END_TEST

START_TEST(a_tag_stands_beside_the_revision)
{
    const obb_result none = {.answers = NULL, .answer_count = 0};
    obb_query query = {.kind = OBB_QUERY_POINT, .dimensions = 3, .has_tag = true};
    query.tag = obb_str_of("a \"shot\"");
    check_result(&query, &none, "BoxesAnswer", HEAD "\"tag\":\"a \\\"shot\\\"\",\"results\":[]}");
    query.tag.length = 0;
    query.has_at = true;
    check_result(&query, &none, "BoxesAnswer",
                 HEAD "\"tag\":\"\",\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},"
                      "\"results\":[]}");
    struct wire_buf lines = {0};
    query = (obb_query){.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .has_tag = true};
    query.tag = obb_str_of("end");
    wire_write_pair_end(&lines, view, &query, 7, true);
    check_lines(
        &lines, "POST", "/v1/scenes/yard/query/all-pairs", "application/x-ndjson",
        "{\"count\":7,\"revision\":1,\"time\":1000.5,\"tag\":\"end\",\"truncated\":true}\n");
}
END_TEST

START_TEST(explanations_say_what_belongs_to_their_verdict)
{
    const obb_ref refs[] = {{.kind = OBB_REF_NAME, .name = obb_str_of("a")},
                            {.kind = OBB_REF_NAME, .name = obb_str_of("gh\"ost")},
                            {.kind = OBB_REF_ID, .id = 77}};
    const obb_explanation list[] = {
        {.asked = &refs[0], .box = a, .outcome = OBB_OUTCOME_HIT},
        {.asked = &refs[0], .box = b, .outcome = OBB_OUTCOME_BEHIND, .behind = a},
        {.asked = &refs[0], .box = a, .outcome = OBB_OUTCOME_MISSED, .gap = 2.5},
        {.asked = &refs[0],
         .box = b,
         .outcome = OBB_OUTCOME_MISSED,
         .gap = 3.0,
         .has_axis = true,
         .axis = apart.separation},
        {.asked = &refs[0], .box = a, .outcome = OBB_OUTCOME_FILTERED, .by = OBB_FILTERED_BY_MASK},
        {.asked = &refs[0],
         .box = a,
         .outcome = OBB_OUTCOME_FILTERED,
         .by = OBB_FILTERED_BY_CATEGORY},
        {.asked = &refs[0],
         .box = a,
         .outcome = OBB_OUTCOME_FILTERED,
         .by = OBB_FILTERED_BY_PREFIX},
        {.asked = &refs[0],
         .box = a,
         .outcome = OBB_OUTCOME_FILTERED,
         .by = OBB_FILTERED_BY_EXCLUDE},
        {.asked = &refs[0],
         .box = a,
         .outcome = OBB_OUTCOME_FILTERED,
         .by = OBB_FILTERED_BY_ENTITY},
        {.asked = &refs[0], .box = a, .outcome = OBB_OUTCOME_FILTERED, .by = OBB_FILTERED_BY_SELF},
        {.asked = &refs[1], .outcome = OBB_OUTCOME_ABSENT},
        {.asked = &refs[2], .outcome = OBB_OUTCOME_ABSENT},
        {.asked = &refs[0], .box = a, .outcome = OBB_OUTCOME_CUT},
    };
    obb_answer answer = {.hit_count = 0, .explain = list};
    const obb_result result = {.answers = &answer, .answer_count = 1};
    obb_query query = {.kind = OBB_QUERY_OVERLAP,
                       .dimensions = 3,
                       .count = 1,
                       .has_explain = true,
                       .explain_count = 13};
#define FILTERED(by) "{\"box\":\"a\",\"verdict\":\"filtered\",\"by\":\"" by "\"},"
    check_result(&query, &result, "BoxesAnswer",
                 HEAD "\"results\":[{\"boxes\":[],\"explain\":[{\"box\":\"a\",\"verdict\":\"hit\"},"
                      "{\"box\":" B ",\"verdict\":\"behind\",\"behind\":\"a\"},"
                      "{\"box\":\"a\",\"verdict\":\"missed\",\"gap\":2.5},"
                      "{\"box\":" B
                      ",\"verdict\":\"missed\",\"gap\":3,\"axis\":{\"name\":\"a.z*b.z\","
                      "\"normal\":[0,1,0],\"gap\":2.5}}," FILTERED("mask") FILTERED("category")
                          FILTERED("prefix") FILTERED("exclude") FILTERED("entity")
                              FILTERED("self") "{\"box\":\"gh\\\"ost\",\"verdict\":\"absent\"},{"
                                               "\"box\":77,\"verdict\":\"absent\"},"
                                               "{\"box\":\"a\",\"verdict\":\"cut\"}]}]}");
    query.by_id = true;
    query.explain_count = 2;
    check_result(&query, &result, "BoxesAnswer",
                 HEAD "\"results\":[{\"boxes\":[],\"explain\":[{\"box\":1,\"verdict\":\"hit\"},"
                      "{\"box\":2,\"verdict\":\"behind\",\"behind\":1}]}]}");
    query.explain_count = 0;
    query.kind = OBB_QUERY_NEAREST;
    check_result(&query, &result, "NearestAnswer",
                 HEAD "\"results\":[{\"boxes\":[],\"explain\":[]}]}");
    query.kind = OBB_QUERY_SWEEP;
    query.explain_count = 1;
    check_result(&query, &result, "SweepAnswer",
                 HEAD "\"results\":[{\"hits\":[],\"explain\":[{\"box\":1,\"verdict\":\"hit\"}]}]}");
    const obb_ray ray = {{0, 0, 0}, {1, 0, 0}, HUGE_VAL};
    query.kind = OBB_QUERY_RAY;
    query.items.rays = &ray;
    check_result(&query, &result, "RayAnswer",
                 HEAD "\"results\":[{\"hits\":[],\"explain\":[{\"box\":1,\"verdict\":\"hit\"}]}]}");
}
END_TEST

START_TEST(boxes_are_bare_or_with_what_was_wanted_by_name_or_id)
{
    obb_details details = touching;
    const obb_hit found[] = {{.box = a, .details = &details}, {.box = b, .details = &details}};
    const obb_ref ghost = {.kind = OBB_REF_NAME, .name = obb_str_of("ghost")};
    const obb_answer answers[] = {{.hits = found, .hit_count = 2, .count = 2},
                                  {.missing_count = 1, .missing = {&ghost}},
                                  {.hits = found, .hit_count = 1, .count = 2, .truncated = true},
                                  {.hit_count = 0}};
    const obb_result result = {.answers = answers, .answer_count = 4};
    obb_query query = {.kind = OBB_QUERY_OVERLAP, .dimensions = 3, .count = 4};
    check_result(&query, &result, "BoxesAnswer",
                 HEAD "\"results\":[{\"boxes\":[\"a\"," B "]},{\"missing\":[\"ghost\"]},"
                      "{\"boxes\":[\"a\"],\"truncated\":true,\"count\":2},{\"boxes\":[]}]}");
    query.by_id = true;
    check_result(&query, &result, "BoxesAnswer",
                 HEAD "\"results\":[{\"boxes\":[1,2]},{\"missing\":[\"ghost\"]},"
                      "{\"boxes\":[1],\"truncated\":true,\"count\":2},{\"boxes\":[]}]}");
    query.want = OBB_WANT_RELATION | OBB_WANT_DATA | OBB_WANT_ENTITY;
    check_result(&query, &(obb_result){.answers = answers, .answer_count = 1}, "BoxesAnswer",
                 HEAD "\"results\":[{\"boxes\":[{\"box\":1,\"relation\":\"touching\"},"
                      "{\"box\":2,\"relation\":\"touching\",\"data\":{\"hp\":[1,2.5,null]},"
                      "\"entity\":\"player \\\"1\\\"\"}]}]}");

    const obb_hit points[] = {{.box = a}};
    const obb_answer point_answer = {.hits = points, .hit_count = 1, .count = 1};
    query =
        (obb_query){.kind = OBB_QUERY_POINT, .dimensions = 3, .count = 1, .want = OBB_WANT_POSE};
    check_result(&query, &(obb_result){.answers = &point_answer, .answer_count = 1}, "BoxesAnswer",
                 HEAD "\"results\":[{\"boxes\":[{\"box\":\"a\",\"pose\":{\"center\":[1,-0.0,0.1],"
                      "\"half_extents\":[1,2,3],\"rotation\":[0,0,0,1]}}]}]}");

    const obb_hit near[] = {{.box = b, .distance = 0.25, .point = {1.0, 2.0, -0.0}}};
    const obb_answer near_answer = {.hits = near, .hit_count = 1, .count = 1};
    query = (obb_query){.kind = OBB_QUERY_NEAREST, .dimensions = 3, .count = 1};
    check_result(&query, &(obb_result){.answers = &near_answer, .answer_count = 1}, "NearestAnswer",
                 HEAD "\"results\":[{\"boxes\":[{\"box\":" B
                      ",\"distance\":0.25,\"point\":[1,2,0]}]}]}");
}
END_TEST

START_TEST(hits_have_a_fraction_where_there_is_a_whole)
{
    const obb_ray rays[] = {{{0.0, 0.0, 0.0}, {0.0, 0.0, 1.0}, 10.0},
                            {{0.0, 0.0, 0.0}, {0.0, 0.0, 1.0}, HUGE_VAL}};
    const obb_hit hits[] = {{.box = a,
                             .distance = 2.5,
                             .fraction = 0.25,
                             .point = {0.0, -0.0, 2.5},
                             .normal = {-0.0, -0.0, -1.0}},
                            {.box = b,
                             .distance = 0.0,
                             .point = {0.0, 0.0, 0.0},
                             .normal = {0.0, 0.0, -1.0},
                             .started_inside = true}};
    const obb_answer answers[] = {{.hits = hits, .hit_count = 1, .count = 3, .truncated = true},
                                  {.hits = hits, .hit_count = 2, .count = 2},
                                  {.hit_count = 0}};
    obb_query query = {.kind = OBB_QUERY_RAY, .dimensions = 3, .count = 2, .items.rays = rays};
    query.want = OBB_WANT_ENTITY;
    check_result(
        &query, &(obb_result){.answers = answers, .answer_count = 2}, "RayAnswer",
        HEAD "\"results\":[{\"hits\":[{\"box\":\"a\",\"distance\":2.5,\"fraction\":0.25,"
             "\"point\":[0,0,2.5],\"normal\":[0,0,-1]}],\"truncated\":true,\"count\":3},"
             "{\"hits\":[{\"box\":\"a\",\"distance\":2.5,\"point\":[0,0,2.5],\"normal\":[0,0,-1]},"
             "{\"box\":" B ",\"distance\":0,\"point\":[0,0,0],\"normal\":[0,0,-1],"
             "\"started_inside\":true,\"entity\":\"player \\\"1\\\"\"}]}]}");

    const obb_query_sweep sweeps[1] = {{{0}, {1.0, 0.0, 0.0}}};
    query = (obb_query){.kind = OBB_QUERY_SWEEP,
                        .dimensions = 3,
                        .count = 1,
                        .items.sweeps = sweeps,
                        .by_id = true};
    const obb_answer swept = {.hits = &hits[1], .hit_count = 1, .count = 1};
    check_result(&query, &(obb_result){.answers = &swept, .answer_count = 1}, "SweepAnswer",
                 HEAD "\"results\":[{\"hits\":[{\"box\":2,\"fraction\":0,\"point\":[0,0,0],"
                      "\"normal\":[0,0,-1],\"started_overlapping\":true}]}]}");
}
END_TEST

START_TEST(all_pairs_come_as_lists_counts_and_lines)
{
    const obb_box_pair pairs[] = {{a, b}, {b, c}};
    const obb_details details[] = {touching, touching};
    obb_result result = {.pairs = pairs, .pair_count = 2, .count = 2};
    obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3};
    check_result(&query, &result, "AllPairsAnswer",
                 HEAD "\"count\":2,\"pairs\":[[\"a\"," B "],[" B ",\"\xe2\x98\x83\"]]}");
    query.by_id = true;
    check_result(&query, &result, "AllPairsAnswer", HEAD "\"count\":2,\"pairs\":[1,2,2,3]}");
    query.count_only = true;
    check_result(&query, &result, "AllPairsAnswer", HEAD "\"count\":2}");
    query.count_only = false;
    result.count = 7;
    result.truncated = true;
    result.pair_details = details;
    query.want = OBB_WANT_RELATION | OBB_WANT_DATA;
    check_result(&query, &result, "AllPairsAnswer",
                 HEAD "\"count\":7,\"pairs\":[{\"pair\":[1,2],\"relation\":\"touching\","
                      "\"data\":[null,{\"hp\":[1,2.5,null]}]},{\"pair\":[2,3],"
                      "\"relation\":\"touching\",\"data\":[{\"hp\":[1,2.5,null]},null]}],"
                      "\"truncated\":true}");

    static const struct {
        bool by_id, has_at;
        unsigned want;
        const char *lines;
    } streams[] = {
        {false, false, 0,
         "[\"a\"," B "]\n[" B ",\"\xe2\x98\x83\"]\n"
         "{\"count\":7,\"revision\":1,\"time\":1000.5,\"truncated\":true}\n"},
        {true, true, 0,
         "[1,2]\n[2,3]\n{\"count\":7,\"revision\":1,\"time\":1000.5,"
         "\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},\"truncated\":true}\n"},
        {true, false, OBB_WANT_RELATION,
         "{\"pair\":[1,2],\"relation\":\"touching\"}\n{\"pair\":[2,3],\"relation\":\"touching\"}\n"
         "{\"count\":7,\"revision\":1,\"time\":1000.5,\"truncated\":true}\n"},
    };
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        query = (obb_query){.kind = OBB_QUERY_ALL_PAIRS,
                            .dimensions = 3,
                            .by_id = streams[i].by_id,
                            .has_at = streams[i].has_at,
                            .want = streams[i].want};
        struct wire_buf lines = {0};
        wire_write_pair_lines(&lines, view, &query, &result, 0, 1);
        wire_write_pair_lines(&lines, view, &query, &result, 1, 2);
        wire_write_pair_end(&lines, view, &query, 7, true);
        check_lines(&lines, "POST", "/v1/scenes/yard/query/all-pairs", "application/x-ndjson",
                    streams[i].lines);
    }
}
END_TEST

START_TEST(in_the_plane_answers_have_vectors_of_two_numbers)
{
    struct obb_scene *flat;
    struct obb_view *plane = open_plane(-45.0, &flat);
    const struct obb_version *p = find(plane, "p");
    obb_details details = touching;
    const obb_answer answer = {.overlap = true, .pair = {p, NULL}, .details = &details};
    const obb_query query = {.kind = OBB_QUERY_PAIRS,
                             .dimensions = 2,
                             .count = 1,
                             .want = OBB_WANT_MTV | OBB_WANT_DISTANCE | OBB_WANT_POSE};
    struct wire_buf json = {0}, cbor = {0};
    const obb_result result = {.answers = &answer, .answer_count = 1};
    wire_write_result(&json, WIRE_JSON, plane, &query, &result);
    wire_write_result(&cbor, WIRE_CBOR, plane, &query, &result);
    check_reply("PairsAnswer", &json, &cbor,
                "{\"revision\":1,\"time\":0,\"results\":[{\"overlap\":true,"
                "\"mtv\":{\"normal\":[1,0],\"depth\":0},\"distance\":0,\"points\":[[2,0],[2,0]],"
                "\"pose\":[{\"center\":[3,-4],\"half_extents\":[2,0.5],\"angle\":-45},null]}]}");
    obb_view_close(plane);
    obb_scene_destroy(flat);
}
END_TEST

/* ---- Failures and speed ---------------------------------------------------------------------- */

/* The ids of listed pairs decide how CBOR holds them. What other ids the state has tells nobody. */
START_TEST(pairs_by_id_are_a_typed_array_if_32_bits_hold_them)
{
    static const uint64_t ranks[] = {2, UINT64_C(1) << 32 | UINT32_MAX};
    const obb_box_pair pairs[] = {{a, b}, {b, c}};
    const obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .by_id = true};
    const struct {
        obb_result result;
        const char *ids; /* as CBOR */
        size_t length;
    } cases[] = {
#define IDS(text) (text), sizeof(text) - 1
        {{.pairs = pairs, .pair_count = 2, .ids_below = 4},
         IDS("epairs\xd8\x46\x50\1\0\0\0\2\0\0\0\2\0\0\0\3\0\0\0")},
        {{.pairs = pairs, .pair_count = 2, .ids_below = UINT64_MAX},
         IDS("epairs\xd8\x46\x50\1\0\0\0\2\0\0\0\2\0\0\0\3\0\0\0")},
        {{.pair_ranks = ranks, .pair_count = 1, .rank_base = 7, .ids_below = UINT64_MAX},
         IDS("epairs\xd8\x46\x48\7\0\0\0\x9\0\0\0")},
        {{.pair_ranks = ranks, .pair_count = 2, .ids_below = UINT64_MAX},
         IDS("epairs\xd8\x46\x50\0\0\0\0\2\0\0\0\1\0\0\0\xff\xff\xff\xff")},
        {{.pair_ranks = ranks, .pair_count = 2, .rank_base = 1, .ids_below = UINT64_MAX},
         IDS("epairs\x84\1\3\2\x1b\0\0\0\1\0\0\0\0")},
#undef IDS
    };
    const size_t count = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        struct wire_buf buf = {0};
        wire_write_result(&buf, WIRE_CBOR, view, &query, &cases[i].result);
        ck_assert_uint_gt(buf.length, cases[i].length);
        ck_assert_mem_eq(buf.bytes + buf.length - cases[i].length, cases[i].ids, cases[i].length);
        wire_buf_fini(&buf);
    }
}
END_TEST

START_TEST(a_failing_heap_marks_the_buffer_and_harms_nothing)
{
    enum { PAIRS = 2000 };
    static obb_box_pair pairs[PAIRS];
    for (size_t i = 0; i < PAIRS; i++)
        pairs[i] = i % 2 ? (obb_box_pair){a, b} : (obb_box_pair){b, c};
    const obb_result result = {.pairs = pairs, .pair_count = PAIRS, .count = PAIRS};
    obb_query query = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3};
    size_t failures = 0;
    for (int variant = 0; variant < 6; variant++) {
        const wire_media media = variant % 2 == 0 ? WIRE_JSON : WIRE_CBOR;
        query.by_id = variant / 2 == 1;
        query.want = variant / 2 == 2 ? OBB_WANT_DATA | OBB_WANT_POSE : 0;
        for (size_t n = 1;; n++) {
            struct wire_buf buf = {0};
            fault_arm(n);
            wire_write_result(&buf, media, view, &query, &result);
            const size_t seen = fault_seen();
            fault_arm(0);
            const bool failed = buf.failed;
            wire_buf_fini(&buf);
            ck_assert_int_eq(failed, seen >= n);
            failures += failed;
            if (!failed)
                break;
        }
    }
    ck_assert_uint_gt(failures, 20);
}
END_TEST

static double microseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

START_TEST(ten_thousand_pairs_are_written_alike_each_time)
{
    enum { BOXES = 10000 };
    obb_put *puts = malloc(BOXES * sizeof *puts);
    obb_box_pair *pairs = malloc(BOXES * sizeof *pairs);
    char(*names)[24] = malloc(BOXES * sizeof *names);
    ck_assert(puts != NULL && pairs != NULL && names != NULL);
    for (int i = 0; i < BOXES; i++) {
        (void)snprintf(names[i], sizeof names[i], "crate-%d", i);
        puts[i] = put_of(names[i], (obb_vec3){i * 3.0, 0.0, 0.0}, (obb_vec3){1.0, 1.0, 1.0});
    }
    struct obb_scene *large = make_scene(3);
    obb_committed committed;
    apply(large, &(obb_edit){.dimensions = 3, .puts = puts, .put_count = BOXES}, &committed);
    struct obb_view *all;
    ck_assert_int_eq(obb_view_open(large, NULL, &all, NULL, NULL), OBB_OK);
    for (size_t i = 0; i < BOXES; i++)
        pairs[i] = (obb_box_pair){obb_view_find_id(all, i + 1),
                                  obb_view_find_id(all, (i * 7919 + 5) % BOXES + 1)};
    const obb_result result = {.pairs = pairs, .pair_count = BOXES, .count = BOXES};
    for (int variant = 0; variant < 4; variant++) {
        const wire_media media = variant % 2 == 0 ? WIRE_JSON : WIRE_CBOR;
        const obb_query query = {
            .kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .by_id = variant >= 2};
        struct wire_buf buf = {0};
        double best = 1e9;
        size_t length = 0;
        for (int round = 0; round < 50; round++) {
            buf.length = 0;
            const double start = microseconds();
            wire_write_result(&buf, media, all, &query, &result);
            const double took = microseconds() - start;
            best = took < best ? took : best;
            ck_assert(length == 0 || buf.length == length);
            length = buf.length;
        }
        printf("%d pairs by %s as %s: %zu bytes in %.0f us\n", BOXES, query.by_id ? "id" : "name",
               media == WIRE_JSON ? "JSON" : "CBOR", length, best);
        json_t *value = media == WIRE_JSON ? read_json(&buf) : cbor_read(buf.bytes, buf.length);
        ck_assert_uint_eq(json_array_size(json_object_get(value, "pairs")),
                          query.by_id ? 2 * BOXES : BOXES);
        json_decref(value);
        wire_buf_fini(&buf);
    }
    obb_view_close(all);
    obb_scene_destroy(large);
    free(puts);
    free(pairs);
    free(names);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply_query");
    TCase *tc = tcase_create("reply_query");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, pairs_say_overlap_and_what_was_wanted);
    tcase_add_test(tc, boxes_are_bare_or_with_what_was_wanted_by_name_or_id);
    tcase_add_test(tc, hits_have_a_fraction_where_there_is_a_whole);
    tcase_add_test(tc, all_pairs_come_as_lists_counts_and_lines);
    tcase_add_test(tc, pairs_by_id_are_a_typed_array_if_32_bits_hold_them);
    tcase_add_test(tc, in_the_plane_answers_have_vectors_of_two_numbers);
    tcase_add_test(tc, a_failing_heap_marks_the_buffer_and_harms_nothing);
    tcase_add_test(tc, ten_thousand_pairs_are_written_alike_each_time);
    tcase_add_test(tc, a_tag_stands_beside_the_revision);
    tcase_add_test(tc, explanations_say_what_belongs_to_their_verdict);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
