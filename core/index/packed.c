#include "core/index/packed.h"

#include "core/index/rounding.h"

#include <math.h>

struct obb_packed obb_packed_from_solid(const obb_solid *solid)
{
    struct obb_packed out;
    obb_vec3 half = solid->half_extents;
    double size = half.x + half.y + half.z;
    if (solid->dimensions == 2) {
        half.z = size;
        size += size;
    }
    double far = 0;
    for (int k = 0; k < 3; k++) {
        const double c = obb_component(solid->center, k);
        far += fabs(c);
        out.hi[k] = (float)c;
        out.lo[k] = (float)(c - (double)out.hi[k]);
        out.half[k] = (float)obb_component(half, k);
        out.u[k] = (float)obb_component(solid->axis[0], k);
        out.v[k] = (float)obb_component(solid->axis[1], k);
    }
    /* The last factor covers the rounding of this sum, and of the sum to a float. */
    out.slack = (float)((size * OBB_PACKED_ERROR + far * OBB_PACKED_DRIFT + OBB_PACKED_LITTLE) *
                        (1 + 0x1p-22));
    return out;
}

struct obb_packed obb_packed_from_box(const obb_box *box, int dimensions)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    return obb_packed_from_solid(&solid);
}

obb_bounds obb_packed_bounds(const struct obb_packed *packed)
{
    const obb_vec3 u = {(double)packed->u[0], (double)packed->u[1], (double)packed->u[2]};
    const obb_vec3 v = {(double)packed->v[0], (double)packed->v[1], (double)packed->v[2]};
    const obb_vec3 w = obb_cross(u, v);
    double low[3], high[3];
    for (int k = 0; k < 3; k++) {
        const double half = (double)packed->half[0] * fabs(obb_component(u, k)) +
                            (double)packed->half[1] * fabs(obb_component(v, k)) +
                            (double)packed->half[2] * fabs(obb_component(w, k)) +
                            (double)packed->slack;
        const double c = (double)packed->hi[k] + (double)packed->lo[k];
        low[k] = c - half;
        high[k] = c + half;
    }
    return (obb_bounds){{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

struct obb_limits obb_limits_of(double margin)
{
    return (struct obb_limits){
        .face = obb_float_above(margin),
        .cross = obb_float_above(fmax(margin, 0)),
        .sure = obb_float_below(fmin(margin, 0)),
        .error = obb_float_above(fabs(margin) * OBB_PACKED_ERROR * (1 + 0x1p-22)),
    };
}
