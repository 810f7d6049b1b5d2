#include "core/geometry/sweep.h"

#include "core/geometry/closest.h"
#include "core/geometry/exact.h"
#include "core/geometry/sat.h"

/* The fractions of the motion at which the mover is within the target's reach on all axes tested
 * so far. */
struct contact {
    double enter, leave;
    double max;    /* later contact is no hit */
    obb_vec3 axis; /* the one entered last, towards the mover; any length */
};

/* Cuts the interval down to the fractions at which the projections on the axis meet. Returns
 * false if nothing is left. */
static bool cut(struct contact *contact, obb_vec3 axis, obb_vec3 offset, obb_vec3 motion,
                const obb_solid *mover, const obb_solid *target)
{
    const double reach = obb_solid_radius(mover, axis) + obb_solid_radius(target, axis);
    const double from = obb_dot(axis, offset), speed = obb_dot(axis, motion);
    if (speed == 0.0)
        return fabs(from) <= reach;
    const double sign = speed > 0.0 ? 1.0 : -1.0;
    const double near = (-sign * reach - from) / speed;
    const double far = (sign * reach - from) / speed;
    if (near > contact->enter) {
        contact->enter = near;
        contact->axis = obb_scale(axis, -sign);
    }
    if (far < contact->leave)
        contact->leave = far;
    return contact->enter <= contact->leave && contact->enter <= contact->max &&
           contact->leave >= 0.0;
}

/* Returns v / |v| without negative zeros. */
static obb_vec3 unit_without_negative_zeros(obb_vec3 v)
{
    const double length = obb_length(v);
    return (obb_vec3){0.0 + v.x / length, 0.0 + v.y / length, 0.0 + v.z / length};
}

static bool first_contact(const obb_solid *mover, obb_vec3 motion, double max_fraction,
                          const obb_solid *target, struct contact *out)
{
    const obb_vec3 offset = obb_sub(mover->center, target->center);
    struct contact contact = {.enter = -HUGE_VAL, .leave = HUGE_VAL, .max = max_fraction};
    for (int i = 0; i < mover->dimensions; i++)
        if (!cut(&contact, mover->axis[i], offset, motion, mover, target))
            return false;
    for (int i = 0; i < target->dimensions; i++)
        if (!cut(&contact, target->axis[i], offset, motion, mover, target))
            return false;
    for (int i = 0; i < 3 && mover->dimensions == 3; i++)
        for (int j = 0; j < 3; j++) {
            const obb_vec3 axis = obb_exact_cross(mover->axis[i], target->axis[j]);
            const bool parallel = axis.x == 0.0 && axis.y == 0.0 && axis.z == 0.0;
            if (!parallel && !cut(&contact, axis, offset, motion, mover, target))
                return false;
        }
    *out = contact;
    return isfinite(contact.enter); /* else the motion has no length along any axis */
}

bool obb_sweep_cast(const obb_solid *mover, obb_vec3 motion, double max_fraction,
                    const obb_solid *target, obb_sweep_hit *out)
{
    obb_sweep_hit hit = {.started_overlapping = obb_sat_overlap(mover, target)};
    obb_solid moved = *mover;
    if (hit.started_overlapping) {
        hit.normal =
            unit_without_negative_zeros(obb_negate(obb_sat_separation(mover, target).normal));
    } else {
        struct contact contact;
        if (!first_contact(mover, motion, max_fraction, target, &contact))
            return false;
        /* If the two tests differ by their rounding, the contact may lie slightly in the past. */
        hit.fraction = contact.enter > 0.0 ? contact.enter : 0.0;
        hit.normal = unit_without_negative_zeros(contact.axis);
        moved.center = obb_add(mover->center, obb_scale(motion, hit.fraction));
    }
    hit.point = obb_closest_boxes(&moved, target).on_b;
    *out = hit;
    return true;
}
