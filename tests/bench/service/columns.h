/* Large batches in columns beside the same as maps and objects, in processor time of the daemon. */
#ifndef BENCH_SERVICE_COLUMNS_H
#define BENCH_SERVICE_COLUMNS_H

#include "tests/bench/service/meter.h"

/* Ratios of processor time; medians. */
struct columns_figures {
    double put;   /* 100,000 boxes put in columns, CBOR, to the same as a JSON map */
    double poses; /* 100,000 poses in columns and all pairs by id in one commit, to both alone */
    double rays;  /* 10,000 rays in columns at 10,000 times within 20 commits, to one time */
};

/* Measures on an empty daemon in so many rounds, METER_ROUNDS at most. Prints a line a figure. */
struct columns_figures columns_measure(bench_meter *meter, int rounds);

#endif
