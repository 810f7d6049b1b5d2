/* Sine, cosine and arc tangent in degrees, from operations that IEEE 754 rounds the same everywhere: the same bits on every
 * CPU and with every libm. Internal to core. */
#ifndef OBB_ANGLE_H
#define OBB_ANGLE_H

/* Sine and cosine of an angle in degrees, finite, of any size: the reduction by fmod is exact, so a whole turn more
 * changes no bit.
 *
 * Each within 1 ulp; exact at multiples of 30 where the value is 0, 1/2 or 1, and the nearest double to
 * sqrt(1/2) at odd multiples of 45. About 60 flops.
 * Source: argument in two doubles and Taylor polynomials on [-45, 45] degrees, after K. C. Ng's kernels as described in
 * Muller, "Elementary Functions", 3rd ed., 2016, chapter 11. */
void obb_sin_cos(double degrees, double *out_sin, double *out_cos);

/* The angle of the vector (x, y) from the x axis in degrees, in [-180, 180]; 0 for the zero vector. Finite arguments.
 *
 * Within 4 ulp; exact at multiples of 45. About 200 flops.
 * Source: two steps of Newton's iteration for the tangent of the error, on [0, 45] degrees. */
double obb_arc_tangent(double y, double x);

#endif
