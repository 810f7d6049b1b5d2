/* Rounding errors of sums and products, and products that use them. Internal to core. */
#ifndef OBB_EXACT_H
#define OBB_EXACT_H

#include "core/geometry/vec.h"

/* Returns the rounding error of a product: the exact product is a * b + obb_exact_rest(a, b, a *
 * b).
 *
 * a, b     nothing may overflow or underflow; magnitudes of 1e-140 to 1e140 are safe.
 * Source   Dekker, "A floating-point technique for extending the available precision", Numer.
 *          Math. 18, 1971. Products of halves of 26 and 27 bits are exact, so no fused operation
 *          is needed. */
static inline double obb_exact_rest(double a, double b, double product)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    const double ta = split * a, tb = split * b;
    const double a_high = ta - (ta - a), b_high = tb - (tb - b);
    const double a_low = a - a_high, b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

/* Returns a - b rounded down: the largest double known to be at most the exact difference. */
static inline double obb_exact_below(double a, double b)
{
    const double d = a - b, taken = d - a;
    /* The rounding error of d, exactly (Knuth's two-sum). */
    const double rest = (a - (d - taken)) + (-b - taken);
    return rest < 0.0 ? d - fabs(d) * 0x1p-52 : d;
}

/* Returns a * b - c * d within 2 ulp of the result, or within 2^-104 of the products if that is
 * more. */
static inline double obb_exact_difference(double a, double b, double c, double d)
{
    const double p = a * b, q = c * d;
    return (p - q) + (obb_exact_rest(a, b, p) - obb_exact_rest(c, d, q));
}

/* Returns the cross product of two unit vectors, right to a few ulp of its own length. So its
 * direction is right even if the two are parallel except for their last bits, and it is zero if
 * they are exactly parallel. Below 7 degrees it is computed with twice the digits, because the
 * rounding error of obb_cross would show there. */
static inline obb_vec3 obb_exact_cross(obb_vec3 a, obb_vec3 b)
{
    if (fabs(obb_dot(a, b)) < 1.0 - 0x1p-7)
        return obb_cross(a, b);
    return (obb_vec3){obb_exact_difference(a.y, b.z, a.z, b.y),
                      obb_exact_difference(a.z, b.x, a.x, b.z),
                      obb_exact_difference(a.x, b.y, a.y, b.x)};
}

#endif
