/* The smaller of two counts. Internal to core. */
#ifndef OBB_LEAST_H
#define OBB_LEAST_H

#include <stddef.h>

/* Returns the smaller of `a` and `b`. */
static inline size_t obb_least(size_t a, size_t b) { return a < b ? a : b; }

#endif
