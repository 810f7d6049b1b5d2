#include "proto/codec/out.h"
#include "proto/wire.h"
#include "tests/support/cbor.h"
#include "tests/support/fault.h"
#include "tests/support/schema.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- A scene to speak of ------------------------------------------------------------------------------------ */

static struct schema *schema;
static struct obb_arena arena;
static struct obb_scene *scene;
static struct obb_view *view;
static const struct obb_version *a, *b, *c;

static obb_put put_of(const char *name, obb_vec3 center, obb_vec3 half_extents)
{
    return (obb_put){
        .target = {.name = obb_str_of(name)},
        .parts = OBB_PUT_ALL,
        .box = {.center = center, .half_extents = half_extents, .rotation = {0.0, 0.0, 0.0, 1.0}},
        .attributes = {.category = 1, .mask = UINT32_MAX}};
}

static void apply(struct obb_scene *to, const obb_edit *edit, obb_committed *out)
{
    struct obb_prepared *prepared;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(to, edit, 0.0, 1000000, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, out);
}

static const struct obb_version *find(const struct obb_view *in, const char *name)
{
    const struct obb_version *box = obb_view_find(in, obb_str_of(name));
    ck_assert_ptr_nonnull(box);
    return box;
}

static struct obb_scene *make_scene(int dimensions)
{
    struct obb_scene *made;
    const obb_settings settings = {
        .dimensions = dimensions, .history_span = 500.0, .history_commits = 64};
    ck_assert_int_eq(obb_scene_create(obb_str_of("yard"), &settings, 0.0, NULL, &made), OBB_OK);
    return made;
}

static void make(void)
{
    const obb_str text = wire_openapi();
    schema = schema_load(text.bytes, text.length);
    ck_assert_ptr_nonnull(schema);
    obb_arena_init(&arena);
    scene = make_scene(3);
    obb_put puts[3] = {put_of("a", (obb_vec3){1.0, -0.0, 0.1}, (obb_vec3){1.0, 2.0, 3.0}),
                       put_of("b \"\\\n", (obb_vec3){2.5, 0.0, 0.0}, (obb_vec3){1.0, 1.0, 0.0}),
                       put_of("\xe2\x98\x83", (obb_vec3){-1e9, 1e9, 5e-324}, (obb_vec3){0})};
    puts[1].attributes = (obb_attributes){.category = 6,
                                          .mask = 0,
                                          .group = -2147483647 - 1,
                                          .entity = obb_str_of("player \"1\""),
                                          .data = obb_str_of("{\"hp\":[1,2.5,null]}")};
    puts[1].box.rotation = (obb_quat){0.0, 0.0, 0.6, 0.8};
    puts[1].target.name = obb_str_of("b \"\\");
    obb_committed committed;
    apply(scene,
          &(obb_edit){
              .dimensions = 3, .has_time = true, .time = 1000.5, .puts = puts, .put_count = 3},
          &committed);
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    a = find(view, "a");
    b = find(view, "b \"\\");
    c = find(view, "\xe2\x98\x83");
}

static void discard(void)
{
    obb_view_close(view);
    obb_scene_destroy(scene);
    obb_arena_fini(&arena);
    schema_free(schema);
}

/* ---- Reading what was written --------------------------------------------------------------------------------- */

static json_t *read_json(struct wire_buf *buf)
{
    ck_assert(!buf->failed);
    json_error_t error;
    json_t *value = json_loadb(buf->bytes, buf->length,
                               JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    ck_assert_msg(value != NULL, "%s: %.*s", error.text, (int)buf->length, buf->bytes);
    return value;
}

/* Equal by value: 1 and 1.0 are. */
static bool same(json_t *one, json_t *other)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_number(one) && json_is_number(other))
        return json_number_value(one) == json_number_value(other);
    if (json_is_array(one)) {
        if (!json_is_array(other) || json_array_size(one) != json_array_size(other))
            return false;
        json_array_foreach(one, i,
                           member) if (!same(member, json_array_get(other, i))) return false;
        return true;
    }
    if (json_is_object(one)) {
        if (!json_is_object(other) || json_object_size(one) != json_object_size(other))
            return false;
        json_object_foreach(one, key,
                            member) if (!same(member, json_object_get(other, key))) return false;
        return true;
    }
    return json_equal(one, other) != 0;
}

/* The JSON must be these very bytes (NULL: any), the CBOR the same value, and both must fit the published schema. Frees
 * both. */
