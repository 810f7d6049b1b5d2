/* A load generator. It keeps connections busy with requests made beforehand: each connection sends
 * the next request as soon as the answer before is complete. It compares every answer with the
 * expected one and keeps a histogram of latencies. One thread. */
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

/* Returns the address of a port of loopback; 0: any that is free. */
load_address load_loopback(uint16_t port);

/* A request as bytes of the connection, and its expected answer. */
typedef struct load_request {
    char *bytes; /* owned by the maker of the request */
    size_t length;
    char *expected; /* the body. NULL: any answer with status 200 */
    size_t expected_length;
    const char
        *from; /* bodies are compared from this word on, behind the revision; NULL: all of it */
} load_request;

/* Makes a request. body: NULL for none. accept: NULL for any. Ends the program if there is no
 * memory. */
load_request load_request_make(const char *method, const char *path, const char *type,
                               const char *accept, const void *body, size_t body_length);
void load_request_free(load_request *request);

enum { LOAD_BUCKETS = 64 * 32 };

/* Some connections to one server, which take the requests in turn. The caller fills the first
 * members. */
typedef struct load_group {
    load_address address;
    load_request *requests;
    size_t request_count;
    size_t connections;
    uint64_t gap_us; /* a pause after each answer, microseconds; 0: none */

    uint64_t answers, wrong;
    uint64_t buckets[LOAD_BUCKETS]; /* of latency: 32 to each doubling of nanoseconds */
    size_t next;                    /* the request whose turn it is */
} load_group;

/* Runs the groups side by side for `seconds`, and until each has an answer. Waits at the end for
 * the answers under way, which do not count. Returns the seconds taken. Negative: a connection
 * failed, or an answer took more than `patience` seconds. */
double load_run(load_group *groups, size_t count, double seconds, double patience);

/* Returns the latency in seconds below which a share of the answers lies (0.5: the median), within
 * 3 %. */
double load_quantile(const load_group *group, double share);

/* Sends one request and returns the body of the answer, terminated; the caller owns it. NULL: the
 * status was not 2xx. */
char *load_exchange(const load_address *address, const load_request *request, size_t *out_length);

/* Sends one request and returns the status of the answer; 0: there was none. */
int load_status(const load_address *address, const load_request *request);

double load_clock(void); /* monotonic seconds */

#endif
