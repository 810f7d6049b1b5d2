#include "server/base/metrics.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct srv_metrics metrics;
static struct wire_buf out;

static void setup(void)
{
    ck_assert(srv_metrics_init(&metrics, 2));
    srv_metrics_label(&metrics, 0, "GET", "/a/{b}");
    srv_metrics_label(&metrics, 1, "POST", "/c");
}

static void teardown(void)
{
    srv_metrics_fini(&metrics);
    wire_buf_fini(&out);
}

static const char *write_all(void)
{
    out.length = 0;
    srv_metrics_write(&metrics, &out);
    srv_metrics_write_process(&out);
    wire_buf_append(&out, "", 1);
    ck_assert(!out.failed);
    return out.bytes;
}

static bool says(const char *line) { return strstr(out.bytes, line) != NULL; }

START_TEST(requests_are_counted_by_route_status_and_time)
{
    srv_metrics_request(&metrics, 0, 200, SRV_ON_LOOP, 30e-6);
    srv_metrics_request(&metrics, 0, 204, SRV_ON_LOOP, 50e-6); /* a bound belongs to its bucket */
    srv_metrics_request(&metrics, 0, 404, SRV_ON_POOL, 3e-3);
    srv_metrics_request(&metrics, 1, 0, SRV_ON_POOL, 99);
    srv_metrics_request(&metrics, 2, 404, SRV_ON_LOOP, 1e-6);
    srv_metrics_request(&metrics, 2, 418, SRV_ON_LOOP, 1e-6);
    metrics.commits_total = 7;
    metrics.loop_lag_us = 1500;
    write_all();
    static const char *const lines[] = {
        "\nobbd_requests_total{method=\"GET\",route=\"/a/{b}\",class=\"2xx\",status=\"200\"} 1\n",
        "\nobbd_requests_total{method=\"GET\",route=\"/a/{b}\",class=\"2xx\",status=\"204\"} 1\n",
        "\nobbd_requests_total{method=\"GET\",route=\"/a/{b}\",class=\"4xx\",status=\"404\"} 1\n",
        "\nobbd_requests_total{method=\"POST\",route=\"/c\",class=\"0xx\",status=\"0\"} 1\n",
        "\nobbd_requests_total{method=\"\",route=\"\",class=\"4xx\",status=\"404\"} 1\n",
        "\nobbd_requests_total{method=\"\",route=\"\",class=\"other\",status=\"other\"} 1\n",
        "\nobbd_request_seconds_bucket{class=\"loop\",le=\"2.5e-05\"} 2\n",
        "\nobbd_request_seconds_bucket{class=\"loop\",le=\"5e-05\"} 4\n",
        "\nobbd_request_seconds_bucket{class=\"loop\",le=\"+Inf\"} 4\n",
        "\nobbd_request_seconds_count{class=\"loop\"} 4\n",
        "\nobbd_request_seconds_bucket{class=\"pool\",le=\"0.002\"} 0\n",
        "\nobbd_request_seconds_bucket{class=\"pool\",le=\"0.005\"} 1\n",
        "\nobbd_request_seconds_bucket{class=\"pool\",le=\"10\"} 1\n",
        "\nobbd_request_seconds_bucket{class=\"pool\",le=\"+Inf\"} 2\n",
        "\nobbd_request_seconds_sum{class=\"pool\"} 99.003\n",
        "\nobbd_commits_total 7\n",
        "\nobbd_loop_lag_seconds 0.0015\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(says(lines[i]), "%s is not in\n%s", lines[i], out.bytes);
}
END_TEST

/* ---- A strict reader of the text format ------------------------------------------------------ */

enum { MOST_SERIES = 512, LONGEST = 256 };

static struct exposition {
    char series[MOST_SERIES][LONGEST]; /* names with labels, each once */
    size_t samples, families;
    char name[LONGEST], kind[16];             /* of the family at hand */
    double last_bucket, last_bound, infinity; /* of the histogram's series at hand */
} seen;

static bool name_goes_on(char c, bool first)
{
    return c == '_' || c == ':' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (name_goes_on(at[length], length == 0))
        length++;
    ck_assert_msg(length > 0, "no name: %s", at);
    return length;
}

/* {name="value",…} with \\, \" and \n as the only escapes; its length. *out_bound: of le, if
 * there. */
static size_t labels_length(const char *at, double *out_bound)
{
    const char *from = at;
    if (*at != '{')
        return 0;
    do {
        at++;
        const char *label = at;
        at += name_length(at);
        ck_assert_msg(at[0] == '=' && at[1] == '"', "%s", from);
        if (strncmp(label, "le=", 3) == 0)
            *out_bound = strtod(at + 2, NULL);
        for (at += 2; *at != '"'; at++) {
            ck_assert_msg(*at != '\0', "a value without an end: %s", from);
            if (*at == '\\') {
                at++;
                ck_assert(*at == '\\' || *at == '"' || *at == 'n');
            }
        }
        at++;
    } while (*at == ',');
    ck_assert_msg(*at == '}', "%s", from);
    return (size_t)(at + 1 - from);
}

static void read_help(const char *line)
{
    const size_t length = name_length(line);
    ck_assert_msg(line[length] == ' ' && line[length + 1] != '\0', "no help: %s", line);
    ck_assert_uint_lt(length, LONGEST);
    memcpy(seen.name, line, length);
    seen.name[length] = '\0';
    seen.kind[0] = '\0';
    seen.families++;
}

static void read_type(const char *line)
{
    const size_t length = name_length(line);
    ck_assert_msg(length == strlen(seen.name) && memcmp(line, seen.name, length) == 0,
                  "TYPE %s below HELP %s", line, seen.name);
    ck_assert_msg(seen.kind[0] == '\0', "two TYPE lines: %s", line);
    (void)snprintf(seen.kind, sizeof seen.kind, "%s", line + length + 1);
    ck_assert(strcmp(seen.kind, "counter") == 0 || strcmp(seen.kind, "gauge") == 0 ||
              strcmp(seen.kind, "histogram") == 0);
    const bool total = length > 6 && strcmp(seen.name + length - 6, "_total") == 0;
    ck_assert_msg((strcmp(seen.kind, "counter") == 0) == total, "%s is a %s", seen.name, seen.kind);
}

static void read_bucket(double bound, double value)
{
    ck_assert_msg(bound > seen.last_bound && value >= seen.last_bucket, "%s: bounds or counts fall",
                  seen.name);
    const bool last = isinf(bound); /* another series begins */
    seen.infinity = last ? value : seen.infinity;
    seen.last_bound = last ? 0 : bound;
    seen.last_bucket = last ? 0 : value;
}

static void read_sample(const char *line)
{
    double bound = NAN;
    char *end;
    const size_t name = name_length(line), labels = labels_length(line + name, &bound);
    ck_assert_msg(line[name + labels] == ' ', "%s", line);
    const double value = strtod(line + name + labels + 1, &end);
    ck_assert_msg(*end == '\0' && value >= 0 && isfinite(value), "%s", line);
    const size_t family = strlen(seen.name);
    ck_assert_msg(seen.kind[0] != '\0' && name >= family && memcmp(line, seen.name, family) == 0,
                  "%s below %s", line, seen.name);
    const obb_str suffix = {line + family, name - family};
    if (strcmp(seen.kind, "histogram") != 0) {
        ck_assert_msg(suffix.length == 0, "%s below %s", line, seen.name);
    } else if (obb_str_equal(suffix, obb_str_of("_bucket"))) {
        ck_assert_msg(!isnan(bound), "a bucket without a bound: %s", line);
        read_bucket(bound, value);
    } else if (obb_str_equal(suffix, obb_str_of("_count"))) {
        ck_assert_msg(value == seen.infinity, "%s: the last bucket is %g", line, seen.infinity);
    } else {
        ck_assert_msg(obb_str_equal(suffix, obb_str_of("_sum")), "%s", line);
    }
    ck_assert_uint_lt(seen.samples, MOST_SERIES);
    ck_assert_uint_lt(name + labels, LONGEST);
    memcpy(seen.series[seen.samples], line, name + labels);
    for (size_t i = 0; i < seen.samples; i++)
        ck_assert_msg(strcmp(seen.series[i], seen.series[seen.samples]) != 0, "twice: %s", line);
    seen.samples++;
}

START_TEST(the_text_is_what_prometheus_reads)
{
    srv_metrics_request(&metrics, 1, 503, SRV_ON_POOL, 0.5);
    srv_metrics_request(&metrics, 1, 503, SRV_ON_POOL, 0.1);
    srv_metrics_request(&metrics, 0, 200, SRV_ON_LOOP, 1e-4);
    const char *written = write_all();
    ck_assert_int_eq(written[strlen(written) - 1], '\n');
    char *text = strdup(written), *rest = NULL;
    seen = (struct exposition){.samples = 0};
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "# HELP ", 7) == 0)
            read_help(line + 7);
        else if (strncmp(line, "# TYPE ", 7) == 0)
            read_type(line + 7);
        else
            read_sample(line);
    free(text);
    printf("%zu metrics, %zu samples\n", seen.families, seen.samples);
    ck_assert_uint_gt(seen.families, 30);
    ck_assert_uint_gt(seen.samples, 70);
}
END_TEST

