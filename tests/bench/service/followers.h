/* Clients of one event stream. A thread of their own reads all of them and counts messages. */
#ifndef BENCH_SERVICE_FOLLOWERS_H
#define BENCH_SERVICE_FOLLOWERS_H

#include "tests/bench/service/load.h"

typedef struct followers followers;

/* Opens `count` connections that follow `path`. The caller closes them. NULL: a connection
 * failed. */
followers *followers_open(const load_address *address, const char *path, size_t count);

typedef struct followers_tally {
    size_t messages, fewest, most; /* in all, and that one follower got */
    size_t gone;                   /* followers whose stream has ended */
    double bytes;
} followers_tally;

/* Stops reading and closes the connections. */
followers_tally followers_close(followers *all);

#endif
