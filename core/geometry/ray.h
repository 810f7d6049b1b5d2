/* Rays and line segments against boxes. */
#ifndef OBB_RAY_H
#define OBB_RAY_H

#include "core/geometry/box.h"

#include <stdbool.h>

/* The answer for a ray that starts in a box or on its surface: a hit at distance 0, a hit where
 * it leaves the box, or no hit. */
typedef enum obb_inside { OBB_INSIDE_HIT, OBB_INSIDE_EXIT, OBB_INSIDE_IGNORE } obb_inside;

typedef struct obb_ray {
    obb_vec3 origin;     /* scene units */
    obb_vec3 direction;  /* unit; z is 0 in the plane */
    double max_distance; /* scene units, >= 0; infinite when none was given */
} obb_ray;

typedef struct obb_ray_hit {
    double distance; /* scene units along the ray, 0 to max_distance */
    obb_vec3 point;  /* origin + direction * distance */
    /* Unit, outward, of the face that was hit. For a ray that starts inside with OBB_INSIDE_HIT
     * it points against the ray. */
    obb_vec3 normal;
    bool started_inside; /* the origin is a point of the box */
} obb_ray_hit;

/* Returns in *out a ray with the direction normalised; *out is written only on OBB_OK.
 *
 * direction     any finite length except 0.
 * max_distance  scene units, may be infinite.
 * Errors        OBB_BAD_NUMBER if a number of origin or direction is not finite, the origin is
 *               beyond OBB_MAX_COORDINATE, or max_distance is not a number; OBB_BAD_EXTENT for a
 *               negative max_distance; OBB_BAD_VALUE for a direction without length. */
obb_status obb_ray_make(obb_vec3 origin, obb_vec3 direction, double max_distance, obb_ray *out);

/* Finds the first contact within max_distance. Returns whether there is one; *out is written only
 * then.
 *
 * Boxes are closed: a ray that runs along a face or an edge, or ends on the surface, hits. A ray
 * that starts on the surface starts inside, wherever it points. With OBB_INSIDE_EXIT a ray that
 * starts inside meets the surface from within, and the normal is that of the face by which it
 * leaves. If two faces are hit at once (an edge), the normal is that of the first in the order x,
 * y, z of the box's axes.
 *
 * Accuracy exact for boxes parallel to the coordinate axes and a ray along one of them, if the
 *          differences of their coordinates are representable. Otherwise let u = 2^-53 and scale =
 *          |origin - center| + |half_extents|. A ray that passes clear of the surface by more than
 *          16 u * scale, or enters deeper than that, is decided right. Along each of the box's axes
 *          the point is within 16 u * (scale + |origin|) of its surface.
 *          Extents and distances below 1e-140 are outside of this promise: products of lengths
 *          underflow.
 * Cost     about 60 flops and 6 divisions; no allocation; any thread.
 * Source   slabs: Kay and Kajiya, "Ray Tracing Complex Scenes", SIGGRAPH 1986; Ericson,
 *          "Real-Time Collision Detection", 2005, 5.3.3. Divisions, not products with a
 *          reciprocal, keep contact exact. */
bool obb_ray_cast(const obb_ray *ray, const obb_solid *box, obb_inside inside, obb_ray_hit *out);

/* Returns the distance of the ray, which ends at max_distance, and the box; 0 if they meet.
 *
 * Accuracy within 1e-12 of |origin - center| + |half_extents|.
 * Cost     that of obb_closest_segment; no allocation; any thread. */
double obb_ray_distance(const obb_ray *ray, const obb_solid *box);

#endif
