/* Makes the n-th allocation fail, so that a test can walk every failure path of a call. */
#ifndef TEST_SUPPORT_FAULT_H
#define TEST_SUPPORT_FAULT_H

#include <stddef.h>

/* Lets the n-th allocation from now fail once, on any thread (1: the next one). 0: none fails.
 * Check allocates too, so disarm before an assertion. */
void fault_arm(size_t n);

/* Returns the number of allocations since fault_arm. If it is less than n, the armed one was not
 * reached. */
size_t fault_seen(void);

/* Lets the n-th poll for cancelling from now, and all later ones, answer true. 0: each answers with
 * its flag. */
void fault_cancel(size_t n);

/* Returns the number of polls since fault_cancel. */
size_t fault_polls(void);

#endif
