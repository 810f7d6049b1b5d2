#include "proto/wire.h"
#include "tests/proto/cbor_maker.h"
#include "tests/proto/dump.h"
#include "tests/proto/exact.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static struct obb_arena arena;

static void start(void) { obb_arena_init(&arena); }

static void stop(void) { obb_arena_fini(&arena); }

static wire_body json(const char *text)
{
    return (wire_body){.bytes = text, .length = strlen(text), .media = WIRE_JSON};
}

/* ---- Both media ------------------------------------------------------------------------------------ */

/* Decodes the bytes in a block of exactly their size. */
static bool decode(int route, int dimensions, const char *bytes, size_t length, wire_media media,
                   char **out_text)
{
    char *block = exact_copy(bytes, length);
    const wire_body body = {.bytes = block, .length = length, .media = media};
    const bool good = dump_request(route, &body, dimensions, out_text);
    exact_free(block, length);
    return good;
}

/* The request, or its refusal as "status pointer", which must be the same from JSON, from CBOR, and from CBOR with typed
 * arrays, as far as CBOR can say it. The caller frees the text. */
static bool decode_all(int route, int dimensions, const char *text, char **out_text)
{
    const bool good = decode(route, dimensions, text, strlen(text), WIRE_JSON, out_text);
    for (int typed = 0; typed < 2; typed++) {
        struct cbor_maker m = {0};
        char *other = NULL;
        if (!maker_from_json(&m, text, strlen(text), typed == 1))
            break;
        const bool as_good =
            decode(route, dimensions, (const char *)m.bytes, m.length, WIRE_CBOR, &other);
        ck_assert_msg(good == as_good && strcmp(*out_text, other) == 0, "%s\nJSON: %s\nCBOR%s: %s",
                      text, *out_text, typed ? ", typed" : "", other);
        free(other);
        free(m.bytes);
    }
    return good;
}

struct refusal {
    const char *text;
    int status;
    const char *pointer; /* NULL: none */
};

static void check_refusals(int route, int dimensions, const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *got, expected[256];
        (void)snprintf(expected, sizeof expected, "%d %s", refusals[i].status,
                       refusals[i].pointer != NULL ? refusals[i].pointer : "none");
        const bool good = decode_all(route, dimensions, refusals[i].text, &got);
        ck_assert_msg(!good && strcmp(got, expected) == 0, "%s\nexpected %s, got %s",
                      refusals[i].text, expected, got);
        free(got);
    }
    printf("%zu refusals\n", count);
}

#define CHECK_REFUSALS(route, dimensions, list) \
    check_refusals(route, dimensions, list, sizeof(list) / sizeof *(list))

/* The two texts are the same request. */
static void check_same(int route, int dimensions, const char *a, const char *b)
{
    char *left, *right;
    ck_assert_msg(decode_all(route, dimensions, a, &left), "%s: %s", a, left);
    ck_assert_msg(decode_all(route, dimensions, b, &right), "%s: %s", b, right);
    ck_assert_msg(strcmp(left, right) == 0, "%s\n%s\n%s\n%s", a, b, left, right);
    free(left);
    free(right);
}

static void check_taken(int route, int dimensions, const char *text)
{
    char *got;
    ck_assert_msg(decode_all(route, dimensions, text, &got), "%s: %s", text, got);
    free(got);
}

/* ---- Settings -------------------------------------------------------------------------------------- */

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

