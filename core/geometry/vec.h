/* Vectors of three doubles and the arithmetic on them. Every function evaluates in the order it
 * is written, without contraction, so all builds give the same bits. */
#ifndef OBB_VEC_H
#define OBB_VEC_H

#include <math.h>
#include <stdbool.h>

typedef struct obb_vec3 {
    double x, y, z;
} obb_vec3;

static inline obb_vec3 obb_add(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline obb_vec3 obb_sub(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline obb_vec3 obb_scale(obb_vec3 a, double s)
{
    return (obb_vec3){a.x * s, a.y * s, a.z * s};
}

/* Returns a / by, each component rounded once. obb_scale(a, 1.0 / by) rounds twice. */
static inline obb_vec3 obb_divide(obb_vec3 a, double by)
{
    return (obb_vec3){a.x / by, a.y / by, a.z / by};
}

static inline obb_vec3 obb_negate(obb_vec3 a) { return (obb_vec3){-a.x, -a.y, -a.z}; }

/* Returns v with 0.0 for -0.0. */
static inline obb_vec3 obb_without_negative_zeros(obb_vec3 v)
{
    return (obb_vec3){v.x + 0.0, v.y + 0.0, v.z + 0.0};
}

static inline double obb_dot(obb_vec3 a, obb_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline obb_vec3 obb_cross(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* Returns v.x * axis[0] + v.y * axis[1] + v.z * axis[2], summed in this order: the vector whose
 * coordinates along the axes are v, or the product of v with the matrix of these columns. */
static inline obb_vec3 obb_combine(const obb_vec3 axis[static 3], obb_vec3 v)
{
    return (obb_vec3){axis[0].x * v.x + axis[1].x * v.y + axis[2].x * v.z,
                      axis[0].y * v.x + axis[1].y * v.y + axis[2].y * v.z,
                      axis[0].z * v.x + axis[1].z * v.y + axis[2].z * v.z};
}

static inline double obb_length(obb_vec3 a) { return sqrt(obb_dot(a, a)); }

/* Returns the largest magnitude of the three components. */
static inline double obb_largest_part(obb_vec3 a)
{
    return fmax(fabs(a.x), fmax(fabs(a.y), fabs(a.z)));
}

/* Returns the length of a. If the squares would overflow or underflow, a is scaled first. */
static inline double obb_length_scaled(obb_vec3 a)
{
    const double largest = obb_largest_part(a);
    if (largest == 0.0 || (largest > 1e-140 && largest < 1e140))
        return obb_length(a);
    return obb_length(obb_divide(a, largest)) * largest;
}

/* Returns whether all three components are finite. */
static inline bool obb_is_finite(obb_vec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

static inline obb_vec3 obb_min(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z};
}

static inline obb_vec3 obb_max(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z};
}

/* Returns component i: 0 is x, 1 is y, 2 is z. */
static inline double obb_component(obb_vec3 a, int i) { return i == 0 ? a.x : i == 1 ? a.y : a.z; }

#endif
