#include "core/kernels/cpu.h"

#include "core/kernels/batch.h"

#if defined __x86_64__
#include <cpuid.h>
#endif

#if !defined OBB_ONLY_SCALAR && defined __x86_64__

/* Returns which registers the operating system saves: XCR0. */
static unsigned saved_state(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Returns whether this CPU and its operating system have a kernel's instruction set.
 *
 * Source   Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapters
 *          14.3, 14.7 and 15.2. */
static bool cpu_has(obb_kernel kernel)
{
    enum { OSXSAVE = 1 << 27, POPCNT = 1 << 23, YMM = 6, ZMM = 0xe6 };
    enum { BMI1 = 1 << 3, AVX2 = 1 << 5, BMI2 = 1 << 8, AVX512F = 1 << 16, AVX512DQ = 1 << 17 };
    const unsigned avx512bw = 1u << 30, avx512vl = 1u << 31;
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & OSXSAVE) == 0 || (c & POPCNT) == 0 ||
        (saved_state() & YMM) != YMM || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0)
        return false;
    const unsigned avx2 = AVX2 | BMI1 | BMI2;
    const unsigned avx512 = avx2 | AVX512F | AVX512DQ | avx512bw | avx512vl;
    if (kernel == OBB_KERNEL_AVX512)
        return (b & avx512) == avx512 && (saved_state() & ZMM) == ZMM;
    return (b & avx2) == avx2;
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
