#include "core/geometry/sweep.h"

#include "core/geometry/closest.h"
#include "core/geometry/exact.h"
#include "core/geometry/sat.h"

/* Boxes rest on each other if the gap between them is 0 within this share of the pair's extent (as
 * in the relation `touching`) and this share of the coordinates. Moving a box rounds its centre,
 * and nothing pushes the box out again, so a hundred moves may leave it this deep. */
static const double resting_share = 1e-12;
static const double resting_of_coordinate = 1e-14;

/* A motion leads along a face if it enters by at most this share of its length and this share of
 * the coordinates, which a difference of two places loses to rounding. */
static const double sliding_share = 1e-12;
static const double sliding_of_coordinate = 0x1p-51;

/* The fractions of the motion at which the mover is within the target's reach on all axes tested
 * so far. */
struct contact {
    double enter, leave;
    double max;    /* later contact is no hit */
    double apart;  /* the largest gap at the start, times the length of its axis */
    obb_vec3 axis; /* the one entered last, towards the mover; any length */
};

/* Cuts the interval down to the fractions at which the projections on the axis meet. Returns
 * false if nothing is left. */
static bool cut(struct contact *contact, obb_vec3 axis, obb_vec3 offset, obb_vec3 motion,
                const obb_solid *mover, const obb_solid *target)
{
    const double reach = obb_solid_radius(mover, axis) + obb_solid_radius(target, axis);
    const double from = obb_dot(axis, offset), speed = obb_dot(axis, motion);
    const double gap = fabs(from) - reach;
    contact->apart = gap > contact->apart ? gap : contact->apart;
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
    struct contact contact = {
        .enter = -HUGE_VAL, .leave = HUGE_VAL, .max = max_fraction, .apart = -HUGE_VAL};
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

/* ---- Contact at the start -------------------------------------------------------------------- */

/* Returns the largest coordinate of the two centres. */
static double largest_coordinate(const obb_solid *mover, const obb_solid *target)
{
    return fmax(obb_largest_part(mover->center), obb_largest_part(target->center));
}

/* Returns how far the gap of two boxes that rest on each other may be from 0. */
static double resting_slack(const obb_solid *mover, const obb_solid *target, double extent)
{
    return resting_share * extent + resting_of_coordinate * largest_coordinate(mover, target);
}

/* Returns false if the largest gap at the start proves that the two do not rest on each other. The
 * bound of the extent is cheaper than obb_sat_extent. */
static bool may_rest(const obb_solid *mover, const obb_solid *target, double apart)
{
    const double extent = obb_length(obb_sub(mover->center, target->center)) +
                          obb_length(mover->half_extents) + obb_length(target->half_extents);
    return apart <= resting_slack(mover, target, extent);
}

/* Returns whether the motion keeps the boxes out of each other along this axis. On the axis they
 * must be no deeper in each other than `rests`, and the motion must enter by at most `slides`.
 *
 * axis  any length but 0. */
static bool parts_along(obb_vec3 axis, const obb_solid *mover, obb_vec3 motion,
                        const obb_solid *target, double rests, double slides)
{
    const obb_vec3 n = obb_scale(axis, 1.0 / obb_length(axis));
    const double from = obb_dot(n, obb_sub(mover->center, target->center));
    const double speed = obb_dot(n, motion);
    return fabs(from) - (obb_solid_radius(mover, n) + obb_solid_radius(target, n)) >= -rests &&
           (from > 0.0 ? speed : -speed) >= -slides;
}

/* Returns whether the two rest on each other and the motion leads away or along. One axis suffices:
 * it proves that the two never get deeper into each other than `rests` and `slides` together. The
 * proof is in EXACTNESS.md.
 *
 * gap  that of obb_sat_separation at the start. */
static bool leaves_or_slides(const obb_solid *mover, obb_vec3 motion, const obb_solid *target,
                             double gap)
{
    const double rests = resting_slack(mover, target, obb_sat_extent(mover, target));
    const double slides = sliding_share * obb_length(motion) +
                          sliding_of_coordinate * largest_coordinate(mover, target);
    if (fabs(gap) > rests)
        return false;
    for (int i = 0; i < mover->dimensions; i++)
        if (parts_along(mover->axis[i], mover, motion, target, rests, slides) ||
            parts_along(target->axis[i], mover, motion, target, rests, slides))
            return true;
    for (int i = 0; i < 3 && mover->dimensions == 3; i++)
        for (int j = 0; j < 3; j++) {
            const obb_vec3 axis = obb_exact_cross(mover->axis[i], target->axis[j]);
            const bool parallel = axis.x == 0.0 && axis.y == 0.0 && axis.z == 0.0;
            if (!parallel && parts_along(axis, mover, motion, target, rests, slides))
                return true;
        }
    return false;
}

bool obb_sweep_cast(const obb_solid *mover, obb_vec3 motion, double max_fraction,
                    const obb_solid *target, obb_sweep_hit *out)
{
    const bool overlap = obb_sat_overlap(mover, target);
    struct contact contact = {.enter = 0.0, .apart = 0.0};
    if (!overlap && !first_contact(mover, motion, max_fraction, target, &contact))
        return false;
    /* A contact in the past is one at the start: first_contact and obb_sat_overlap round
     * differently, so a pair that is apart by a hair may be in contact here. The axis entered
     * last in the past then says nothing about the contact. */
    obb_sweep_hit hit = {.started_overlapping = overlap || contact.enter <= 0.0};
    obb_separation start = {.gap = HUGE_VAL};
    if (hit.started_overlapping || may_rest(mover, target, contact.apart)) {
        const bool moves = motion.x != 0.0 || motion.y != 0.0 || motion.z != 0.0;
        start = obb_sat_separation(mover, target);
        if (moves && leaves_or_slides(mover, motion, target, start.gap))
            return false;
    }
    obb_solid moved = *mover;
    if (hit.started_overlapping) {
        hit.normal = unit_without_negative_zeros(obb_negate(start.normal));
    } else {
        hit.fraction = contact.enter;
        hit.normal = unit_without_negative_zeros(contact.axis);
        moved.center = obb_add(mover->center, obb_scale(motion, hit.fraction));
    }
    hit.point = obb_closest_boxes(&moved, target).on_b;
    *out = hit;
    return true;
}

/* ---- The least distance on the way ----------------------------------------------------------- */

enum { MOST_PLACES = 150 }; /* the way between the two places halves at every third */

/* What one place of the mover, at the fraction t of the motion, says of the distance at another
 * fraction u: it is at least low + slope * (u - t). */
struct place {
    double t;
    double distance;
    double low, slope;
    double fall; /* half the derivative of the squared distance */
};

/* `mover` is relative to the target's centre, and `target` lies at the origin. */
static struct place place_at(const obb_solid *mover, obb_vec3 motion, double t,
                             const obb_solid *target)
{
    obb_solid moved = *mover;
    moved.center = obb_add(mover->center, obb_scale(motion, t));
    const obb_witness closest = obb_closest_boxes(&moved, target);
    struct place place = {.t = t, .distance = closest.distance};
    const obb_vec3 way = obb_sub(closest.on_a, closest.on_b);
    const double length = obb_length(way);
    if (length == 0.0)
        return place;
    const obb_vec3 n = obb_scale(way, 1.0 / length);
    place.fall = obb_dot(way, motion);
    place.slope = obb_dot(n, motion);
    place.low =
        obb_dot(n, moved.center) - (obb_solid_radius(&moved, n) + obb_solid_radius(target, n));
    return place;
}

/* Returns the fraction at which the bounds of the two places cross, which is between the places,
 * and the bound there: the distance is nowhere less between them. */
static double crossing(const struct place *a, const struct place *b, double *out_low)
{
    const double steps = a->slope - b->slope; /* below 0 */
    double t = a->t + (b->low - a->low - b->slope * (b->t - a->t)) / steps;
    t = t < a->t ? a->t : t > b->t ? b->t : t;
    const double low_a = a->low + a->slope * (t - a->t), low_b = b->low + b->slope * (t - b->t);
    *out_low = low_a > low_b ? low_a : low_b;
    return t;
}

/* Returns where a straight line between the two derivatives is 0. The derivative of the squared
 * distance is made of straight pieces, so this is its zero once both places lie in one piece. */
static double secant(const struct place *a, const struct place *b)
{
    return a->t - a->fall * (b->t - a->t) / (b->fall - a->fall);
}

double obb_sweep_distance(const obb_solid *mover, obb_vec3 motion, const obb_solid *target)
{
    /* About the target's centre no bits are lost far from the origin. */
    obb_solid from = *mover, still = *target;
    from.center = obb_sub(mover->center, target->center);
    still.center = (obb_vec3){0.0, 0.0, 0.0};
    const double scale = obb_length(from.center) + obb_length(motion) +
                         obb_length(mover->half_extents) + obb_length(target->half_extents);
    const double enough = 1e-12 * scale;
    struct place a = place_at(&from, motion, 0.0, &still);
    if (a.distance <= enough || a.slope >= 0.0)
        return a.distance;
    struct place b = place_at(&from, motion, 1.0, &still);
    if (b.distance <= enough || b.slope <= 0.0)
        return b.distance;
    double least = a.distance < b.distance ? a.distance : b.distance;
    for (int i = 0; i < MOST_PLACES; i++) {
        double low;
        const double cross = crossing(&a, &b, &low);
        if (least - low <= enough)
            break;
        const double t = i % 3 == 0 ? cross : i % 3 == 1 ? secant(&a, &b) : a.t + 0.5 * (b.t - a.t);
        if (!(t > a.t && t < b.t))
            continue;
        const struct place next = place_at(&from, motion, t, &still);
        least = next.distance < least ? next.distance : least;
        if (next.distance <= enough || next.slope == 0.0)
            return next.distance;
        if (next.slope < 0.0)
            a = next;
        else
            b = next;
    }
    return least;
}