static void check_reply(const char *schema_name, struct wire_buf *json, struct wire_buf *cbor,
                        const char *expected)
{
    json_t *value = read_json(json);
    if (expected != NULL)
        ck_assert_msg(json->length == strlen(expected) &&
                          memcmp(json->bytes, expected, json->length) == 0,
                      "wrote\n%.*s\ninstead of\n%s", (int)json->length, json->bytes, expected);
    if (schema_name != NULL) {
        const char *fault = schema_check_value(schema, schema_name, value, true);
        ck_assert_msg(fault == NULL, "%s: %.*s", fault, (int)json->length, json->bytes);
    }
    if (cbor != NULL) {
        ck_assert(!cbor->failed);
        json_t *other = cbor_read(cbor->bytes, cbor->length);
        ck_assert_ptr_nonnull(other);
        char *text = json_dumps(other, JSON_ENCODE_ANY);
        ck_assert_msg(same(value, other), "CBOR says %s", text);
        free(text);
        json_decref(other);
        wire_buf_fini(cbor);
    }
    json_decref(value);
    wire_buf_fini(json);
}

/* ---- The writers ------------------------------------------------------------------------------------------------ */

START_TEST(strings_of_every_length_and_content_read_back)
{
    test_rng rng = {.s = 11};
    size_t escaped = 0, plain = 0;
    for (size_t i = 0; i < test_effort(20000); i++) {
        char text[64];
        const size_t length = test_below(&rng, 40), kind = test_below(&rng, 4);
        for (size_t j = 0; j < length; j++) {
            text[j] = (char)('a' + test_below(&rng, 26));
            if (kind == 0)
                text[j] = (char)test_below(&rng, 128);
            if (kind == 1 && j == i % 40)
                text[j] = "\"\\\n\x01\x1f\x7f\x1b/"[test_below(&rng, 8)];
        }
        size_t size = length;
        if (kind == 2 && length >= 2) { /* two bytes at the end: bits 7 set */
            text[size - 2] = (char)0xc3;
            text[size - 1] = (char)(0x80 + test_below(&rng, 64));
        }
        const obb_str given = {text, size};
        struct wire_buf json = {0}, cbor = {0};
        struct wire_out to_json = wire_out_json(&json), to_cbor = wire_out_cbor(&cbor);
        wire_out_string(&to_json, given);
        wire_out_string(&to_cbor, given);
        json_t *value = read_json(&json);
        ck_assert_uint_eq(json_string_length(value), size);
        ck_assert_int_eq(memcmp(json_string_value(value), text, size), 0);
        escaped += json.length > size + 2;
        plain += json.length == size + 2;
        json_decref(value);
        value = cbor_read(cbor.bytes, cbor.length);
        ck_assert_uint_eq(json_string_length(value), size);
        ck_assert_int_eq(memcmp(json_string_value(value), text, size), 0);
        json_decref(value);
        wire_buf_fini(&json);
        wire_buf_fini(&cbor);

        /* two at once must be the same as one after the other */
        struct wire_buf two = {0}, pair = {0};
        struct wire_out out_two = wire_out_json(&two), out_pair = wire_out_json(&pair);
        const obb_str half = {text, size / 2};
        wire_out_array(&out_two, 2);
        wire_out_string(&out_two, given);
        wire_out_string(&out_two, half);
        wire_out_array_end(&out_two);
        wire_out_strings(&out_pair, given, half);
        ck_assert_uint_eq(two.length, pair.length);
        ck_assert_int_eq(memcmp(two.bytes, pair.bytes, two.length), 0);
        wire_buf_fini(&two);
        wire_buf_fini(&pair);
    }
    ck_assert_uint_gt(escaped, test_effort(20000) / 10);
    ck_assert_uint_gt(plain, test_effort(20000) / 4);
}
END_TEST

/* Any JSON value of up to `depth` levels. */
static json_t *random_value(test_rng *rng, int depth)
{
    static const char *const texts[] = {"", "x", "\"\\/\b\f\n\r\t\x01",
                                        "\xe2\x98\x83\xf0\x9f\x98\x80",
                                        "a string of more than twenty-three bytes"};
    switch (test_below(rng, depth > 0 ? 9 : 6)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(test_below(rng, 2));
    case 2:
        return json_integer((json_int_t)(test_random(rng) >> (1 + test_below(rng, 63))));
    case 3:
        return json_integer(-(json_int_t)(test_random(rng) >> (1 + test_below(rng, 63))));
    case 4:
        return json_real(test_uniform(rng, -1e6, 1e6));
    case 5:
        return json_string(texts[test_below(rng, 5)]);
    case 6:
    case 7: {
        json_t *array = json_array();
        for (size_t i = test_below(rng, 30); i > 0; i--)
            (void)json_array_append_new(array, random_value(rng, depth - 1));
        return array;
    }
    default: {
        json_t *object = json_object();
        for (size_t i = test_below(rng, 30); i > 0; i--) {
            char key[32];
            (void)snprintf(key, sizeof key, "\"%zu\\ \xc3\xa9", i);
            (void)json_object_set_new(object, key, random_value(rng, depth - 1));
        }
        return object;
    }
    }
}

