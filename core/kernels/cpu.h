/* Which instruction set the packed tests run on. All give the same verdicts to the bit, so the choice is one of
 * speed alone; it is made once, by whoever starts the service, and handed down as a pointer. */
#ifndef OBB_CPU_H
#define OBB_CPU_H

typedef enum obb_kernel {
    OBB_KERNEL_AUTO, /* the widest that this CPU has */
    OBB_KERNEL_SCALAR,
    OBB_KERNEL_AVX2,
    OBB_KERNEL_AVX512,
    OBB_KERNEL_NEON
} obb_kernel;
enum { OBB_KERNEL_COUNT = 5 };

struct obb_kernels; /* constant tables of functions, see batch.h */

/* The functions of a kernel; NULL when this CPU or build lacks it. Never NULL for AUTO and SCALAR. */
const struct obb_kernels *obb_kernels_choose(obb_kernel kernel);

/* "auto", "scalar", "avx2", "avx512", "neon"; NULL outside the enum. */
const char *obb_kernel_name(obb_kernel kernel);

/* Which kernel the functions are of; never AUTO. */
obb_kernel obb_kernels_kind(const struct obb_kernels *kernels);

#endif
