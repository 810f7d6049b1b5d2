/* Large batches in columns beside the same as maps and objects, in processor time of the daemon. */
#ifndef BENCH_SERVICE_COLUMNS_H
#define BENCH_SERVICE_COLUMNS_H

#include "tests/bench/service/servers.h"

/* Ratios of processor time; medians. */
struct columns_figures {
    double put; /* 100,000 boxes put in columns, CBOR, to the same as a JSON map */
    double
        poses; /* 100,000 poses in columns and all pairs by id in one commit, to the sum of both */
    double rays; /* 10,000 rays in columns at 10,000 times within 20 commits, to one time */
    size_t checked;
    int failures;
};

/* Measures on an empty daemon, and prints a line a figure. */
void columns_measure(const bench_server *obbd, int rounds, struct columns_figures *out);

#endif
