/* The operator's guide, the dashboard, the alerts and the files of containers and units say what
 * the daemon knows: each option, metric and log line stands in the guide, and they name none that
 * is not there. */
#include "server/base/config.h"
#include "server/base/metrics.h"
#include "tests/support/test.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#define GUIDE     "server/README.md"
#define DASHBOARD "docker/grafana/dashboards/obbd.json"

enum { MOST = 256, LONGEST = 64 };

struct names {
    char of[MOST][LONGEST];
    size_t count;
};

static bool has(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->of[i], name) == 0)
            return true;
    return false;
}

static void add(struct names *names, const char *name, size_t length)
{
    char text[LONGEST];
    ck_assert_uint_lt(length, sizeof text);
    memcpy(text, name, length);
    text[length] = '\0';
    if (has(names, text))
        return;
    ck_assert_uint_lt(names->count, MOST);
    memcpy(names->of[names->count++], text, length + 1);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    char *text = NULL;
    size_t size = 0;
    ck_assert_int_gt(getdelim(&text, &size, '\0', file), 0);
    (void)fclose(file);
    return text;
}

/* Adds the words of the text that begin with `start` and go on with characters of `rest`, the first
 * of them a letter. */
static void collect(const char *text, const char *start, const char *rest, struct names *out)
{
    const size_t length = strlen(start);
    for (const char *at = text; (at = strstr(at, start)) != NULL; at += length) {
        const bool inside =
            at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == '-');
        if (!inside && isalpha((unsigned char)at[length]) && strchr(rest, at[length]) != NULL)
            add(out, at, length + strspn(at + length, rest));
    }
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static void options_of(const char *text, struct names *out) { collect(text, "--", LOWER "-", out); }

static void metrics_of(const char *text, struct names *out)
{
    collect(text, "obbd_", LOWER "_", out);
    collect(text, "process_", LOWER "_", out);
}

/* Every name of `said` is one of `known`. */
static void expect_known(const struct names *said, const struct names *known, const char *where)
{
    for (size_t i = 0; i < said->count; i++)
        ck_assert_msg(has(known, said->of[i]), "%s says %s, which the daemon does not know", where,
                      said->of[i]);
}

static void expect_said(const struct names *known, const struct names *said, const char *where)
{
    for (size_t i = 0; i < known->count; i++)
        ck_assert_msg(has(said, known->of[i]), "%s does not say %s", where, known->of[i]);
}

static struct names known, said;

static void setup(void) { known.count = said.count = 0; }

START_TEST(the_guide_has_every_option_and_no_other)
{
#define SRV_OPTION(kind, flag, ...)  add(&known, "--" flag, sizeof flag + 1);
#define SRV_COMMAND(kind, flag, ...) add(&known, "--" flag, sizeof flag + 1);
#include "server/base/config.def"
#undef SRV_OPTION
#undef SRV_COMMAND
    add(&known, "--help", 6);
    add(&known, "--version", 9);
    char *guide = read_file(GUIDE);
    options_of(guide, &said);
    free(guide);
    expect_said(&known, &said, GUIDE);
    expect_known(&said, &known, GUIDE);
    printf("%zu options in the guide\n", known.count);
    ck_assert_uint_gt(known.count, 20);
}
END_TEST

START_TEST(variables_are_those_of_options)
{
    FILE *help = tmpfile();
    ck_assert_ptr_nonnull(help);
    srv_config_help(help);
    rewind(help);
    char *text = NULL;
    size_t size = 0;
    ck_assert_int_gt(getdelim(&text, &size, '\0', help), 0);
    (void)fclose(help);
    collect(text, "OBBD_", UPPER "_", &known);
    free(text);

    static const char *const patterns[] = {GUIDE, "README.md", "docker/*.*", "docker/Dockerfile",
                                           "server/install/*"};
    glob_t files = {0};
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        ck_assert_int_eq(glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &files), 0);
    size_t count = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        said.count = 0;
        text = read_file(files.gl_pathv[i]);
        collect(text, "OBBD_", UPPER "_", &said);
        free(text);
        expect_known(&said, &known, files.gl_pathv[i]);
        count += said.count;
    }
    printf("%zu variables in %zu files\n", count, files.gl_pathc);
    ck_assert_uint_gt(known.count, 15);
    ck_assert_uint_gt(count, 10);
    globfree(&files);
}
END_TEST

