#include "tests/bench/goals.h"

#include <math.h>
#include <stdio.h>

static bool reached(const bench_goal *goal, double bound)
{
    return goal->at_least ? goal->measured >= bound : goal->measured <= bound;
}

static const char *verdict(const bench_goal *goal)
{
    if (isinf(goal->measured))
        return "MISSED: not built";
    if (isnan(goal->measured))
        return "not measured";
    if (reached(goal, goal->aim))
        return "aim reached";
    return reached(goal, goal->must) ? "must reached" : "MISSED";
}

size_t goals_print(const bench_goal *goals, size_t count)
{
    size_t missed = 0;
    (void)printf("\n%-60s %11s %9s %9s\n", "goal", "measured", "must", "aim");
    for (size_t i = 0; i < count; i++) {
        const bench_goal *goal = &goals[i];
        missed += !isnan(goal->measured) && (isinf(goal->measured) || !reached(goal, goal->must));
        char measured[32] = "-";
        if (isfinite(goal->measured))
            (void)snprintf(measured, sizeof measured, "%.2f", goal->measured);
        (void)printf("%-60s %8s %-2s %9.2f %9.2f  %s\n", goal->what, measured, goal->unit,
                     goal->must, goal->aim, verdict(goal));
    }
    return missed;
}
