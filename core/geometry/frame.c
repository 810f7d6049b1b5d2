#include "core/geometry/frame.h"

#include <math.h>

obb_frame obb_frame_from_pose(const obb_box *pose, int dimensions)
{
    return (obb_frame){.solid = obb_solid_from_box(pose, dimensions),
                       .rotation = pose->rotation,
                       .angle = pose->angle};
}

/* Writes the pose if it is in range. */
static obb_status finish(obb_vec3 center, obb_quat rotation, double angle, obb_vec3 half_extents,
                         obb_box *out)
{
    if (obb_bad_coordinate(center) >= 0 || !isfinite(angle))
        return OBB_BAD_NUMBER;
    *out = (obb_box){.center = obb_without_negative_zeros(center),
                     .half_extents = half_extents,
                     .rotation = obb_quat_normalise_computed(rotation),
                     .angle = angle + 0.0};
    return OBB_OK;
}

obb_status obb_frame_place(const obb_frame *frame, const obb_box *local, obb_box *out)
{
    return finish(obb_add(frame->solid.center, obb_combine(frame->solid.axis, local->center)),
                  obb_quat_product(frame->rotation, local->rotation), frame->angle + local->angle,
                  local->half_extents, out);
}

obb_status obb_frame_local(const obb_frame *frame, const obb_box *world, obb_box *out)
{
    const obb_vec3 *axis = frame->solid.axis, apart = obb_sub(world->center, frame->solid.center);
    const obb_quat q = frame->rotation, back = {-q.x, -q.y, -q.z, q.w};
    return finish(
        (obb_vec3){obb_dot(axis[0], apart), obb_dot(axis[1], apart), obb_dot(axis[2], apart)},
        obb_quat_product(back, world->rotation), world->angle - frame->angle, world->half_extents,
        out);
}
