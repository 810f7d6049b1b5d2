/* The choice of the instruction set for the packed tests. All kernels give the same bits, so the
 * choice only affects speed. The program makes the choice once, at its start, and hands it down as
 * a pointer. */
#ifndef OBB_CPU_H
#define OBB_CPU_H

#include "core/kernels/kernel.h"

struct obb_kernels; /* a constant table of functions, see batch.h */

/* Returns the functions of a kernel, or NULL if this CPU or build lacks it. Never NULL for AUTO and
 * SCALAR. */
const struct obb_kernels *obb_kernels_choose(obb_kernel kernel);

/* Returns "auto", "scalar", "avx2", "avx512" or "neon"; NULL outside the enum. */
const char *obb_kernel_name(obb_kernel kernel);

/* Returns the kernel that the functions belong to; never AUTO. */
obb_kernel obb_kernels_kind(const struct obb_kernels *kernels);

#endif
