/* The grid of an index's codes. Internal to core. */
#ifndef OBB_GRID_H
#define OBB_GRID_H

#include "core/geometry/box.h"
#include "core/kernels/batch.h"

/* A nonuniform grid: where most boxes would crowd into few codes (because a few are far away, or huge), codes are
 * spread over each axis as the centres are. The piece between knots i and i + 1 has OBB_GRID_PIECE_CODES codes. */
#define OBB_GRID_PIECES      64
#define OBB_GRID_PIECE_CODES 1023u
struct obb_nonuniform_grid {
    double knot[3][OBB_GRID_PIECES + 1]; /* ascending */
    double scale[3][OBB_GRID_PIECES];    /* codes per scene unit; 0 where knots coincide */
};

/* A uniform grid that holds `bounds`, with room for what codes add. */
struct obb_grid obb_grid_uniform(const obb_bounds *bounds);

/* The code of a coordinate along an axis, 0 to OBB_CODE_MOST also where it lies outside. */
uint32_t obb_grid_code(const struct obb_grid *grid, int axis, double x);

/* Bounds as codes, as they are kept. */
struct obb_quantised_bounds obb_grid_quantise(const struct obb_grid *grid,
                                              const obb_bounds *bounds);

/* Bounds that hold everything of these codes, as they are kept. */
obb_bounds obb_grid_bounds(const struct obb_grid *grid,
                           const struct obb_quantised_bounds *quantised);

#endif
