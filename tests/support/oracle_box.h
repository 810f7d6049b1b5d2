/* Slow, obvious geometry of boxes in long double and in exact rationals. It shares no code with
 * core; tests compare core's boxes with it. */
#ifndef TEST_SUPPORT_ORACLE_BOX_H
#define TEST_SUPPORT_ORACLE_BOX_H

#include "core/obb.h"
#include "tests/support/test.h"

#include <gmp.h>
#include <stddef.h>

typedef struct oracle_point {
    long double at[3];
} oracle_point;

/* Writes the rotation matrix of q / |q| by the textbook formula; column j is axis j. */
void oracle_rotation(obb_quat q, long double out[3][3]);

/* Writes the matrix of a turn by `degrees` about an axis of any length, by Rodrigues' formula. */
void oracle_axis_angle(obb_vec3 axis, double degrees, long double out[3][3]);

/* Writes the 8 corners (4 in the plane) of a box from its stored form; the bits of i choose the
 * signs of corner i. Returns the number of corners. */
size_t oracle_corners(const obb_box *box, int dimensions, oracle_point out[8]);

/* Returns m (column-major 4x4, affine) applied to a point. */
oracle_point oracle_apply(const long double m[16], oracle_point p);

/* Returns the Hausdorff distance: the largest distance from a point of either set to the nearest of
 * the other. */
long double oracle_set_distance(const oracle_point *a, const oracle_point *b, size_t count);

/* Returns the largest distance between two points of the set. */
long double oracle_diameter(const oracle_point *points, size_t count);

/* Writes the quaternion at t between a and b on the shorter arc, by arc cosine and sines. a and b
 * must lie on one hemisphere. */
void oracle_slerp(obb_quat a, obb_quat b, double t, long double out[4]);

/* Writes sine and cosine of degrees with 300 bits, by the Taylor series of the unreduced angle.
 * |degrees| <= 1000. */
void oracle_sin_cos(double degrees, mpf_t out_sin, mpf_t out_cos);

/* Writes |q|^2 - 1 exactly. */
void oracle_excess(obb_quat q, mpq_t out);

/* Returns |q|^2 - 1 rounded once. */
double oracle_excess_rounded(obb_quat q);

/* Rounds the matrix to doubles; `back` is the matrix of the doubles. */
void oracle_narrowed(const long double m[16], double out[16], long double back[16]);

/* Writes coordinate k of corner i of a solid exactly: center + sum of +-extent * axis. The caller
 * has initialised out. */
void oracle_solid_corner(const obb_solid *solid, unsigned i, int k, mpq_t out);

/* Writes coordinate k of center + R local exactly, where R is the rotation by q / |q|: a quotient
 * of whole polynomials of the numbers. The caller has initialised out. */
void oracle_placed(obb_vec3 center, obb_quat q, obb_vec3 local, int k, mpq_t out);

/* Returns how many of the numbers of a box are -0.0. */
size_t oracle_negative_zeros(const obb_box *box);

/* Return random values. A rotation is uniform over all rotations, and a unit quaternion up to
 * rounding. */
obb_vec3 random_vector(test_rng *rng, double low, double high);
obb_quat random_rotation(test_rng *rng);
double random_magnitude(test_rng *rng, double low, double high); /* logarithmic, positive */
obb_box random_box(test_rng *rng, int dimensions); /* near the origin, extents 1e-3 to 1e3 */

/* Returns 0.0 or -0.0. */
double random_zero(test_rng *rng);

/* Returns v with some of its components replaced by zeros of either sign. */
obb_vec3 random_zeros_in(test_rng *rng, obb_vec3 v);

/* A random affine map as a column-major matrix: a rotation, with scale along the given axes before
 * it. */
void random_rigid(test_rng *rng, obb_vec3 scale, long double out[16]);

#endif
