/* A double as a float on a chosen side of it. Internal to core. */
#ifndef OBB_ROUNDING_H
#define OBB_ROUNDING_H

#include <math.h>

/* Returns a float that is not below x, and at most two ulps above it. */
static inline float obb_float_above(double x)
{
    const float f = (float)x;
    return (double)f >= x ? f : f + (fabsf(f) * 0x1p-23F + 0x1p-149F);
}

/* Returns a float that is not above x, and at most two ulps below it. */
static inline float obb_float_below(double x) { return -obb_float_above(-x); }

#endif
