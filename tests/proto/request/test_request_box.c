#include "proto/codec/cursor.h"
#include "tests/proto/request/requests.h"

static obb_put put_of(const char *text, int dimensions, bool patch)
{
    obb_put put;
    wire_problem problem;
    const wire_body body = json(text);
    ck_assert_msg(wire_read_box(&body, dimensions, patch, obb_str_of("a"), &arena, &put, &problem),
                  "%s: %d %s %s", text, problem.status, problem.detail, problem.pointer);
    return put;
}

START_TEST(a_pose_is_read_to_the_bit)
{
    const obb_put put =
        put_of("{\"center\":[0.1,-0.0,1e-300],\"half_extents\":[1e9,0,0.30000000000000004],"
               "\"rotation\":[0.5,0.5,0.5,0.5]}",
               3, false);
    ck_assert(put.box.center.x == 0.1 && put.box.center.z == 1e-300);
    ck_assert(put.box.center.y == 0.0 && signbit(put.box.center.y));
    ck_assert(put.box.half_extents.x == 1e9 && put.box.half_extents.z == 0.1 + 0.2);
    ck_assert(put.box.rotation.x == 0.5 && put.box.rotation.w == 0.5);
    ck_assert(put.parts == OBB_PUT_ALL && obb_str_equal(put.target.name, obb_str_of("a")));
    ck_assert(put.attributes.category == 1 && put.attributes.mask == UINT32_MAX);
    ck_assert(put.attributes.group == 0 && put.attributes.entity.length == 0 &&
              put.attributes.data.length == 0);
    const obb_put planar =
        put_of("{\"center\":[1,2],\"half_extents\":[3,4],\"angle\":30}", 2, false);
    ck_assert(planar.box.center.x == 1 && planar.box.center.y == 2 && planar.box.center.z == 0);
    ck_assert(planar.box.half_extents.y == 4 && planar.box.half_extents.z == 0);
    ck_assert(planar.box.angle == 30 && planar.box.rotation.w == 1);
}
END_TEST

