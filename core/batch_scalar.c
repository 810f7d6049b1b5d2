#include "core/batch.h"

const struct obb_kernels obb_kernels_scalar = {.kind = OBB_KERNEL_SCALAR};
