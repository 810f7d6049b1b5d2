#include "proto/codec/walk.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* The pointer of a fault at the value that the marker @ stands before. */
static const char *pointer_to(const char *marked, struct obb_arena *arena)
{
    const char *at = strchr(marked, '@');
    ck_assert_ptr_nonnull(at);
    const size_t before = (size_t)(at - marked), length = strlen(marked) - 1;
    char *text = obb_arena_alloc(arena, length + 1, 1);
    ck_assert_ptr_nonnull(text);
    (void)snprintf(text, length + 1, "%.*s%s", (int)before, marked, at + 1);
    struct wire_cursor c;
    wire_json_open(&c, text, length, arena);
    (void)wire_fail_at(&c, WIRE_OBB_BAD_VALUE, before, NULL);
    const wire_problem problem = wire_cursor_explain(&c);
    ck_assert_int_eq(problem.status, 422);
    return problem.pointer;
}

START_TEST(a_place_becomes_a_pointer)
{
    static const char *const cases[][2] = {
        {"@{}", ""},
        {" @42", ""},
        {"{\"a\":@1}", "/a"},
        {"{\"a\":1,\"b\" : @ [1,2]}",
         NULL}, /* the place of a value is its first byte, not the space before */
        {"{\"a\":1,\"b\" :  @[1,2]}", "/b"},
        {"{\"a\":1,\"b\":[1,@2]}", "/b/1"},
        {"[[],[{\"x\":[0,0,@\"y\"]}]]", "/1/0/x/2"},
        {"{\"\":@1}", "/"},
        {"{\"a/b~c\":{\"~1\":@null}}", "/a~1b~0c/~01"},
        {"{\"\\u00e9\":@1}", "/\xc3\xa9"},
        {"{\"a\\u0000b\":{\"c\":@1}}", ""}, /* no pointer has a zero byte: the enclosing value */
    };
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *pointer = pointer_to(cases[i][0], &arena);
        if (cases[i][1] == NULL)
            ck_assert_ptr_null(pointer);
        else
            ck_assert_msg(pointer != NULL && strcmp(pointer, cases[i][1]) == 0, "%s: %s",
                          cases[i][0], pointer);
    }
    /* what is longer than 1,024 bytes ends at an enclosing value */
    char text[4096];
    (void)snprintf(text, sizeof text, "{\"a\":{\"%01100d\":{\"b\":@1}}}", 0);
    ck_assert_str_eq(pointer_to(text, &arena), "/a");
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_malformed_rest_outweighs_an_invalid_value)
{
    static const struct {
        const char *text;
        int status;
        const char *pointer;
    } cases[] = {
        {"{\"a\":1e999}", 422, "/a"},
        {"{\"a\":1e999", 400, NULL},
        {"{\"a\":1e999,\"b\":{\"c\":1,\"c\":2}}", 400, NULL},
        {"{\"a\":1e999,\"b\":\"\\ud800\"}", 400, NULL},
        {"{\"a\":1e999} x", 400, NULL},
        {"{\"a\":1e999,\"b\":[1e999]}", 422, "/a"},
    };
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_cursor c;
        double number;
        obb_str key;
        wire_json_open(&c, cases[i].text, strlen(cases[i].text), &arena);
        ck_assert(wire_enter_object(&c) && wire_next_key(&c, &key));
        ck_assert(!wire_read_number(&c, &number));
        const wire_problem problem = wire_cursor_explain(&c);
        ck_assert_msg(problem.status == cases[i].status, "%s: %d", cases[i].text, problem.status);
        if (cases[i].pointer == NULL) {
            ck_assert_ptr_null(problem.pointer);
            ck_assert_msg(strstr(problem.detail, "at byte") != NULL, "%s", problem.detail);
        } else {
            ck_assert_str_eq(problem.pointer, cases[i].pointer);
        }
    }
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(captured_values_are_compact_and_as_they_were_sent)
{
    static const char *const cases[][2] = {
        {" { \"a\" : [ 1 , 2.50 , -0.0 , 1E5 ] , \"b\" : null } ",
         "{\"a\":[1,2.50,-0.0,1E5],\"b\":null}"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"true", "true"},
        {"12345678901234567890123", "12345678901234567890123"},
        {"\"\\u0041\\/\\u00e9\\ud83d\\ude00\"", "\"A/\xc3\xa9\xf0\x9f\x98\x80\""},
        {"\"\\u0000\\u001f\\u0008\\f\\n\\r\\t\\\"\\\\\\u007f\"",
         "\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\\x7f\""},
        {"{\"a\\u0000\\n\":[false,[[\"x\"]]]}", "{\"a\\u0000\\n\":[false,[[\"x\"]]]}"},
    };
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_cursor c;
        obb_str got, again;
        wire_json_open(&c, cases[i][0], strlen(cases[i][0]), &arena);
        ck_assert(wire_capture(&c, &got) && wire_finish(&c));
        ck_assert_msg(obb_str_equal(got, obb_str_of(cases[i][1])), "%.*s", (int)got.length,
                      got.bytes);
        wire_json_open(&c, got.bytes, got.length, &arena); /* and compact text stays as it is */
        ck_assert(wire_capture(&c, &again) && obb_str_equal(got, again));
    }
    obb_arena_fini(&arena);
}
END_TEST