START_TEST(every_form_makes_the_box_that_core_makes)
{
    obb_box expected;
    obb_put put = put_of("{\"min\":[-1,-2,-3],\"max\":[3,2,1],\"position\":[10,0,0],"
                         "\"axis_angle\":{\"axis\":[0,0,2],\"degrees\":90}}",
                         3, false);
    obb_quat q;
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){0, 0, 2}, 90, &q), OBB_OK);
    ck_assert_int_eq(obb_box_from_min_max((obb_vec3){-1, -2, -3}, (obb_vec3){3, 2, 1},
                                          (obb_vec3){10, 0, 0}, q, 0, 3, &expected),
                     OBB_OK);
    ck_assert_mem_eq(&put.box, &expected, sizeof expected);

    put =
        put_of("{\"matrix\":[2,0,0,0,0,3,0,0,0,0,4,0,5,6,7,1],\"half_extents\":[1,1,2]}", 3, false);
    ck_assert(put.box.center.x == 5 && put.box.center.y == 6 && put.box.center.z == 7);
    ck_assert(put.box.half_extents.x == 2 && put.box.half_extents.y == 3 &&
              put.box.half_extents.z == 8);

    put = put_of("{\"points\":[[0,0,0],[4,0,0],[0,2,0],[0,0,6]],\"fit\":\"aabb\"}", 3, false);
    ck_assert(put.box.center.x == 2 && put.box.half_extents.y == 1 && put.box.half_extents.z == 3);

    put = put_of("{\"corners\":[[0,0,0],[2,0,0],[0,4,0],[2,4,0],[0,0,6],[2,0,6],[0,4,6],[2,4,6]]}",
                 3, false);
    ck_assert(fabs(put.box.center.z - 3) < 1e-12);

    /* axes: three, or two and their cross product */
    check_same(DUMP_BOX, 3,
               "{\"center\":[0,0,0],\"half_extents\":[1,2,3],\"axes\":[[0,1,0],[0,0,1],[1,0,0]]}",
               "{\"center\":[0,0,0],\"half_extents\":[1,2,3],\"axes\":[[0,1,0],[0,0,1]]}");
    /* left-handed axes and mirrors are the box's own mirror image: the third axis turns round */
    check_same(DUMP_BOX, 3,
               "{\"center\":[0,0,0],\"half_extents\":[1,2,3],\"axes\":[[0,1,0],[0,0,1],[-1,0,0]]}",
               "{\"center\":[0,0,0],\"half_extents\":[1,2,3],\"axes\":[[0,1,0],[0,0,1],[1,0,0]]}");
    check_same(DUMP_BOX, 3, "{\"matrix\":[0,2,0,0,0,0,3,0,-4,0,0,0,5,6,7,1]}",
               "{\"matrix\":[0,2,0,0,0,0,3,0,4,0,0,0,5,6,7,1]}");
    /* fields in any order */
    check_same(DUMP_BOX, 3,
               "{\"rotation\":[0,0,0,1],\"data\":[1],\"half_extents\":[1,2,3],\"center\":[0,0,0]}",
               "{\"center\":[0,0,0],\"half_extents\":[1,2,3],\"rotation\":[0,0,0,1],\"data\":[1]}");
    check_same(DUMP_BOX, 3, "{\"fit\":\"aabb\",\"points\":[[0,0,0]]}",
               "{\"points\":[[0,0,0]],\"fit\":\"aabb\"}");
    check_same(DUMP_BOX, 3,
               "{\"half_extents\":[1,1,1],\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}",
               "{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}");
    check_taken(DUMP_BOX, 2, "{\"min\":[0,0],\"max\":[1,2],\"position\":[5,5],\"angle\":-45}");
    check_taken(DUMP_BOX, 2, "{\"points\":[[0,0],[1,2]]}");
    check_taken(DUMP_BOX, 2, "{\"corners\":[[0,0],[2,0],[0,4],[2,4]]}");
}
END_TEST

START_TEST(attributes_are_read_in_every_form)
{
    const obb_put put = put_of(
        "{\"min\":[0,0,0],\"max\":[1,1,1],\"category\":4294967295,\"mask\":0,\"group\":-2147483648,"
        "\"entity\":\"player \\u00e9\",\"data\": { \"hp\" : 10.50 , \"tags\":[\"\\u0000\"] } }",
        3, false);
    ck_assert(put.attributes.category == UINT32_MAX && put.attributes.mask == 0);
    ck_assert(put.attributes.group == INT32_MIN);
    ck_assert(obb_str_equal(put.attributes.entity, obb_str_of("player \xc3\xa9")));
    ck_assert(
        obb_str_equal(put.attributes.data, obb_str_of("{\"hp\":10.50,\"tags\":[\"\\u0000\"]}")));
    const obb_put none = put_of(
        "{\"points\":[[0,0,0]],\"data\":null,\"entity\":null,\"category\":0,\"group\":2147483647}",
        3, false);
    ck_assert(none.attributes.data.length == 0 && none.attributes.entity.length == 0);
    ck_assert(none.attributes.category == 0 && none.attributes.group == INT32_MAX);
}
END_TEST

