/* Clouds of points for hulls and fits: round, square, thin, gridded, degenerate. */
#ifndef TEST_SUPPORT_CLOUDS_H
#define TEST_SUPPORT_CLOUDS_H

#include "core/obb.h"
#include "tests/support/test.h"

#include <stddef.h>

typedef enum cloud_kind {
    CLOUD_CUBE,      /* uniform in a cube */
    CLOUD_BALL,      /* uniform in a ball */
    CLOUD_SPHERE,    /* on a sphere: all points are corners */
    CLOUD_ELLIPSOID, /* on one of 6 : 3 : 2 */
    CLOUD_BOX,       /* the corners of a box of random aspect, and points inside it */
    CLOUD_GRID,      /* whole coordinates from 0 to 4: many in one plane, line and place */
    CLOUD_NEEDLE,    /* 1e6 : 1 : 1 */
    CLOUD_DISC,      /* 1 : 1 : 1e-6 */
    CLOUD_PRISM,     /* two equal polygons */
    CLOUD_CURVE,     /* a helix: all points are corners, most edges can meet */
    CLOUD_KINDS
} cloud_kind;

const char *cloud_name(cloud_kind kind);

/* Fills points with a cloud about the origin, of a size about 1 (needle 1e6, grid 4). Turned by a random rotation when
 * `turned`, else along the coordinate axes. */
void cloud_fill(test_rng *rng, cloud_kind kind, bool turned, obb_vec3 *points, size_t count);

/* Moves every point by `by`. */
void cloud_move(obb_vec3 *points, size_t count, obb_vec3 by);

/* How far the points reach along the direction. */
double cloud_width(const obb_vec3 *points, size_t count, obb_vec3 direction);

/* The smallest volume of a box (with its axes in space; no plane) that a search from `starts` random rotations finds: a step
 * in a random direction is taken where it gains, its length adapts. No hull, no edges. */
double cloud_smallest_volume(test_rng *rng, const obb_vec3 *points, size_t count, int starts);

/* The smallest area of a rectangle, by trying the direction of every pair of points. */
double cloud_smallest_area(const obb_vec3 *points, size_t count);

#endif
