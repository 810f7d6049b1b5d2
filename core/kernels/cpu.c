#include "core/kernels/cpu.h"

#include "core/kernels/batch.h"

#if !defined OBB_ONLY_SCALAR && defined __x86_64__

/* Returns whether this CPU and its operating system have a kernel's instruction set. The answers
 * were found when the process began: in a virtual machine, the instruction that asks the CPU takes
 * 5 us, and a choice would need eight of them. */
static bool cpu_has(obb_kernel kernel)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return false;
    return kernel != OBB_KERNEL_AVX512 ||
           (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}
#endif

const struct obb_kernels *obb_kernels_choose(obb_kernel kernel)
{
    switch (kernel) {
    case OBB_KERNEL_AUTO:
        for (int k = OBB_KERNEL_COUNT; --k > OBB_KERNEL_SCALAR;) {
            const struct obb_kernels *kernels = obb_kernels_choose((obb_kernel)k);
            if (kernels != NULL)
                return kernels;
        }
        return &obb_kernels_scalar;
    case OBB_KERNEL_SCALAR:
        return &obb_kernels_scalar;
    case OBB_KERNEL_AVX2:
#if !defined OBB_ONLY_SCALAR && defined __x86_64__
        if (cpu_has(OBB_KERNEL_AVX2))
            return &obb_kernels_avx2;
#endif
        return NULL;
    case OBB_KERNEL_AVX512:
#if !defined OBB_ONLY_SCALAR && defined __x86_64__
        if (cpu_has(OBB_KERNEL_AVX512))
            return &obb_kernels_avx512;
#endif
        return NULL;
    case OBB_KERNEL_NEON:
#if !defined OBB_ONLY_SCALAR && defined __aarch64__
        return &obb_kernels_neon;
#else
        return NULL;
#endif
    }
    return NULL;
}

const char *obb_kernel_name(obb_kernel kernel)
{
    static const char *const names[OBB_KERNEL_COUNT] = {"auto", "scalar", "avx2", "avx512", "neon"};
    return (unsigned)kernel < OBB_KERNEL_COUNT ? names[kernel] : NULL;
}

obb_kernel obb_kernels_kind(const struct obb_kernels *kernels) { return kernels->kind; }
