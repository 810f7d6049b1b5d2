/* The separating-axis test in double precision: the answer that everything else must agree with. */
#ifndef OBB_SAT_H
#define OBB_SAT_H

#include "core/box.h"

#include <stdbool.h>

typedef enum obb_relation {
    OBB_SEPARATE,
    OBB_TOUCHING,
    OBB_INTERSECTING,
    OBB_CONTAINS,
    OBB_INSIDE
} obb_relation;

/* Axes in the contract's order: a.x a.y a.z b.x b.y b.z, then a.x*b.x a.x*b.y ... a.z*b.z. */
enum { OBB_AXES = 15 };

typedef struct obb_separation {
    int axis;        /* index into the order above */
    obb_vec3 normal; /* unit, from a to b */
    double gap;      /* scene units; > 0 apart, <= 0 overlap depth negated */
} obb_separation;

/* Does a touch or overlap b? The verdict of the 15-axis test (4 axes in the plane), closed sets. */
bool obb_sat_overlap(const obb_solid *a, const obb_solid *b);

/* The largest gap over the axes; see obb_separation. > 0 is a lower bound of the distance. Ties go to the first axis.
 * For overlapping boxes -gap is the depth of the minimum translation vector: moving b by normal * -gap
 * leaves the two touching. */
obb_separation obb_sat_separation(const obb_solid *a, const obb_solid *b);

/* touching: gap 0 within 1e-12 of the pair's extent. contains wins over inside for equal boxes. */
obb_relation obb_sat_relation(const obb_solid *a, const obb_solid *b);

/* The pair's extent: distance of its farthest corners (an upper bound within a factor of 2 is enough). */
double obb_sat_extent(const obb_solid *a, const obb_solid *b);

/* "a.x" ... "a.z*b.z" for axis 0 to 14. */
const char *obb_sat_axis_name(int axis);

#endif
