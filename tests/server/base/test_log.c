#include "server/base/log.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static char line[8192];

static void setup(void) { ck_assert_int_eq(pipe(ends), 0); }
static void teardown(void)
{
    close(ends[0]);
    close(ends[1]);
}

/* What was written since the last call. */
static const char *heard(void)
{
    const ssize_t n = read(ends[0], line, sizeof line - 1);
    ck_assert_int_gt(n, 0);
    line[n] = '\0';
    return line;
}

START_TEST(text_lines_quote_what_is_not_plain)
{
    const srv_log log = {.descriptor = ends[1], .level = SRV_INFO};
    SRV_LOG(&log, SRV_INFO, "request", srv_text("target", "/a?b"), srv_text("empty", ""),
            srv_text("odd", "a b\n\"\\\x7f\xc3\xa9"), srv_integer("n", -5), srv_number("ms", 0.25));
    const char *text = heard();
    ck_assert_msg(strlen(text) > 25 &&
                      strcmp(text + 24, " info request target=/a?b empty=\"\" "
                                        "odd=\"a b\\u000a\\\"\\\\\\u007f\\u00c3\\u00a9\" n=-5 "
                                        "ms=0.25\n") == 0,
                  "%s", text);
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    for (size_t i = 0; i < sizeof form - 1; i++)
        ck_assert_msg(form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i], "%s",
                      text);
}
END_TEST

START_TEST(json_lines_are_objects)
{
    const srv_log log = {.descriptor = ends[1], .level = SRV_INFO, .json = true};
    SRV_LOG(&log, SRV_ERROR, "odd \"event\"", srv_text("key", "plain"),
            srv_bytes(NULL, obb_str_of("left out")), srv_integer("n", 7));
    const char *text = heard();
    ck_assert_msg(strncmp(text, "{\"time\":\"", 9) == 0, "%s", text);
    ck_assert_str_eq(
        strstr(text, "Z\",") + 3,
        "\"level\":\"error\",\"event\":\"odd \\\"event\\\"\",\"key\":\"plain\",\"n\":7}\n");
}
END_TEST

START_TEST(levels_below_are_not_written)
{
    const srv_log log = {.descriptor = ends[1], .level = SRV_WARN};
    ck_assert(!srv_log_wants(&log, SRV_INFO));
    SRV_LOG(&log, SRV_INFO, "no", srv_text("a", "b"));
    srv_log_write(&log, SRV_DEBUG, "no", NULL, 0);
    srv_log_write(&log, SRV_WARN, "yes", NULL, 0);
    ck_assert_str_eq(heard() + 24, " warn yes\n");
}
END_TEST

/* No text can make two lines of one, or a line without end. */
START_TEST(long_and_hostile_texts_stay_one_line)
{
    static char text[20000];
    size_t looked_at = 0;
    for (int json = 0; json < 2; json++)
        for (size_t length = 3900; length < 4300; length += 7, looked_at++)
            for (int kind = 0; kind < 2; kind++) {
                memset(text, kind == 0 ? 'x' : '\n', length);
                const srv_log log = {.descriptor = ends[1], .level = SRV_INFO, .json = json};
                SRV_LOG(&log, SRV_INFO, "long", srv_integer("first", 1),
                        srv_bytes("text", (obb_str){.bytes = text, .length = length}),
                        srv_integer("last", 2));
                const char *got = heard();
                const size_t size = strlen(got);
                ck_assert_uint_le(size, 4096);
                ck_assert_ptr_eq(strchr(got, '\n'), got + size - 1);
                ck_assert_ptr_nonnull(strstr(got, "first"));
                if (json)
                    ck_assert_int_eq(got[size - 2], '}');
            }
    ck_assert_uint_gt(looked_at, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tc = tcase_create("log");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, text_lines_quote_what_is_not_plain);
    tcase_add_test(tc, json_lines_are_objects);
    tcase_add_test(tc, levels_below_are_not_written);
    tcase_add_test(tc, long_and_hostile_texts_stay_one_line);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
