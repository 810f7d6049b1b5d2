#include "tests/proto/reply/yard.h"

START_TEST(a_box_says_what_was_put_and_what_follows)
{
    check_box(
        view, a, 0, false,
        "{\"name\":\"a\",\"id\":1,\"changed\":1,\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],"
        "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,"
        "\"revision\":1,\"time\":1000.5}");
    check_box(view, b, 0, true,
              "{\"name\":\"b "
              "\\\"\\\\\",\"id\":2,\"changed\":1,\"center\":[2.5,0,0],\"half_extents\":[1,1,0],"
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

/* Corners, planes and edges from their definitions: each corner lies on the three planes that its
 * index names and inside the others, each edge joins two corners whose indexes differ in one bit,
 * all of them once. */

START_TEST(derived_geometry_holds_together)
{
    struct obb_scene *flat;
    struct obb_view *plane = open_plane(30.0, &flat);

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

START_TEST(lists_of_boxes_have_pages)
{
    const struct obb_version *const both[] = {a, b};
    struct wire_buf json = {0}, cbor = {0};
    wire_write_boxes(&json, WIRE_JSON, view, both, 2, false, true);
    wire_write_boxes(&cbor, WIRE_CBOR, view, both, 2, false, true);
    check_reply(
        "BoxList", &json, &cbor,
        "{\"revision\":1,\"time\":1000.5,\"boxes\":["
        "{\"name\":\"a\",\"id\":1,\"changed\":1,\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],"
        "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0},"
        "{\"name\":\"b "
        "\\\"\\\\\",\"id\":2,\"changed\":1,\"center\":[2.5,0,0],\"half_extents\":[1,1,0],"
        "\"rotation\":[0,0,0.6,0.8],\"category\":6,\"mask\":0,\"group\":-2147483648,"
        "\"entity\":\"player \\\"1\\\"\",\"data\":{\"hp\":[1,2.5,null]}}],"
        "\"cursor\":\"2\"}");
    wire_write_boxes(&json, WIRE_JSON, view, NULL, 0, true, false);
    wire_write_boxes(&cbor, WIRE_CBOR, view, NULL, 0, true, false);
    check_reply("BoxList", &json, &cbor,
                "{\"revision\":1,\"time\":1000.5,"
                "\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},\"boxes\":[]}");
}
END_TEST

START_TEST(in_the_plane_a_box_has_vectors_of_two_numbers)
{
    struct obb_scene *flat;
    struct obb_view *plane = open_plane(-45.0, &flat);
    const struct obb_version *p = find(plane, "p");
    check_box(plane, p, WIRE_INCLUDE_VOLUME, false,
              "{\"name\":\"p\",\"id\":1,\"changed\":1,\"center\":[3,-4],\"half_extents\":[2,0.5],"
              "\"angle\":-45,"
              "\"category\":1,\"mask\":4294967295,\"group\":0,\"volume\":4,"
              "\"revision\":1,\"time\":0}");
    obb_view_close(plane);
    obb_scene_destroy(flat);
}
END_TEST

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
    check_box(
        past, find(past, "a"), 0, true,
        "{\"name\":\"a\",\"id\":1,\"changed\":1,\"center\":[3,0,0.05],\"half_extents\":[1,2,3],"
        "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,"
        "\"revision\":2,\"time\":1010.5,"
        "\"at\":{\"revision\":1,\"time\":1005.5,\"clamped\":false}}");
    obb_view_close(past);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply_box");
    TCase *tc = tcase_create("reply_box");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, a_box_says_what_was_put_and_what_follows);
    tcase_add_test(tc, derived_geometry_holds_together);
    tcase_add_test(tc, lists_of_boxes_have_pages);
    tcase_add_test(tc, in_the_plane_a_box_has_vectors_of_two_numbers);
    tcase_add_test(tc, a_past_state_is_told_apart_from_the_present);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
