/* All pairs by id in CBOR, over one connection, beside the same query in core. */
#ifndef BENCH_SERVICE_PAIRS_H
#define BENCH_SERVICE_PAIRS_H

#include "tests/bench/service/meter.h"

/* Measures in so many rounds, METER_ROUNDS at most, in each of them first the daemon and then core,
 * and prints a line. Returns the median ratio of processor time: that of the daemon per request to
 * that of core per query, both of 100,000 boxes that were put in one commit. */
double pairs_measure(bench_meter *meter, int rounds);

#endif
