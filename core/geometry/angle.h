/* Sine, cosine and arc tangent in degrees: the same bits on every CPU and with every libm,
 * because they use only operations that IEEE 754 rounds the same everywhere. Internal to core. */
#ifndef OBB_ANGLE_H
#define OBB_ANGLE_H

/* Writes the sine and cosine of an angle.
 *
 * degrees  finite, of any size. The reduction by fmod is exact, so adding a whole turn changes no
 *          bit.
 * Accuracy within 1 ulp each. Exact at multiples of 30 if the value is 0, 1/2 or 1, and the nearest
 *          double to sqrt(1/2) at odd multiples of 45.
 * Cost     about 60 flops.
 * Source   argument in two doubles and Taylor polynomials on [-45, 45] degrees, after K. C. Ng's
 *          kernels as described in Muller, "Elementary Functions", 3rd ed., 2016, chapter 11. */
void obb_sin_cos(double degrees, double *out_sin, double *out_cos);

/* Returns the angle of the vector (x, y) from the x axis in degrees, in [-180, 180]; 0 for the zero
 * vector. Both arguments are finite.
 *
 * Accuracy within 4 ulp; exact at multiples of 45.
 * Cost     about 200 flops.
 * Source   two steps of Newton's iteration for the tangent of the error, on [0, 45] degrees. */
double obb_arc_tangent(double y, double x);

#endif