START_TEST(json_text_becomes_the_same_value_in_cbor)
{
    test_rng rng = {.s = 12};
    size_t containers = 0, looked_at = 0;
    for (size_t i = 0; i < test_effort(2000); i++) {
        json_t *value = random_value(&rng, 3);
        /* escapes in two spellings */
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17) |
                                           (i % 2 ? JSON_ENSURE_ASCII : 0));
        struct wire_buf cbor = {0};
        struct wire_out out = wire_out_cbor(&cbor);
        wire_out_data(&out, obb_str_of(text));
        ck_assert(!cbor.failed);
        json_t *back = cbor_read(cbor.bytes, cbor.length);
        ck_assert_msg(back != NULL && json_equal(value, back), "%s", text);
        containers += json_is_array(value) || json_is_object(value);
        looked_at++;
        free(text);
        json_decref(value);
        json_decref(back);
        wire_buf_fini(&cbor);
    }
    ck_assert_uint_gt(containers, looked_at / 5);

    static const struct {
        const char *json, *cbor;
        size_t length;
    } known[] = {{"0", "\x00", 1},
                 {"-1", "\x20", 1},
                 {"18446744073709551615", "\x1b\xff\xff\xff\xff\xff\xff\xff\xff", 9},
                 {"-9223372036854775808", "\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", 9},
                 {"18446744073709551616", "\xc2\x49\x01\0\0\0\0\0\0\0\0", 11},
                 {"1.0", "\xfb\x3f\xf0\0\0\0\0\0\0", 9},
                 {"1e0", "\xfb\x3f\xf0\0\0\0\0\0\0", 9},
                 {"-0.0", "\xfb\x80\0\0\0\0\0\0\0", 9},
                 {"-0", "\xfb\x80\0\0\0\0\0\0\0", 9},
                 {"\"\\u0000\"", "\x61\x00", 2},
                 {"\"\\ud83d\\ude00\"", "\x64\xf0\x9f\x98\x80", 5},
                 {"[]", "\x80", 1},
                 {"{}", "\xa0", 1},
                 {"[{},[],\"]\\\"[\"]", "\x83\xa0\x80\x64]\"[", 0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0] - 1; i++) {
        struct wire_buf cbor = {0};
        struct wire_out out = wire_out_cbor(&cbor);
        wire_out_data(&out, obb_str_of(known[i].json));
        ck_assert_msg(cbor.length == known[i].length &&
                          memcmp(cbor.bytes, known[i].cbor, cbor.length) == 0,
                      "%s", known[i].json);
        wire_buf_fini(&cbor);
    }
}
END_TEST

START_TEST(numbers_and_lists_of_ids_come_out_in_both_media)
{
    struct wire_buf json = {0}, cbor = {0};
    for (int media = 0; media < 2; media++) {
        struct wire_out out = media == 0 ? wire_out_json(&json) : wire_out_cbor(&cbor);
        wire_out_map(&out, 7);
        wire_out_name_key(&out, obb_str_of("numbers"));
        wire_out_doubles(&out, (const double[3]){1.0, -0.5, 1e300}, 3);
        wire_out_name_key(&out, obb_str_of("none"));
        wire_out_doubles(&out, NULL, 0);
        wire_out_name_key(&out, obb_str_of("small ids"));
        wire_out_ids(&out, 2, UINT32_MAX);
        wire_out_id(&out, 1);
        wire_out_id(&out, UINT32_MAX);
        wire_out_ids_end(&out);
        wire_out_name_key(&out, obb_str_of("large ids"));
        wire_out_ids(&out, 2, UINT64_C(1) << 32);
        wire_out_id(&out, 1);
        wire_out_id(&out, UINT64_C(1) << 32);
        wire_out_ids_end(&out);
        wire_out_name_key(&out, obb_str_of("signed"));
        wire_out_signed(&out, INT32_MIN);
        wire_out_name_key(&out, obb_str_of("true"));
        wire_out_bool(&out, true);
        wire_out_name_key(&out, obb_str_of("\""));
        wire_out_null(&out);
        wire_out_map_end(&out);
    }
    json_t *value = cbor_read(cbor.bytes, cbor.length);
    ck_assert_uint_eq(cbor_typed_arrays(), 3);
    json_decref(value);
    check_reply(NULL, &json, &cbor,
                "{\"numbers\":[1,-0.5,1e300],\"none\":[],\"small ids\":[1,4294967295],"
                "\"large ids\":[1,4294967296],\"signed\":-2147483648,\"true\":true,\"\\\"\":null}");
}
END_TEST

/* ---- Boxes and scenes ------------------------------------------------------------------------------------------- */

