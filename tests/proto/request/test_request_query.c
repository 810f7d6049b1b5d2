#include "tests/proto/request/requests.h"

START_TEST(kinds_have_names)
{
    static const char *const names[OBB_QUERY_KINDS] = {"pairs", "all-pairs", "overlap", "point",
                                                       "ray",   "sweep",     "nearest"};
    obb_query_kind kind;
    for (int i = 0; i < OBB_QUERY_KINDS; i++) {
        ck_assert(wire_query_kind(obb_str_of(names[i]), &kind));
        ck_assert_int_eq((int)kind, i);
    }
    ck_assert(!wire_query_kind(obb_str_of("guess"), &kind));
    ck_assert(!wire_query_kind(obb_str_of("pair"), &kind));
    ck_assert(!wire_query_kind(obb_str_of(""), &kind));
}
END_TEST

START_TEST(options_are_read)
{
    obb_query q =
        query_of(OBB_QUERY_POINT,
                 "{\"points\":[],\"filter\":{\"category\":3,\"mask\":4294967295,\"exclude\":"
                 "[\"a\",\"b\"],\"exclude_entities\":[\"e\"],\"prefix\":\"p-\"}}",
                 3);
    ck_assert(q.filter.has_category && q.filter.category == 3 && q.filter.has_mask);
    ck_assert(q.filter.mask == UINT32_MAX && q.filter.exclude_count == 2);
    ck_assert(q.filter.exclude_entity_count == 1 &&
              obb_str_equal(q.filter.prefix, obb_str_of("p-")));
    q = query_of(OBB_QUERY_POINT,
                 "{\"points\":[],\"filter\":{\"exclude\":[5,\"b\",6]},\"by\":\"id\"}", 3);
    ck_assert(q.filter.exclude_count == 1 && q.filter.exclude_id_count == 2);
    ck_assert(q.filter.exclude_ids[1] == 6 && !q.filter.has_category && !q.filter.has_mask);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[],\"at\":{\"revision\":7,\"clamp\":true}}", 3);
    ck_assert(q.has_at && q.at.kind == OBB_AT_REVISION && q.at.revision == 7 && q.at.clamp);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[],\"at\":{\"interpolate\":false,\"time\":-7.5}}",
                 3);
    ck_assert(q.at.kind == OBB_AT_TIME && q.at.time == -7.5 && q.at.no_interpolation &&
              !q.at.clamp);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[],\"at\":{\"ago\":0,\"interpolate\":true}}", 3);
    ck_assert(q.at.kind == OBB_AT_AGO && q.at.time == 0 && !q.at.no_interpolation);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[],\"limit\":3,\"by\":\"name\",\"want\":[]}", 3);
    ck_assert(q.limit == 3 && !q.by_id && q.want == 0 && !q.has_at);
}
END_TEST

#define TAG_16 "0123456789abcdef"
#define TAG_64 TAG_16 TAG_16 TAG_16 TAG_16

START_TEST(points_may_be_one_flat_array)
{
    static const int kinds[] = {DUMP_QUERY + OBB_QUERY_POINT, DUMP_QUERY + OBB_QUERY_NEAREST};
    for (size_t i = 0; i < 2; i++) {
        check_same(kinds[i], 3, "{\"points\":[1,2,3,-4.5,5,1e9]}",
                   "{\"points\":[[1,2,3],[-4.5,5,1e9]]}");
        check_same(kinds[i], 2, "{\"points\":[1,2,3,-4.5]}", "{\"points\":[[1,2],[3,-4.5]]}");
        check_taken(kinds[i], 3, "{\"points\":[]}");
        static const struct refusal refusals[] = {
            {"{\"points\":[1,2]}", 422, "/points"},
            {"{\"points\":[1,2,3,4]}", 422, "/points"},
            {"{\"points\":[1,2,3,4,5,1.1e9]}", 422, "/points/5"},
            {"{\"points\":[1,2,3,4,\"5\",6]}", 422, "/points/4"},
            {"{\"points\":[1,2,3,[4,5,6]]}", 422, "/points/3"},
            {"{\"points\":[[1,2,3],4,5,6]}", 422, "/points/1"},
            {"{\"points\":[null]}", 422, "/points/0"},
            {"{\"points\":1}", 422, "/points"},
            {"{\"points\":[1,2,3}", 400, NULL},
        };
        CHECK_REFUSALS(kinds[i], 3, refusals);
    }
}
END_TEST

