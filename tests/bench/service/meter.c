#include "tests/bench/service/meter.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