/* ---- Boxes ----------------------------------------------------------------------------------------- */

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
        {"{\"data\":null}", OBB_PUT_DATA},
        {"{\"data\":1,\"entity\":\"e\"}", OBB_PUT_DATA | OBB_PUT_ENTITY},
        {"{\"min\":[0,0,0],\"max\":[1,1,1],\"mask\":3}",
         OBB_PUT_CENTER | OBB_PUT_HALF_EXTENTS | OBB_PUT_ROTATION | OBB_PUT_MASK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(put_of(cases[i].text, 3, true).parts == cases[i].parts, "%s", cases[i].text);
    ck_assert(put_of("{\"rotation\":[0,0,0,2]}", 3, true).box.rotation.w == 1);
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

#define POSE "\"center\":[0,0,0],\"half_extents\":[1,1,1]"
#define FLAT "\"center\":[0,0],\"half_extents\":[1,1]"

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

START_TEST(what_is_malformed_is_a_400_wherever_it_lies)
{
    static const struct refusal refusals[] = {
        {"{", 400, NULL},
        {" ", 400, NULL},
        {"{" POSE "} x", 400, NULL},
        {"{" POSE ",}", 400, NULL},
        {"{\"center\":[NaN,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"center\":[0,0,0,],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"center\":[0 0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"center\":[01,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"\xef\xbb\xbf{" POSE "}", 400, NULL},
        {"{" POSE ",\"center\":[0,0,0]}", 400, NULL},
        {"{" POSE ",\"data\":{\"a\":1,\"a\":2}}", 400, NULL},
        {"{" POSE ",\"data\":{\"a\":1,\"\\u0061\":2}}", 400, NULL},
        {"{" POSE ",\"data\":\"\\ud800\"}", 400, NULL},
        {"{" POSE ",\"data\":\"\xff\"}", 400, NULL},
        {"{" POSE ",\"data\":[[[}", 400, NULL},
        {"{" POSE ",\"unknown\":{\"a\":1,\"a\":2}}", 400, NULL},
        {"{\"center\":[0,0,-2e9],\"half_extents\":[1,1,1],\"data\":tru}", 400, NULL},
        {"{\"center\":[0,0,-2e9],\"half_extents\":[1,1,1]}}", 400, NULL},
        {"[" POSE "]", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_BOX, 3, refusals);
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

/* ---- Transforms and merges ------------------------------------------------------------------------- */

START_TEST(what_takes_long_can_be_postponed)
{
    static const char tight[] = "{\"points\":[[0,0,0],[1,0,0],[0,1,0],[0,0,1]],\"fit\":\"tight\"}";
    static const char plain[] = "{\"points\":[[0,0,0],[1,0,0],[0,1,0],[0,0,1]]}";
    char lines[512], query[256], commit[256];
    (void)snprintf(query, sizeof query, "{\"shapes\":[%s]}", tight);
    (void)snprintf(commit, sizeof commit, "{\"put\":{\"a\":%s}}", tight);
    (void)snprintf(lines, sizeof lines,
                   "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,"
                   "\"history\":{\"span\":1,\"commits\":1}}\n"
                   "{\"name\":\"a\",%s\n",
                   tight + 1);
    const char *const texts[] = {tight, query, commit, lines, plain};
    for (int i = 0; i < 5; i++)
        for (int later = 0; later < 2; later++) {
            bool postponed = false, good = false;
            wire_body body = json(texts[i]);
            body.postponed = later ? NULL : &postponed;
            wire_problem problem = {0};
            obb_put put;
            obb_query read;
            wire_commit all;
            obb_edit edit;
            if (i == 0 || i == 4)
                good = wire_read_box(&body, 3, false, obb_str_of("a"), &arena, &put, &problem);
            else if (i == 1)
                good = wire_read_query(&body, OBB_QUERY_OVERLAP, 3, &arena, &read, &problem);
            else if (i == 2)
                good = wire_read_commit(&body, 3, &arena, &all, &problem);
            else
                good = wire_read_import(&body, &arena, &edit, &problem);
            ck_assert_msg(good == (later || i == 4), "%s: %s", texts[i],
                          problem.detail != NULL ? problem.detail : "");
            ck_assert(postponed == (!later && i < 4));
        }
}
END_TEST

START_TEST(transforms_are_read)
{
    obb_transform_edit turn;
    wire_problem problem;
    wire_body body = json("{\"rotate\":{\"axis\":[0,1,0],\"degrees\":180},\"space\":\"local\","
                          "\"scale\":2,\"translate\":[1,2,3]}");
    ck_assert(wire_read_transform(&body, 3, obb_str_of("door"), &arena, &turn, &problem));
    const obb_transform *t = &turn.transform;
    ck_assert(obb_str_equal(turn.target.name, obb_str_of("door")));
    ck_assert(t->has_rotate && t->has_scale && t->has_translate && !t->has_matrix && t->local);
    ck_assert(t->translate.z == 3 && t->scale.x == 2 && t->scale.z == 2);
    ck_assert(fabs(t->rotate.y - 1) < 1e-15);
    body = json("{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,5,0,0,1],\"space\":\"world\"}");
    ck_assert(wire_read_transform(&body, 3, obb_str_of("door"), &arena, &turn, &problem));
    ck_assert(t->has_matrix && !t->has_rotate && t->matrix[12] == 5);
    body = json("{\"rotate\":90,\"scale\":[2,3]}");
    ck_assert(wire_read_transform(&body, 2, obb_str_of("door"), &arena, &turn, &problem));
    ck_assert(t->angle == 90 && t->scale.y == 3 && t->scale.z == 1);
    check_same(DUMP_TRANSFORM, 2, "{\"rotate\":90,\"scale\":2}",
               "{\"rotate\":{\"degrees\":90},\"scale\":[2,2]}");
    check_taken(DUMP_TRANSFORM, 3, "{\"rotate\":[0,0,0,5],\"scale\":[-1,1,0.5]}");

    static const struct refusal refusals[] = {
        {"", 422, ""},
        {"{}", 422, ""},
        {"{\"space\":\"local\"}", 422, ""},
        {"{\"translate\":[1,2]}", 422, "/translate"},
        {"{\"translate\":[1,2,2e9]}", 422, "/translate/2"},
        {"{\"rotate\":5}", 422, "/rotate"},
        {"{\"rotate\":[0,0,0,0]}", 422, "/rotate"},
        {"{\"rotate\":{\"axis\":[0,0,0],\"degrees\":5}}", 422, "/rotate/axis"},
        {"{\"scale\":[1,1]}", 422, "/scale"},
        {"{\"scale\":\"2\"}", 422, "/scale"},
        {"{\"scale\":2,\"space\":\"box\"}", 422, "/space"},
        {"{\"scale\":2,\"space\":1}", 422, "/space"},
        {"{\"scale\":2,\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}", 422, "/matrix"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],\"scale\":2}", 422, "/scale"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],\"space\":\"local\"}", 422, "/space"},
        {"{\"matrix\":[1,0,0,0]}", 422, "/matrix"},
        {"{\"move\":[1,2,3]}", 422, "/move"},
        {"{\"scale\":2,\"scale\":2}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_TRANSFORM, 3, refusals);
    static const struct refusal planar[] = {
        {"{\"rotate\":[0,0,0,1]}", 422, "/rotate"},
        {"{\"rotate\":{\"axis\":[0,0,1],\"degrees\":5}}", 422, "/rotate/axis"},
        {"{\"rotate\":{}}", 422, "/rotate"},
        {"{\"scale\":[1,1,1]}", 422, "/scale"},
        {"{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}", 422, "/matrix"},
    };
    CHECK_REFUSALS(DUMP_TRANSFORM, 2, planar);
}
END_TEST

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

/* ---- Commits --------------------------------------------------------------------------------------- */

static wire_commit commit_of(const wire_body *body, int dimensions)
{
    wire_commit commit;
    wire_problem problem;
    ck_assert_msg(wire_read_commit(body, dimensions, &arena, &commit, &problem), "%d %s %s",
                  problem.status, problem.detail, problem.pointer);
    return commit;
}

#define WHOLE_TICK                                                                                \
    "{\"time\":1234.5,\"if_revision\":41,\"remove\":[\"crate-7\",\"x\\/y\"],"                     \
    "\"put\":{\"crate-8\":{\"center\":[0,1,0],\"half_extents\":[1,1,1]},\"b\":{\"points\":[[0,0," \
    "0]]}},"                                                                                      \
    "\"pose\":{\"player-1\":{\"center\":[3,0,9],\"rotation\":[0,0,0,1],\"teleport\":true},"       \
    "\"p2\":{\"rotation\":[0,0,0,2]},\"p3\":{}},"                                                 \
    "\"transform\":{\"door\":{\"rotate\":{\"axis\":[0,1,0],\"degrees\":5},\"space\":\"local\"}}," \
    "\"ignore_missing\":true,"                                                                    \
    "\"queries\":[{\"kind\":\"ray\",\"rays\":[{\"origin\":[0,1,0],\"direction\":[0,0,1],"         \
    "\"max_distance\":50}],\"at\":{\"time\":1180.0},\"filter\":{\"exclude_entities\":[\"player-"  \
    "1\"]}},"                                                                                     \
    "{\"count_only\":true,\"kind\":\"all-pairs\"}]}"

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

START_TEST(poses_in_columns_are_those_by_name)
{
    check_same(DUMP_COMMIT, 3,
               "{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4.5,5,6],\"rotations\":"
               "[0,0,0,1,0.6,0,0,0.8]}}",
               "{\"pose\":{\"a\":{\"center\":[1,2,3],\"rotation\":[0,0,0,1]},"
               "\"b\":{\"center\":[4.5,5,6],\"rotation\":[0.6,0,0,0.8]}}}");
    check_same(DUMP_COMMIT, 3, "{\"pose\":{\"centers\":[1,2,3],\"names\":[\"a\"]}}",
               "{\"pose\":{\"a\":{\"center\":[1,2,3]}}}");
    check_same(
        DUMP_COMMIT, 2,
        "{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4],\"angles\":[5,6]}}",
        "{\"pose\":{\"a\":{\"center\":[1,2],\"angle\":5},\"b\":{\"center\":[3,4],\"angle\":6}}}");
    check_same(DUMP_COMMIT, 3, "{\"pose\":{\"names\":[],\"centers\":[]}}", "{}");
    /* boxes that are called like columns */
    check_taken(DUMP_COMMIT, 3, "{\"pose\":{\"names\":{\"center\":[0,0,0]},\"ids\":{}}}");
    const wire_body by_ids =
        json("{\"pose\":{\"ids\":[7,9007199254740992],\"centers\":[1,2,3,4,5,6]}}");
    const wire_commit commit = commit_of(&by_ids, 3);
    ck_assert(commit.columnar_ids && !commit.columnar_names && commit.edit.pose_count == 2);
    ck_assert(commit.edit.poses[0].target.has_id && commit.edit.poses[0].target.id == 7);
    ck_assert(commit.edit.poses[1].target.id == (uint64_t)1 << 53);
    ck_assert(commit.edit.poses[1].center.z == 6 && !commit.edit.poses[1].has_rotation);
    const wire_body by_names = json("{\"pose\":{\"names\":[\"a\"],\"centers\":[1,2,3]}}");
    ck_assert(commit_of(&by_names, 3).columnar_names);
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

/* ---- Queries --------------------------------------------------------------------------------------- */

static obb_query query_of(obb_query_kind kind, const char *text, int dimensions)
{
    obb_query query;
    wire_problem problem;
    const wire_body body = json(text);
    ck_assert_msg(wire_read_query(&body, kind, dimensions, &arena, &query, &problem),
                  "%s: %d %s %s", text, problem.status, problem.detail, problem.pointer);
    char *dump;
    ck_assert(decode_all(DUMP_QUERY + (int)kind, dimensions, text, &dump));
    free(dump);
    return query;
}

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

START_TEST(every_kind_is_read)
{
    obb_query q =
        query_of(OBB_QUERY_PAIRS,
                 "{\"pairs\":[[\"a\",\"b\"],[{" POSE "},\"c\"]],\"want\":[\"relation\",\"mtv\","
                 "\"distance\",\"axis\",\"volume\",\"data\",\"entity\",\"pose\"],\"margin\":-0.5}",
                 3);
    ck_assert(q.kind == OBB_QUERY_PAIRS && q.count == 2 && q.want == 255 && q.margin == -0.5);
    ck_assert(q.items.pairs[0][0].kind == OBB_REF_NAME &&
              q.items.pairs[1][0].kind == OBB_REF_INLINE);
    ck_assert(q.items.pairs[1][0].box->half_extents.x == 1 && q.limit == 10000 && !q.by_id);
    q = query_of(OBB_QUERY_PAIRS, "{\"pairs\":[1,2,3,9007199254740992],\"by\":\"id\"}", 3);
    ck_assert(q.count == 2 && q.by_id && q.items.pairs[1][1].kind == OBB_REF_ID);
    ck_assert(q.items.pairs[1][1].id == (uint64_t)1 << 53 && q.items.pairs[0][1].id == 2);
    q = query_of(OBB_QUERY_PAIRS, "{\"by\":\"id\",\"pairs\":[[1,\"b\"]]}", 3);
    ck_assert(q.count == 1 && q.items.pairs[0][1].kind == OBB_REF_NAME);

    q = query_of(OBB_QUERY_ALL_PAIRS, "", 3);
    ck_assert(q.kind == OBB_QUERY_ALL_PAIRS && q.limit == 1000000 && !q.count_only && q.count == 0);
    q = query_of(OBB_QUERY_ALL_PAIRS, "{\"count_only\":true,\"limit\":0,\"margin\":3}", 3);
    ck_assert(q.count_only && q.limit == 0 && q.margin == 3);

    q = query_of(OBB_QUERY_OVERLAP,
                 "{\"shapes\":[\"a\",{" POSE "},{\"sphere\":{\"center\":[1,2,3],\"radius\":4}},"
                 "{\"capsule\":{\"a\":[0,0,0],\"b\":[1,1,1],\"radius\":0}},"
                 "{\"frustum\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}]}",
                 3);
    ck_assert(q.count == 5 && q.items.shapes[0].is_ref && q.items.shapes[1].is_ref);
    ck_assert(!q.items.shapes[2].is_ref && q.items.shapes[2].shape->kind == OBB_SHAPE_SPHERE);
    ck_assert(q.items.shapes[2].shape->radius == 4 && q.items.shapes[2].shape->a.y == 2);
    ck_assert(q.items.shapes[3].shape->kind == OBB_SHAPE_CAPSULE);
    ck_assert(q.items.shapes[4].shape->kind == OBB_SHAPE_FRUSTUM);

    q = query_of(OBB_QUERY_POINT, "{\"points\":[[1,2,3],[4,5,6]]}", 3);
    ck_assert(q.count == 2 && q.items.points[1].y == 5);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[[1,2]]}", 2);
    ck_assert(q.count == 1 && q.items.points[0].z == 0 && q.dimensions == 2);

    q = query_of(OBB_QUERY_RAY,
                 "{\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,2]},{\"direction\":[0,3,4],"
                 "\"origin\":[1,1,1],\"max_distance\":0},{\"from\":[1,2,3],\"to\":[1,2,13]}],"
                 "\"mode\":\"closest_per_entity\",\"inside\":\"exit\"}",
                 3);
    ck_assert(q.count == 3 && q.mode == OBB_CLOSEST_PER_ENTITY && q.inside == OBB_INSIDE_EXIT);
    ck_assert(isinf(q.items.rays[0].max_distance) && q.items.rays[0].direction.z == 1);
    ck_assert(q.items.rays[1].max_distance == 0);
    ck_assert(q.items.rays[2].max_distance == 10 && q.items.rays[2].direction.z == 1);

    q = query_of(
        OBB_QUERY_SWEEP,
        "{\"sweeps\":[{\"box\":\"a\",\"motion\":[1,0,0]},{\"motion\":[0,0,0],\"box\":{" POSE
        "}}],\"mode\":\"all\"}",
        3);
    ck_assert(q.count == 2 && q.mode == OBB_ALL && q.items.sweeps[0].motion.x == 1);
    ck_assert(q.items.sweeps[1].ref.kind == OBB_REF_INLINE);

    q = query_of(OBB_QUERY_NEAREST, "{\"points\":[[1,2,3]]}", 3);
    ck_assert(q.count == 1 && !q.of_boxes && q.k == 1 && isinf(q.max_distance));
    q = query_of(OBB_QUERY_NEAREST,
                 "{\"boxes\":[\"a\",7],\"by\":\"id\",\"k\":5,\"max_distance\":2.5}", 3);
    ck_assert(q.count == 2 && q.of_boxes && q.k == 5 && q.max_distance == 2.5);
    ck_assert(q.items.boxes[1].kind == OBB_REF_ID && q.items.boxes[1].id == 7);
    check_taken(DUMP_QUERY + OBB_QUERY_POINT, 3, "{\"kind\":\"point\",\"points\":[]}");
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

/* ---- Details --------------------------------------------------------------------------------------- */

static wire_problem problem_of(int route, const wire_body *body, int dimensions)
{
    wire_problem problem = {0};
    obb_put put;
    obb_transform_edit turn;
    obb_query query;
    const obb_str name = obb_str_of("name");
    const bool good = route == DUMP_BOX
                          ? wire_read_box(body, dimensions, false, name, &arena, &put, &problem)
                      : route == DUMP_TRANSFORM
                          ? wire_read_transform(body, dimensions, name, &arena, &turn, &problem)
                          : wire_read_query(body, (obb_query_kind)(route - DUMP_QUERY), dimensions,
                                            &arena, &query, &problem);
    ck_assert(!good);
    ck_assert_ptr_nonnull(problem.detail);
    return problem;
}

START_TEST(details_say_what_is_taken)
{
    static const struct {
        int route, dimensions;
        const char *text, *type, *detail;
    } cases[] = {
        {DUMP_BOX, 2, "{" POSE "}", "bad-length", "2 dimensions"},
        {DUMP_BOX, 3, "{" FLAT "}", "bad-length", "3 dimensions"},
        {DUMP_BOX, 3, "{\"points\":[[0,0,0],[0,0,0,0]]}", "bad-length", "3 dimensions"},
        {DUMP_BOX, 3, "{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,2]}", "bad-value", "bottom row"},
        {DUMP_BOX, 3, "{\"matrix\":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}", "singular", "two columns"},
        {DUMP_TRANSFORM, 3, "{\"scale\":null}", "wrong-type", "a factor, or one for each axis"},
        {DUMP_TRANSFORM, 3, "{\"scale\":[1,1]}", "bad-length", "3 dimensions"},
        {DUMP_TRANSFORM, 3, "{\"rotate\":90}", "wrong-type", "axis and degrees"},
        {DUMP_TRANSFORM, 2, "{\"rotate\":[0,0,0,1]}", "wrong-type", "degrees"},
        {DUMP_QUERY + OBB_QUERY_OVERLAP, 3, /* a far plane at infinity */
         "{\"shapes\":[{\"frustum\":[1,0,0,0,0,1,0,0,0,0,-1,-1,0,0,-0.2,0]}]}", "singular",
         "finite corners"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wire_body body = json(cases[i].text);
        const wire_problem problem = problem_of(cases[i].route, &body, cases[i].dimensions);
        ck_assert_str_eq(problem.type, cases[i].type);
        ck_assert_msg(strstr(problem.detail, cases[i].detail) != NULL, "%s: %s", cases[i].text,
                      problem.detail);
    }

    static const char half[] = "\xa1\x66"
                               "center"
                               "\xd8\x56\x43\0\0\0";
    const wire_body body = {.bytes = half, .length = sizeof half - 1, .media = WIRE_CBOR};
    const wire_problem problem = problem_of(DUMP_BOX, &body, 3);
    ck_assert_str_eq(problem.pointer, "/center");
    ck_assert_ptr_nonnull(strstr(problem.detail, "ends within a number"));

    static const char endless[] = "\xbf\xff";
    const wire_body other = {.bytes = endless, .length = sizeof endless - 1, .media = WIRE_CBOR};
    const wire_problem refused = problem_of(DUMP_BOX, &other, 3);
    ck_assert_int_eq(refused.status, 400);
    ck_assert_ptr_null(strstr(refused.title, "well-formed")); /* for it is */
    ck_assert_ptr_nonnull(strstr(refused.detail, "indefinite"));
}
END_TEST

/* ---- Names ----------------------------------------------------------------------------------------- */

/* Requests that name a box or an entity where @ stands, and the place of that. */
static const struct {
    int route;
    const char *text, *pointer;
} naming[] = {
    {DUMP_BOX, "{" POSE ",\"entity\":\"@\"}", "/entity"},
    {DUMP_MERGE, "{\"with\":[\"b\",\"@\"]}", "/with/1"},
    {DUMP_COMMIT, "{\"remove\":[\"@\"]}", "/remove/0"},
    {DUMP_COMMIT, "{\"put\":{\"@\":{" POSE "}}}", "/put/@"},
    {DUMP_COMMIT, "{\"pose\":{\"@\":{}}}", "/pose/@"},
    {DUMP_COMMIT, "{\"pose\":{\"names\":[\"@\"],\"centers\":[0,0,0]}}", "/pose/names/0"},
    {DUMP_COMMIT, "{\"transform\":{\"@\":{\"scale\":2}}}", "/transform/@"},
    {DUMP_QUERY + OBB_QUERY_PAIRS, "{\"pairs\":[[\"a\",\"@\"]]}", "/pairs/0/1"},
    {DUMP_QUERY + OBB_QUERY_PAIRS, "{\"pairs\":[1,\"@\"],\"by\":\"id\"}", "/pairs/1"},
    {DUMP_QUERY + OBB_QUERY_OVERLAP, "{\"shapes\":[\"@\"]}", "/shapes/0"},
    {DUMP_QUERY + OBB_QUERY_SWEEP, "{\"sweeps\":[{\"box\":\"@\",\"motion\":[0,0,1]}]}",
     "/sweeps/0/box"},
    {DUMP_QUERY + OBB_QUERY_NEAREST, "{\"boxes\":[\"@\"]}", "/boxes/0"},
    {DUMP_QUERY + OBB_QUERY_ALL_PAIRS, "{\"filter\":{\"exclude\":[\"@\"]}}", "/filter/exclude/0"},
    {DUMP_QUERY + OBB_QUERY_ALL_PAIRS, "{\"filter\":{\"exclude_entities\":[\"@\"]}}",
     "/filter/exclude_entities/0"},
};

#define BYTES_16  "0123456789abcdef"
#define BYTES_128 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16 BYTES_16

enum { NAMING_ROOM = 512 };

/* The text with the name in the place of @, where it has one. */
static void put_name(char out[static NAMING_ROOM], const char *text, const char *name)
{
    const int before = (int)strcspn(text, "@");
    const bool has_place = text[before] == '@';
    (void)snprintf(out, NAMING_ROOM, "%.*s%s%s", before, text, has_place ? name : "",
                   has_place ? text + before + 1 : "");
}

START_TEST(names_are_checked_wherever_one_stands)
{
    static const char *const wrong[] = {"", ".", "..", "a\x7f", "\xc2\x85", BYTES_128 "0"};
    static const char *const right[] = {"a", "...", ".a", "\xc2\xa0", BYTES_128};
    size_t looked_at = 0;
    for (size_t i = 0; i < sizeof naming / sizeof *naming; i++) {
        char text[NAMING_ROOM], pointer[NAMING_ROOM];
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++, looked_at++) {
            put_name(text, naming[i].text, wrong[k]);
            put_name(pointer, naming[i].pointer, wrong[k]);
            const struct refusal refusal = {text, 422, pointer};
            check_refusals(naming[i].route, 3, &refusal, 1);
        }
        for (size_t k = 0; k < sizeof right / sizeof *right; k++, looked_at++) {
            put_name(text, naming[i].text, right[k]);
            check_taken(naming[i].route, 3, text);
        }
    }
    obb_query query;
    wire_problem problem;
    const wire_body body = json("{\"pairs\":[[\"a\",\"\"]]}");
    ck_assert(!wire_read_query(&body, OBB_QUERY_PAIRS, 3, &arena, &query, &problem));
    ck_assert_str_eq(problem.type, "bad-name");
    printf("%zu names\n", looked_at);
}
END_TEST

/* ---- Robustness ------------------------------------------------------------------------------------ */

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

START_TEST(a_flipped_byte_never_does_harm)
{
    test_rng rng = {.s = 31};
    const size_t cases = test_effort(30000);
    size_t good = 0, malformed = 0;
    struct cbor_maker m = {0};
    ck_assert(maker_from_json(&m, WHOLE_TICK, strlen(WHOLE_TICK), true));
    for (size_t i = 0; i < cases; i++) {
        const bool cbor = i % 2 == 0;
        char *got;
        const size_t length = cbor ? m.length : strlen(WHOLE_TICK);
        char *bytes = cbor ? exact_copy(m.bytes, length) : exact_copy(WHOLE_TICK, length);
        bytes[test_below(&rng, length)] = (char)test_below(&rng, 256);
        if (decode(DUMP_COMMIT, 3, bytes, length, cbor ? WIRE_CBOR : WIRE_JSON, &got))
            good++;
        else
            malformed += strncmp(got, "400", 3) == 0;
        ck_assert_msg(strncmp(got, "0", 1) != 0, "no problem was said");
        exact_free(bytes, length);
        free(got);
    }
    free(m.bytes);
    ck_assert_uint_gt(good, cases / 10);
    ck_assert_uint_gt(malformed, cases / 10);
    ck_assert_uint_lt(good + malformed, cases);
    printf("%zu mutants, %zu taken, %zu malformed, %zu invalid\n", cases, good, malformed,
           cases - good - malformed);
}
END_TEST

/* A commit large enough that every list grows past the arena's first chunks. */
static char *large_commit(size_t *out_length)
{
    enum { ROOM = 1 << 20, COUNT = 300 };
    char *text = malloc(ROOM);
    ck_assert_ptr_nonnull(text);
    size_t n = (size_t)sprintf(text, "{\"remove\":[");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"r%d\"", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "],\"put\":{");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"p\\u00e9%d\":{" POSE ",\"data\":[%d]}",
                             i > 0 ? "," : "", i, i);
    n += (size_t)sprintf(text + n, "},\"pose\":{\"names\":[");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"n%d\"", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "],\"centers\":[");
    for (int i = 0; i < 3 * COUNT; i++)
        n += (size_t)sprintf(text + n, "%s%d.5", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "]},\"transform\":{");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"t%d\":{\"scale\":2}", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "},\"queries\":[");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(
            text + n,
            "%s{\"kind\":\"overlap\",\"shapes\":[\"a\",{" POSE
            "},{\"sphere\":{\"center\":[0,0,0],\"radius\":1}}],\"filter\":{\"exclude\":"
            "[\"x\"]}}",
            i > 0 ? "," : "");
    n += (size_t)sprintf(text + n, "]}");
    *out_length = n;
    return text;
}

START_TEST(a_failing_heap_is_a_503)
{
    size_t length;
    char *text = large_commit(&length);
    struct cbor_maker m = {0};
    ck_assert(maker_from_json(&m, text, length, true));
    size_t failed = 0;
    for (int cbor = 0; cbor < 2; cbor++) {
        const wire_body body = {.bytes = cbor ? (const char *)m.bytes : text,
                                .length = cbor ? m.length : length,
                                .media = cbor ? WIRE_CBOR : WIRE_JSON};
        for (size_t n = 1;; n++) {
            struct obb_arena a;
            wire_commit commit;
            wire_problem problem = {0};
            obb_arena_init(&a);
            fault_arm(n);
            const bool good = wire_read_commit(&body, 3, &a, &commit, &problem);
            const bool reached = fault_seen() >= n;
            fault_arm(0);
            obb_arena_fini(&a);
            if (!reached) {
                ck_assert(good && commit.edit.put_count == 300);
                break;
            }
            ck_assert(!good);
            ck_assert_int_eq(problem.status, 503);
            ck_assert_int_gt(problem.retry_after, 0);
            failed++;
        }
    }
    free(m.bytes);
    free(text);
    ck_assert_uint_ge(failed, 10);
    printf("%zu allocations failed in turn\n", failed);
}
END_TEST

START_TEST(a_request_takes_memory_in_proportion_to_its_bytes)
{
    /* the worst that a byte can ask for: lists of the smallest items */
    static const struct {
        int route;
        const char *before, *item, *after;
        double most; /* bytes of memory a byte of body */
    } cases[] = {
        {DUMP_COMMIT, "{\"remove\":[", "\"a\"", "]}", 12},
        {DUMP_QUERY + OBB_QUERY_PAIRS, "{\"by\":\"id\",\"pairs\":[", "1", "]}", 16},
        {DUMP_QUERY + OBB_QUERY_OVERLAP, "{\"shapes\":[", "\"a\"", "]}", 14},
        {DUMP_QUERY + OBB_QUERY_POINT, "{\"points\":[", "[0,0,0]", "]}", 5},
    };
    enum { ITEMS = 200000 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t size = strlen(cases[i].item) + 1;
        char *text = malloc(100 + ITEMS * size);
        ck_assert_ptr_nonnull(text);
        size_t length = (size_t)sprintf(text, "%s", cases[i].before);
        for (int k = 0; k < ITEMS; k++)
            length += (size_t)sprintf(text + length, "%s%s", k > 0 ? "," : "", cases[i].item);
        length += (size_t)sprintf(text + length, "%s", cases[i].after);
        struct obb_arena a;
        wire_commit commit;
        obb_query query;
        wire_problem problem;
        const wire_body body = {.bytes = text, .length = length, .media = WIRE_JSON};
        obb_arena_init(&a);
        const bool good =
            cases[i].route == DUMP_COMMIT
                ? wire_read_commit(&body, 3, &a, &commit, &problem)
                : wire_read_query(&body, (obb_query_kind)(cases[i].route - DUMP_QUERY), 3, &a,
                                  &query, &problem);
        const double ratio = (double)a.total / (double)length;
        printf("%s%s...: %.1f bytes a byte\n", cases[i].before, cases[i].item, ratio);
        ck_assert(good && ratio < cases[i].most);
        obb_arena_fini(&a);
        free(text);
    }
}
END_TEST

/* ---- Query strings --------------------------------------------------------------------------------- */

/* "key=value&..." into parameters; values are taken as they stand. */
static size_t split(const char *text, wire_param *params)
{
    size_t count = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, "&"), key = strcspn(text, "=&");
        params[count].key = (obb_str){text, key};
        params[count].value = (obb_str){text + key + (key < length), length - key - (key < length)};
        count++;
        text += length + (text[length] == '&');
    }
    return count;
}

