#include "server/metrics.h"

#include <stdarg.h>
#include <stdio.h>

static const double bounds[SRV_LATENCIES] = SRV_LATENCY_BOUNDS;
static const char *const costs[SRV_COSTS] = {[SRV_ON_LOOP] = "loop", [SRV_ON_POOL] = "pool"};
static const char *const methods[] = {
    [SRV_GET] = "GET",   [SRV_PUT] = "PUT",       [SRV_PATCH] = "PATCH",
    [SRV_POST] = "POST", [SRV_DELETE] = "DELETE", [SRV_OPTIONS] = "OPTIONS"};

bool srv_metrics_init(struct srv_metrics *metrics, const srv_route *table, size_t routes)
{
    *metrics = (struct srv_metrics){.table = table, .routes = routes};
    metrics->requests = obb_calloc(routes + 1, sizeof *metrics->requests);
    return metrics->requests != NULL;
}

void srv_metrics_fini(struct srv_metrics *metrics)
{
    obb_free(metrics->requests);
    metrics->requests = NULL;
}

void srv_metrics_request(struct srv_metrics *metrics, size_t route, int status, srv_cost cost,
                         double seconds)
{
    metrics->requests[route][status / 100 % SRV_STATUSES]++;
    size_t i = 0;
    while (i < SRV_LATENCIES && seconds > bounds[i])
        i++;
    metrics->latency[cost].counts[i]++;
    metrics->latency[cost].sum += seconds;
}

__attribute__((format(printf, 2, 3))) static void put(struct wire_buf *buf, const char *format, ...)
{
    char line[512];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (length > 0 && (size_t)length < sizeof line)
        wire_buf_append(buf, line, (size_t)length);
}

static void put_head(struct wire_buf *buf, const char *name, const char *kind, const char *help)
{
    put(buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

void srv_metrics_write(const struct srv_metrics *metrics, struct wire_buf *buf)
{
#define SRV_METRIC_WRITE(field, kind, name, help) \
    put_head(buf, name, #kind, help);             \
    put(buf, name " %llu\n", (unsigned long long)metrics->field);
    SRV_METRICS_TABLE(SRV_METRIC_WRITE)
#undef SRV_METRIC_WRITE

    put_head(buf, "obbd_requests_total", "counter",
             "Requests by route and kind of answer; class 0xx: the client went before it.");
    for (size_t r = 0; r <= metrics->routes; r++)
        for (int s = 0; s < SRV_STATUSES; s++)
            if (metrics->requests[r][s] != 0)
                put(buf, "obbd_requests_total{method=\"%s\",route=\"%s\",class=\"%dxx\"} %llu\n",
                    r < metrics->routes ? methods[metrics->table[r].method] : "",
                    r < metrics->routes ? metrics->table[r].pattern : "", s,
                    (unsigned long long)metrics->requests[r][s]);

    put_head(
        buf, "obbd_request_seconds", "histogram",
        "From the end of a request's headers to the end of its answer, by where it was worked on.");
    for (int c = 0; c < SRV_COSTS; c++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < SRV_LATENCIES; i++) {
            sum += metrics->latency[c].counts[i];
            put(buf, "obbd_request_seconds_bucket{class=\"%s\",le=\"%g\"} %llu\n", costs[c],
                bounds[i], (unsigned long long)sum);
        }
        sum += metrics->latency[c].counts[SRV_LATENCIES];
        put(buf,
            "obbd_request_seconds_bucket{class=\"%s\",le=\"+Inf\"} %llu\n"
            "obbd_request_seconds_sum{class=\"%s\"} %.9g\nobbd_request_seconds_count{class=\"%s\"} "
            "%llu\n",
            costs[c], (unsigned long long)sum, costs[c], metrics->latency[c].sum, costs[c],
            (unsigned long long)sum);
    }
}
