#include "proto/wire.h"
#include "tests/support/fault.h"
#include "tests/support/sentence.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const char whole[] =
    "{\"format\":\"obbd-scene\",\"version\":2,\"scene\":\"yard\",\"dimensions\":3,"
    "\"history\":{\"span\":250.5,\"commits\":7},\"record\":10000,\"boxes\":4,\"frames\":1,"
    "\"revision\":1,"
    "\"time\":-12.5}\n"
    "{\"frame\":\"ann\",\"center\":[1,2,-0.0],\"rotation\":[0.6,0,0,0.8]}\n"
    "{\"name\":\"a\",\"id\":1,\"center\":[1,-0.0,0.1],\"half_extents\":[1,2,3],"
    "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0}\n"
    "{\"name\":\"b \\\"\\\\\",\"id\":2,\"center\":[2.5,0,0],\"half_extents\":[1,1,0],"
    "\"rotation\":[0,0,0.6,0.8],\"category\":6,\"mask\":0,\"group\":-2147483648,"
    "\"entity\":\"player \\\"1\\\"\",\"data\":{\"hp\":[1,2.5,null]}}\n"
    "{\"name\":\"\xe2\x98\x83\",\"id\":3,\"center\":[-1000000000,1000000000,5e-324],"
    "\"half_extents\":[0,0,0],\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,"
    "\"group\":0}\n"
    "{\"name\":\"limb\",\"id\":4,\"half_extents\":[1,2,3],\"frame\":\"ann\","
    "\"local\":{\"center\":[0.1,0.2,0.3],\"rotation\":[0,0.6,0,0.8]},\"category\":1,"
    "\"mask\":4294967295,\"group\":0}\n";