START_TEST(parameters_of_boxes_are_read)
{
    wire_param params[16];
    wire_box_params got;
    wire_problem problem;
    ck_assert(wire_read_box_params(params, split("", params), &arena, &got, &problem));
    ck_assert(got.include == 0 && !got.has_at);
    ck_assert(wire_read_box_params(
        params,
        split("include=axes,corners,planes,edges,aabb,matrix,volume&at_time=-1.5e3", params),
        &arena, &got, &problem));
    ck_assert(got.include == 127 && got.has_at && got.at.kind == OBB_AT_TIME &&
              got.at.time == -1500);
    ck_assert(
        wire_read_box_params(params, split("at_revision=12", params), &arena, &got, &problem));
    ck_assert(got.at.kind == OBB_AT_REVISION && got.at.revision == 12);
    static const char *const wrong[] = {"include=",
                                        "include=axis",
                                        "include=axes,",
                                        "include=,axes",
                                        "include=axes,,aabb",
                                        "include=axes&include=axes",
                                        "at_time=",
                                        "at_time=now",
                                        "at_time=1 ",
                                        "at_time=0x1",
                                        "at_time=1e309",
                                        "at_time=1e17",
                                        "at_time=NaN",
                                        "at_revision=-1",
                                        "at_revision=1.5",
                                        "at_revision=1e3",
                                        "at_revision=",
                                        "at_revision=9007199254740994",
                                        "at_time=1&at_revision=1",
                                        "includes=axes",
                                        "limit=1",
                                        "=",
                                        "include",
                                        "at_time=1&at_time=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(
            !wire_read_box_params(params, split(wrong[i], params), &arena, &got, &problem), "%s",
            wrong[i]);
        ck_assert_int_eq(problem.status, 400);
        ck_assert(problem.pointer == NULL && problem.detail != NULL);
    }
}
END_TEST

