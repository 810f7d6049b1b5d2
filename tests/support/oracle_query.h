/* Slow, obvious answers about rays, sweeps and shapes in long double, and random solids to ask about. Independent of core:
 * convex functions are searched by halving intervals, distances by trying every pair of features. */
#ifndef TEST_SUPPORT_ORACLE_QUERY_H
#define TEST_SUPPORT_ORACLE_QUERY_H

#include "core/obb.h"
#include "tests/support/test.h"

/* A solid within `spread` of `about`, half extents up to `size`; about a third of them turned not at all, and some with one
 * or more extents zero. dimensions 2 or 3. */
obb_solid slow_random_solid(test_rng *rng, int dimensions, obb_vec3 about, double spread,
                            double size);

/* A solid of the given frame; rotation need not be normalised. */
obb_solid slow_solid(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation);

obb_vec3 slow_random_vector(test_rng *rng, int dimensions, double size);

/* How far the point lies outside of the slab that is farthest from it: <= 0 exactly in the box. */
long double slow_excess(obb_vec3 point, const obb_solid *box);

/* The interval in which origin + t * direction, t in [0, reach], is in the box. clearance is the smallest excess on the way:
 * > 0 when the ray misses (then the interval is not written). */
typedef struct slow_span {
    long double clearance, enter, leave;
} slow_span;
slow_span slow_ray(obb_vec3 origin, obb_vec3 direction, double reach, const obb_solid *box);

/* The largest gap over 15 axes (4 in the plane), all normalised; cross products shorter than 1e-9 are left out. */
long double slow_gap(const obb_solid *a, const obb_solid *b);

/* The same with a moved by t * motion. */
long double slow_moved_gap(const obb_solid *a, obb_vec3 motion, long double t, const obb_solid *b);

/* First t in [0, 1] at which a, moved by t * motion, touches b. clearance as above, from slow_moved_gap. */
slow_span slow_sweep(const obb_solid *a, obb_vec3 motion, const obb_solid *b);

/* Distance of the segment p..q from the box. */
long double slow_segment_distance(obb_vec3 p, obb_vec3 q, const obb_solid *box);

/* Of two convex hulls of eight points: the largest gap over every axis that could separate them, and the distance from all
 * pairs of features, any three points of one hull counting as a face and any two as an edge (0 when they overlap). */
long double slow_hull_gap(const obb_vec3 a[static 8], const obb_vec3 b[static 8]);
long double slow_hull_distance(const obb_vec3 a[static 8], const obb_vec3 b[static 8]);

/* The corners of a solid. */
void slow_corners(const obb_solid *solid, obb_vec3 out[static 8]);

#endif
