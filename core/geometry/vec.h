/* Vectors of three doubles and the arithmetic on them. Every function evaluates in the order it is written,
 * without contraction, so all builds give the same bits. */
#ifndef OBB_VEC_H
#define OBB_VEC_H

#include <math.h>

typedef struct obb_vec3 {
    double x, y, z;
} obb_vec3;

typedef struct obb_quat {
    double x, y, z, w;
} obb_quat;

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

static inline obb_vec3 obb_negate(obb_vec3 a) { return (obb_vec3){-a.x, -a.y, -a.z}; }

static inline double obb_dot(obb_vec3 a, obb_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline obb_vec3 obb_cross(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double obb_length(obb_vec3 a) { return sqrt(obb_dot(a, a)); }

static inline obb_vec3 obb_min(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z};
}

static inline obb_vec3 obb_max(obb_vec3 a, obb_vec3 b)
{
    return (obb_vec3){a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z};
}

/* Coordinate 0, 1 or 2. */
static inline double obb_component(obb_vec3 a, int i) { return i == 0 ? a.x : i == 1 ? a.y : a.z; }

#endif