static void check_box(const struct obb_view *in, const struct obb_version *box, unsigned include,
                      bool has_at, const char *expected)
{
    struct wire_buf json = {0}, cbor = {0};
    wire_write_box(&json, WIRE_JSON, in, box, include, has_at);
    wire_write_box(&cbor, WIRE_CBOR, in, box, include, has_at);
    check_reply("BoxAnswer", &json, &cbor, expected);
}

START_TEST(a_box_says_what_was_put_and_what_follows)
{
    check_box(view, a, 0, false,
              "{\"name\":\"a\",\"id\":1,\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],"
              "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,"
              "\"revision\":1,\"time\":1000.5}");
    check_box(view, b, 0, true,
              "{\"name\":\"b \\\"\\\\\",\"id\":2,\"center\":[2.5,0,0],\"half_extents\":[1,1,0],"
              "\"rotation\":[0,0,0.6,0.8],\"category\":6,\"mask\":0,\"group\":-2147483648,"
              "\"entity\":\"player \\\"1\\\"\",\"data\":{\"hp\":[1,2.5,null]},"
              "\"revision\":1,\"time\":1000.5,"
              "\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false}}");
    check_box(view, c, 0, false, NULL);
    check_box(view, a,
              WIRE_INCLUDE_AXES | WIRE_INCLUDE_CORNERS | WIRE_INCLUDE_PLANES | WIRE_INCLUDE_EDGES |
                  WIRE_INCLUDE_AABB | WIRE_INCLUDE_MATRIX | WIRE_INCLUDE_VOLUME,
              false, NULL);
}
END_TEST

static json_t *derived(const struct obb_view *in, const struct obb_version *box)
{
    struct wire_buf json = {0};
    wire_write_box(&json, WIRE_JSON, in, box,
                   WIRE_INCLUDE_AXES | WIRE_INCLUDE_CORNERS | WIRE_INCLUDE_PLANES |
                       WIRE_INCLUDE_EDGES | WIRE_INCLUDE_AABB | WIRE_INCLUDE_MATRIX |
                       WIRE_INCLUDE_VOLUME,
                   false);
    json_t *value = read_json(&json);
    wire_buf_fini(&json);
    return value;
}

static double number_at(json_t *array, size_t i)
{
    ck_assert_ptr_nonnull(json_array_get(array, i));
    return json_number_value(json_array_get(array, i));
}

/* Corners, planes and edges from their definitions: each corner lies on the three planes that its index names and inside the
 * others, each edge joins two corners whose indexes differ in one bit, all of them once. */
START_TEST(derived_geometry_holds_together)
{
    struct obb_scene *flat = make_scene(2);
    obb_put put = put_of("p", (obb_vec3){3.0, -4.0, 0.0}, (obb_vec3){2.0, 0.5, 0.0});
    put.box.angle = 30.0;
    obb_committed committed;
    apply(flat, &(obb_edit){.dimensions = 2, .puts = &put, .put_count = 1}, &committed);
    struct obb_view *plane;
    ck_assert_int_eq(obb_view_open(flat, NULL, &plane, NULL, NULL), OBB_OK);

    for (size_t dimensions = 2; dimensions <= 3; dimensions++) {
        json_t *box = dimensions == 2 ? derived(plane, find(plane, "p")) : derived(view, b);
        json_t *corners = json_object_get(box, "corners"), *planes = json_object_get(box, "planes");
        json_t *edges = json_object_get(box, "edges"), *center = json_object_get(box, "center");
        json_t *axes = json_object_get(box, "axes"), *aabb = json_object_get(box, "aabb");
        json_t *half = json_object_get(box, "half_extents");
        const size_t corner_count = (size_t)1 << dimensions;
        ck_assert_uint_eq(json_array_size(corners), corner_count);
        ck_assert_uint_eq(json_array_size(planes), 2 * dimensions);
        ck_assert_uint_eq(json_array_size(axes), dimensions);
        double volume = 1.0;
        for (size_t i = 0; i < dimensions; i++)
            volume *= 2.0 * number_at(half, i);
        ck_assert_double_eq_tol(json_number_value(json_object_get(box, "volume")), volume, 1e-12);
        for (size_t i = 0; i < corner_count; i++) {
            json_t *corner = json_array_get(corners, i);
            ck_assert_uint_eq(json_array_size(corner), dimensions);
            for (size_t axis = 0; axis < dimensions; axis++) {
                double offset = 0.0;
                for (size_t k = 0; k < dimensions; k++)
                    offset += (number_at(corner, k) - number_at(center, k)) *
                              number_at(json_array_get(axes, axis), k);
                const double sign = (i >> axis & 1) != 0 ? 1.0 : -1.0;
                ck_assert_double_eq_tol(offset, sign * number_at(half, axis), 1e-12);
                for (size_t side = 0; side < 2; side++) {
                    json_t *face = json_array_get(planes, 2 * axis + side);
                    ck_assert_uint_eq(json_array_size(face), dimensions + 1);
                    double distance = number_at(face, dimensions);
                    for (size_t k = 0; k < dimensions; k++)
                        distance += number_at(face, k) * number_at(corner, k);
                    const bool on = side == (i >> axis & 1);
                    ck_assert_double_eq_tol(distance, on ? 0.0 : -2.0 * number_at(half, axis),
                                            1e-12);
                }
                ck_assert_double_ge(number_at(corner, axis),
                                    number_at(json_object_get(aabb, "min"), axis));
                ck_assert_double_le(number_at(corner, axis),
                                    number_at(json_object_get(aabb, "max"), axis));
            }
        }
        size_t joined = 0;
        json_t *edge;
        size_t i;
        ck_assert_uint_eq(json_array_size(edges), dimensions << (dimensions - 1));
        json_array_foreach(edges, i, edge)
        {
            bool found = false;
            const size_t axis = i >> (dimensions - 1);
            for (size_t from = 0; from < corner_count; from++) {
                const size_t to = from | (size_t)1 << axis;
                found =
                    found || (to != from &&
                              json_equal(json_array_get(edge, 0), json_array_get(corners, from)) &&
                              json_equal(json_array_get(edge, 1), json_array_get(corners, to)));
            }
            joined += found;
            for (size_t earlier = 0; earlier < i; earlier++)
                ck_assert(!json_equal(edge, json_array_get(edges, earlier)) ||
                          number_at(half, 2) == 0);
        }
        ck_assert_uint_eq(joined, json_array_size(edges));
        ck_assert_uint_eq(json_array_size(json_object_get(box, "matrix")), 16);
        ck_assert_ptr_null(json_object_get(box, dimensions == 2 ? "rotation" : "angle"));
        json_decref(box);
    }
    check_box(plane, find(plane, "p"),
              WIRE_INCLUDE_AXES | WIRE_INCLUDE_CORNERS | WIRE_INCLUDE_PLANES | WIRE_INCLUDE_EDGES,
              true, NULL);
    obb_view_close(plane);
    obb_scene_destroy(flat);
}
END_TEST

