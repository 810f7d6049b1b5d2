#include "core/cpu.h"

#include "core/batch.h"

#include <stddef.h>

const struct obb_kernels *obb_kernels_choose(obb_kernel kernel)
{
    return kernel == OBB_KERNEL_AUTO || kernel == OBB_KERNEL_SCALAR ? &obb_kernels_scalar : NULL;
}

const char *obb_kernel_name(obb_kernel kernel)
{
    static const char *const names[OBB_KERNEL_COUNT] = {"auto", "scalar", "avx2", "avx512", "neon"};
    return (unsigned)kernel < OBB_KERNEL_COUNT ? names[kernel] : NULL;
}

obb_kernel obb_kernels_kind(const struct obb_kernels *kernels) { return kernels->kind; }
