#include "core/geometry/angle.h"

#include "core/geometry/exact.h"

#include <math.h>

/* Degrees to radians, pi / 180 in two doubles (106 bits), and back. */
static const double radians_high = 0x1.1df46a2529d39p-6;
static const double radians_low = 0x1.5c1d8becdd291p-62;
static const double degrees_per_radian = 0x1.ca5dc1a63c1f8p+5;

/* Below this many degrees the sine equals the angle to the last bit, and products of its parts
 * would underflow. */
static const double tiny = 1e-100;

/* Writes the sine and cosine for |degrees| <= 45. The terms left out after x^19 and x^20 of the
 * Taylor series are less than 2^-66. */
static void kernel(double degrees, double *out_sin, double *out_cos)
{
    if (fabs(degrees) == 45.0) {
        *out_cos = sqrt(0.5);
        *out_sin = degrees < 0.0 ? -*out_cos : *out_cos;
        return;
    }
    const double x = degrees * radians_high;
    if (fabs(degrees) < tiny) {
        *out_sin = x;
        *out_cos = 1.0;
        return;
    }
    /* The angle is x + y, where y is the rounding error of the product. */
    const double y = obb_exact_rest(degrees, radians_high, x) + degrees * radians_low;
    const double z = x * x;

    double s = -1.0 / 121645100408832000.0; /* 19! */
    s = s * z + 1.0 / 355687428096000.0;
    s = s * z - 1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    *out_sin = x + (x * z * s + y * (1.0 - 0.5 * z));

    double c = 1.0 / 2432902008176640000.0; /* 20! */
    c = c * z - 1.0 / 6402373705728000.0;
    c = c * z + 1.0 / 20922789888000.0;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    const double half = 0.5 * z, near = 1.0 - half;
    *out_cos = near + (((1.0 - near) - half) + (z * z * c - x * y));
}

void obb_sin_cos(double degrees, double *out_sin, double *out_cos)
{
    /* Both steps are exact: fmod always is, and the difference is a multiple of the last place
     * of `turn` that is no larger than `turn`. */
    const double turn = fmod(degrees, 360.0);
    const double quarter = floor(turn / 90.0 + 0.5);
    double s, c;
    kernel(turn - quarter * 90.0 + 0.0, &s, &c);
    /* Adding to zero and subtracting from zero make zeros positive. */
    const int quadrant = (int)quarter & 3;
    const double sine = (quadrant & 1) != 0 ? c : s, cosine = (quadrant & 1) != 0 ? s : c;
    *out_sin = quadrant == 2 || quadrant == 3 ? 0.0 - sine : sine;
    *out_cos = quadrant == 1 || quadrant == 2 ? 0.0 - cosine : cosine;
}

double obb_arc_tangent(double y, double x)
{
    const double ax = fabs(x), ay = fabs(y);
    if (ax == 0.0 && ay == 0.0)
        return 0.0;
    const double t = ax > ay ? ay / ax : ax / ay;
    double angle = 45.0;
    if (t < 1.0) {
        /* The first guess is within 0.23 degrees everywhere. Each step raises the error, in
         * radians, to its fifth power. */
        angle = t * (45.0 + 15.642 * (1.0 - t));
        for (int step = 0; step < 2; step++) {
            double s, c;
            obb_sin_cos(angle, &s, &c);
            const double e = (t * c - s) / (c + t * s);
            angle += (e - e * e * e / 3.0) * degrees_per_radian;
        }
    }
    if (ay > ax)
        angle = 90.0 - angle;
    if (x < 0.0)
        angle = 180.0 - angle;
    return y < 0.0 ? 0.0 - angle : angle; /* no negative zero */
}
