/* Who may copy a scene. */
#include "tests/server/files.h"

static void setup(void)
{
    name_files();
    write_file(tokens, token_file);
    service_start((const char *[]){"--token-file", tokens, "--cors-origin", "*", NULL});
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-1/boxes/a", BOX), 201);
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/other/boxes/a", BOX), 201);
}

START_TEST(a_copy_needs_read_on_the_one_and_write_on_the_other)
{
    static const struct {
        const char *fields, *from, *to;
        int status;
    } rows[] = {
        {"", "match-1", "match-2", 401},
        {READER, "match-1", "match-2", 403},
        {READER, "none", "match-2", 403},
        {WRITER, "match-1", "other", 403}, /* whether or not it is there */
        {WRITER, "match-1", "new", 403},
        {WRITER, "other", "match-2", 403},
        {PEN, "match-1", "match-2", 403}, /* it may not read what it would copy */
        {WRITER, "match-1", "match-1", 409},
        {WRITER, "match-none", "match-2", 404},
        {WRITER, "match-1", "match-2", 201},
        {WRITER, "match-1", "match-2", 409},
        {ADMIN "Origin: https://page.example\r\n", "match-1", "match-3", 403}, /* reads only */
        {ADMIN, "other", "new", 201},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/v1/scenes/%s/copy", rows[i].from);
        const int status = ask_with(rows[i].fields, "POST", path, "{\"to\":\"%s\"}", rows[i].to);
        ck_assert_msg(status == rows[i].status, "row %zu: %d %s", i, status, heard);
    }
    ck_assert_int_eq(ask_with(ADMIN, "GET", "/v1/scenes/match-3", "%s", ""), 404);
    printf("%zu copies\n", sizeof rows / sizeof *rows);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("do_copy");
    TCase *tc = tcase_create("do_copy");
    tcase_add_checked_fixture(tc, setup, stop_and_remove);
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, a_copy_needs_read_on_the_one_and_write_on_the_other);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
