/* The truth about boxes by exact arithmetic (GMP). It is slow and obvious and calls no function of
 * core.
 *
 * The rotation of a box is a quaternion of doubles of any length and turns by exactly q / |q|. So
 * the axes are rational numbers, and every sign below is the sign of an integer. Distances and
 * volumes are computed with 320 bits. */
#ifndef TEST_SUPPORT_EXACT_H
#define TEST_SUPPORT_EXACT_H

#include "core/obb.h"

typedef struct exact_box {
    obb_vec3 center, half_extents;
    obb_quat rotation; /* any length but 0; about z alone in the plane */
} exact_box;

exact_box exact_of(const obb_box *box); /* the stored numbers of a box in space */

/* Returns the solid with the true axes, each coordinate within an ulp. */
obb_solid exact_solid(const exact_box *box, int dimensions);

typedef struct exact_gaps {
    bool
        counts[OBB_AXES]; /* false: the edges are parallel, or there is no such axis in the plane */
    double gap[OBB_AXES]; /* the true gap within 4 ulp, of the right sign, 0 for 0 */
    int axis;             /* the first with the largest gap */
    double largest;
    double extent; /* distance of the farthest corners, within 1e-15 of it */
} exact_gaps;

exact_gaps exact_gaps_of(const exact_box *a, const exact_box *b, int dimensions);

/* Returns the true gap along a direction of any length, as exact as exact_gaps.gap. */
double exact_gap_along(const exact_box *a, const exact_box *b, obb_vec3 direction);

/* Returns the unit vector along an axis of the contract's list, within 4 ulp. */
obb_vec3 exact_axis(const exact_box *a, const exact_box *b, int axis);

/* Return Euclidean distances within 4 ulp, and 0 exactly for 0. */
double exact_distance(const exact_box *a, const exact_box *b, int dimensions);
double exact_point_distance(obb_vec3 point, const exact_box *box);
double exact_segment_distance(obb_vec3 p, obb_vec3 q, const exact_box *box);

/* Returns the volume of the intersection, or its area in the plane, within 4 ulp. */
double exact_volume(const exact_box *a, const exact_box *b, int dimensions);

#endif
