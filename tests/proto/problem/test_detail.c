#include "proto/problem/detail.h"
#include "tests/support/test.h"

#include <string.h>

START_TEST(long_texts_are_cut_between_characters)
{
    char text[256];
    for (size_t lead = 0; lead < 4; lead++)
        for (size_t count = 0; count < 40; count++) {
            size_t length = 0;
            for (size_t i = 0; i < lead; i++)
                text[length++] = 'a';
            for (size_t i = 0; i < 3 * count; i++)
                text[length++] = "\xe2\x82\xac"[i % 3];
            const struct wire_shown shown = wire_show((obb_str){text, length});
            ck_assert(obb_utf8_valid(obb_str_of(shown.text)));
            ck_assert(strlen(shown.text) < sizeof shown.text);
            ck_assert((strstr(shown.text, "\xe2\x80\xa6") != NULL) == (length > WIRE_SHOWN));
            char copy[256];
            memcpy(copy, text, length);
            wire_shorten(copy, length);
            ck_assert(strlen(copy) == strlen(shown.text) - 2 &&
                      memcmp(copy, shown.text + 1, strlen(copy)) == 0);
        }
}
END_TEST

START_TEST(the_nearest_word_has_the_fewest_edits)
{
    static const obb_str known[] = {{"center", 6}, {"half_extents", 12}, {"rotation", 8},
                                    {"axes", 4},   {"min", 3},           {"max", 3}};
    static const struct {
        const char *text, *nearest;
    } cases[] = {{"centre", "center"},
                 {"Center", "center"},
                 {"halfExtents", "half_extents"},
                 {"rotaiton", "rotation"},
                 {"axis", "axes"},
                 {"maxx", "max"},
                 {"AXES", "axes"},
                 {"CENTRE", "center"},
                 {"MNI", "min"},
                 {"half_extent", "half_extents"},
                 {"mni", "min"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(wire_nearest(obb_str_of(cases[i].text), known, 6).bytes, cases[i].nearest);
    char text[1000];
    memset(text, 'n', sizeof text);
    ck_assert_ptr_nonnull(wire_nearest((obb_str){text, sizeof text}, known, 6).bytes);
    ck_assert_ptr_nonnull(wire_nearest((obb_str){text, 0}, known, 6).bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("detail");
    TCase *tc = tcase_create("detail");
    tcase_add_test(tc, long_texts_are_cut_between_characters);
    tcase_add_test(tc, the_nearest_word_has_the_fewest_edits);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
