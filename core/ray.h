/* Rays and line segments against boxes. */
#ifndef OBB_RAY_H
#define OBB_RAY_H

#include "core/box.h"

#include <stdbool.h>

typedef enum obb_inside { OBB_INSIDE_HIT, OBB_INSIDE_EXIT, OBB_INSIDE_IGNORE } obb_inside;

typedef struct obb_ray {
    obb_vec3 origin;
    obb_vec3 direction;  /* unit */
    double max_distance; /* scene units; infinite when none was given */
} obb_ray;

typedef struct obb_ray_hit {
    double distance; /* scene units along the ray */
    obb_vec3 point;
    obb_vec3 normal; /* unit, of the face that was hit; against the ray when it started inside */
    bool started_inside;
} obb_ray_hit;

/* Normalises the direction; OBB_BAD_NUMBER, OBB_BAD_EXTENT for a negative max_distance, OBB_BAD_VALUE for a
 * direction without length. */
obb_status obb_ray_make(obb_vec3 origin, obb_vec3 direction, double max_distance, obb_ray *out);

/* The first contact within max_distance; *out is written when there is one. The surface counts as inside. */
bool obb_ray_cast(const obb_ray *ray, const obb_solid *box, obb_inside inside, obb_ray_hit *out);

#endif