START_TEST(answers_in_columns_have_their_own_rules)
{
    static const char rays[] = "{\"rays\":[],\"columns\":true,\"limit\":0,\"mode\":\"any\"}";
    obb_query q = query_of(OBB_QUERY_RAY, rays, 3);
    ck_assert(q.columns && q.by_id && !q.narrow && q.limit == 10000 && q.mode == OBB_ANY);
    q = query_of(OBB_QUERY_SWEEP,
                 "{\"float\":32,\"by\":\"id\",\"sweeps\":[{\"box\":7,\"motion\":[1,2,3]}],"
                 "\"columns\":true}",
                 3);
    ck_assert(q.columns && q.narrow && q.items.sweeps[0].ref.id == 7);
    q = query_of(OBB_QUERY_NEAREST,
                 "{\"points\":[],\"columns\":true,\"float\":64,\"k\":1,"
                 "\"filter\":{\"exclude\":[3]}}",
                 3);
    ck_assert(q.columns && !q.narrow && q.filter.exclude_id_count == 1);
    q = query_of(OBB_QUERY_RAY, "{\"rays\":[],\"columns\":false,\"want\":[\"pose\"]}", 3);
    ck_assert(!q.columns && !q.by_id);
    static const struct refusal of_rays[] = {
        {"{\"rays\":[],\"columns\":1}", 422, "/columns"},
        {"{\"rays\":[],\"columns\":true,\"by\":\"name\"}", 422, "/by"},
        {"{\"rays\":[],\"by\":\"name\",\"columns\":true}", 422, "/by"},
        {"{\"rays\":[],\"columns\":true,\"want\":[\"data\"]}", 422, "/want"},
        {"{\"rays\":[],\"columns\":true,\"explain\":[\"a\"]}", 422, "/explain"},
        {"{\"rays\":[],\"columns\":true,\"mode\":\"all\"}", 422, "/mode"},
        {"{\"rays\":[],\"columns\":true,\"mode\":\"closest_per_entity\"}", 422, "/mode"},
        {"{\"rays\":[],\"columns\":true,\"float\":16}", 422, "/float"},
        {"{\"rays\":[],\"columns\":true,\"float\":\"32\"}", 422, "/float"},
        {"{\"rays\":[],\"columns\":true,\"float\":true}", 422, "/float"},
        {"{\"rays\":[],\"float\":32}", 422, "/float"},
        {"{\"rays\":[],\"float\":64,\"columns\":false}", 422, "/float"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_RAY, 3, of_rays);
    static const struct refusal of_nearest[] = {
        {"{\"points\":[],\"columns\":true,\"k\":2}", 422, "/k"},
        {"{\"boxes\":[1],\"k\":2,\"columns\":true,\"by\":\"id\"}", 422, "/k"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_NEAREST, 3, of_nearest);
    static const struct refusal of_sweeps[] = {
        {"{\"sweeps\":[],\"columns\":true,\"mode\":\"all\"}", 422, "/mode"},
        {"{\"sweeps\":[],\"mode\":\"closest_per_entity\",\"columns\":true}", 422, "/mode"},
        {"{\"sweeps\":[],\"columns\":true,\"by\":\"name\"}", 422, "/by"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_SWEEP, 3, of_sweeps);
}
END_TEST

START_TEST(three_kinds_may_be_answered_in_columns)
{
    static const struct {
        obb_query_kind kind;
        bool may;
        const char *items;
    } rows[] = {
        {OBB_QUERY_PAIRS, false, "\"pairs\":[]"},
        {OBB_QUERY_ALL_PAIRS, false, "\"count_only\":false"},
        {OBB_QUERY_OVERLAP, false, "\"shapes\":[]"},
        {OBB_QUERY_POINT, false, "\"points\":[]"},
        {OBB_QUERY_RAY, true, "\"rays\":[]"},
        {OBB_QUERY_RAY, true, "\"rays\":[],\"mode\":\"closest\""},
        {OBB_QUERY_RAY, true, "\"rays\":[],\"mode\":\"any\""},
        {OBB_QUERY_SWEEP, true, "\"sweeps\":[]"},
        {OBB_QUERY_SWEEP, true, "\"sweeps\":[],\"mode\":\"closest\""},
        {OBB_QUERY_SWEEP, true, "\"sweeps\":[],\"mode\":\"any\""},
        {OBB_QUERY_NEAREST, true, "\"points\":[]"},
        {OBB_QUERY_NEAREST, true, "\"boxes\":[]"},
    };
    unsigned kinds = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char columns[128], narrow[128];
        (void)snprintf(columns, sizeof columns, "{%s,\"columns\":true}", rows[i].items);
        (void)snprintf(narrow, sizeof narrow, "{%s,\"float\":32}", rows[i].items);
        kinds |= 1u << rows[i].kind;
        if (rows[i].may) {
            const obb_query q = query_of(rows[i].kind, columns, 3);
            ck_assert(q.columns && q.by_id);
        } else {
            const struct refusal refusals[] = {{columns, 422, "/columns"}, {narrow, 422, "/float"}};
            CHECK_REFUSALS(DUMP_QUERY + (int)rows[i].kind, 3, refusals);
        }
    }
    ck_assert_uint_eq(kinds, (1u << OBB_QUERY_KINDS) - 1); /* each kind has a row */
}
END_TEST

START_TEST(a_tag_is_any_text_of_64_bytes)
{
    obb_query q = query_of(OBB_QUERY_POINT, "{\"points\":[],\"tag\":\"" TAG_64 "\"}", 3);
    ck_assert(q.has_tag && obb_str_equal(q.tag, obb_str_of(TAG_64)));
    q = query_of(OBB_QUERY_ALL_PAIRS, "{\"tag\":\"\"}", 3);
    ck_assert(q.has_tag && q.tag.length == 0);
    q = query_of(OBB_QUERY_ALL_PAIRS, "{\"tag\":\"\\u0000\\n\xc3\xa9\"}", 2);
    ck_assert(q.has_tag && q.tag.length == 4 && memcmp(q.tag.bytes, "\0\n\xc3\xa9", 4) == 0);
    q = query_of(OBB_QUERY_ALL_PAIRS, "{}", 3);
    ck_assert(!q.has_tag);
    static const struct refusal wrong[] = {
        {"{\"tag\":\"" TAG_64 "0\"}", 422, "/tag"},
        {"{\"tag\":7}", 422, "/tag"},
        {"{\"tag\":null}", 422, "/tag"},
        {"{\"tag\":[\"a\"]}", 422, "/tag"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_ALL_PAIRS, 3, wrong);
}
END_TEST

START_TEST(boxes_to_explain_are_up_to_16_names)
{
#define FOUR "\"a\",\"b\",\"c\",\"a\","
    obb_query q =
        query_of(OBB_QUERY_RAY,
                 "{\"rays\":[],\"explain\":[" FOUR FOUR FOUR "\"x\",\"y\",\"z\",\"last\"]}", 3);
    ck_assert(q.has_explain && q.explain_count == 16 && q.explain[15].kind == OBB_REF_NAME);
    ck_assert(obb_str_equal(q.explain[15].name, obb_str_of("last")));
    q = query_of(OBB_QUERY_NEAREST, "{\"explain\":[7,\"b\"],\"points\":[],\"by\":\"id\"}", 2);
    ck_assert(q.explain_count == 2 && q.explain[0].kind == OBB_REF_ID && q.explain[0].id == 7);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[],\"explain\":[]}", 3);
    ck_assert(q.has_explain && q.explain_count == 0);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[]}", 3);
    ck_assert(!q.has_explain);
    static const struct refusal wrong[] = {
        {"{\"points\":[],\"explain\":[" FOUR FOUR FOUR FOUR "\"e\"]}", 422, "/explain"},
        {"{\"points\":[],\"explain\":[7]}", 422, "/explain/0"},
        {"{\"points\":[],\"explain\":[\"a\",\"\"]}", 422, "/explain/1"},
        {"{\"points\":[],\"explain\":[null]}", 422, "/explain/0"},
        {"{\"points\":[],\"explain\":\"a\"}", 422, "/explain"},
        {"{\"points\":[],\"explain\":[0],\"by\":\"id\"}", 422, "/explain/0"},
        {"{\"points\":[],\"explain\":[{\"center\":[0,0,0],\"half_extents\":[1,1,1]}]}", 422,
         "/explain/0"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_POINT, 3, wrong);
    static const struct refusal pairs[] = {{"{\"pairs\":[],\"explain\":[]}", 422, "/explain"}};
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_PAIRS, 3, pairs);
    static const struct refusal all[] = {{"{\"explain\":[\"a\"]}", 422, "/explain"}};
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_ALL_PAIRS, 3, all);
}
END_TEST

