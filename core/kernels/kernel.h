/* The names of the kernels. */
#ifndef OBB_KERNEL_H
#define OBB_KERNEL_H

typedef enum obb_kernel {
    OBB_KERNEL_AUTO, /* the widest kernel that this CPU has */
    OBB_KERNEL_SCALAR,
    OBB_KERNEL_AVX2,
    OBB_KERNEL_AVX512,
    OBB_KERNEL_NEON
} obb_kernel;
enum { OBB_KERNEL_COUNT = 5 };

#endif
