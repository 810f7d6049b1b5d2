/* Requests to the daemon one at a time or as a load, and the processor time that they take. */
#ifndef BENCH_SERVICE_METER_H
#define BENCH_SERVICE_METER_H

#include "tests/bench/service/servers.h"

/* A zeroed meter with the daemon set counts nothing yet. */
typedef struct bench_meter {
    const bench_server *obbd;
    size_t checked; /* answers */
    int failures;   /* wrong or missing answers */
} bench_meter;

enum { METER_ROUNDS = 5 }; /* at most */

/* Makes a POST request to the scene with one media type for the body and the answer. The caller
 * frees it. */
load_request meter_request(const char *scene, const char *what, const char *type, const void *body,
                           size_t length);

/* Sends a request and returns its answer, which the caller owns. NULL: a failure, which is counted.
 * *out_cpu: milliseconds of the daemon, with the work behind the answer. */
char *meter_send(bench_meter *meter, const load_request *request, double *out_cpu,
                 size_t *out_length);

/* Does the same without the answer, and returns the milliseconds. */
double meter_drop(bench_meter *meter, const load_request *request);

/* Sends the requests in turn over one connection for so many seconds and compares each answer with
 * the expected one. Returns microseconds of the daemon per request. *out_p50: the median latency in
 * milliseconds. NaN: a failure, which is counted. */
double meter_load(bench_meter *meter, load_request *requests, size_t count, double seconds,
                  double *out_p50);

/* Returns the number of pairs that overlap, to compare two scenes by. */
long long meter_pairs(bench_meter *meter, const char *scene);

/* Counts a failure unless the lists of boxes of the two scenes are the same, to the last bit, and
 * not empty. */
void meter_compare(bench_meter *meter, const char *scene, const char *other);

/* Sorts the values and returns the median. */
double meter_median(double *values, int count);

#endif
