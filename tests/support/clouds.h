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
    CLOUD_GRID,      /* whole coordinates from 0 to 4: many share a plane, a line or a place */
    CLOUD_NEEDLE,    /* 1e6 : 1 : 1 */
    CLOUD_DISC,      /* 1 : 1 : 1e-6 */
    CLOUD_PRISM,     /* two equal polygons */
    CLOUD_CURVE,     /* a helix: all points are corners, most edges can meet */
    CLOUD_KINDS
} cloud_kind;

const char *cloud_name(cloud_kind kind);

/* Fills `points` with a cloud about the origin, of a size about 1 (needle 1e6, grid 4). If
 * `turned`, a random rotation is applied; otherwise the cloud lies along the coordinate axes. */
void cloud_fill(test_rng *rng, cloud_kind kind, bool turned, obb_vec3 *points, size_t count);

/* Moves every point by `by`. */
void cloud_move(obb_vec3 *points, size_t count, obb_vec3 by);

/* Returns the extent of the points along the direction. */
double cloud_width(const obb_vec3 *points, size_t count, obb_vec3 direction);

/* Searches the smallest volume of a box around the points, in space, from `starts` random
 * rotations. The search takes a step in a random direction if the volume shrinks, and adapts the
 * length of the step. It uses no hull and no edges. */
double cloud_smallest_volume(test_rng *rng, const obb_vec3 *points, size_t count, int starts);

/* Returns the smallest area of a rectangle around the points. Tries the direction of every pair of
 * points. */
double cloud_smallest_area(const obb_vec3 *points, size_t count);

#endif
