#include "tests/soak/history.h"

#include <math.h>
#include <stdlib.h>

static int by_position(const void *a, const void *b)
{
    const history_operation *x = a, *y = b;
    return x->position < y->position ? -1 : x->position > y->position;
}

size_t history_violations(history_operation *operations, size_t count)
{
    size_t violations = 0;
    double latest = -INFINITY; /* start of an operation with a lower position */
    qsort(operations, count, sizeof *operations, by_position);
    for (size_t first = 0, next; first < count; first = next) {
        double here = latest;
        for (next = first; next < count && operations[next].position == operations[first].position;
             next++) {
            violations += operations[next].end < latest;
            here = operations[next].start > here ? operations[next].start : here;
        }
        latest = here;
    }
    return violations;
}
