#include "proto/codec/cursor.h"
#include "proto/codec/walk.h"
#include "tests/proto/exact.h"
#include "tests/proto/oracle_json.h"
#include "tests/support/test.h"

#include <stdio.h>

/* The verdict on the bytes in a block of exactly their size, checked against jansson's. */
static oracle_verdict judge(const char *bytes, size_t length)
{
    char *block = exact_copy(bytes, length);
    const char *difference;
    const oracle_verdict verdict = oracle_json(block, length, &difference);
    exact_free(block, length);
    ck_assert_msg(*difference == '\0', "%s: %.*s", difference, (int)length, bytes);
    return verdict;
}

#define TEXT(literal)               \
    {                               \
        literal, sizeof literal - 1 \
    }

START_TEST(what_is_json_is_taken)
{
    static const obb_str texts[] = {
        TEXT("{}"),
        TEXT("[]"),
        TEXT("0"),
        TEXT("-0"),
        TEXT("-0.0"),
        TEXT("1e5"),
        TEXT("1E-5"),
        TEXT("1.25e+3"),
        TEXT("123456789012345678901234567890"),
        TEXT("0.1234567890123456789012345678901234567890"),
        TEXT("5e-324"),
        TEXT("1e-400"),
        TEXT("true"),
        TEXT("false"),
        TEXT("null"),
        TEXT("\"\""),
        TEXT("\"abc\""),
        TEXT(" \t\r\n{} \t\r\n"),
        TEXT("[ ]"),
        TEXT("{ }"),
        TEXT("[1]"),
        TEXT("[1,2]"),
        TEXT("[ 1 , 2 ]"),
        TEXT("{\"a\":1}"),
        TEXT("{ \"a\" : 1 , \"b\" : [ { } ] }"),
        TEXT("{\"\":1}"),
        TEXT("{\"a\":{\"a\":{\"a\":1}}}"),
        TEXT("[[],[[]],[{}]]"),
        TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
        TEXT("\"\\u0041\\u00e9\\u20ac\\uD83D\\uDE00\""),
        TEXT("\"\\u0000\""),
        TEXT("\"\\u001f\\u007f\""),
        TEXT("{\"a\\u0000b\":1}"),
        TEXT("\"\\uFFFF\\uFFFE\\uFDD0\""),
        TEXT("\"\\uD7FF\\uE000\""),
        TEXT("\"\x7f\""),
        TEXT("\"\xc2\x80\xdf\xbf\""),
        TEXT("\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""),
        TEXT("\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
        TEXT("\"a plain text that is longer than eight bytes, twice over\""),
        TEXT("\"1234567\xc3\xa9\""),
        TEXT("\"12345678\xc3\xa9\""),
        TEXT("\"123456789\\n\""),
        TEXT("{\"a\":1,\"A\":1,\"a \":1,\"\xc3\xa9\":1,\"e\":1}"),
        TEXT("[1.5,-2.5e-3,0,-0,1e22,9007199254740993]"),
        TEXT("[\"\\u00e9\",\"\xc3\xa9\"]"),
    };
    size_t taken = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++, taken++)
        ck_assert_msg(judge(texts[i].bytes, texts[i].length) == ORACLE_TAKEN, "%s", texts[i].bytes);
    printf("%zu texts taken\n", taken);
}
END_TEST

START_TEST(what_is_not_json_is_refused)
{
    static const obb_str texts[] = {
        TEXT(""),
        TEXT(" "),
        TEXT("\xef\xbb\xbf{}"),
        TEXT("{}{}"),
        TEXT("{} x"),
        TEXT("1 2"),
        TEXT("[1]]"),
        TEXT("{}\0"),
        TEXT("1\0"),
        TEXT("\0"),
        TEXT("["),
        TEXT("]"),
        TEXT("{"),
        TEXT("}"),
        TEXT("[1"),
        TEXT("[1,"),
        TEXT("[1,]"),
        TEXT("[,1]"),
        TEXT("[,]"),
        TEXT("[1,,2]"),
        TEXT("[1 2]"),
        TEXT("[1}"),
        TEXT("{]"),
        TEXT("{\"a\"}"),
        TEXT("{\"a\":}"),
        TEXT("{\"a\":1,}"),
        TEXT("{,\"a\":1}"),
        TEXT("{\"a\":1 \"b\":2}"),
        TEXT("{\"a\":1;\"b\":2}"),
        TEXT("{\"a\" 1}"),
        TEXT("{\"a\"::1}"),
        TEXT("{a:1}"),
        TEXT("{1:1}"),
        TEXT("{'a':1}"),
        TEXT("{null:1}"),
        TEXT("{\"a\":1"),
        TEXT("{\"a\":"),
        TEXT("{\"a\""),
        TEXT("{\"a"),
        TEXT("\""),
        TEXT("\"abc"),
        TEXT("\"abc\\"),
        TEXT("\"abc\\\""),
        TEXT("'abc'"),
        TEXT("\"\\x41\""),
        TEXT("\"\\u\""),
        TEXT("\"\\u12\""),
        TEXT("\"\\u123\""),
        TEXT("\"\\u12g4\""),
        TEXT("\"\\U0041\""),
        TEXT("\"\\a\""),
        TEXT("\"\\0\""),
        TEXT("\"\\ \""),
        TEXT("\"\\ud800\""),
        TEXT("\"\\udc00\""),
        TEXT("\"\\udbff\""),
        TEXT("\"\\ud800\\n\""),
        TEXT("\"\\ud800x\""),
        TEXT("\"\\ud800\\ud800\""),
        TEXT("\"\\ud800\\u0041\""),
        TEXT("\"\\udc00\\ud800\""),
        TEXT("\"\\ud83d\\u\""),
        TEXT("\"a\tb\""),
        TEXT("\"a\nb\""),
        TEXT("\"a\0b\""),
        TEXT("\"\x1f\""),
        TEXT("\"12345678\x01\""),
        TEXT("\"\x80\""),
        TEXT("\"\xbf\""),
        TEXT("\"\xc0\x80\""),
        TEXT("\"\xc1\xbf\""),
        TEXT("\"\xc2\""),
        TEXT("\"\xc2\x41\""),
        TEXT("\"\xe0\x80\x80\""),
        TEXT("\"\xe0\x9f\xbf\""),
        TEXT("\"\xe2\x82\""),
        TEXT("\"\xed\xa0\x80\""),
        TEXT("\"\xed\xbf\xbf\""),
        TEXT("\"\xf0\x80\x80\x80\""),
        TEXT("\"\xf0\x8f\xbf\xbf\""),
        TEXT("\"\xf4\x90\x80\x80\""),
        TEXT("\"\xf5\x80\x80\x80\""),
        TEXT("\"\xf8\x88\x80\x80\x80\""),
        TEXT("\"\xff\""),
        TEXT("\"\xfe\""),
        TEXT("{\"\xff\":1}"),
        TEXT("\xc3\xa9"),
        TEXT("\xc2\xa0{}"),
        TEXT("\f{}"),
        TEXT("\v{}"),
        TEXT("+1"),
        TEXT("01"),
        TEXT("-01"),
        TEXT("00"),
        TEXT("1."),
        TEXT(".5"),
        TEXT("-.5"),
        TEXT("-"),
        TEXT("--1"),
        TEXT("1e"),
        TEXT("1e+"),
        TEXT("1.e1"),
        TEXT("1.5.5"),
        TEXT("0x1"),
        TEXT("1_000"),
        TEXT("1,5"),
        TEXT("NaN"),
        TEXT("-NaN"),
        TEXT("nan"),
        TEXT("Infinity"),
        TEXT("-Infinity"),
        TEXT("[NaN]"),
        TEXT("inf"),
        TEXT("True"),
        TEXT("TRUE"),
        TEXT("tru"),
        TEXT("truee"),
        TEXT("t"),
        TEXT("nul"),
        TEXT("nulll"),
        TEXT("Null"),
        TEXT("undefined"),
        TEXT("fals"),
        TEXT("[true false]"),
        TEXT("// comment\n{}"),
        TEXT("/* comment */{}"),
        TEXT("{}// comment"),
        TEXT("{\"a\":1,\"a\":1}"),
        TEXT("{\"a\":1,\"b\":{\"c\":1,\"d\":2,\"c\":3}}"),
        TEXT("[{\"a\":1,\"a\":1}]"),
        TEXT("{\"a\":1,\"\\u0061\":2}"),
        TEXT("{\"\":1,\"\":2}"),
        TEXT("{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"1\":1}"),
        TEXT("{\"a\":[1,{\"a\":1}],\"a\":[]}"),
    };
    size_t refused = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++, refused++)
        ck_assert_msg(judge(texts[i].bytes, texts[i].length) == ORACLE_REFUSED, "%s",
                      texts[i].bytes);
    printf("%zu texts refused\n", refused);
}
END_TEST

