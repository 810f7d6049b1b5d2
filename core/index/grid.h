/* The grid of an index: it maps coordinates to codes of 16 bits, and bounds to quantised bounds
 * (struct obb_grid and struct obb_quantised_bounds, batch.h). Internal to core. */
#ifndef OBB_GRID_H
#define OBB_GRID_H

#include "core/geometry/box.h"
#include "core/kernels/batch.h"

/* A nonuniform grid spreads its codes over each axis as the centres of the boxes are spread. It is
 * for scenes in which most boxes would crowd into few codes of a uniform grid, because a few boxes
 * are far away, or huge. The piece between knots i and i + 1 has OBB_GRID_PIECE_CODES codes. */
#define OBB_GRID_PIECES      64
#define OBB_GRID_PIECE_CODES 1023u
struct obb_nonuniform_grid {
    double knot[3][OBB_GRID_PIECES + 1]; /* ascending */
    double scale[3][OBB_GRID_PIECES];    /* codes per scene unit; 0 if the knots coincide */
};

/* Returns a uniform grid that holds `bounds`, with room for the growth of bounds in encoding. */
struct obb_grid obb_grid_uniform(const obb_bounds *bounds);

/* Returns the code of a coordinate along an axis, 0 to OBB_CODE_MOST. A coordinate outside the grid
 * gets the first or the last code. */
uint32_t obb_grid_code(const struct obb_grid *grid, int axis, double x);

/* Returns bounds as codes, in the stored form. */
struct obb_quantised_bounds obb_grid_quantise(const struct obb_grid *grid,
                                              const obb_bounds *bounds);

/* Returns bounds in scene units that hold all bounds with these codes (in the stored form). The
 * first and the last code reach to infinity. */
obb_bounds obb_grid_bounds(const struct obb_grid *grid,
                           const struct obb_quantised_bounds *quantised);

#endif
