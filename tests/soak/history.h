/* A history of operations on one object that several clients did at once, and its check.
 *
 * Each operation took effect at some moment between its start and its end. Each has a position in
 * the order that the object claims, such as a revision. The order is right if no operation with a
 * higher position ended before one with a lower position began: then there are moments in that
 * order, one for each operation, and the history is linearizable. Operations of one position may
 * come in any order, so a state and all that read it should have positions of their own.
 *
 * Source   Herlihy and Wing, "Linearizability: a correctness condition for concurrent objects",
 *          TOPLAS 1990. The order is given here, so that no search is needed. */
#ifndef SOAK_HISTORY_H
#define SOAK_HISTORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct history_operation {
    double start, end; /* seconds */
    uint64_t position;
} history_operation;

/* Sorts the operations by position. Returns how many of them ended before one with a lower position
 * began. O(n log n). */
size_t history_violations(history_operation *operations, size_t count);

#endif