/* Long texts, too, and what CBOR has beside JSON. */
START_TEST(transcoded_values_are_compact_json)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *json;
    } cases[] = {
#define CBOR(bytes) bytes, sizeof(bytes) - 1
        {CBOR("\xa2\x61\x61\x01\x62\x0a\x22\xf6"), "{\"a\":1,\"\\n\\\"\":null}"},
        {CBOR("\x84\xf5\xf4\x20\x80"), "[true,false,-1,[]]"},
        {CBOR("\xd8\x55\x48\0\0\xc0\x3f\0\0\0\xc0"), "[1.5,-2]"},
        {CBOR("\xd8\x56\x48\x9a\x99\x99\x99\x99\x99\xb9\x3f"), "[0.1]"},
        {CBOR("\xd8\x46\x48\x07\0\0\0\xff\xff\xff\xff"), "[7,4294967295]"},
        {CBOR("\xfb\x80\0\0\0\0\0\0\0"), "-0.0"},
#undef CBOR
    };
    struct obb_arena arena;
    struct wire_buf out = {0};
    struct wire_cursor c;
    obb_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        out.length = 0;
        wire_cbor_open(&c, cases[i].bytes, cases[i].length, &arena);
        ck_assert_msg(wire_transcode(&c, &out) && wire_finish(&c), "case %zu", i);
        ck_assert_msg(obb_str_equal((obb_str){out.bytes, out.length}, obb_str_of(cases[i].json)),
                      "%.*s", (int)out.length, out.bytes);
    }
    enum { MANY = 5000 };
    static char text[4 * MANY + 8], compact[2 * MANY + 8];
    size_t length = 0, short_length = 0;
    for (int i = 0; i < MANY; i++) {
        length += (size_t)sprintf(text + length, "%s 7\n", i > 0 ? "," : "[");
        short_length += (size_t)sprintf(compact + short_length, "%s7", i > 0 ? "," : "[");
    }
    length += (size_t)sprintf(text + length, "]");
    short_length += (size_t)sprintf(compact + short_length, "]");
    out.length = 0;
    wire_json_open(&c, text, length, &arena);
    ck_assert(wire_transcode(&c, &out) && wire_finish(&c));
    ck_assert(obb_str_equal((obb_str){out.bytes, out.length}, (obb_str){compact, short_length}));
    struct obb_budget little;
    obb_budget_init(&little, 4096);
    struct wire_buf poor = {.budget = &little};
    wire_json_open(&c, text, length, &arena);
    ck_assert(!wire_transcode(&c, &poor) && poor.failed);
    wire_buf_fini(&poor);
    wire_buf_fini(&out);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(captured_values_have_limits)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t length = 1020; length <= 1030; length++) {
        char text[1100];
        (void)snprintf(text, sizeof text, "  [\"%0*d\" ] ", (int)(length - 4), 0);
        struct wire_cursor c;
        obb_str got;
        wire_json_open(&c, text, strlen(text), &arena);
        const bool captured = wire_capture(&c, &got);
        ck_assert_int_eq(captured, length <= OBB_MAX_DATA);
        ck_assert(captured ? got.length == length : c.fault.cause == WIRE_TOO_LONG);
    }
    struct wire_cursor c;
    obb_str got;
    wire_json_open(&c, "[1,[1e309]]", 11, &arena);
    ck_assert(!wire_capture(&c, &got));
    const wire_problem problem = wire_cursor_explain(&c);
    ck_assert_int_eq(problem.status, 422);
    ck_assert_str_eq(problem.pointer, "/1/0");
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_failing_heap_is_a_503)
{
    char text[8192];
    size_t length = (size_t)sprintf(text, "{\"escaped \\n\":[");
    for (int i = 0; i < 200; i++)
        length += (size_t)sprintf(text + length, "%s{\"k%d\":\"\\u00e9\"}", i > 0 ? "," : "", i);
    length += (size_t)sprintf(text + length, "],\"o\":{");
    for (int i = 0; i < 200; i++)
        length += (size_t)sprintf(text + length, "%s\"k%d\":%d", i > 0 ? "," : "", i, i);
    length += (size_t)sprintf(text + length, "},\"n\":[1,2,3,4]}");
    size_t failed = 0;
    for (size_t n = 1;; n++) {
        struct obb_arena arena;
        struct wire_cursor c;
        struct wire_column column;
        obb_str key = {0};
        obb_arena_init(&arena);
        fault_arm(n);
        wire_json_open(&c, text, length, &arena);
        bool good = wire_enter_object(&c) && wire_next_key(&c, &key) && wire_skip(&c) &&
                    wire_next_key(&c, &key) && wire_skip(&c) && wire_next_key(&c, &key) &&
                    wire_read_column(&c, &column);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        if (!good) {
            failed++;
            ck_assert_int_eq(wire_cursor_explain(&c).status, 503);
        }
        obb_arena_fini(&arena);
        if (!reached)
            break;
        ck_assert(!good);
    }
    ck_assert_uint_gt(failed, 0);
    printf("%zu allocations failed in turn\n", failed);
}
END_TEST

