/* The widest kernels without their error bounds: what exactness costs is measured against them. Their verdicts are all sure, and
 * some are wrong. */
#ifndef BENCH_CORE_FLOATS_H
#define BENCH_CORE_FLOATS_H

#include "core/kernels/batch.h"

/* The variant of the kernel, or NULL. */
const struct obb_kernels *floats_of(obb_kernel kernel);

#endif
