/* The packed tests of one instruction set. Internal to core. */
#ifndef OBB_BATCH_H
#define OBB_BATCH_H

#include "core/cpu.h"

struct obb_kernels {
    obb_kernel kind;
};

extern const struct obb_kernels obb_kernels_scalar;

#endif