START_TEST(a_skipped_value_is_checked_as_if_it_had_been_read)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"[{\"a\":1,\"b\":[true,null]},7]", true},
                 {"[{\"a\":1,\"a\":2},7]", false},
                 {"[{\"a\":1e999},7]", true},
                 {"[{\"a\":[1,]},7]", false},
                 {"[\"\\ud800\",7]", false},
                 {"[[[]],7]", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct obb_arena arena;
        struct wire_cursor c;
        double seven = 0.0;
        obb_arena_init(&arena);
        wire_json_open(&c, cases[i].text, strlen(cases[i].text), &arena);
        const bool good = wire_enter_array(&c) && wire_next_item(&c) && wire_skip(&c) &&
                          wire_next_item(&c) && wire_read_number(&c, &seven) &&
                          !wire_next_item(&c) && wire_finish(&c);
        ck_assert_msg(good == cases[i].good && good == (seven == 7.0), "%s", cases[i].text);
        obb_arena_fini(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("walk");
    TCase *tc = tcase_create("walk");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_place_becomes_a_pointer);
    tcase_add_test(tc, a_malformed_rest_outweighs_an_invalid_value);
    tcase_add_test(tc, captured_values_are_compact_and_as_they_were_sent);
    tcase_add_test(tc, transcoded_values_are_compact_json);
    tcase_add_test(tc, captured_values_have_limits);
    tcase_add_test(tc, a_failing_heap_is_a_503);
    tcase_add_test(tc, a_skipped_value_is_checked_as_if_it_had_been_read);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
