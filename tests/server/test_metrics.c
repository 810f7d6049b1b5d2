#include "server/metrics.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static const srv_route table[] = {
    {SRV_GET, "/a/{b}", NULL, 0, 0, SRV_OPEN},
    {SRV_POST, "/c", NULL, 0, 0, SRV_OPEN},
};

static struct srv_metrics metrics;
static struct wire_buf out;

static void setup(void) { ck_assert(srv_metrics_init(&metrics, table, 2)); }

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

START_TEST(requests_are_counted_by_route_kind_of_answer_and_time)
{
    srv_metrics_request(&metrics, 0, 200, SRV_ON_LOOP, 30e-6);
    srv_metrics_request(&metrics, 0, 204, SRV_ON_LOOP, 50e-6); /* a bound belongs to its bucket */
    srv_metrics_request(&metrics, 0, 404, SRV_ON_POOL, 3e-3);
    srv_metrics_request(&metrics, 1, 0, SRV_ON_POOL, 99);
    srv_metrics_request(&metrics, 2, 404, SRV_ON_LOOP, 1e-6);
    metrics.commits_total = 7;
    metrics.loop_lag_us = 1500;
    write_all();
    static const char *const lines[] = {
        "\nobbd_requests_total{method=\"GET\",route=\"/a/{b}\",class=\"2xx\"} 2\n",
        "\nobbd_requests_total{method=\"GET\",route=\"/a/{b}\",class=\"4xx\"} 1\n",
        "\nobbd_requests_total{method=\"POST\",route=\"/c\",class=\"0xx\"} 1\n",
        "\nobbd_requests_total{method=\"\",route=\"\",class=\"4xx\"} 1\n",
        "\nobbd_request_seconds_bucket{class=\"loop\",le=\"2.5e-05\"} 1\n",
        "\nobbd_request_seconds_bucket{class=\"loop\",le=\"5e-05\"} 3\n",
        "\nobbd_request_seconds_bucket{class=\"loop\",le=\"+Inf\"} 3\n",
        "\nobbd_request_seconds_count{class=\"loop\"} 3\n",
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

/* Each line is a comment or a sample, and each sample belongs to the metric announced last. */
START_TEST(the_text_is_what_prometheus_reads)
{
    srv_metrics_request(&metrics, 1, 503, SRV_ON_POOL, 0.5);
    char *text = strdup(write_all());
    char name[128] = "", kind[32] = "", *rest = NULL;
    size_t samples = 0, heads = 0;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            const size_t length = strcspn(line + 7, " ");
            ck_assert_uint_lt(length, sizeof name);
            memcpy(name, line + 7, length);
            name[length] = '\0';
            ck_assert_uint_gt(strlen(line), 8 + length);
            heads++;
            continue;
        }
        if (strncmp(line, "# TYPE ", 7) == 0) {
            const size_t length = strlen(name);
            ck_assert_int_eq(strncmp(line + 7, name, length), 0);
            (void)snprintf(kind, sizeof kind, "%s", line + 8 + length);
            ck_assert(strcmp(kind, "counter") == 0 || strcmp(kind, "gauge") == 0 ||
                      strcmp(kind, "histogram") == 0);
            ck_assert_msg((strcmp(kind, "counter") == 0) ==
                              (length > 6 && strcmp(name + length - 6, "_total") == 0),
                          "%s is a %s", name, kind);
            continue;
        }
        ck_assert_msg(strncmp(line, name, strlen(name)) == 0, "%s below %s", line, name);
        const char *value = strrchr(line, ' ');
        char *end = NULL;
        ck_assert_ptr_nonnull(value);
        ck_assert(strtod(value, &end) >= 0 && *end == '\0');
        samples++;
    }
    free(text);
    ck_assert_uint_gt(heads, 20);
    ck_assert_uint_gt(samples, 50);
}
END_TEST

START_TEST(the_process_is_seen)
{
    write_all();
    const char *resident = strstr(out.bytes, "\nprocess_resident_memory_bytes ");
    const char *threads = strstr(out.bytes, "\nprocess_threads ");
    const char *descriptors = strstr(out.bytes, "\nprocess_open_fds ");
    const char *start = strstr(out.bytes, "\nprocess_start_time_seconds ");
    ck_assert(resident != NULL && threads != NULL && descriptors != NULL && start != NULL);
    const double bytes = strtod(resident + 31, NULL);
    ck_assert(bytes > 1e6 && bytes < 1e11);
    ck_assert(strtod(threads + 17, NULL) >= 1);
    ck_assert(strtod(descriptors + 18, NULL) >= 3);
    ck_assert(strtod(start + 28, NULL) > 1.6e9);
}
END_TEST

START_TEST(want_of_memory_shows_in_the_buffer)
{
    struct srv_metrics other;
    fault_arm(1);
    const bool made = srv_metrics_init(&other, table, 2);
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
    tcase_add_test(tc, requests_are_counted_by_route_kind_of_answer_and_time);
    tcase_add_test(tc, the_text_is_what_prometheus_reads);
    tcase_add_test(tc, the_process_is_seen);
    tcase_add_test(tc, want_of_memory_shows_in_the_buffer);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