START_TEST(lists_of_boxes_and_scenes_have_pages)
{
    const struct obb_version *const both[] = {a, b};
    struct wire_buf json = {0}, cbor = {0};
    wire_write_boxes(&json, WIRE_JSON, view, both, 2, false, true);
    wire_write_boxes(&cbor, WIRE_CBOR, view, both, 2, false, true);
    check_reply("BoxList", &json, &cbor,
                "{\"revision\":1,\"time\":1000.5,\"boxes\":["
                "{\"name\":\"a\",\"id\":1,\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],"
                "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0},"
                "{\"name\":\"b \\\"\\\\\",\"id\":2,\"center\":[2.5,0,0],\"half_extents\":[1,1,0],"
                "\"rotation\":[0,0,0.6,0.8],\"category\":6,\"mask\":0,\"group\":-2147483648,"
                "\"entity\":\"player \\\"1\\\"\",\"data\":{\"hp\":[1,2.5,null]}}],"
                "\"cursor\":\"2\"}");
    wire_write_boxes(&json, WIRE_JSON, view, NULL, 0, true, false);
    wire_write_boxes(&cbor, WIRE_CBOR, view, NULL, 0, true, false);
    check_reply("BoxList", &json, &cbor,
                "{\"revision\":1,\"time\":1000.5,"
                "\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},\"boxes\":[]}");

    const wire_scene_row rows[] = {{obb_str_of("arena"), 3, 7}, {obb_str_of("z\""), 0, 0}};
    wire_write_scenes(&json, WIRE_JSON, rows, 2, true);
    wire_write_scenes(&cbor, WIRE_CBOR, rows, 2, true);
    check_reply("SceneList", &json, &cbor,
                "{\"scenes\":[{\"name\":\"arena\",\"boxes\":3,\"revision\":7},"
                "{\"name\":\"z\\\"\",\"boxes\":0,\"revision\":0}],\"cursor\":\"z\\\"\"}");
    wire_write_scenes(&json, WIRE_JSON, rows, 0, false);
    wire_write_scenes(&cbor, WIRE_CBOR, rows, 0, false);
    check_reply("SceneList", &json, &cbor, "{\"scenes\":[]}");
}
END_TEST