START_TEST(parameters_of_lists_are_read)
{
    wire_param params[16];
    wire_list_params got;
    wire_problem problem;
    ck_assert(wire_read_box_list_params(params, split("", params), &arena, &got, &problem));
    ck_assert(got.limit == 1000 && got.after_id == 0 && got.prefix.length == 0 && !got.has_at);
    ck_assert(wire_read_box_list_params(
        params, split("limit=10000&cursor=17&prefix=odd-&entity=e&at_time=5", params), &arena, &got,
        &problem));
    ck_assert(got.limit == 10000 && got.after_id == 17 && got.has_at);
    ck_assert(obb_str_equal(got.prefix, obb_str_of("odd-")) &&
              obb_str_equal(got.entity, obb_str_of("e")));
    ck_assert(wire_read_scene_list_params(params, split("limit=1&cursor=a b", params), &arena, &got,
                                          &problem));
    ck_assert(got.limit == 1 && obb_str_equal(got.after_name, obb_str_of("a b")));
    ck_assert(wire_read_no_params(params, 0, &arena, &problem));
    static const char *const wrong[] = {"limit=0",
                                        "limit=10001",
                                        "limit=-1",
                                        "limit=1.0",
                                        "limit=",
                                        "limit=1e2",
                                        "limit",
                                        "cursor=",
                                        "limit=1&limit=1",
                                        "limt=1",
                                        "limit=00000000000000000000000000000000001x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const size_t count = split(wrong[i], params);
        ck_assert_msg(!wire_read_box_list_params(params, count, &arena, &got, &problem), "%s",
                      wrong[i]);
        ck_assert_int_eq(problem.status, 400);
        ck_assert(!wire_read_scene_list_params(params, count, &arena, &got, &problem));
        ck_assert_int_eq(problem.status, 400);
        ck_assert(!wire_read_no_params(params, count, &arena, &problem));
        ck_assert_int_eq(problem.status, 400);
    }
    static const char *const wrong_boxes[] = {"cursor=!", "cursor=0",  "cursor=a",
                                              "entity=",  "entity=..", "at_time=1&at_revision=1"};
    for (size_t i = 0; i < sizeof wrong_boxes / sizeof *wrong_boxes; i++) {
        ck_assert_msg(!wire_read_box_list_params(params, split(wrong_boxes[i], params), &arena,
                                                 &got, &problem),
                      "%s", wrong_boxes[i]);
        ck_assert_int_eq(problem.status, 400);
    }
    ck_assert(
        !wire_read_scene_list_params(params, split("prefix=a", params), &arena, &got, &problem));
    /* what is said of a parameter that is not UTF-8 can still be written as JSON */
    ck_assert(!wire_read_no_params(params, split("\xff=1", params), &arena, &problem));
    ck_assert_str_eq(problem.detail, "there is no such parameter here");
}
END_TEST

