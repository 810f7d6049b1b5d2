/* A total order of solids. Code that sorts a pair by it computes the same for the exchanged
 * pair. Internal to core. */
#ifndef OBB_ORDER_H
#define OBB_ORDER_H

#include "core/geometry/box.h"

/* Returns -1, 0 or 1, by the first coordinate that differs. */
static inline int obb_order_vectors(obb_vec3 a, obb_vec3 b)
{
    if (a.x != b.x)
        return a.x < b.x ? -1 : 1;
    if (a.y != b.y)
        return a.y < b.y ? -1 : 1;
    return a.z != b.z ? (a.z < b.z ? -1 : 1) : 0;
}

/* Returns whether b comes before a. */
static inline bool obb_order_exchanged(const obb_solid *a, const obb_solid *b)
{
    int order = obb_order_vectors(a->center, b->center);
    if (order == 0)
        order = obb_order_vectors(a->half_extents, b->half_extents);
    for (int i = 0; i < 3 && order == 0; i++)
        order = obb_order_vectors(a->axis[i], b->axis[i]);
    return order > 0;
}

#endif
