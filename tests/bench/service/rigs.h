/* Ticks of frames with boxes in them beside the same ticks as poses of all boxes. */
#ifndef BENCH_SERVICE_RIGS_H
#define BENCH_SERVICE_RIGS_H

#include "tests/bench/service/meter.h"

/* Ratios of a tick of 100 frames with 15 boxes each to 1,500 poses in columns, both in CBOR. */
struct rigs_figures {
    double cpu;   /* processor time of the daemon; median */
    double bytes; /* of the body */
};

/* Measures in so many rounds, METER_ROUNDS at most. Prints a line a figure. */
struct rigs_figures rigs_measure(bench_meter *meter, int rounds);

#endif