START_TEST(a_scene_says_its_settings_and_state)
{
    obb_scene_info info = {.settings = {2, 500.0, 64},
                           .boxes = 1,
                           .now = {9007199254740992u, 1e15},
                           .oldest = {3, -2.5},
                           .has_bounds = true,
                           .bounds = {{-1.0, -0.0, 0.0}, {1.0, 2.0, 0.0}}};
    struct wire_buf json = {0}, cbor = {0};
    wire_write_scene(&json, WIRE_JSON, obb_str_of("yard"), &info);
    wire_write_scene(&cbor, WIRE_CBOR, obb_str_of("yard"), &info);
    check_reply("Scene", &json, &cbor,
                "{\"name\":\"yard\",\"dimensions\":2,\"history\":{\"span\":500,\"commits\":64},"
                "\"boxes\":1,\"revision\":9007199254740992,\"time\":1000000000000000,"
                "\"oldest\":{\"revision\":3,\"time\":-2.5},"
                "\"bounds\":{\"min\":[-1,0],\"max\":[1,2]}}");
    info.has_bounds = false;
    wire_write_scene(&json, WIRE_JSON, obb_str_of("yard"), &info);
    wire_write_scene(&cbor, WIRE_CBOR, obb_str_of("yard"), &info);
    check_reply("Scene", &json, &cbor, NULL);
}
END_TEST

START_TEST(an_export_is_a_header_and_a_line_a_box)
{
    const obb_settings settings = {3, 500.0, 64};
    struct wire_buf lines = {0};
    wire_write_export_head(&lines, obb_str_of("yard"), &settings, view);
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)))
        wire_write_export_box(&lines, view, box);
    static const char expected[] =
        "{\"format\":\"obbd-scene\",\"version\":1,\"scene\":\"yard\",\"dimensions\":3,"
        "\"history\":{\"span\":500,\"commits\":64},\"boxes\":3,\"revision\":1,\"time\":1000.5}\n"
        "{\"name\":\"a\",\"id\":1,\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],"
        "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0}\n"
        "{\"name\":\"b \\\"\\\\\",\"id\":2,\"center\":[2.5,0,0],\"half_extents\":[1,1,0],"
        "\"rotation\":[0,0,0.6,0.8],\"category\":6,\"mask\":0,\"group\":-2147483648,"
        "\"entity\":\"player \\\"1\\\"\",\"data\":{\"hp\":[1,2.5,null]}}\n"
        "{\"name\":\"\xe2\x98\x83\",\"id\":3,\"center\":[-1000000000,1000000000,5e-324],"
        "\"half_extents\":[0,0,0],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,"
        "\"group\":0}\n";
    ck_assert_msg(lines.length == sizeof expected - 1 &&
                      memcmp(lines.bytes, expected, lines.length) == 0,
                  "%.*s", (int)lines.length, lines.bytes);
    const char *fault =
        schema_check(schema, &(struct schema_exchange){.method = "GET",
                                                       .target = "/v1/scenes/yard/export",
                                                       .status = 200,
                                                       .answer_type = "application/x-ndjson",
                                                       .answer = lines.bytes,
                                                       .answer_length = lines.length});
    ck_assert_msg(fault == NULL, "%s", fault);
    wire_buf_fini(&lines);
}
END_TEST

/* ---- Queries ------------------------------------------------------------------------------------------------------ */

static void check_result(const obb_query *query, const obb_result *result, const char *schema_name,
                         const char *expected)
{
    struct wire_buf json = {0}, cbor = {0};
    wire_write_result(&json, WIRE_JSON, view, query, result);
    wire_write_result(&cbor, WIRE_CBOR, view, query, result);
    check_reply(schema_name, &json, &cbor, expected);
}

#define HEAD "{\"revision\":1,\"time\":1000.5,"
#define B    "\"b \\\"\\\\\""

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
        ck_assert_msg(lines.length == strlen(streams[i].lines) &&
                          memcmp(lines.bytes, streams[i].lines, lines.length) == 0,
                      "%.*s", (int)lines.length, lines.bytes);
        const char *fault = schema_check(
            schema, &(struct schema_exchange){.method = "POST",
                                              .target = "/v1/scenes/yard/query/all-pairs",
                                              .status = 200,
                                              .answer_type = "application/x-ndjson",
                                              .answer = lines.bytes,
                                              .answer_length = lines.length});
        ck_assert_msg(fault == NULL, "%s", fault);
        wire_buf_fini(&lines);
    }
}
END_TEST

