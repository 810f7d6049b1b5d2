#include "core/geometry/transform.h"

#include "core/geometry/affine.h"

#include <math.h>

static double sign_of(double v) { return v < 0.0 ? -1.0 : 1.0; }

/* Returns v, negated if sign is negative; zeros stay positive. */
static double flipped(double v, double sign) { return sign < 0.0 ? 0.0 - v : v; }

/* Scales about the origin along the scene's axes. */
static obb_status scaled(const obb_box *box, obb_vec3 s, int dimensions, obb_box *out)
{
    if (dimensions == 2)
        s.z = fabs(s.x);
    if (fabs(s.x) != fabs(s.y) || fabs(s.y) != fabs(s.z) || s.x == 0.0) {
        const obb_vec3 columns[3] = {{.x = s.x}, {.y = s.y}, {.z = s.z}};
        return obb_box_linear_image(box, columns, dimensions, out);
    }
    /* The same factor along all axes, some of them mirrored. A mirror M turns the rotation R
     * into M R M, as the box is its own mirror image. An axis of rotation is a cross product, so
     * each of its components changes sign with the product of the other two factors. */
    const double factor = fabs(s.x), x = sign_of(s.x), y = sign_of(s.y), z = sign_of(s.z);
    obb_box b = *box;
    b.center = (obb_vec3){flipped(b.center.x * factor, x), flipped(b.center.y * factor, y),
                          flipped(b.center.z * factor, z)};
    b.half_extents = obb_scale(b.half_extents, factor);
    b.rotation.x = flipped(b.rotation.x, y * z);
    b.rotation.y = flipped(b.rotation.y, z * x);
    b.rotation.z = flipped(b.rotation.z, x * y);
    b.angle = flipped(b.angle, x * y);
    *out = b;
    return OBB_OK;
}

/* Turns the box by a further rotation on the left (about the scene's axes) or on the right (its
 * own). The centre stays. */
static void turn(obb_box *box, obb_quat rotate, double angle, bool local, int dimensions)
{
    if (dimensions == 2) {
        box->angle = fmod(fmod(box->angle, 360.0) + fmod(angle, 360.0), 360.0);
        return;
    }
    const obb_quat q =
        local ? obb_quat_product(box->rotation, rotate) : obb_quat_product(rotate, box->rotation);
    box->rotation = obb_quat_normalise_computed(q); /* the product of unit quaternions is one */
}

/* Returns a number after a transform: `before` to the bit if it is the same number, otherwise
 * `after` with 0.0 for -0.0. */
static double changed(double before, double after)
{
    return after == before ? before : after + 0.0;
}

static obb_vec3 all_changed(obb_vec3 before, obb_vec3 after)
{
    return (obb_vec3){changed(before.x, after.x), changed(before.y, after.y),
                      changed(before.z, after.z)};
}

/* Returns whether all parts of a are those of b, times sign. */
static bool same_parts(obb_quat a, obb_quat b, double sign)
{
    return a.x == sign * b.x && a.y == sign * b.y && a.z == sign * b.z && a.w == sign * b.w;
}

/* Returns the box after a transform, with the bits from before in all that did not move: -0.0 if
 * 0.0 was computed, q if -q was computed, and an angle of many turns for the same one reduced. */
static obb_box unless_moved(const obb_box *before, const obb_box *after)
{
    obb_box box = *after;
    box.center = all_changed(before->center, after->center);
    box.half_extents = all_changed(before->half_extents, after->half_extents);
    if (same_parts(after->rotation, before->rotation, 1.0) ||
        same_parts(after->rotation, before->rotation, -1.0))
        box.rotation = before->rotation;
    if (fmod(after->angle, 360.0) == fmod(before->angle, 360.0))
        box.angle = before->angle;
    return box;
}

static obb_status transform_locally(const obb_box *box, const obb_transform *t, obb_quat rotate,
                                    int dimensions, obb_box *out)
{
    obb_box b = *box;
    if (t->has_scale)
        b.half_extents =
            (obb_vec3){b.half_extents.x * fabs(t->scale.x), b.half_extents.y * fabs(t->scale.y),
                       b.half_extents.z * fabs(t->scale.z)};
    if (t->has_rotate)
        turn(&b, rotate, t->angle, true, dimensions);
    if (t->has_translate) {
        const obb_solid solid = obb_solid_from_box(box, dimensions);
        b.center = obb_add(b.center, obb_combine(solid.axis, t->translate));
    }
    *out = b;
    return OBB_OK;
}

static obb_status transform_in_world(const obb_box *box, const obb_transform *t, obb_quat rotate,
                                     int dimensions, obb_box *out)
{
    obb_box b = *box;
    if (t->has_scale) {
        const obb_status st = scaled(box, t->scale, dimensions, &b);
        if (st != OBB_OK)
            return st;
    }
    if (t->has_rotate) {
        const obb_box frame = {.rotation = rotate, .angle = t->angle};
        const obb_solid solid = obb_solid_from_box(&frame, dimensions);
        turn(&b, rotate, t->angle, false, dimensions);
        b.center = obb_combine(solid.axis, b.center);
    }
    if (t->has_translate)
        b.center = obb_add(b.center, t->translate);
    *out = b;
    return OBB_OK;
}

obb_status obb_box_transform(const obb_box *box, const obb_transform *transform, int dimensions,
                             obb_box *out)
{
    const obb_transform *t = transform;
    obb_box b;
    obb_status st;
    if (t->has_matrix) {
        if (t->has_translate || t->has_rotate || t->has_scale || t->local || dimensions == 2)
            return OBB_BAD_VALUE;
        st = obb_box_affine_image(box, t->matrix, &b);
    } else {
        obb_transform flat = *t;
        if (dimensions == 2)
            flat.translate.z = flat.scale.z = 0.0;
        obb_quat rotate = {.w = 1.0};
        if ((t->has_translate && !obb_is_finite(flat.translate)) ||
            (t->has_scale && !obb_is_finite(flat.scale)) ||
            (t->has_rotate && dimensions == 2 && !isfinite(t->angle)))
            return OBB_BAD_NUMBER;
        if (t->has_rotate && dimensions == 3) {
            st = obb_quat_normalise(t->rotate, &rotate);
            if (st != OBB_OK)
                return st;
        }
        st = t->local ? transform_locally(box, &flat, rotate, dimensions, &b)
                      : transform_in_world(box, &flat, rotate, dimensions, &b);
    }
    if (st == OBB_OK && !obb_box_in_range(&b))
        st = OBB_BAD_NUMBER;
    if (st == OBB_OK)
        *out = unless_moved(box, &b);
    return st;
}
