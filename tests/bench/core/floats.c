#include "tests/bench/core/floats.h"

#if !defined OBB_ONLY_SCALAR && defined __x86_64__
extern const struct obb_kernels floats_avx2, floats_avx512;
#endif

const struct obb_kernels *floats_of(obb_kernel kernel)
{
#if !defined OBB_ONLY_SCALAR && defined __x86_64__
    if (kernel == OBB_KERNEL_AVX512)
        return &floats_avx512;
    if (kernel == OBB_KERNEL_AVX2)
        return &floats_avx2;
#endif
    (void)kernel;
    return NULL;
}
