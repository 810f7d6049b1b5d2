#include "proto/codec/unescape.h"
#include "tests/support/test.h"

#include <string.h>

START_TEST(an_escape_becomes_its_code_point)
{
    static const struct {
        const char *escape; /* without its backslash */
        const char *text;   /* NULL: none */
        size_t read;        /* bytes of the escape */
    } cases[] = {{"n", "\n", 1},
                 {"b", "\b", 1},
                 {"f", "\f", 1},
                 {"r", "\r", 1},
                 {"t", "\t", 1},
                 {"\"", "\"", 1},
                 {"\\", "\\", 1},
                 {"/x", "/", 1},
                 {"u0041\"", "A", 5},
                 {"u00E9", "\xc3\xa9", 5},
                 {"u2603", "\xe2\x98\x83", 5},
                 {"ud83d\\ude00", "\xf0\x9f\x98\x80", 11},
                 {"udbff\\udfff..", "\xf4\x8f\xbf\xbf", 11},
                 {"", NULL, 0},
                 {"x", NULL, 0},
                 {"u004", NULL, 0},
                 {"u00g1", NULL, 0},
                 {"udc00", NULL, 0},
                 {"ud83d", NULL, 0},
                 {"ud83d\\n", NULL, 0},
                 {"ud83d\\u0041", NULL, 0},
                 {"ud83d\\ud83d", NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].escape, *end = at + strlen(at);
        char text[4];
        size_t length = 0;
        const char *after = wire_json_unescape(at, end, text, &length);
        ck_assert_msg((after != NULL) == (cases[i].text != NULL), "%s", at);
        if (after == NULL)
            continue;
        ck_assert_uint_eq((size_t)(after - at), cases[i].read);
        ck_assert_uint_eq(length, strlen(cases[i].text));
        ck_assert_int_eq(memcmp(text, cases[i].text, length), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unescape");
    TCase *tc = tcase_create("unescape");
    tcase_add_test(tc, an_escape_becomes_its_code_point);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
