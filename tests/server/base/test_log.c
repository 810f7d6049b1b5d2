#include "server/base/log.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <signal.h>
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

/* Eight texts fill the line, or nearly. */
static void check_full_line(const srv_log *log, obb_str text)
{
    SRV_LOG(log, SRV_INFO, "long", srv_bytes("a", text), srv_bytes("b", text), srv_bytes("c", text),
            srv_bytes("d", text), srv_bytes("e", text), srv_bytes("f", text), srv_bytes("g", text),
            srv_bytes("h", text), srv_integer("last", 2));
    const char *got = heard();
    const size_t size = strlen(got);
    ck_assert_uint_gt(size, 3400);
    ck_assert_uint_le(size, 4096);
    ck_assert_ptr_eq(strchr(got, '\n'), got + size - 1);
    if (log->json)
        ck_assert_int_eq(got[size - 2], '}');
}

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
                ck_assert_ptr_nonnull(strstr(got, "last"));
                if (json)
                    ck_assert_int_eq(got[size - 2], '}');
                check_full_line(&log, (obb_str){.bytes = text, .length = length / 8});
            }
    ck_assert_uint_gt(looked_at, 100);
}
END_TEST

/* A long text must not push out what stands behind it. */
START_TEST(a_long_text_is_cut_with_a_mark_and_leaves_room)
{
    static const char *const around[][2] = {{" target=", " status=404 ms=1.5\n"},
                                            {"\"target\":\"", "\",\"status\":404,\"ms\":1.5}\n"}};
    char text[6000];
    for (int json = 0; json < 2; json++)
        for (size_t length = 510; length < sizeof text; length += length < 516 ? 1 : 500) {
            const srv_log log = {.descriptor = ends[1], .level = SRV_INFO, .json = json};
            memset(text, 'x', length);
            const obb_str target = {.bytes = text, .length = length};
            SRV_LOG(&log, SRV_INFO, "request", srv_bytes("id", target), srv_bytes("method", target),
                    srv_bytes("a", target), srv_bytes("b", target), srv_bytes("c", target),
                    srv_bytes("d", target), srv_bytes("target", target), srv_integer("status", 404),
                    srv_number("ms", 1.5));
            const char *got = heard(), *at = strstr(got, around[json][0]);
            ck_assert_ptr_nonnull(at);
            at += strlen(around[json][0]);
            const size_t kept = length < 512 ? length : 512;
            ck_assert_uint_eq(strspn(at, "x"), kept);
            at += kept;
            ck_assert_int_eq(strncmp(at, "...", 3) == 0, length > 512);
            at += length > 512 ? 3 : 0;
            ck_assert_str_eq(at, around[json][1]);
        }
}
END_TEST

/* Fills the pipe. Returns how many bytes it took. */
static size_t fill(void)
{
    static const char page[4096] = "";
    const int flags = fcntl(ends[1], F_GETFL);
    size_t filled = 0;
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, flags | O_NONBLOCK), 0);
    for (ssize_t n; (n = write(ends[1], page, sizeof page)) > 0;)
        filled += (size_t)n;
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, flags), 0);
    return filled;
}

static void skip(size_t size)
{
    while (size > 0) {
        const ssize_t n = read(ends[0], line, size < sizeof line ? size : sizeof line);
        ck_assert_int_gt(n, 0);
        size -= (size_t)n;
    }
}

/* With a page of room each line fits, of whatever length, and the next one may not. */
START_TEST(a_full_pipe_costs_lines_and_no_time)
{
    static char text[20000];
    memset(text, 'x', sizeof text);
    struct srv_log_dropped dropped = {0};
    const srv_log log = {.descriptor = ends[1], .dropped = &dropped, .level = SRV_INFO};
    size_t left = fill();
    ck_assert_uint_ge(left, 8192);
    for (uint64_t i = 1; i <= 3; i++) {
        SRV_LOG(&log, SRV_INFO, "lost", srv_integer("n", 1)); /* else the test ends here */
        ck_assert_uint_eq(dropped.lines, i);
    }
    srv_log_write(&log, SRV_DEBUG, "below", NULL, 0);
    ck_assert_uint_eq(dropped.lines, 3);

    skip(4096); /* room for the line that tells, and for none behind it */
    SRV_LOG(&log, SRV_INFO, "lost", srv_bytes("text", (obb_str){.bytes = text, .length = 3900}));
    skip(left - 4096);
    ck_assert_str_eq(heard() + 24, " warn log-dropped lines=3\n");
    ck_assert_uint_eq(dropped.lines, 4);

    left = fill();
    SRV_LOG(&log, SRV_INFO, "lost", srv_integer("n", 1));
    ck_assert_uint_eq(dropped.lines, 5);
    skip(left);
    SRV_LOG(&log, SRV_INFO, "seen", srv_integer("n", 1));
    SRV_LOG(&log, SRV_INFO, "seen", srv_integer("n", 2));
    const char *at = strchr(heard(), ' ');
    ck_assert_str_eq(strtok((char *)(uintptr_t)at, "\n"), " warn log-dropped lines=2");
    ck_assert_str_eq(strtok(NULL, "\n") + 24, " info seen n=1");
    ck_assert_str_eq(strtok(NULL, "\n") + 24, " info seen n=2");
    ck_assert_ptr_null(strtok(NULL, "\n"));
    ck_assert_uint_eq(dropped.lines, 5);
}
END_TEST

/* The room is gone between the look at it and the write if others write to the pipe, too. */
START_TEST(a_pipe_that_others_fill_holds_nobody_up)
{
    struct srv_log_dropped dropped = {0};
    srv_log log = {.descriptor = srv_log_open(ends[1]), .dropped = &dropped, .level = SRV_INFO};
    ck_assert_int_ne(log.descriptor, ends[1]);
    ck_assert_int_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    ck_assert_int_eq(fcntl(log.descriptor, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    SRV_LOG(&log, SRV_INFO, "seen", srv_integer("n", 1));
    ck_assert_str_eq(heard() + 24, " info seen n=1\n");
    srv_log_close(log.descriptor, ends[1]);
    ck_assert_int_ge(fcntl(ends[1], F_GETFL), 0);

    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(srv_log_open(fileno(file)), fileno(file));
    srv_log_close(fileno(file), fileno(file));
    ck_assert_int_eq(fclose(file), 0);
}
END_TEST

/* Those that have neither pipe nor reader to wait for are written to as ever. */
START_TEST(files_take_every_line_and_a_broken_pipe_none)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    struct srv_log_dropped dropped = {0};
    srv_log log = {.descriptor = fileno(file), .dropped = &dropped, .level = SRV_INFO};
    for (int64_t i = 0; i < 100; i++)
        SRV_LOG(&log, SRV_INFO, "kept", srv_integer("n", i));
    rewind(file);
    int count = 0;
    while (fgets(line, sizeof line, file) != NULL)
        count++;
    ck_assert_int_eq(count, 100);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_uint_eq(dropped.lines, 0);

    int broken[2];
    ck_assert_int_eq(pipe(broken), 0);
    close(broken[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    log.descriptor = broken[1];
    srv_log_write(&log, SRV_INFO, "unheard", NULL, 0);
    close(broken[1]);
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
    tcase_add_test(tc, a_long_text_is_cut_with_a_mark_and_leaves_room);
    tcase_add_test(tc, a_full_pipe_costs_lines_and_no_time);
    tcase_add_test(tc, a_pipe_that_others_fill_holds_nobody_up);
    tcase_add_test(tc, files_take_every_line_and_a_broken_pipe_none);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
