#include "tests/proto/reply/yard.h"

START_TEST(lists_of_scenes_have_pages)
{
    struct wire_buf json = {0}, cbor = {0};
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
    obb_scene_info info = {.settings = {2, 500.0, 64, 3},
                           .boxes = 1,
                           .now = {9007199254740992u, 1e15},
                           .oldest = {3, -2.5},
                           .has_bounds = true,
                           .bounds = {{-1.0, -0.0, 0.0}, {1.0, 2.0, 0.0}}};
    struct wire_buf json = {0}, cbor = {0};
    wire_write_scene(&json, WIRE_JSON, obb_str_of("yard"), &info, false);
    wire_write_scene(&cbor, WIRE_CBOR, obb_str_of("yard"), &info, false);
    check_reply("Scene", &json, &cbor,
                "{\"name\":\"yard\",\"dimensions\":2,\"history\":{\"span\":500,\"commits\":64},"
                "\"record\":3,\"boxes\":1,\"revision\":9007199254740992,\"time\":1000000000000000,"
                "\"oldest\":{\"revision\":3,\"time\":-2.5},"
                "\"bounds\":{\"min\":[-1,0],\"max\":[1,2]}}");
    info.has_bounds = false;
    wire_write_scene(&json, WIRE_JSON, obb_str_of("yard"), &info, true);
    wire_write_scene(&cbor, WIRE_CBOR, obb_str_of("yard"), &info, true);
    check_reply("Scene", &json, &cbor,
                "{\"name\":\"yard\",\"dimensions\":2,\"history\":{\"span\":500,\"commits\":64},"
                "\"record\":3,\"durable\":true,\"boxes\":1,\"revision\":9007199254740992,"
                "\"time\":1000000000000000,\"oldest\":{\"revision\":3,\"time\":-2.5},"
                "\"bounds\":null}");
}
END_TEST

START_TEST(an_export_is_a_header_and_a_line_a_box)
{
    const obb_settings settings = {3, 500.0, 64, 7};
    struct wire_buf lines = {0};
    wire_write_export_head(&lines, obb_str_of("yard"), &settings, view);
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)))
        wire_write_export_box(&lines, view, box);
    static const char expected[] =
        "{\"format\":\"obbd-scene\",\"version\":2,\"scene\":\"yard\",\"dimensions\":3,"
        "\"history\":{\"span\":500,\"commits\":64},\"record\":7,\"boxes\":3,\"frames\":0,"
        "\"revision\":1,"
        "\"time\":1000.5}\n"
        "{\"name\":\"a\",\"id\":1,\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],"
        "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0}\n"
        "{\"name\":\"b \\\"\\\\\",\"id\":2,\"center\":[2.5,0,0],\"half_extents\":[1,1,0],"
        "\"rotation\":[0,0,0.6,0.8],\"category\":6,\"mask\":0,\"group\":-2147483648,"
        "\"entity\":\"player \\\"1\\\"\",\"data\":{\"hp\":[1,2.5,null]}}\n"
        "{\"name\":\"\xe2\x98\x83\",\"id\":3,\"center\":[-1000000000,1000000000,5e-324],"
        "\"half_extents\":[0,0,0],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,"
        "\"group\":0}\n";
    check_lines(&lines, "GET", "/v1/scenes/yard/export", "application/x-ndjson", expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply_scene");
    TCase *tc = tcase_create("reply_scene");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, lists_of_scenes_have_pages);
    tcase_add_test(tc, a_scene_says_its_settings_and_state);
    tcase_add_test(tc, an_export_is_a_header_and_a_line_a_box);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
