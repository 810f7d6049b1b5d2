/* Makes the n-th allocation fail, so that every failure path of a call can be walked. */
#ifndef TEST_SUPPORT_FAULT_H
#define TEST_SUPPORT_FAULT_H

#include <stddef.h>

/* The n-th allocation from now (1: the next) on any thread fails, once; 0: none fails. Check allocates too: disarm
 * before asserting. */
void fault_arm(size_t n);

/* How many allocations were seen since fault_arm; less than n: the armed one was not reached. */
size_t fault_seen(void);

#endif
