#include "tests/bench/service/meter.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE = 60 };

static void settle(void)
{
    const struct timespec some = {.tv_nsec = 300000000};
    (void)nanosleep(&some, NULL);
}

load_request meter_request(const char *scene, const char *what, const char *type, const void *body,
                           size_t length)
{
    char path[96];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/%s", scene, what);
    return load_request_make("POST", path, type, type, body, length);
}

char *meter_send(bench_meter *meter, const load_request *request, double *out_cpu,
                 size_t *out_length)
{
    const double before = server_cpu(meter->obbd);
    char *body = load_exchange(&meter->obbd->tcp, request, out_length);
    settle();
    *out_cpu = (server_cpu(meter->obbd) - before) * 1e3;
    meter->checked++;
    meter->failures += body == NULL;
    return body;
}

double meter_drop(bench_meter *meter, const load_request *request)
{
    double cpu;
    size_t length;
    free(meter_send(meter, request, &cpu, &length));
    return cpu;
}

double meter_load(bench_meter *meter, load_request *requests, size_t count, double seconds,
                  double *out_p50)
{
    static load_group group; /* its histogram is large */
    group = (load_group){.address = meter->obbd->tcp,
                         .requests = requests,
                         .request_count = count,
                         .connections = 1};
    const double before = server_cpu(meter->obbd);
    const double took = load_run(&group, 1, seconds, PATIENCE);
    meter->checked += (size_t)group.answers;
    if (took < 0 || group.wrong > 0) {
        (void)fprintf(stderr, "%.60s: %llu of %llu answers were wrong%s\n", requests[0].bytes,
                      (unsigned long long)group.wrong, (unsigned long long)group.answers,
                      took < 0 ? ", then it broke off" : "");
        meter->failures++;
        return NAN;
    }
    *out_p50 = load_quantile(&group, 0.5) * 1e3;
    return (server_cpu(meter->obbd) - before) * 1e6 / (double)group.answers;
}

long long meter_pairs(bench_meter *meter, const char *scene)
{
    static const char question[] = "{\"count_only\":true}";
    load_request request =
        meter_request(scene, "query/all-pairs", "application/json", question, sizeof question - 1);
    double cpu;
    size_t length;
    char *body = meter_send(meter, &request, &cpu, &length);
    json_t *answer = body != NULL ? json_loadb(body, length, 0, NULL) : NULL;
    const json_int_t count = json_integer_value(json_object_get(answer, "count"));
    json_decref(answer);
    free(body);
    load_request_free(&request);
    return count;
}

/* Returns a page of the list of boxes, and its cursor in `cursor`: "" for none. */
static char *page_of(bench_meter *meter, const char *scene, char cursor[64])
{
    char path[200];
    double cpu;
    size_t length;
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/boxes?limit=10000%s%s", scene,
                   cursor[0] != '\0' ? "&cursor=" : "", cursor);
    load_request request = load_request_make("GET", path, NULL, NULL, NULL, 0);
    char *body = meter_send(meter, &request, &cpu, &length);
    load_request_free(&request);
    json_t *page = body != NULL ? json_loadb(body, length, 0, NULL) : NULL;
    const char *next = json_string_value(json_object_get(page, "cursor"));
    (void)snprintf(cursor, 64, "%s", next != NULL ? next : "");
    meter->failures += json_array_size(json_object_get(page, "boxes")) == 0;
    json_decref(page);
    return body;
}

void meter_compare(bench_meter *meter, const char *scene, const char *other)
{
    char cursors[2][64] = {"", ""};
    bool same = true;
    do {
        char *bodies[] = {page_of(meter, scene, cursors[0]), page_of(meter, other, cursors[1])};
        same = bodies[0] != NULL && bodies[1] != NULL && strcmp(bodies[0], bodies[1]) == 0;
        free(bodies[0]);
        free(bodies[1]);
    } while (same && cursors[0][0] != '\0');
    if (!same)
        (void)fprintf(stderr, "the boxes of %s and %s differ\n", scene, other);
    meter->failures += !same;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double meter_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}
