/* The truth about boxes, by exact arithmetic (GMP): slow, obvious, and no code of the project's in it.
 *
 * A box's rotation is a quaternion of doubles of any length, and turns by exactly q / |q|; so the axes are rational
 * numbers, and every sign below is that of an integer. Distances and volumes are computed with 320 bits. */
#ifndef TEST_SUPPORT_EXACT_H
#define TEST_SUPPORT_EXACT_H

#include "core/obb.h"

typedef struct exact_box {
    obb_vec3 center, half_extents;
    obb_quat rotation; /* any length but 0; about z alone in the plane */
} exact_box;

exact_box exact_of(const obb_box *box); /* what is stored of a box in space */

/* The solid with axes that are the true ones, each coordinate within an ulp; no code of core's is asked. */
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

/* The true gap along a direction of any length, likewise. */
double exact_gap_along(const exact_box *a, const exact_box *b, obb_vec3 direction);

/* Unit vector along an axis of the contract's list, within 4 ulp. */
obb_vec3 exact_axis(const exact_box *a, const exact_box *b, int axis);

/* Euclidean distances, within 4 ulp, 0 for 0. */
double exact_distance(const exact_box *a, const exact_box *b, int dimensions);
double exact_point_distance(obb_vec3 point, const exact_box *box);
double exact_segment_distance(obb_vec3 p, obb_vec3 q, const exact_box *box);

/* Volume of the intersection, or area in the plane, within 4 ulp. */
double exact_volume(const exact_box *a, const exact_box *b, int dimensions);

#endif
