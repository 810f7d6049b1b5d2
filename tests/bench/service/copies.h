/* Copies of a large scene beside imports of the same boxes, and commits of the source meanwhile. */
#ifndef BENCH_SERVICE_COPIES_H
#define BENCH_SERVICE_COPIES_H

#include "tests/bench/service/meter.h"

struct copies_figures {
    double copy;   /* a copy of 100,000 boxes, to an import of them: processor time; median */
    double commit; /* p99 of one-box commits of the source beside copies, milliseconds */
};

/* Measures in so many rounds, METER_ROUNDS at most. Prints a line a figure. */
struct copies_figures copies_measure(bench_meter *meter, int rounds);

#endif