START_TEST(in_the_plane_vectors_have_two_numbers)
{
    struct obb_scene *flat = make_scene(2);
    obb_put put = put_of("p", (obb_vec3){3.0, -4.0, 0.0}, (obb_vec3){2.0, 0.5, 0.0});
    put.box.angle = -45.0;
    obb_committed committed;
    apply(flat, &(obb_edit){.dimensions = 2, .has_time = true, .puts = &put, .put_count = 1},
          &committed);
    struct obb_view *plane;
    ck_assert_int_eq(obb_view_open(flat, NULL, &plane, NULL, NULL), OBB_OK);
    const struct obb_version *p = find(plane, "p");
    check_box(plane, p, WIRE_INCLUDE_VOLUME, false,
              "{\"name\":\"p\",\"id\":1,\"center\":[3,-4],\"half_extents\":[2,0.5],\"angle\":-45,"
              "\"category\":1,\"mask\":4294967295,\"group\":0,\"volume\":4,"
              "\"revision\":1,\"time\":0}");
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

/* ---- The past, commits, problems, events --------------------------------------------------------------------------- */

START_TEST(a_past_state_is_told_apart_from_the_present)
{
    const obb_pose pose = {
        .target = {.name = obb_str_of("a")}, .has_center = true, .center = {5.0, 0.0, 0.0}};
    obb_committed committed;
    apply(scene,
          &(obb_edit){
              .dimensions = 3, .has_time = true, .time = 1010.5, .poses = &pose, .pose_count = 1},
          &committed);
    struct obb_view *past;
    const obb_at at = {.kind = OBB_AT_TIME, .time = 1005.5};
    ck_assert_int_eq(obb_view_open(scene, &at, &past, NULL, NULL), OBB_OK);
    check_box(past, find(past, "a"), 0, true,
              "{\"name\":\"a\",\"id\":1,\"center\":[3,0,0.05],\"half_extents\":[1,2,3],"
              "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,"
              "\"revision\":2,\"time\":1010.5,"
              "\"at\":{\"revision\":1,\"time\":1005.5,\"clamped\":false}}");
    obb_view_close(past);
}
END_TEST

START_TEST(a_commit_answers_counts_ids_missing_and_results)
{
    const obb_put puts[] = {put_of("n\"1", (obb_vec3){0}, (obb_vec3){1.0, 1.0, 1.0}),
                            put_of("a", (obb_vec3){0}, (obb_vec3){1.0, 1.0, 1.0})};
    const obb_pose poses[] = {{.target = {.name = obb_str_of("ghost")}, .has_center = true},
                              {.target = {.has_id = true, .id = 77}, .has_center = true},
                              {.target = {.name = obb_str_of("a")}, .has_center = true}};
    const obb_transform_edit turn = {.target = {.name = obb_str_of("no\"body")},
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
                                         .transforms = &turn,
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
                         (const obb_result *const[]){&all, &point}, NULL);
    wire_write_committed(&cbor, WIRE_CBOR, &commit, &committed,
                         (const struct obb_view *const[]){view, view},
                         (const obb_result *const[]){&all, &point}, NULL);
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
                         &busy);
    wire_write_committed(&cbor, WIRE_CBOR, &asked, &(obb_committed){.moment = {2, 1.0}}, NULL, NULL,
                         &busy);
#define BUSY                                                                           \
    "{\"problem\":{\"type\":\"/problems/unavailable\",\"title\":\"t\",\"status\":503," \
    "\"detail\":\"d\"}}"
    check_reply("CommitAnswer", &json, &cbor,
                "{\"revision\":2,\"time\":1,\"removed\":0,\"put\":0,\"posed\":0,"
                "\"transformed\":0,\"results\":[" BUSY "," BUSY "]}");

    const wire_commit empty = {.edit = {.dimensions = 3}};
    wire_write_committed(&json, WIRE_JSON, &empty, &(obb_committed){.moment = {1, 0.0}}, NULL, NULL,
                         NULL);
    wire_write_committed(&cbor, WIRE_CBOR, &empty, &(obb_committed){.moment = {1, 0.0}}, NULL, NULL,
                         NULL);
    check_reply("CommitAnswer", &json, &cbor,
                "{\"revision\":1,\"time\":0,\"removed\":0,\"put\":0,\"posed\":0,"
                "\"transformed\":0,\"results\":[]}");
}
END_TEST

START_TEST(problems_say_what_where_and_what_next)
{
    wire_problem problem = {.status = 422,
                            .type = "bad-extent",
                            .title = "a half extent, radius or distance is negative",
                            .pointer = "/put/cra\"te/half_extents/1"};
    struct wire_buf json = {0};
    wire_write_problem(&json, &problem);
    check_reply("Problem", &json, NULL,
                "{\"type\":\"/problems/bad-extent\","
                "\"title\":\"a half extent, radius or distance is negative\",\"status\":422,"
                "\"pointer\":\"/put/cra\\\"te/half_extents/1\"}");
    problem = (wire_problem){.status = 410,
                             .type = "gone",
                             .title = "the state asked for lies outside the kept history",
                             .detail = "it is too old",
                             .has_range = true,
                             .oldest = {3, 10.0},
                             .newest = {9, 22.5},
                             .allow = "GET, PUT",
                             .retry_after = 2};
    wire_write_problem(&json, &problem);
    check_reply("Problem", &json, NULL,
                "{\"type\":\"/problems/gone\","
                "\"title\":\"the state asked for lies outside the kept history\",\"status\":410,"
                "\"detail\":\"it is too old\",\"oldest\":{\"revision\":3,\"time\":10},"
                "\"newest\":{\"revision\":9,\"time\":22.5},\"allow\":\"GET, PUT\","
                "\"retry_after\":2}");
}
END_TEST

