/* What `explain` and `with` cost beside the same query without them, in processor time of the
 * daemon. */
#ifndef BENCH_SERVICE_QUESTIONS_H
#define BENCH_SERVICE_QUESTIONS_H

#include "tests/bench/service/meter.h"

/* Ratios of processor time per request; medians. */
struct questions_figures {
    double explain; /* a query with `explain` of one box, to the query: the worst of three kinds */
    double with;    /* a query with 100 poses in `with`, to a commit of these poses and the query */
};

/* Measures in so many rounds, METER_ROUNDS at most. Prints a line a figure. */
struct questions_figures questions_measure(bench_meter *meter, int rounds);

#endif