/* The families of a real answer; of a histogram also what its samples are called. */
static void read_metrics(struct names *families, struct names *samples)
{
    struct srv_metrics metrics;
    ck_assert(srv_metrics_init(&metrics, 0));
    struct wire_buf buf = {0};
    metrics.has_journal = true;
    srv_metrics_write(&metrics, &buf);
    srv_metrics_write_process(&buf);
    wire_buf_append(&buf, "", 1);
    ck_assert(!buf.failed);
    for (const char *at = buf.bytes; (at = strstr(at, "# TYPE ")) != NULL;) {
        at += strlen("# TYPE ");
        add(families, at, strcspn(at, " "));
    }
    metrics_of(buf.bytes, samples);
    wire_buf_fini(&buf);
    srv_metrics_fini(&metrics);
}

START_TEST(the_guide_and_the_dashboard_have_every_metric_and_no_other)
{
    static struct names samples, shown;
    read_metrics(&known, &samples);
    char *guide = read_file(GUIDE);
    metrics_of(guide, &said);
    free(guide);
    expect_said(&known, &said, GUIDE);
    expect_known(&said, &known, GUIDE);

    char *dashboard = read_file(DASHBOARD);
    metrics_of(dashboard, &shown);
    free(dashboard);
    expect_known(&shown, &samples, DASHBOARD);
    for (size_t i = 0; i < known.count; i++) {
        char buckets[LONGEST + 8];
        (void)snprintf(buckets, sizeof buckets, "%s_bucket", known.of[i]);
        ck_assert_msg(has(&shown, known.of[i]) || has(&shown, buckets), "%s does not show %s",
                      DASHBOARD, known.of[i]);
    }
    printf("%zu metrics in the guide and on the dashboard\n", known.count);
    ck_assert_uint_gt(known.count, 20);
}
END_TEST

START_TEST(alerts_are_of_metrics_that_there_are)
{
    static const char *const files[] = {"docker/prometheus/alerts.yml",
                                        "docker/prometheus/alerts_test.yml"};
    static struct names families;
    read_metrics(&families, &known);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        said.count = 0;
        char *text = read_file(files[i]);
        metrics_of(text, &said);
        free(text);
        expect_known(&said, &known, files[i]);
        printf("%zu metrics in %s\n", said.count, files[i]);
        ck_assert_uint_gt(said.count, 3);
    }
}
END_TEST

/* Adds the texts in quotes that stand in the arguments of SRV_LOG before the first field. */
static void events_of(const char *source, struct names *out)
{
    for (const char *at = source; (at = strstr(at, "SRV_LOG(")) != NULL;) {
        at += strlen("SRV_LOG(");
        const char *end = strpbrk(at, ";");
        const char *field = strstr(at, "srv_");
        ck_assert_ptr_nonnull(end);
        if (field != NULL && field < end)
            end = field;
        for (const char *quote = at; (quote = strchr(quote, '"')) != NULL && quote < end;) {
            const size_t length = strcspn(quote + 1, "\"");
            add(out, quote + 1, length);
            quote += length + 2;
        }
    }
}

START_TEST(the_guide_has_every_event_of_the_log_and_no_other)
{
    glob_t files;
    ck_assert_int_eq(glob("server/*.c", 0, NULL, &files), 0);
    ck_assert_int_eq(glob("server/*/*.c", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *source = read_file(files.gl_pathv[i]);
        events_of(source, &known);
        free(source);
    }
    printf("%zu events in %zu sources\n", known.count, files.gl_pathc);
    globfree(&files);

    /* the first column of the table whose first heading is "event" */
    char *guide = read_file(GUIDE), *rest = NULL;
    char *table = strstr(guide, "\n| event |");
    ck_assert_ptr_nonnull(table);
    char *end = strstr(table + 1, "\n\n");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    for (char *line = strtok_r(table, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *cell_end = strchr(line + 1, '|');
        ck_assert_ptr_nonnull(cell_end);
        for (char *tick = line; (tick = strchr(tick, '`')) != NULL && tick < cell_end;) {
            const size_t length = strcspn(tick + 1, "`");
            add(&said, tick + 1, length);
            tick += length + 2;
        }
    }
    free(guide);
    expect_said(&known, &said, GUIDE);
    expect_known(&said, &known, GUIDE);
    ck_assert_uint_gt(known.count, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guide");
    TCase *tc = tcase_create("guide");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, the_guide_has_every_option_and_no_other);
    tcase_add_test(tc, variables_are_those_of_options);
    tcase_add_test(tc, the_guide_and_the_dashboard_have_every_metric_and_no_other);
    tcase_add_test(tc, alerts_are_of_metrics_that_there_are);
    tcase_add_test(tc, the_guide_has_every_event_of_the_log_and_no_other);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
