#include "core/geometry/ray.h"

#include "core/geometry/closest.h"

/* Squares of lengths in this range neither overflow nor lose bits. Other directions are scaled
 * first. */
#define SMALLEST_SAFE 1e-100
#define LARGEST_SAFE  1e100

obb_status obb_ray_make(obb_vec3 origin, obb_vec3 direction, double max_distance, obb_ray *out)
{
    if (obb_bad_coordinate(origin) >= 0 || !obb_is_finite(direction) || isnan(max_distance))
        return OBB_BAD_NUMBER;
    if (max_distance < 0.0)
        return OBB_BAD_EXTENT;
    const double largest = obb_largest_part(direction);
    if (largest == 0.0)
        return OBB_BAD_VALUE;
    if (largest < SMALLEST_SAFE || largest > LARGEST_SAFE)
        direction = obb_divide(direction, largest);
    *out = (obb_ray){
        .origin = origin,
        .direction = obb_divide(direction, obb_length(direction)),
        .max_distance = max_distance,
    };
    return OBB_OK;
}

/* Returns sign * v without negative zeros. */
static obb_vec3 facing(obb_vec3 v, double sign)
{
    return (obb_vec3){0.0 + sign * v.x, 0.0 + sign * v.y, 0.0 + sign * v.z};
}

bool obb_ray_cast(const obb_ray *ray, const obb_solid *box, obb_inside inside, obb_ray_hit *out)
{
    const obb_vec3 offset = obb_sub(ray->origin, box->center);
    double enter = -HUGE_VAL, leave = HUGE_VAL;
    int enter_axis = 0, leave_axis = 0;
    double enter_sign = 0.0, leave_sign = 0.0; /* of the face's outward normal */
    bool within = true;
    for (int i = 0; i < box->dimensions; i++) {
        const double from = obb_dot(box->axis[i], offset);
        const double speed = obb_dot(box->axis[i], ray->direction);
        const double half = obb_component(box->half_extents, i);
        const bool between = fabs(from) <= half;
        within = within && between;
        if (speed == 0.0) { /* parallel to this pair of faces, perhaps along one */
            if (!between)
                return false;
            continue;
        }
        const double sign = speed > 0.0 ? 1.0 : -1.0;
        const double near = (-sign * half - from) / speed;
        const double far = (sign * half - from) / speed;
        if (near > enter) {
            enter = near;
            enter_axis = i;
            enter_sign = -sign;
        }
        if (far < leave) {
            leave = far;
            leave_axis = i;
            leave_sign = sign;
        }
    }

    obb_ray_hit hit = {.started_inside = within};
    if (within) {
        if (inside == OBB_INSIDE_IGNORE)
            return false;
        if (inside == OBB_INSIDE_HIT) {
            hit.normal = facing(ray->direction, -1.0);
        } else {
            hit.distance = 0.0 + leave; /* no negative zero */
            hit.normal = facing(box->axis[leave_axis], leave_sign);
        }
    } else {
        if (!(enter <= leave) || enter < 0.0)
            return false;
        hit.distance = enter;
        hit.normal = facing(box->axis[enter_axis], enter_sign);
    }
    if (hit.distance > ray->max_distance)
        return false;
    hit.point = obb_add(ray->origin, obb_scale(ray->direction, hit.distance));
    *out = hit;
    return true;
}

double obb_ray_distance(const obb_ray *ray, const obb_solid *box)
{
    /* No point of the box is farther from the origin than `far`, so the closest point of the ray is
     * not farther either. About the box's centre no bits are lost. */
    obb_solid centred = *box;
    centred.center = (obb_vec3){0.0, 0.0, 0.0};
    const obb_vec3 from = obb_sub(ray->origin, box->center);
    const double far = obb_length(from) + obb_length(box->half_extents);
    const double length = ray->max_distance < far ? ray->max_distance : far;
    return obb_closest_segment(from, obb_add(from, obb_scale(ray->direction, length)), &centred)
        .distance;
}