/* Where Prometheus is there, it says so itself. */
START_TEST(promtool_finds_nothing_to_complain_of)
{
    if (system("command -v promtool >/dev/null") != 0) { /* NOLINT(cert-env33-c): a test */
        printf("promtool is not here\n");
        return;
    }
    write_all();
    FILE *tool = popen("promtool check metrics 2>&1", "w"); /* NOLINT(cert-env33-c) */
    ck_assert_ptr_nonnull(tool);
    ck_assert_int_ge(fputs(out.bytes, tool), 0);
    ck_assert_int_eq(pclose(tool), 0);
}
END_TEST

START_TEST(the_process_is_seen)
{
    write_all();
    const char *resident = strstr(out.bytes, "\nprocess_resident_memory_bytes ");
    const char *threads = strstr(out.bytes, "\nprocess_threads ");
    const char *descriptors = strstr(out.bytes, "\nprocess_open_fds ");
    const char *start = strstr(out.bytes, "\nprocess_start_time_seconds ");
    const char *most = strstr(out.bytes, "\nprocess_max_fds ");
    ck_assert(most != NULL && strtod(most + 17, NULL) >= 3);
    ck_assert(resident != NULL && threads != NULL && descriptors != NULL && start != NULL);
    const double bytes = strtod(resident + 31, NULL);
    ck_assert(bytes > 1e6 && bytes < 1e11);
    ck_assert(strtod(threads + 17, NULL) >= 1);
    ck_assert(strtod(descriptors + 18, NULL) >= 3);
    ck_assert(strtod(start + 28, NULL) > 1.6e9);
}
END_TEST

