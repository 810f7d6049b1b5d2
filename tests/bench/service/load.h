/* A load generator: keeps connections busy with requests made beforehand, each the next as soon as the answer before it is
 * complete, holds every answer against what is expected, and keeps a histogram of how long they took. One thread. */
#ifndef BENCH_SERVICE_LOAD_H
#define BENCH_SERVICE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef struct load_address {
    struct sockaddr_storage as;
    socklen_t length;
} load_address;

/* A request as it goes over the wire, and what must come back. */
typedef struct load_request {
    char *bytes; /* owned by whoever made it */
    size_t length;
    char *expected; /* the body, or NULL: any 200 will do */
    size_t expected_length;
    const char *
        from; /* compared from the first of these words on (what stands before changes, as revisions do); NULL: all of it */
} load_request;

/* body NULL: none. accept NULL: whatever. Ends the program when there is no memory. */
load_request load_request_make(const char *method, const char *path, const char *type,
                               const char *accept, const void *body, size_t body_length);
void load_request_free(load_request *request);

enum { LOAD_BUCKETS = 64 * 32 };

/* Some connections to one server, which take the requests in turn. The first group is the caller's. */
typedef struct load_group {
    load_address address;
    load_request *requests;
    size_t request_count;
    size_t connections;
    uint64_t gap_us; /* a pause behind each answer; 0: none */

    uint64_t answers, wrong;
    uint64_t buckets[LOAD_BUCKETS]; /* of latency: 32 to each doubling of nanoseconds */
    size_t next;                    /* the request whose turn it is */
} load_group;

/* Runs the groups side by side for so long, and until each has an answer; answers under way at the end are waited for, though not counted. Returns the seconds
 * it took, or a negative number when a connection failed or an answer took more than `patience` seconds. */
double load_run(load_group *groups, size_t count, double seconds, double patience);

/* The latency in seconds below which a share of the answers stays (0.5: the median), within 3 %. */
double load_quantile(const load_group *group, double share);

/* One request, and its body (owned by the caller, a zero byte behind it); NULL unless it was answered by a status of 2xx. */
char *load_exchange(const load_address *address, const load_request *request, size_t *out_length);

double load_clock(void); /* monotonic seconds */

#endif
