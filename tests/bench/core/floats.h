/* The widest kernels without their error bounds, to measure the cost of exactness. They are never
 * in doubt, and some of their verdicts are wrong. */
#ifndef BENCH_CORE_FLOATS_H
#define BENCH_CORE_FLOATS_H

#include "core/kernels/batch.h"

/* Returns the variant of the kernel, or NULL. */
const struct obb_kernels *floats_of(obb_kernel kernel);

#endif
