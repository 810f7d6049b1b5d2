#include "server/scenes/conditions.h"
#include "tests/support/test.h"

#include <stdio.h>

#define EPOCH UINT64_C(0x00c0ffee01234567)

START_TEST(lists_of_tags)
{
    static const struct {
        const char *list;
        bool strong, weak; /* does it hold "17"? */
    } cases[] = {
        {"\"17\"", true, true},
        {"*", true, true},
        {" * ", true, true},
        {"W/\"17\"", false, true},
        {"\"1\", \"17\"", true, true},
        {"\"1\",\"17\"", true, true},
        {"\"16\" ,\t\"17\"", true, true},
        {"W/\"1\", \"17\"", true, true},
        {"\"17\", W/\"17\"", true, true},
        {"W/\"17\", \"18\"", false, true},
        {"\"a,b\", \"17\"", true, true},
        {"nonsense, \"17\"", true, true},
        {"", false, false},
        {",,", false, false},
        {"17", false, false},
        {"\"17", false, false},
        {"\"170\"", false, false},
        {"\"1 7\"", false, false},
        {"\"017\"", false, false},
        {"\"1\", \"7\"", false, false},
        {"w/\"17\"", false, false},
        {"\"a,\"17\"\"", false, false},
        {"\"17.00c0ffee01234567\"", true, true},
        {"W/\"17.00c0ffee01234567\"", false, true},
        {"\"16\", \"17.00c0ffee01234567\"", true, true},
        {"\"17.00c0ffee01234568\", \"17\"", true, true},
        {"\"17.00c0ffee01234568\"", false, false},
        {"\"16.00c0ffee01234567\"", false, false},
        {"\"17.00C0FFEE01234567\"", false, false},
        {"\"17.c0ffee01234567\"", false, false},
        {"\"17.00c0ffee012345670\"", false, false},
        {"\"17.\"", false, false},
        {"\".00c0ffee01234567\"", false, false},
        {"17.00c0ffee01234567", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(srv_tags_hold(cases[i].list, 17, 17, EPOCH, false) == cases[i].strong,
                      "strong: %s", cases[i].list);
        ck_assert_msg(srv_tags_hold(cases[i].list, 17, 17, EPOCH, true) == cases[i].weak,
                      "weak: %s", cases[i].list);
    }
    printf("%zu lists\n", sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(every_revision_holds_its_own_tag_and_no_other)
{
    const uint64_t revisions[] = {0, 1, 9, 10, 99, 4294967296, UINT64_MAX};
    enum { COUNT = sizeof revisions / sizeof revisions[0] };
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++) {
            char list[80];
            (void)snprintf(list, sizeof list, "\"x\", \"%llu\"", (unsigned long long)revisions[k]);
            ck_assert(srv_tags_hold(list, revisions[i], revisions[i], EPOCH, false) == (i == k));
        }
}
END_TEST

START_TEST(a_range_of_revisions_holds_each_of_their_tags)
{
    static const char *const held[] = {
        "\"9\"", "\"10\"", "\"12\"", "\"1\", \"11\"", "\"11.00c0ffee01234567\"", "*"};
    static const char *const not_held[] = {
        "\"8\"",   "\"13\"",  "\"09\"",
        "\"1\"",   "\"\"",    "\"11.00c0ffee01234566\"",
        "\"100\"", "\"10x\"", "\"18446744073709551626\"" /* 2^64 + 10 */};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        ck_assert_msg(srv_tags_hold(held[i], 9, 12, EPOCH, false), "%s", held[i]);
    for (size_t i = 0; i < sizeof not_held / sizeof *not_held; i++)
        ck_assert_msg(!srv_tags_hold(not_held[i], 9, 12, EPOCH, false), "%s", not_held[i]);
}
END_TEST

START_TEST(the_least_revision_of_a_list_is_told_if_it_names_nothing_else)
{
    static const struct {
        const char *list;
        uint64_t least;
    } cases[] = {{"\"17\"", 17},
                 {"\"17\", \"4.0123456789abcdef\",\"9\"", 4},
                 {"  \"17\" ,", 17},
                 {"\"0\"", 0},
                 {"\"0\", \"17\"", 0},
                 {"\"17\", \"0\", \"9\"", 0},
                 {"\"17x\"", 0},
                 {"\"17.\"", 0},
                 {"\"17.0123456789abcde\"", 0},
                 {"\"17.0123456789abcdef0\"", 0},
                 {"\"17", 0},
                 {"*", 0},
                 {"\"17\", *", 0},
                 {"W/\"17\"", 0},
                 {"\"x\"", 0},
                 {"\"17\", \"x\"", 0},
                 {"\"017\"", 0},
                 {"\"18446744073709551616\"", 0},
                 {"17", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(srv_tags_least(cases[i].list) == cases[i].least, "%s", cases[i].list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conditions");
    TCase *tc = tcase_create("conditions");
    tcase_add_test(tc, lists_of_tags);
    tcase_add_test(tc, every_revision_holds_its_own_tag_and_no_other);
    tcase_add_test(tc, a_range_of_revisions_holds_each_of_their_tags);
    tcase_add_test(tc, the_least_revision_of_a_list_is_told_if_it_names_nothing_else);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