/* As the next scrape says. */
static double open_descriptors(void)
{
    write_all();
    const char *descriptors = strstr(out.bytes, "\nprocess_open_fds ");
    ck_assert_ptr_nonnull(descriptors);
    return strtod(descriptors + 18, NULL);
}

START_TEST(descriptors_are_counted)
{
    enum { MORE = 40 };
    int more[MORE];
    const double before = open_descriptors();
    for (int i = 0; i < MORE; i++)
        ck_assert_int_ge(more[i] = dup(STDOUT_FILENO), 0);
    ck_assert_double_eq(open_descriptors(), before + MORE);
    for (int i = 0; i < MORE; i++)
        (void)close(more[i]);
    ck_assert_double_eq(open_descriptors(), before);
}
END_TEST

START_TEST(want_of_memory_shows_in_the_buffer)
{
    struct srv_metrics other;
    fault_arm(1);
    const bool made = srv_metrics_init(&other, 2);
    fault_arm(0);
    ck_assert(!made);
    struct wire_buf small = {0};
    fault_arm(1);
    srv_metrics_write(&metrics, &small);
    fault_arm(0);
    ck_assert(small.failed);
    wire_buf_fini(&small);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tc = tcase_create("metrics");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, requests_are_counted_by_route_status_and_time);
    tcase_add_test(tc, the_text_is_what_prometheus_reads);
    tcase_add_test(tc, promtool_finds_nothing_to_complain_of);
    tcase_add_test(tc, the_process_is_seen);
    tcase_add_test(tc, descriptors_are_counted);
    tcase_add_test(tc, want_of_memory_shows_in_the_buffer);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