START_TEST(a_problem_has_the_tag_wherever_it_stands)
{
    static const struct {
        const char *text, *tag; /* NULL: none */
    } cases[] = {
        {"{\"tag\":\"t\",\"points\":[[1]]}", "t"},
        {"{\"points\":[[1]],\"tag\":\"t\"}", "t"},
        {"{\"points\":[[1]],\"odd\":{\"tag\":\"x\"},\"tag\":\"\"}", ""},
        {"{\"points\":[[1]]}", NULL},
        {"{\"points\":[],\"tag\":\"" TAG_64 "0\"}", NULL},
        {"{\"points\":[[1]],\"tag\":8}", NULL},
        {"{\"tag\":\"t\",\"points\":[[1]]", NULL}, /* not JSON: nothing in it counts */
        {"[\"tag\",\"t\"]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        obb_query query;
        wire_problem problem;
        const wire_body body = json(cases[i].text);
        ck_assert(!wire_read_query(&body, OBB_QUERY_POINT, 3, &arena, &query, &problem));
        ck_assert_msg(problem.has_tag == (cases[i].tag != NULL), "%s", cases[i].text);
        if (cases[i].tag != NULL)
            ck_assert(obb_str_equal(problem.tag, obb_str_of(cases[i].tag)));
    }
    printf("%zu problems\n", sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(queries_that_are_wrong_are_refused)
{
    static const struct refusal pairs[] = {
        {"", 422, ""},
        {"{\"pairs\":[[\"a\"]]}", 422, "/pairs/0"},
        {"{\"pairs\":[[\"a\",\"b\",\"c\"]]}", 422, "/pairs/0"},
        {"{\"pairs\":[[\"a\",\"b\"],\"c\"]}", 422, "/pairs/1"},
        {"{\"pairs\":[\"a\",\"b\"]}", 422, "/pairs/0"},
        {"{\"pairs\":[1,2]}", 422, "/pairs/0"},
        {"{\"pairs\":[[\"a\",2]]}", 422, "/pairs/0/1"},
        {"{\"pairs\":[1,2,3],\"by\":\"id\"}", 422, "/pairs"},
        {"{\"pairs\":[1,0],\"by\":\"id\"}", 422, "/pairs/1"},
        {"{\"pairs\":[1,1.5],\"by\":\"id\"}", 422, "/pairs/1"},
        {"{\"pairs\":[1,[2,3]],\"by\":\"id\"}", 422, "/pairs/1"},
        {"{\"pairs\":[[\"a\",true]]}", 422, "/pairs/0/1"},
        {"{\"pairs\":[[\"a\",{\"center\":[0,0,0]}]]}", 422, "/pairs/0/1"},
        {"{\"pairs\":[[\"a\",{\"center\":[0,0,0],\"half_extents\":[1,1,-1]}]]}", 422,
         "/pairs/0/1/half_extents/2"},
        {"{\"pairs\":{}}", 422, "/pairs"},
        {"{\"pairs\":[],\"points\":[]}", 422, "/points"},
        {"{\"pairs\":[],\"mode\":\"any\"}", 422, "/mode"},
        {"{\"pairs\":[],\"k\":1}", 422, "/k"},
        {"{\"pairs\":[],\"count_only\":true}", 422, "/count_only"},
        {"{\"pairs\":[],\"kind\":\"point\"}", 422, "/kind"},
        {"{\"pairs\":[],\"by\":\"ids\"}", 422, "/by"},
        {"{\"pairs\":[],\"margin\":2e9}", 422, "/margin"},
        {"{\"pairs\":[],\"want\":\"mtv\"}", 422, "/want"},
        {"{\"pairs\":[],\"want\":[\"mtv\",\"everything\"]}", 422, "/want/1"},
        {"{\"pairs\":[[\"a\",\"b\"]],\"pairs\":[]}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_PAIRS, 3, pairs);
    static const struct refusal all_pairs[] = {
        {"[]", 422, ""},
        {"{\"limit\":-1}", 422, "/limit"},
        {"{\"limit\":1.5}", 422, "/limit"},
        {"{\"limit\":\"1\"}", 422, "/limit"},
        {"{\"limit\":null}", 422, "/limit"},
        {"{\"count_only\":1}", 422, "/count_only"},
        {"{\"pairs\":[]}", 422, "/pairs"},
        {"{\"inside\":\"hit\"}", 422, "/inside"},
        {"{\"filter\":[]}", 422, "/filter"},
        {"{\"filter\":{\"categories\":1}}", 422, "/filter/categories"},
        {"{\"filter\":{\"category\":-1}}", 422, "/filter/category"},
        {"{\"filter\":{\"mask\":4294967296}}", 422, "/filter/mask"},
        {"{\"filter\":{\"exclude\":\"a\"}}", 422, "/filter/exclude"},
        {"{\"filter\":{\"exclude\":[7]}}", 422, "/filter/exclude/0"},
        {"{\"filter\":{\"exclude\":[0]},\"by\":\"id\"}", 422, "/filter/exclude/0"},
        {"{\"filter\":{\"exclude\":[{" POSE "}]}}", 422, "/filter/exclude/0"},
        {"{\"filter\":{\"exclude_entities\":[1]}}", 422, "/filter/exclude_entities/0"},
        {"{\"filter\":{\"prefix\":1}}", 422, "/filter/prefix"},
        {"{\"at\":{}}", 422, "/at"},
        {"{\"at\":null}", 422, "/at"},
        {"{\"at\":7}", 422, "/at"},
        {"{\"at\":{\"clamp\":true}}", 422, "/at"},
        {"{\"at\":{\"ago\":-1}}", 422, "/at/ago"},
        {"{\"at\":{\"revision\":-1}}", 422, "/at/revision"},
        {"{\"at\":{\"revision\":1.5}}", 422, "/at/revision"},
        {"{\"at\":{\"time\":\"1\"}}", 422, "/at/time"},
        {"{\"at\":{\"time\":1e17}}", 422, "/at/time"},
        {"{\"at\":{\"time\":1,\"ago\":1}}", 422, "/at/ago"},
        {"{\"at\":{\"time\":1,\"clamp\":1}}", 422, "/at/clamp"},
        {"{\"at\":{\"time\":1,\"interpolate\":0}}", 422, "/at/interpolate"},
        {"{\"at\":{\"when\":1}}", 422, "/at/when"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_ALL_PAIRS, 3, all_pairs);
    static const struct refusal overlap[] = {
        {"{}", 422, ""},
        {"{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":-1}}]}", 422,
         "/shapes/0/sphere/radius"},
        {"{\"shapes\":[{\"sphere\":{\"center\":[0,0,0]}}]}", 422, "/shapes/0/sphere"},
        {"{\"shapes\":[{\"sphere\":{\"center\":[0,0],\"radius\":1}}]}", 422,
         "/shapes/0/sphere/center"},
        {"{\"shapes\":[{\"sphere\":[]}]}", 422, "/shapes/0/sphere"},
        {"{\"shapes\":[{\"capsule\":{\"a\":[0,0,0],\"radius\":1}}]}", 422, "/shapes/0/capsule"},
        {"{\"shapes\":[{\"capsule\":{\"a\":[0,0,0],\"b\":[0,0,1],\"radius\":-1}}]}", 422,
         "/shapes/0/capsule/radius"},
        {"{\"shapes\":[{\"capsule\":{\"a\":[0,0,0],\"b\":[0,0,2e9],\"radius\":1}}]}", 422,
         "/shapes/0/capsule/b/2"},
        {"{\"shapes\":[{\"frustum\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0]}]}", 422, "/shapes/0/frustum"},
        {"{\"shapes\":[{\"frustum\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}]}", 422,
         "/shapes/0/frustum"},
        {"{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":1},\"capsule\":{}}]}", 422,
         "/shapes/0/capsule"},
        {"{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":1},\"x\":{}}]}", 422,
         "/shapes/0/x"},
        {"{\"shapes\":[\"a\",7]}", 422, "/shapes/1"},
        {"{\"shapes\":[{" POSE ",\"sphere\":{}}]}", 422, "/shapes/0/sphere"},
        {"{\"shapes\":[{}]}", 422, "/shapes/0"},
        {"{\"shapes\":[null]}", 422, "/shapes/0"},
        {"{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":1},\"sphere\":1}]}", 400, NULL},
        {"{\"want\":[\"data\",\"mtv\"],\"shapes\":[\"a\",{\"sphere\":{\"center\":[0,0,0],"
         "\"radius\":1}}]}",
         422, "/want"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_OVERLAP, 3, overlap);
    static const struct refusal planar[] = {
        {"{\"shapes\":[{\"frustum\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}]}", 422,
         "/shapes/0/frustum"},
        {"{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":1}}]}", 422,
         "/shapes/0/sphere/center"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_OVERLAP, 2, planar);
    static const struct refusal ray[] = {
        {"{\"rays\":[{\"origin\":[0,0,0]}]}", 422, "/rays/0"},
        {"{\"rays\":[{\"direction\":[0,0,1]}]}", 422, "/rays/0"},
        {"{\"rays\":[{\"from\":[0,0,0]}]}", 422, "/rays/0"},
        {"{\"rays\":[{}]}", 422, "/rays/0"},
        {"{\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,0]}]}", 422, "/rays/0/direction"},
        {"{\"rays\":[{\"from\":[1,1,1],\"to\":[1,1,1]}]}", 422, "/rays/0/to"},
        {"{\"rays\":[{\"from\":[1,1,1],\"to\":[1,1,2],\"max_distance\":1}]}", 422,
         "/rays/0/max_distance"},
        {"{\"rays\":[{\"origin\":[1,1,1],\"to\":[1,1,2]}]}", 422, "/rays/0/to"},
        {"{\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,1],\"max_distance\":-1}]}", 422,
         "/rays/0/max_distance"},
        {"{\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,1]}]}", 422, "/rays/0/direction"},
        {"{\"rays\":[],\"mode\":\"some\"}", 422, "/mode"},
        {"{\"rays\":[],\"inside\":\"out\"}", 422, "/inside"},
        {"{\"rays\":[],\"margin\":1}", 422, "/margin"},
        {"{\"rays\":[],\"want\":[\"mtv\"]}", 422, "/want/0"},
        {"{\"rays\":[],\"k\":1}", 422, "/k"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_RAY, 3, ray);
    static const struct refusal sweep[] = {
        {"{\"sweeps\":[{\"box\":\"a\"}]}", 422, "/sweeps/0"},
        {"{\"sweeps\":[{\"motion\":[0,0,1]}]}", 422, "/sweeps/0"},
        {"{\"sweeps\":[{\"box\":7,\"motion\":[0,0,1]}]}", 422, "/sweeps/0/box"},
        {"{\"sweeps\":[{\"box\":\"a\",\"motion\":[0,0]}]}", 422, "/sweeps/0/motion"},
        {"{\"sweeps\":[],\"inside\":\"hit\"}", 422, "/inside"},
        {"{\"sweeps\":[],\"want\":[\"distance\"]}", 422, "/want/0"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_SWEEP, 3, sweep);
    static const struct refusal nearest[] = {
        {"{}", 422, ""},
        {"{\"points\":[],\"boxes\":[]}", 422, "/boxes"},
        {"{\"boxes\":[],\"points\":[]}", 422, "/points"},
        {"{\"points\":[[0,0,0]],\"k\":-1}", 422, "/k"},
        {"{\"points\":[[0,0,0]],\"k\":1.5}", 422, "/k"},
        {"{\"points\":[[0,0,0]],\"max_distance\":-1}", 422, "/max_distance"},
        {"{\"boxes\":[5]}", 422, "/boxes/0"},
        {"{\"points\":[[0,0,0]],\"mode\":\"all\"}", 422, "/mode"},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_NEAREST, 3, nearest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_query");
    TCase *tc = tcase_create("request_query");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, kinds_have_names);
    tcase_add_test(tc, options_are_read);
    tcase_add_test(tc, points_may_be_one_flat_array);
    tcase_add_test(tc, answers_in_columns_have_their_own_rules);
    tcase_add_test(tc, three_kinds_may_be_answered_in_columns);
    tcase_add_test(tc, a_tag_is_any_text_of_64_bytes);
    tcase_add_test(tc, boxes_to_explain_are_up_to_16_names);
    tcase_add_test(tc, a_problem_has_the_tag_wherever_it_stands);
    tcase_add_test(tc, queries_that_are_wrong_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