START_TEST(numbers_out_of_range_are_well_formed)
{
    static const obb_str texts[] = {TEXT("1e309"), TEXT("-1e309"), TEXT("[1,1e400]"),
                                    TEXT("{\"a\":1.8e308}"), TEXT("1e99999999999999999999")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_int_eq(judge(texts[i].bytes, texts[i].length), ORACLE_OUT_OF_RANGE);
}
END_TEST

START_TEST(sixty_four_levels_and_no_more)
{
    for (int objects = 0; objects < 2; objects++)
        for (int levels = 62; levels <= 66; levels++) {
            char text[1024];
            size_t length = 0;
            for (int i = 0; i < levels; i++)
                length += (size_t)sprintf(text + length, objects ? "{\"a\":" : "[");
            if (objects)
                text[length++] = '1';
            for (int i = 0; i < levels; i++)
                text[length++] = objects ? '}' : ']';
            ck_assert_int_eq(judge(text, length),
                             levels <= WIRE_DEPTH ? ORACLE_TAKEN : ORACLE_REFUSED);
        }
    /* and a wall of brackets does not use up the stack */
    enum { WALL = 1 << 20 };
    char *wall = malloc(WALL);
    ck_assert_ptr_nonnull(wall);
    memset(wall, '[', WALL);
    ck_assert_int_eq(judge(wall, WALL), ORACLE_REFUSED);
    free(wall);
}
END_TEST

/* ---- Random documents ------------------------------------------------------------------------ */

struct maker {
    test_rng rng;
    char text[1 << 16];
    size_t length;
};

static void put_text(struct maker *m, const char *text)
{
    const size_t length = strlen(text);
    memcpy(m->text + m->length, text, length);
    m->length += length;
}

static void put_space(struct maker *m)
{
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t ", "\r\n  "};
    put_text(m, spaces[test_below(&m->rng, 7)]);
}

static void put_random_string(struct maker *m)
{
    static const char *const parts[] = {"a",
                                        "bcdefgh",
                                        "-",
                                        "crate-7",
                                        "\\n",
                                        "\\\"",
                                        "\\\\",
                                        "\\u00e9",
                                        "\\ud83d\\ude00",
                                        "\\u0000",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "/",
                                        "~",
                                        " ",
                                        "12345678901234567890"};
    put_text(m, "\"");
    for (size_t n = test_below(&m->rng, 5); n > 0; n--)
        put_text(m, parts[test_below(&m->rng, sizeof parts / sizeof *parts)]);
    put_text(m, "\"");
}

static void put_random_number(struct maker *m)
{
    char text[64];
    const uint64_t random = test_random(&m->rng);
    double value;
    switch (test_below(&m->rng, 4)) {
    case 0:
        (void)snprintf(text, sizeof text, "%d", (int)test_below(&m->rng, 2001) - 1000);
        break;
    case 1:
        (void)snprintf(text, sizeof text, "%.*f", (int)test_below(&m->rng, 12),
                       test_uniform(&m->rng, -1e4, 1e4));
        break;
    case 2:
        (void)snprintf(text, sizeof text, "%.17g", test_uniform(&m->rng, -1.0, 1.0));
        break;
    default:
        memcpy(&value, &random, sizeof value);
        (void)snprintf(text, sizeof text, "%.*e", (int)test_below(&m->rng, 20),
                       isfinite(value) ? value : 0.0);
        break;
    }
    put_text(m, text);
}

static void put_random_value(struct maker *m, int levels)
{
    static const char *const words[] = {"null", "true", "false"};
    put_space(m);
    const size_t kind = test_below(&m->rng, levels > 0 ? 7 : 4);
    if (kind == 0) {
        put_text(m, words[test_below(&m->rng, 3)]);
    } else if (kind == 1) {
        put_random_string(m);
    } else if (kind < 4) {
        put_random_number(m);
    } else {
        const bool object = kind == 4;
        put_text(m, object ? "{" : "[");
        const size_t count = test_below(&m->rng, m->length < 8000 ? 12 : 2);
        for (size_t i = 0; i < count; i++) {
            put_text(m, i > 0 ? "," : "");
            put_space(m);
            if (object) {
                char number[32];
                put_random_string(m);
                m->length--; /* keys differ by their number, except for a few */
                (void)snprintf(number, sizeof number, "%zu\"", test_below(&m->rng, 400));
                put_text(m, number);
                put_space(m);
                put_text(m, ":");
            }
            put_random_value(m, levels - 1);
        }
        put_text(m, object ? "}" : "]");
    }
    put_space(m);
}

START_TEST(random_documents_and_their_mutations_agree_with_jansson)
{
    struct maker *m = malloc(sizeof *m);
    ck_assert_ptr_nonnull(m);
    m->rng = (test_rng){.s = 20261121};
    const size_t documents = test_effort(3000);
    size_t taken = 0, mutated = 0, mutants_taken = 0, bytes = 0;
    for (size_t i = 0; i < documents; i++) {
        m->length = 0;
        put_random_value(m, 5);
        bytes += m->length;
        taken += judge(m->text, m->length) == ORACLE_TAKEN;
        for (int k = 0; k < 8; k++, mutated++) {
            const size_t at = test_below(&m->rng, m->length);
            const char kept = m->text[at];
            static const char likely[] = "{}[],:\"\\ue0123-.+ \n\x01\xff\x80";
            m->text[at] = (char)test_below(&m->rng, 256);
            if (test_below(&m->rng, 2) == 0)
                m->text[at] = likely[test_below(&m->rng, sizeof likely)];
            mutants_taken += judge(m->text, m->length) == ORACLE_TAKEN;
            m->text[at] = kept;
        }
    }
    free(m);
    ck_assert_uint_gt(taken, documents / 2);
    ck_assert_uint_gt(mutants_taken, mutated / 20);
    ck_assert_uint_lt(mutants_taken, mutated * 4 / 5);
    printf("%zu documents of %zu bytes, %zu taken; %zu mutants, %zu taken\n", documents, bytes,
           taken, mutated, mutants_taken);
}
END_TEST

START_TEST(every_prefix_is_refused)
{
    static const char text[] =
        "{\"a\":[1.5e3,true,null,\"x\\u00e9\xc3\xa9\\ud83d\\ude00\",{\"b\":-0.25}],"
        "\"c d\":{\"e\":[[],{},false]}}";
    size_t looked_at = 0;
    for (size_t length = 0; length < sizeof text - 1; length++, looked_at++)
        ck_assert_int_eq(judge(text, length), ORACLE_REFUSED);
    ck_assert_int_eq(judge(text, sizeof text - 1), ORACLE_TAKEN);
    ck_assert_uint_gt(looked_at, 80);
}
END_TEST

/* ---- Strings --------------------------------------------------------------------------------- */

START_TEST(strings_are_decoded_at_every_alignment)
{
    /* an escape, a byte beyond ASCII and a quote at each distance from the start */
    struct obb_arena arena;
    obb_arena_init(&arena);
    size_t looked_at = 0;
    for (size_t before = 0; before < 20; before++)
        for (size_t after = 0; after < 20; after++) {
            const char *const small = "abcdefghijklmnopqrst", *const large = "ABCDEFGHIJKLMNOPQRST";
            char text[128], expected[128];
            const size_t length = (size_t)sprintf(text, "\"%.*s\\u20ac\xc3\xa9%.*s\"", (int)before,
                                                  small, (int)after, large);
            const size_t wanted = (size_t)sprintf(expected, "%.*s\xe2\x82\xac\xc3\xa9%.*s",
                                                  (int)before, small, (int)after, large);
            char *block = exact_copy(text, length);
            struct wire_cursor c;
            wire_json_open(&c, block, length, &arena);
            obb_str got;
            ck_assert(wire_read_string(&c, &got) && wire_finish(&c));
            ck_assert(obb_str_equal(got, (obb_str){expected, wanted}));
            exact_free(block, length);
            looked_at++;
        }
    ck_assert_uint_eq(looked_at, 400);
    obb_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tc = tcase_create("json");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, what_is_json_is_taken);
    tcase_add_test(tc, what_is_not_json_is_refused);
    tcase_add_test(tc, numbers_out_of_range_are_well_formed);
    tcase_add_test(tc, sixty_four_levels_and_no_more);
    tcase_add_test(tc, random_documents_and_their_mutations_agree_with_jansson);
    tcase_add_test(tc, every_prefix_is_refused);
    tcase_add_test(tc, strings_are_decoded_at_every_alignment);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