START_TEST(a_patch_states_its_parts)
{
    static const struct {
        const char *text;
        unsigned parts;
    } cases[] = {
        {"{}", 0},
        {"{\"center\":[1,2,3]}", OBB_PUT_CENTER},
        {"{\"half_extents\":[1,2,3]}", OBB_PUT_HALF_EXTENTS},
        {"{\"rotation\":[0,0,0,2]}", OBB_PUT_ROTATION},
        {"{\"axes\":[[1,0,0],[0,1,0]],\"center\":[0,0,0]}", OBB_PUT_ROTATION | OBB_PUT_CENTER},
        {"{\"category\":2}", OBB_PUT_CATEGORY},
        {"{\"mask\":2,\"group\":1}", OBB_PUT_MASK | OBB_PUT_GROUP},
        {"{\"entity\":null}", OBB_PUT_ENTITY},
        {"{\"ttl\":null}", OBB_PUT_TTL},
        {"{\"ttl\":0,\"group\":1}", OBB_PUT_TTL | OBB_PUT_GROUP},
        {"{\"data\":null}", OBB_PUT_DATA},
        {"{\"data\":1,\"entity\":\"e\"}", OBB_PUT_DATA | OBB_PUT_ENTITY},
        {"{\"min\":[0,0,0],\"max\":[1,1,1],\"mask\":3}",
         OBB_PUT_CENTER | OBB_PUT_HALF_EXTENTS | OBB_PUT_ROTATION | OBB_PUT_MASK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(put_of(cases[i].text, 3, true).parts == cases[i].parts, "%s", cases[i].text);
    ck_assert(put_of("{\"rotation\":[0,0,0,2]}", 3, true).box.rotation.w == 1);
    ck_assert(!put_of("{\"ttl\":null}", 3, true).attributes.has_ttl);
    ck_assert(put_of("{\"ttl\":0.5}", 3, true).attributes.has_ttl);
    ck_assert_double_eq(put_of("{\"ttl\":0.5}", 3, true).attributes.ttl, 0.5);
    ck_assert(put_of("{\"angle\":5}", 2, true).parts == OBB_PUT_ROTATION);
    static const struct refusal refusals[] = {
        {"{\"center\":[1,2]}", 422, "/center"},
        {"{\"half_extents\":[1,2,-3]}", 422, "/half_extents/2"},
        {"{\"min\":[0,0,0]}", 422, ""},
        {"{\"centre\":[1,2,3]}", 422, "/centre"},
        {"{\"rotation\":[0,0,0,0]}", 422, "/rotation"},
        {"[]", 422, ""},
    };
    CHECK_REFUSALS(DUMP_PATCH, 3, refusals);
}
END_TEST

START_TEST(boxes_that_are_wrong_are_refused)
{
    static const struct refusal refusals[] = {
        {"", 422, ""}, /* no body is {} */
        {"{}", 422, ""},
        {"{\"center\":[0,0,0]}", 422, ""},
        {"{\"half_extents\":[1,1,1]}", 422, ""},
        {"{\"data\":1}", 422, ""},
        {"[{" POSE "}]", 422, ""},
        {"{\"centre\":[0,0,0],\"half_extents\":[1,1,1]}", 422, "/centre"},
        {"{" POSE ",\"a/b~\":1}", 422, "/a~1b~0"},
        {"{\"center\":[0,0],\"half_extents\":[1,1,1]}", 422, "/center"},
        {"{\"center\":[0,0,0,0],\"half_extents\":[1,1,1]}", 422, "/center"},
        {"{\"center\":[],\"half_extents\":[1,1,1]}", 422, "/center"},
        {"{\"center\":{\"x\":0},\"half_extents\":[1,1,1]}", 422, "/center"},
        {"{\"center\":\"0,0,0\",\"half_extents\":[1,1,1]}", 422, "/center"},
        {"{\"center\":null,\"half_extents\":[1,1,1]}", 422, "/center"},
        {"{\"center\":[0,null,0],\"half_extents\":[1,1,1]}", 422, "/center/1"},
        {"{\"center\":[0,0,\"0\"],\"half_extents\":[1,1,1]}", 422, "/center/2"},
        {"{\"center\":[0,0,[0]],\"half_extents\":[1,1,1]}", 422, "/center/2"},
        {"{\"center\":[0,1e309,0],\"half_extents\":[1,1,1]}", 422, "/center/1"},
        {"{\"center\":[0,2e9,0],\"half_extents\":[1,1,1]}", 422, "/center/1"},
        {"{\"center\":[0,0,-1000000000.0000001],\"half_extents\":[1,1,1]}", 422, "/center/2"},
        {"{\"center\":[0,0,0],\"half_extents\":[-1,1,1]}", 422, "/half_extents/0"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,1.1e9]}", 422, "/half_extents/2"},
        {"{" POSE ",\"rotation\":[0,0,0,0]}", 422, "/rotation"},
        {"{" POSE ",\"rotation\":[0,0,1e-7,0]}", 422, "/rotation"},
        {"{" POSE ",\"rotation\":[0,0,1]}", 422, "/rotation"},
        {"{" POSE ",\"rotation\":[0,0,true,1]}", 422, "/rotation/2"},
        {"{" POSE ",\"axes\":[[1,0,0],[0.1,1,0],[0,0,1]]}", 422, "/axes"},
        {"{" POSE ",\"axes\":[[1,0,0]]}", 422, "/axes"},
        {"{" POSE ",\"axes\":[[1,0,0],[0,1,0],[0,0,1],[0,0,1]]}", 422, "/axes"},
        {"{" POSE ",\"axes\":[[1,0,0],[0,1]]}", 422, "/axes/1"},
        {"{" POSE ",\"axes\":[[1,0,0],[1,0,0]]}", 422, "/axes"},
        {"{" POSE ",\"axis_angle\":{\"axis\":[0,0,0],\"degrees\":1}}", 422, "/axis_angle/axis"},
        {"{" POSE ",\"axis_angle\":{\"axis\":[0,0,1]}}", 422, "/axis_angle"},
        {"{" POSE ",\"axis_angle\":{\"degrees\":1}}", 422, "/axis_angle"},
        {"{" POSE ",\"axis_angle\":{\"axis\":[0,0,1],\"radians\":1}}", 422, "/axis_angle/radians"},
        {"{" POSE ",\"axis_angle\":{\"axis\":[0,0,1],\"degrees\":\"1\"}}", 422,
         "/axis_angle/degrees"},
        {"{" POSE ",\"angle\":1}", 422, "/angle"},
        {"{" POSE ",\"rotation\":[0,0,0,1],\"axes\":[[1,0,0],[0,1,0]]}", 422, "/axes"},
        {"{\"min\":[0,0,0],\"max\":[1,-1,1]}", 422, "/max"},
        {"{\"min\":[0,0,0]}", 422, ""},
        {"{\"max\":[0,0,0],\"position\":[0,0,0]}", 422, ""},
        {"{\"min\":[0,0,0],\"max\":[1,1,1],\"rotation\":[0,0,0,0]}", 422, "/rotation"},
        {"{\"min\":[0,0,0],\"max\":[1,1,1],\"center\":[0,0,0]}", 422, "/center"},
        {"{\"center\":[0,0,0],\"min\":[0,0,0],\"max\":[1,1,1]}", 422, "/min"},
        {"{\"min\":[0,0,0],\"max\":[1,1,1],\"half_extents\":[1,1,1]}", 422, "/half_extents"},
        {"{\"min\":[9e8,0,0],\"max\":[1e9,1,1],\"position\":[9e8,0,0]}", 422, "/position"},
        {"{\"matrix\":[1,0,0,0,0.5,1,0,0,0,0,1,0,0,0,0,1]}", 422, "/matrix"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,2]}", 422, "/matrix"},
        {"{\"matrix\":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}", 422, "/matrix"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],\"half_extents\":[1,-1,1]}", 422,
         "/half_extents/1"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0]}", 422, "/matrix"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,\"1\"]}", 422, "/matrix/15"},
        {"{\"matrix\":[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}", 422, "/matrix/0"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],\"rotation\":[0,0,0,1]}", 422, "/rotation"},
        {"{\"points\":[]}", 422, "/points"},
        {"{\"points\":[[0,0,0],[0,0]]}", 422, "/points/1"},
        {"{\"points\":[[0,0,0],[0,0,2e9]]}", 422, "/points/1/2"},
        {"{\"points\":[0,0,0]}", 422, "/points/0"},
        {"{\"points\":[[0,0,0]],\"fit\":\"loose\"}", 422, "/fit"},
        {"{\"points\":[[0,0,0]],\"fit\":1}", 422, "/fit"},
        {"{\"fit\":\"pca\"}", 422, ""},
        {"{" POSE ",\"fit\":\"pca\"}", 422, "/fit"},
        {"{\"points\":[[0,0,0]],\"corners\":[]}", 422, "/corners"},
        {"{\"corners\":[[0,0,0],[1,0,0],[0,1,0],[1,1,0],[0,0,1],[1,0,1],[0,1,1],[1,1,2]]}", 422,
         "/corners"},
        {"{\"corners\":[[0,0,0],[1,0,0],[0,1,0],[1,1,0],[0,0,1],[1,0,1],[0,1,1]]}", 422,
         "/corners"},
        {"{\"corners\":[[0,0,0],[1,0,0],[0,1,0],[1,1,0],[0,0,1],[1,0,1],[0,1,1],[1,1,1],[1,1,1]]}",
         422, "/corners"},
        {"{" POSE ",\"category\":4294967296}", 422, "/category"},
        {"{" POSE ",\"category\":-1}", 422, "/category"},
        {"{" POSE ",\"mask\":0.5}", 422, "/mask"},
        {"{" POSE ",\"mask\":[1]}", 422, "/mask"},
        {"{" POSE ",\"group\":2147483648}", 422, "/group"},
        {"{" POSE ",\"group\":1.5}", 422, "/group"},
        {"{" POSE ",\"ttl\":-1}", 422, "/ttl"},
        {"{" POSE ",\"ttl\":9007199254740994}", 422, "/ttl"},
        {"{" POSE ",\"ttl\":1e309}", 422, "/ttl"},
        {"{" POSE ",\"ttl\":\"5\"}", 422, "/ttl"},
        {"{" POSE ",\"since\":5}", 422, "/since"},
        {"{" POSE ",\"entity\":\"\"}", 422, "/entity"},
        {"{" POSE ",\"entity\":\"..\"}", 422, "/entity"},
        {"{" POSE ",\"entity\":\"a\\nb\"}", 422, "/entity"},
        {"{" POSE ",\"entity\":7}", 422, "/entity"},
        {"{" POSE ",\"name\":\"a\"}", 422, "/name"},
        {"{" POSE ",\"id\":1}", 422, "/id"},
        {"{" POSE ",\"data\":{\"a\":[1e309]}}", 422, "/data/a/0"},
    };
    CHECK_REFUSALS(DUMP_BOX, 3, refusals);
    static const struct refusal planar[] = {
        {"{" POSE "}", 422, "/center"},
        {"{" FLAT ",\"rotation\":[0,0,0,1]}", 422, "/rotation"},
        {"{" FLAT ",\"axes\":[[1,0],[0,1]]}", 422, "/axes"},
        {"{" FLAT ",\"axis_angle\":{\"axis\":[0,0,1],\"degrees\":1}}", 422, "/axis_angle"},
        {"{" FLAT ",\"angle\":\"1\"}", 422, "/angle"},
        {"{" FLAT ",\"angle\":[1]}", 422, "/angle"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}", 422, "/matrix"},
        {"{\"corners\":[[0,0],[1,0],[0,1]]}", 422, "/corners"},
        {"{\"corners\":[[0,0],[1,0],[0,1],[1,2]]}", 422, "/corners"},
        {"{\"points\":[[0,0,0]]}", 422, "/points/0"},
    };
    CHECK_REFUSALS(DUMP_BOX, 2, planar);
}
END_TEST

