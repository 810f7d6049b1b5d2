/* Goals of a benchmark: what must be reached, what is aimed at, and what was measured. */
#ifndef BENCH_GOALS_H
#define BENCH_GOALS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_goal {
    const char *what, *unit;
    double must, aim;
    bool at_least; /* else at most */
    /* NaN: not in this run. Infinite: the feature is not built, and the goal is missed. */
    double measured;
} bench_goal;

/* Prints a line a goal. Returns how many are missed, not counting those that were not
 * measured. */
size_t goals_print(const bench_goal *goals, size_t count);

#endif
