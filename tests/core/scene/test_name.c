#include "core/obb.h"
#include "tests/support/test.h"

#include <string.h>

START_TEST(names_are_up_to_128_bytes_of_utf8_without_controls)
{
    char longest[OBB_MAX_NAME + 2];
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const struct {
        const char *name;
        bool valid;
    } rows[] = {
        {"a", true},
        {"", false},
        {".", false},
        {"..", false},
        {"...", true},
        {"a/b c%2F\"\\", true},
        {"\xc3\xa4", true},                 /* U+00E4 */
        {"\xe4\xb8\xad\xe6\x96\x87", true}, /* U+4E2D U+6587 */
        {"\xf0\x9f\x9a\x80", true},         /* U+1F680 */
        {"\xf4\x8f\xbf\xbf", true},         /* U+10FFFF */
        {"\xf4\x90\x80\x80", false},        /* beyond */
        {"\xed\x9f\xbf", true},             /* U+D7FF */
        {"\xed\xa0\x80", false},            /* a surrogate */
        {"\xc0\xaf", false},                /* overlong */
        {"\xc1\xbf", false},
        {"\xe0\x9f\xbf", false},
        {"\xf0\x8f\xbf\xbf", false},
        {"\xc3", false}, /* cut off */
        {"\xe4\xb8", false},
        {"\xf0\x9f\x9a", false},
        {"\x80", false}, /* begins in the middle */
        {"\xff", false},
        {"a\x1f", false},
        {"a\x20", true},
        {"\x7e", true},
        {"\x7f", false},
        {"\xc2\x80", false}, /* C1 */
        {"\xc2\x9f", false},
        {"\xc2\xa0", true},
        {longest + 1, true},
        {longest, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(obb_name_valid(obb_str_of(rows[i].name)) == rows[i].valid, "row %zu", i);
    ck_assert(!obb_name_valid((obb_str){.bytes = "a\0b", .length = 3}));
    const obb_settings settings = {.dimensions = 3};
    struct obb_scene *scene = NULL;
    ck_assert_int_eq(obb_scene_create(obb_str_of(".."), &settings, 0, NULL, &scene), OBB_BAD_NAME);
    ck_assert_ptr_null(scene);
    obb_scene_destroy(NULL);
    obb_view_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("name");
    TCase *tc = tcase_create("name");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, names_are_up_to_128_bytes_of_utf8_without_controls);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
