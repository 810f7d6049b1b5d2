/* Packed boxes: what the kernels test. Internal to core. */
#ifndef OBB_PACKED_H
#define OBB_PACKED_H

#include "core/geometry/box.h"
#include "core/kernels/batch.h"

struct obb_packed obb_packed_from_solid(const obb_solid *solid);
struct obb_packed obb_packed_from_box(const obb_box *box, int dimensions);

/* Bounds in scene units, outwards by the slack. */
obb_bounds obb_packed_bounds(const struct obb_packed *packed);

/* The margin, with the roundings that keep verdicts right. */
struct obb_limits obb_limits_of(double margin);

#endif