START_TEST(events_are_messages_of_a_stream)
{
    const obb_box_pair pairs[] = {{a, b}};
    const struct obb_version *const boxes[] = {a, b};
    const obb_moment moment = {7, 1000.5};
    const wire_changes changes = {
        .put = boxes, .put_count = 2, .removed = boxes, .removed_count = 1};
    const obb_committed committed = {.moment = moment, .put = 2, .removed = 1};
    struct wire_buf stream = {0};
    wire_event_comment(&stream);
    wire_event_collisions(&stream, WIRE_COLLISIONS_STATE, moment, true, pairs, 1);
    wire_event_commit(&stream, &committed, false);
    wire_event_boxes(&stream, moment, false, &changes);
    wire_event_collisions(&stream, WIRE_COLLISIONS_BEGIN, moment, false, pairs, 0);
    wire_event_collisions(&stream, WIRE_COLLISIONS_END, moment, false, pairs, 1);
    wire_event_collisions(&stream, WIRE_COLLISIONS_REMOVED, moment, true, pairs, 1);
    wire_event_overrun(&stream, moment);
    wire_event_gone(&stream, moment);
    wire_event_shutdown(&stream, moment);
    static const char expected[] =
        ":\n\n"
        "id: 7\nevent: state\ndata: "
        "{\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B "]]}\n\n"
        "event: commit\ndata: {\"revision\":7,\"time\":1000.5,\"put\":2,\"posed\":0,"
        "\"transformed\":0,\"removed\":1}\n\n"
        "event: boxes\ndata: {\"revision\":7,\"time\":1000.5,\"put\":[\"a\"," B "],\"posed\":[],"
        "\"removed\":[\"a\"]}\n\n"
        "event: begin\ndata: {\"revision\":7,\"time\":1000.5,\"pairs\":[]}\n\n"
        "event: end\ndata: {\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B "]]}\n\n"
        "id: 7\nevent: end\ndata: {\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B "]],"
        "\"reason\":\"removed\"}\n\n"
        "event: overrun\ndata: {\"revision\":7,\"time\":1000.5}\n\n"
        "event: gone\ndata: {\"revision\":7,\"time\":1000.5}\n\n"
        "event: shutdown\ndata: {\"revision\":7,\"time\":1000.5}\n\n";
    ck_assert_msg(stream.length == sizeof expected - 1 &&
                      memcmp(stream.bytes, expected, stream.length) == 0,
                  "%.*s", (int)stream.length, stream.bytes);
    const char *fault =
        schema_check(schema, &(struct schema_exchange){.method = "GET",
                                                       .target = "/v1/scenes/yard/events",
                                                       .status = 200,
                                                       .answer_type = "text/event-stream",
                                                       .answer = stream.bytes,
                                                       .answer_length = stream.length});
    ck_assert_msg(fault == NULL, "%s", fault);
    wire_buf_fini(&stream);
}
END_TEST

/* ---- Failures and speed ----------------------------------------------------------------------------------------------- */

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
    Suite *suite = suite_create("reply");
    TCase *tc = tcase_create("reply");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, strings_of_every_length_and_content_read_back);
    tcase_add_test(tc, json_text_becomes_the_same_value_in_cbor);
    tcase_add_test(tc, numbers_and_lists_of_ids_come_out_in_both_media);
    tcase_add_test(tc, a_box_says_what_was_put_and_what_follows);
    tcase_add_test(tc, derived_geometry_holds_together);
    tcase_add_test(tc, lists_of_boxes_and_scenes_have_pages);
    tcase_add_test(tc, a_scene_says_its_settings_and_state);
    tcase_add_test(tc, an_export_is_a_header_and_a_line_a_box);
    tcase_add_test(tc, pairs_say_overlap_and_what_was_wanted);
    tcase_add_test(tc, boxes_are_bare_or_with_what_was_wanted_by_name_or_id);
    tcase_add_test(tc, hits_have_a_fraction_where_there_is_a_whole);
    tcase_add_test(tc, all_pairs_come_as_lists_counts_and_lines);
    tcase_add_test(tc, in_the_plane_vectors_have_two_numbers);
    tcase_add_test(tc, a_past_state_is_told_apart_from_the_present);
    tcase_add_test(tc, a_commit_answers_counts_ids_missing_and_results);
    tcase_add_test(tc, problems_say_what_where_and_what_next);
    tcase_add_test(tc, events_are_messages_of_a_stream);
    tcase_add_test(tc, a_failing_heap_marks_the_buffer_and_harms_nothing);
    tcase_add_test(tc, ten_thousand_pairs_are_written_alike_each_time);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