static bool read_import(const char *bytes, size_t length, struct obb_arena *arena, obb_edit *edit,
                        wire_problem *problem)
{
    /* a block of exactly its size, so that a sanitizer sees one byte too many */
    char *copy = obb_arena_alloc(arena, length + 1, 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    const wire_body body = {.bytes = copy, .length = length, .media = WIRE_NDJSON};
    return wire_read_import(&body, arena, edit, problem);
}

/* Imports the lines into a fresh scene and exports that. */
static void export_again(const obb_edit *edit, struct obb_arena *arena, struct wire_buf *out)
{
    const obb_settings defaults = {3, 500.0, 64, 0};
    struct obb_scene *scene;
    struct obb_prepared *prepared;
    obb_fault fault;
    obb_committed committed;
    obb_scene_info info;
    struct obb_view *view;
    ck_assert_int_eq(obb_scene_create(obb_str_of("yard"), &defaults, 0.0, NULL, &scene), OBB_OK);
    ck_assert_int_eq(obb_edit_prepare(scene, edit, 0.0, 1000, arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &committed);
    obb_scene_info_get(scene, &info);
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    wire_write_export_head(out, obb_str_of("yard"), &info.settings, view);
    for (const struct obb_version *frame = obb_view_next_frame(view, (obb_str){0}, true);
         frame != NULL; frame = obb_view_next_frame(view, obb_view_name(frame), true))
        wire_write_export_frame(out, view, frame);
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL;
         box = obb_view_next(view, obb_view_id(box)))
        wire_write_export_box(out, view, box);
    obb_view_close(view);
    obb_scene_destroy(scene);
}

START_TEST(what_was_exported_comes_back_to_the_byte)
{
    struct obb_arena arena = {0};
    obb_edit edit;
    wire_problem problem;
    struct wire_buf buf = {0};
    ck_assert(read_import(whole, sizeof whole - 1, &arena, &edit, &problem));
    ck_assert(edit.replace_all);
    ck_assert_uint_eq(edit.put_count, 4);
    ck_assert_uint_eq(edit.frame_count, 1);
    export_again(&edit, &arena, &buf);
    ck_assert_msg(buf.length == sizeof whole - 1 && memcmp(buf.bytes, whole, buf.length) == 0,
                  "%.*s", (int)buf.length, buf.bytes);
    wire_buf_fini(&buf);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(in_the_plane_too)
{
    static const char flat[] =
        "{\"format\":\"obbd-scene\",\"version\":2,\"scene\":\"yard\",\"dimensions\":2,"
        "\"history\":{\"span\":0,\"commits\":0},\"record\":0,\"boxes\":2,\"frames\":2,\"revision\":"
        "1,\"time\":0}"
        "\n"
        "{\"frame\":\"door\",\"center\":[3,-0.1],\"angle\":17.25}\n"
        "{\"frame\":\"empty\",\"center\":[0,0],\"angle\":0}\n"
        "{\"name\":\"a\",\"id\":1,\"center\":[1,2],\"half_extents\":[1,2],\"angle\":30.5,"
        "\"category\":1,\"mask\":4294967295,\"group\":0}\n"
        "{\"name\":\"leaf\",\"id\":2,\"half_extents\":[1,2],\"frame\":\"door\","
        "\"local\":{\"center\":[0.3,0],\"angle\":1.5},"
        "\"category\":1,\"mask\":4294967295,\"group\":0}\n";
    struct obb_arena arena = {0};
    obb_edit edit;
    wire_problem problem;
    struct wire_buf buf = {0};
    ck_assert(read_import(flat, sizeof flat - 1, &arena, &edit, &problem));
    export_again(&edit, &arena, &buf);
    ck_assert_msg(buf.length == sizeof flat - 1 && memcmp(buf.bytes, flat, buf.length) == 0, "%.*s",
                  (int)buf.length, buf.bytes);
    wire_buf_fini(&buf);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_file_that_was_cut_is_refused)
{
    size_t refused = 0;
    for (size_t length = 0; length + 1 < sizeof whole - 1; length++, refused++) {
        struct obb_arena arena = {0};
        obb_edit edit;
        wire_problem problem = {0};
        ck_assert_msg(!read_import(whole, length, &arena, &edit, &problem), "%zu bytes", length);
        ck_assert_msg(problem.status == 400 || problem.status == 422, "%zu bytes: %d", length,
                      problem.status);
        obb_arena_fini(&arena);
    }
    ck_assert_uint_gt(refused, 500);
    /* except the newline of the last line */
    struct obb_arena arena = {0};
    obb_edit edit;
    wire_problem problem;
    ck_assert(read_import(whole, sizeof whole - 2, &arena, &edit, &problem));
    obb_arena_fini(&arena);
}
END_TEST

#define HEAD                                                                 \
    "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":" \
    "{\"span\":0,\"commits\":1}}\n"
#define HEAD2                                                                \
    "{\"format\":\"obbd-scene\",\"version\":2,\"dimensions\":3,\"history\":" \
    "{\"span\":0,\"commits\":1}}\n"
#define FRAME(name) "{\"frame\":\"" name "\",\"center\":[0,0,0]}\n"
#define LINE(name)  "{\"name\":\"" name "\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}\n"

START_TEST(a_fault_names_its_line_and_value)
{
    static const struct {
        const char *body;
        int status;
        const char *pointer, *detail;
    } cases[] = {
        {"", 400, NULL, "line 1: "},
        {"\n" HEAD, 400, NULL, "line 1: "},
        {"[]\n", 422, "/0", NULL},
        {"{}\n", 422, "/0", NULL},
        {LINE("a"), 422, "/0/name", NULL},
        {HEAD HEAD, 422, "/1/format", NULL},
        {HEAD "\n" LINE("a"), 400, NULL, "line 2: "},
        {HEAD LINE("a") "{\"name\":\"b\",\n", 400, NULL, "line 3: "},
        {HEAD LINE("a") "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}\n", 422, "/2", NULL},
        {HEAD LINE("a") "{\"name\":\"b\",\"center\":[0,0,0],\"half_extents\":[1,-1,1]}\n", 422,
         "/2/half_extents/1", NULL},
        {HEAD "{\"name\":\"\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}", 422, "/1/name", NULL},
        {HEAD "{\"name\":\"a\",\"id\":0,\"center\":[0,0,0],\"half_extents\":[1,1,1]}", 422, "/1/id",
         NULL},
        {HEAD LINE("a") LINE("b") LINE("c") LINE("d") LINE("b") LINE("c"), 422, "/5/name", NULL},
        {HEAD LINE("a") LINE("a"), 422, "/2/name",
         "found \"a\"; a line before has a box of this name"},
        {HEAD LINE("a") " ", 400, NULL, "line 3: "},
        {HEAD LINE("a") LINE("b") "7", 422, "/3", NULL},
        {"{\"format\":\"other\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":0,\"commits\":"
         "1}"
         "}",
         422, "/0/format", NULL},
        {"{\"format\":\"obbd-scene\",\"version\":3,\"dimensions\":3,\"history\":{\"span\":0,"
         "\"commits\":1}}",
         422, "/0/version", "found 3; a whole number from 1 to 2 is needed here"},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":0,"
         "\"commits\":1},\"frames\":0}",
         422, "/0/frames", NULL},
        {HEAD FRAME("f"), 422, "/1", NULL}, /* version 1 has none */
        {HEAD2 FRAME("f") FRAME("f"), 422, "/2/frame",
         "found \"f\"; a line before has a frame of this name"},
        {HEAD2 FRAME("f") LINE("a") FRAME("g"), 422, "/3", NULL}, /* frames come before boxes */
        {HEAD2 FRAME("f") LINE("a") LINE("a"), 422, "/3/name",
         "found \"a\"; a line before has a box of this name"},
        {HEAD2 "{\"frame\":\"f\",\"center\":[0,0,true]}\n", 422, "/1/center/2", NULL},
        {HEAD2 "{\"frame\":\"f\",\"half_extents\":[1,1,1]}\n", 422, "/1/half_extents", NULL},
        {HEAD2 "{\"frame\":\"\",\"center\":[0,0,0]}\n", 422, "/1/frame", NULL},
        {HEAD2 "{\"frame\":\"f\",\n", 400, NULL, "line 2: "},
        {"{\"format\":\"obbd-scene\",\"version\":2,\"dimensions\":3,\"history\":{\"span\":0,"
         "\"commits\":1},\"frames\":2}\n" FRAME("f") LINE("a"),
         422, "/0/frames", "found 2; the lines that follow are 1"},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":4,\"history\":{\"span\":0,"
         "\"commits\":1}}",
         422, "/0/dimensions", NULL},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":0}}", 422,
         "/0/history", NULL},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":-1,"
         "\"commits\":1}}",
         422, "/0/history/span", NULL},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"record\":10001,\"history\":{"
         "\"span\":0,"
         "\"commits\":1}}",
         422, "/0/record", "found 10001; a whole number from 0 to 10000 is needed here"},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":0,"
         "\"commits\":1},\"boxes\":2}\n" LINE("a"),
         422, "/0/boxes", "found 2; the lines that follow are 1"},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":0,"
         "\"commits\":1},\"time\":1e300}\n",
         422, "/0/time", NULL},
        {"{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":2,\"history\":{\"span\":0,"
         "\"commits\":1}}\n" LINE("a"),
         422, "/1/center", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct obb_arena arena = {0};
        obb_edit edit;
        wire_problem problem = {0};
        ck_assert_msg(!read_import(cases[i].body, strlen(cases[i].body), &arena, &edit, &problem),
                      "%s", cases[i].body);
        ck_assert_msg(problem.status == cases[i].status, "%s: %d", cases[i].body, problem.status);
        ck_assert_msg(cases[i].pointer == NULL ? problem.pointer == NULL
                                               : problem.pointer != NULL &&
                                                     strcmp(problem.pointer, cases[i].pointer) == 0,
                      "%s: %s", cases[i].body, problem.pointer);
        check_sentence(problem.detail);
        if (cases[i].detail != NULL)
            ck_assert_msg(strncmp(problem.detail, cases[i].detail, strlen(cases[i].detail)) == 0,
                          "%s: %s", cases[i].body, problem.detail);
        obb_arena_fini(&arena);
    }
    printf("%zu refusals checked\n", sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(what_need_not_be_said_need_not)
{
    static const char body[] = HEAD LINE("a") LINE("b");
    struct obb_arena arena = {0};
    obb_edit edit;
    wire_problem problem;
    ck_assert(read_import(body, sizeof body - 1, &arena, &edit, &problem));
    ck_assert(!edit.has_time);
    ck_assert_uint_eq(edit.put_count, 2);
    ck_assert_uint_eq(edit.puts[1].attributes.mask, UINT32_MAX);
    ck_assert(obb_str_equal(edit.puts[1].target.name, obb_str_of("b")));
    ck_assert_uint_eq(edit.settings->history_commits, 1);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_failing_heap_is_a_503)
{
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        struct obb_arena arena = {0};
        obb_edit edit;
        wire_problem problem = {0};
        const wire_body body = {.bytes = whole, .length = sizeof whole - 1, .media = WIRE_NDJSON};
        fault_arm(n);
        const bool ok = wire_read_import(&body, &arena, &edit, &problem);
        fault_arm(0);
        obb_arena_fini(&arena);
        if (ok)
            break;
        ck_assert_int_eq(problem.status, 503);
        failures++;
    }
    ck_assert_uint_gt(failures, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_import");
    TCase *tc = tcase_create("import");
    tcase_add_test(tc, what_was_exported_comes_back_to_the_byte);
    tcase_add_test(tc, in_the_plane_too);
    tcase_add_test(tc, a_file_that_was_cut_is_refused);
    tcase_add_test(tc, a_fault_names_its_line_and_value);
    tcase_add_test(tc, what_need_not_be_said_need_not);
    tcase_add_test(tc, a_failing_heap_is_a_503);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
