/* Packed boxes: boxes as floats, for the kernels. Internal to core. */
#ifndef OBB_PACKED_H
#define OBB_PACKED_H

#include "core/geometry/box.h"
#include "core/kernels/batch.h"

/* Pack a solid, or a stored box, and its share of the error bound (batch.h). */
struct obb_packed obb_packed_from_solid(const obb_solid *solid);
struct obb_packed obb_packed_from_box(const obb_box *box, int dimensions);

/* Returns bounds of a packed box in scene units, grown by its slack, so that they hold the box in
 * doubles. */
obb_bounds obb_packed_bounds(const struct obb_packed *packed);

/* Returns the limits of the tests at a margin (scene units). Each limit is rounded to the side that
 * keeps verdicts right. */
struct obb_limits obb_limits_of(double margin);

#endif
