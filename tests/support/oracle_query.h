/* Slow, obvious answers about rays, sweeps and shapes in long double, and random solids to query.
 * They share no code with core: a search halves intervals of convex functions, and a distance tries
 * every pair of features. */
#ifndef TEST_SUPPORT_ORACLE_QUERY_H
#define TEST_SUPPORT_ORACLE_QUERY_H

#include "core/obb.h"
#include "tests/support/test.h"

/* Returns a solid within `spread` of `about`, with half extents up to `size`. About a third of the
 * solids are not turned, and some have one or more zero extents. dimensions: 2 or 3. */
obb_solid slow_random_solid(test_rng *rng, int dimensions, obb_vec3 about, double spread,
                            double size);

/* Returns the solid of the given frame. rotation may have any length except 0. */
obb_solid slow_solid(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation);

obb_vec3 slow_random_vector(test_rng *rng, int dimensions, double size);

/* Returns the distance of the point from the slab of the box that is farthest from it. It is <= 0
 * exactly for points in the box. */
long double slow_excess(obb_vec3 point, const obb_solid *box);

/* The interval in which origin + t * direction, t in [0, reach], is in the box. clearance is the
 * smallest excess on the way. If clearance > 0, the ray misses and the interval is not written. */
typedef struct slow_span {
    long double clearance, enter, leave;
} slow_span;
slow_span slow_ray(obb_vec3 origin, obb_vec3 direction, double reach, const obb_solid *box);

/* Returns the largest gap over the 15 axes (4 in the plane), all normalised. Leaves out cross
 * products shorter than 1e-9. */
long double slow_gap(const obb_solid *a, const obb_solid *b);

/* Returns the same gap with a moved by t * motion. */
long double slow_moved_gap(const obb_solid *a, obb_vec3 motion, long double t, const obb_solid *b);

/* Returns as `enter` the first t in [0, 1] at which a, moved by t * motion, touches b. `clearance`
 * is as above, from slow_moved_gap. */
slow_span slow_sweep(const obb_solid *a, obb_vec3 motion, const obb_solid *b);

/* Returns the distance of the segment p..q from the box. */
long double slow_segment_distance(obb_vec3 p, obb_vec3 q, const obb_solid *box);

/* Return measures of two convex hulls of eight points each: the largest gap over every axis that
 * could separate them, and their distance, 0 if they overlap. The distance tries all pairs of
 * features: any three points of a hull count as a face and any two as an edge. */
long double slow_hull_gap(const obb_vec3 a[static 8], const obb_vec3 b[static 8]);
long double slow_hull_distance(const obb_vec3 a[static 8], const obb_vec3 b[static 8]);

/* Writes the corners of a solid. */
void slow_corners(const obb_solid *solid, obb_vec3 out[static 8]);

#endif