START_TEST(data_has_a_limit)
{
    for (int length = 1015; length <= 1030; length++) {
        char text[1200], *got;
        (void)snprintf(text, sizeof text, "{" POSE ",\"data\" :  \"%0*d\" }", length - 2, 7);
        const bool good = decode_all(DUMP_BOX, 3, text, &got);
        ck_assert_msg(good == (length <= OBB_MAX_DATA), "%d: %s", length, got);
        if (!good)
            ck_assert_str_eq(got, "422 /data");
        free(got);
    }
}
END_TEST

/* Wherever data stands it may have 64 levels. The rest of a body may have as many, too. */
START_TEST(data_has_levels_of_its_own)
{
    static const struct {
        int route;
        const char *before, *after, *wrong; /* `wrong` stands in place of `after` */
    } cases[] = {
        {DUMP_BOX, "{" POSE ",\"data\":", "}", ",\"group\":-1e10}"},
        {DUMP_PATCH, "{\"data\":", "}", ",\"group\":0.5}"},
        {DUMP_COMMIT, "{\"put\":{\"a\":{" POSE ",\"data\":", "}}}", "},\"b\":{}}}"},
        {DUMP_COMMIT, "{\"put\":{\"data\":{" POSE ",\"data\":", "}}}", "},\"b\":{}}}"},
        {DUMP_COMMIT,
         "{\"queries\":[{\"kind\":\"point\",\"points\":[],\"with\":{\"put\":{\"a\":{" POSE
         ",\"data\":",
         "}}}}]}", "},\"b\":{}}}}]}"},
        {DUMP_QUERY + OBB_QUERY_POINT,
         "{\"points\":[],\"with\":{\"put\":{\"a\":{" POSE ",\"data\":", "}}}}", "}}},\"k\":1}"},
        {DUMP_LOG_BOX, "{\"name\":\"a\"," POSE ",\"data\":", "}", ",\"id\":0}"},
        {DUMP_LOG_COMMIT,
         "{\"revision\":1,\"time\":1,\"hash\":\"0123456789abcdef\",\"put\":{\"a\":{" POSE
         ",\"data\":",
         "}}}", "},\"b\":{}}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int levels = 1; levels <= 70; levels++)
            for (int good = 0; good < 2; good++) {
                char text[1024], nested[256] = "", expected[16], *got;
                for (int k = 0; k < 2 * levels; k++)
                    nested[k] = k < levels ? '[' : ']';
                (void)snprintf(text, sizeof text, "%s%s%s", cases[i].before, nested,
                               good ? cases[i].after : cases[i].wrong);
                const bool taken = decode_all(cases[i].route, 3, text, &got);
                const bool deep = levels > WIRE_DEPTH;
                (void)snprintf(expected, sizeof expected, deep ? "400 " : "422 ");
                ck_assert_msg(taken == (good && !deep), "%s: %s", text, got);
                ck_assert_msg(taken || strncmp(got, expected, 4) == 0, "%s: %s", text, got);
                free(got);
            }
}
END_TEST

START_TEST(points_have_a_limit)
{
    enum { MOST = OBB_MAX_POINTS };
    char *text = malloc(16 * (size_t)MOST), *got;
    ck_assert_ptr_nonnull(text);
    for (int count = MOST; count <= MOST + 1; count++) {
        size_t length = (size_t)sprintf(text, "{\"fit\":\"aabb\",\"points\":[");
        for (int i = 0; i < count; i++)
            length += (size_t)sprintf(text + length, "%s[0,0,%d]", i > 0 ? "," : "", i % 10);
        length += (size_t)sprintf(text + length, "]}");
        const bool good = decode(DUMP_BOX, 3, text, length, WIRE_JSON, &got);
        ck_assert(good == (count == MOST));
        if (!good)
            ck_assert_str_eq(got, "422 /points");
        free(got);
    }
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_box");
    TCase *tc = tcase_create("request_box");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_pose_is_read_to_the_bit);
    tcase_add_test(tc, every_form_makes_the_box_that_core_makes);
    tcase_add_test(tc, attributes_are_read_in_every_form);
    tcase_add_test(tc, a_patch_states_its_parts);
    tcase_add_test(tc, boxes_that_are_wrong_are_refused);
    tcase_add_test(tc, data_has_a_limit);
    tcase_add_test(tc, data_has_levels_of_its_own);
    tcase_add_test(tc, points_have_a_limit);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
