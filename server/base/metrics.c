#include "server/base/metrics.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const int statuses[SRV_STATUSES - 1] = SRV_STATUS_LIST;
static const double bounds[SRV_LATENCIES] = SRV_LATENCY_BOUNDS;
static const char *const costs[SRV_COSTS] = {[SRV_ON_LOOP] = "loop", [SRV_ON_POOL] = "pool"};

bool srv_metrics_init(struct srv_metrics *metrics, size_t route_count)
{
    *metrics = (struct srv_metrics){.route_count = route_count};
    metrics->routes = obb_calloc(route_count + 1, sizeof *metrics->routes);
    if (metrics->routes == NULL)
        return false;
    for (size_t r = 0; r <= route_count; r++)
        srv_metrics_label(metrics, r, "", "");
    return true;
}

void srv_metrics_fini(struct srv_metrics *metrics)
{
    obb_free(metrics->routes);
    metrics->routes = NULL;
}

void srv_metrics_label(struct srv_metrics *metrics, size_t route, const char *method,
                       const char *pattern)
{
    metrics->routes[route].method = method;
    metrics->routes[route].pattern = pattern;
}

void srv_metrics_status(struct srv_metrics *metrics, size_t route, int status)
{
    size_t s = 0;
    while (s < SRV_STATUSES - 1 && statuses[s] != status)
        s++;
    metrics->routes[route].requests[s]++;
}

void srv_metrics_request(struct srv_metrics *metrics, size_t route, int status, srv_cost cost,
                         double seconds)
{
    srv_metrics_status(metrics, route, status);
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

static void put_requests(struct wire_buf *buf, const struct srv_metrics *metrics, size_t route,
                         size_t status)
{
    const struct srv_metrics_route *r = &metrics->routes[route];
    char kind[16] = "other", text[16] = "other";
    if (status < SRV_STATUSES - 1) {
        (void)snprintf(kind, sizeof kind, "%dxx", statuses[status] / 100);
        (void)snprintf(text, sizeof text, "%d", statuses[status]);
    }
    put(buf, "obbd_requests_total{method=\"%s\",route=\"%s\",class=\"%s\",status=\"%s\"} %llu\n",
        r->method, r->pattern, kind, text, (unsigned long long)r->requests[status]);
}

void srv_metrics_write(const struct srv_metrics *metrics, struct wire_buf *buf)
{
#define SRV_METRIC_WRITE(field, kind, name, worth, help) \
    put_head(buf, name, #kind, help);                    \
    put(buf, name " %.15g\n", (double)metrics->field *(worth));
    SRV_METRICS_TABLE(SRV_METRIC_WRITE)
    if (metrics->has_journal) {
        SRV_JOURNAL_METRICS_TABLE(SRV_METRIC_WRITE)
    }
#undef SRV_METRIC_WRITE

    put_head(buf, "obbd_requests_total", "counter",
             "Requests by route and status; 0: the client went before the end of the answer.");
    for (size_t r = 0; r <= metrics->route_count; r++)
        for (size_t s = 0; s < SRV_STATUSES; s++)
            if (metrics->routes[r].requests[s] != 0)
                put_requests(buf, metrics, r, s);

    put_head(
        buf, "obbd_request_seconds", "histogram",
        "From the end of a request's headers to the end of its answer, by where it was worked on. "
        "Event streams are left out.");
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

/* Returns the number of open descriptors, or 0 if they cannot be counted. From Linux 6.2 on the
 * folder's size is their number. To read it takes 1 us for each, and a further descriptor. */
static unsigned long long count_descriptors(void)
{
    struct stat about;
    if (stat("/proc/self/fd", &about) == 0 && about.st_size > 0)
        return (unsigned long long)about.st_size;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    unsigned long long count = 0;
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count > 3 ? count - 3 : 0; /* ".", "..", and the folder itself */
}

void srv_metrics_write_process(struct wire_buf *buf)
{
    /* /proc/self/stat has 52 numbers, most after the name in parentheses; see proc(5) */
    char text[1024] = "";
    FILE *file = fopen("/proc/self/stat", "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        (void)fclose(file);
    }
    unsigned long long fields[52] = {0};
    const char *at = strrchr(text, ')');
    for (size_t i = 1; at != NULL && i < 52; i++) {
        at = strchr(at + 1, ' ');
        if (at != NULL && i > 1) /* the first is a letter */
            fields[i] = strtoull(at + 1, NULL, 10);
    }
    enum { UTIME = 12, STIME = 13, THREADS = 18, START = 20, VIRTUAL = 21, RESIDENT = 22 };
    const double ticks = (double)sysconf(_SC_CLK_TCK);
    struct timespec now, up;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    put_head(buf, "process_cpu_seconds_total", "counter", "Time on CPUs, user and system.");
    put(buf, "process_cpu_seconds_total %.2f\n", (double)(fields[UTIME] + fields[STIME]) / ticks);
    put_head(buf, "process_resident_memory_bytes", "gauge", "Memory in use.");
    put(buf, "process_resident_memory_bytes %llu\n",
        fields[RESIDENT] * (unsigned long long)sysconf(_SC_PAGESIZE));
    put_head(buf, "process_virtual_memory_bytes", "gauge", "Memory mapped.");
    put(buf, "process_virtual_memory_bytes %llu\n", fields[VIRTUAL]);
    put_head(buf, "process_threads", "gauge", "Threads.");
    put(buf, "process_threads %llu\n", fields[THREADS]);
    put_head(buf, "process_open_fds", "gauge", "Open descriptors.");
    put(buf, "process_open_fds %llu\n", count_descriptors());
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        put_head(buf, "process_max_fds", "gauge", "Most open descriptors.");
        put(buf, "process_max_fds %llu\n", (unsigned long long)limit.rlim_cur);
    }
    put_head(buf, "process_start_time_seconds", "gauge", "When it started, seconds since 1970.");
    put(buf, "process_start_time_seconds %.2f\n",
        (double)now.tv_sec - (double)up.tv_sec + (double)fields[START] / ticks);
}
