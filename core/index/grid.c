#include "core/index/grid.h"

#include "core/index/rounding.h"

#include <math.h>

struct obb_grid obb_grid_uniform(const obb_bounds *bounds)
{
    struct obb_grid grid = {.nonuniform = NULL};
    for (int k = 0; k < 3; k++) {
        const double low = obb_component(bounds->min, k), high = obb_component(bounds->max, k);
        /* Encoding grows bounds by the slack of a box and by 2^-22 of the distance from the origin.
         * Four codes at each end are more than that, unless the grid is too narrow for its distance
         * from the origin: so the width has a least value. */
        const double width = fmax(high - low, (fabs(low) + fabs(high)) * 0x1p-28 + 0x1p-90);
        const float scale = obb_float_below((OBB_CODE_MOST - 8) / width);
        const double origin = low - 4 / (double)scale;
        grid.hi[k] = (float)origin;
        grid.lo[k] = obb_float_below(origin - (double)grid.hi[k]);
        grid.origin[k] = (double)grid.hi[k] + (double)grid.lo[k];
        grid.scale[k] = (double)scale;
    }
    return grid;
}

uint32_t obb_grid_code(const struct obb_grid *grid, int axis, double x)
{
    double code;
    if (grid->nonuniform == NULL) {
        code = (x - grid->origin[axis]) * grid->scale[axis];
    } else {
        const double *knot = grid->nonuniform->knot[axis];
        if (x >= knot[OBB_GRID_PIECES])
            return OBB_CODE_MOST;
        if (!(x >= knot[0]))
            return 0;
        uint32_t piece = 0; /* the last piece whose knot is not above x */
        for (uint32_t step = OBB_GRID_PIECES / 2; step > 0; step /= 2)
            piece += x >= knot[piece + step] ? step : 0;
        const double within = (x - knot[piece]) * grid->nonuniform->scale[axis][piece];
        code = piece * OBB_GRID_PIECE_CODES + fmin(within, OBB_GRID_PIECE_CODES - 1);
    }
    return code >= OBB_CODE_MOST ? OBB_CODE_MOST : code > 0 ? (uint32_t)code : 0;
}

struct obb_quantised_bounds obb_grid_quantise(const struct obb_grid *grid, const obb_bounds *bounds)
{
    struct obb_quantised_bounds quantised = {{0, 0, 0}};
    for (int k = 0; k < 3; k++)
        quantised.axis[k] = obb_code_word(obb_grid_code(grid, k, obb_component(bounds->min, k)),
                                          obb_grid_code(grid, k, obb_component(bounds->max, k)));
    return quantised;
}

/* Returns the coordinate at which a code begins. The first code begins at -infinity, the code after
 * the last at infinity. */
static double begin(const struct obb_grid *grid, int axis, uint32_t code)
{
    if (code == 0)
        return -HUGE_VAL;
    if (code > OBB_CODE_MOST)
        return HUGE_VAL;
    if (grid->nonuniform == NULL)
        return grid->origin[axis] + code / grid->scale[axis];
    const uint32_t piece = code / OBB_GRID_PIECE_CODES;
    if (piece >= OBB_GRID_PIECES)
        return grid->nonuniform->knot[axis][OBB_GRID_PIECES];
    const double scale = grid->nonuniform->scale[axis][piece];
    const uint32_t within = code % OBB_GRID_PIECE_CODES;
    const double from = grid->nonuniform->knot[axis][piece];
    return within == 0 || scale == 0 ? from : from + within / scale;
}

obb_bounds obb_grid_bounds(const struct obb_grid *grid,
                           const struct obb_quantised_bounds *quantised)
{
    double low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = begin(grid, k, quantised->axis[k] & 0xffffu);
        high[k] = begin(grid, k, OBB_CODE_MOST - (quantised->axis[k] >> 16) + 1);
        /* Makes up for the rounding in begin(). */
        low[k] -= fabs(low[k]) < HUGE_VAL ? (fabs(low[k]) + fabs(grid->origin[k])) * 0x1p-50 : 0;
        high[k] += fabs(high[k]) < HUGE_VAL ? (fabs(high[k]) + fabs(grid->origin[k])) * 0x1p-50 : 0;
    }
    return (obb_bounds){{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}