/* One reader a call: good parameters ask for no memory, and wrong ones are a 400 also where there is none to say more. */
static bool read_params(int reader, const wire_param *params, size_t count, struct obb_arena *a,
                        wire_problem *problem)
{
    wire_box_params box;
    wire_list_params list;
    unsigned topics;
    switch (reader) {
    case 0:
        return wire_read_box_params(params, count, a, &box, problem);
    case 1:
        return wire_read_box_list_params(params, count, a, &list, problem);
    case 2:
        return wire_read_scene_list_params(params, count, a, &list, problem);
    case 3:
        return wire_read_event_params(params, count, a, &topics, problem);
    default:
        return wire_read_no_params(params, count, a, problem);
    }
}

START_TEST(parameters_need_memory_only_to_say_what_is_wrong)
{
    static const struct {
        const char *text;
        bool good;
    } cases[][2] = {{{"include=axes,aabb&at_time=1", true}, {"include=none", false}},
                    {{"limit=10&cursor=17&prefix=a&at_revision=3", true}, {"limit=x", false}},
                    {{"limit=10&cursor=a", true}, {"cursor=..", false}},
                    {{"topics=boxes,commits", true}, {"topics=boxes,weather", false}},
                    {{"", true}, {"limit=1", false}}};
    size_t failed = 0, readers = sizeof cases / sizeof cases[0];
    for (size_t r = 0; r < readers; r++)
        for (int c = 0; c < 2; c++)
            for (size_t n = 1;; n++) {
                wire_param params[16];
                wire_problem problem = {0};
                struct obb_arena a;
                obb_arena_init(&a);
                const size_t count = split(cases[r][c].text, params);
                fault_arm(n);
                const bool good = read_params((int)r, params, count, &a, &problem);
                const size_t seen = fault_seen();
                fault_arm(0);
                ck_assert_msg(good == cases[r][c].good, "%s", cases[r][c].text);
                ck_assert(!good || seen == 0);
                ck_assert(good || (problem.status == 400 && problem.detail != NULL));
                obb_arena_fini(&a);
                failed += seen >= n;
                if (seen < n)
                    break;
            }
    ck_assert_uint_eq(failed, readers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request");
    TCase *tc = tcase_create("request");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, settings_change_what_they_state);
    tcase_add_test(tc, settings_that_are_wrong_are_refused);
    tcase_add_test(tc, a_pose_is_read_to_the_bit);
    tcase_add_test(tc, every_form_makes_the_box_that_core_makes);
    tcase_add_test(tc, attributes_are_read_in_every_form);
    tcase_add_test(tc, a_patch_states_its_parts);
    tcase_add_test(tc, boxes_that_are_wrong_are_refused);
    tcase_add_test(tc, what_is_malformed_is_a_400_wherever_it_lies);
    tcase_add_test(tc, data_has_a_limit);
    tcase_add_test(tc, points_have_a_limit);
    tcase_add_test(tc, what_takes_long_can_be_postponed);
    tcase_add_test(tc, transforms_are_read);
    tcase_add_test(tc, merges_are_read);
    tcase_add_test(tc, a_commit_is_read_whole);
    tcase_add_test(tc, poses_in_columns_are_those_by_name);
    tcase_add_test(tc, commits_that_are_wrong_are_refused_at_the_first_fault);
    tcase_add_test(tc, kinds_have_names);
    tcase_add_test(tc, every_kind_is_read);
    tcase_add_test(tc, options_are_read);
    tcase_add_test(tc, queries_that_are_wrong_are_refused);
    tcase_add_test(tc, details_say_what_is_taken);
    tcase_add_test(tc, names_are_checked_wherever_one_stands);
    tcase_add_test(tc, every_prefix_of_a_commit_is_refused);
    tcase_add_test(tc, a_flipped_byte_never_does_harm);
    tcase_add_test(tc, a_failing_heap_is_a_503);
    tcase_add_test(tc, a_request_takes_memory_in_proportion_to_its_bytes);
    tcase_add_test(tc, parameters_of_boxes_are_read);
    tcase_add_test(tc, parameters_of_lists_are_read);
    tcase_add_test(tc, parameters_need_memory_only_to_say_what_is_wrong);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
