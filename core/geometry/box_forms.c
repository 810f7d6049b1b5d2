#include "core/geometry/box_forms.h"

#include "core/geometry/affine.h"

#include <assert.h>
#include <math.h>

obb_status obb_box_from_pose(obb_vec3 center, obb_vec3 half_extents, obb_quat rotation,
                             double angle, int dimensions, obb_box *out)
{
    assert(dimensions == 2 || dimensions == 3);
    obb_box box = {.center = center, .half_extents = half_extents, .rotation = {.w = 1.0}};
    if (dimensions == 2)
        box.center.z = box.half_extents.z = 0.0;
    if (obb_bad_coordinate(box.center) >= 0 || obb_bad_coordinate(box.half_extents) >= 0)
        return OBB_BAD_NUMBER;
    obb_status st = OBB_OK;
    if (dimensions == 3)
        st = obb_quat_normalise(rotation, &box.rotation);
    else if (isfinite(angle))
        box.angle = angle;
    else
        st = OBB_BAD_NUMBER;
    if (st == OBB_BAD_NUMBER)
        return st;
    if (obb_bad_extent(box.half_extents) >= 0)
        return OBB_BAD_EXTENT;
    if (st == OBB_OK)
        *out = box;
    return st;
}

obb_status obb_box_from_min_max(obb_vec3 min, obb_vec3 max, obb_vec3 position, obb_quat rotation,
                                double angle, int dimensions, obb_box *out)
{
    if (dimensions == 2)
        min.z = max.z = position.z = 0.0;
    if (obb_bad_coordinate(min) >= 0 || obb_bad_coordinate(max) >= 0 ||
        obb_bad_coordinate(position) >= 0)
        return OBB_BAD_NUMBER;
    obb_box box;
    const obb_vec3 half_extents = obb_without_negative_zeros(obb_scale(obb_sub(max, min), 0.5));
    const obb_status st =
        obb_box_from_pose(position, half_extents, rotation, angle, dimensions, &box);
    if (st != OBB_OK)
        return st;
    const obb_vec3 local = obb_scale(obb_add(min, max), 0.5);
    const obb_solid solid = obb_solid_from_box(&box, dimensions);
    box.center = obb_without_negative_zeros(obb_add(position, obb_combine(solid.axis, local)));
    if (obb_bad_coordinate(box.center) >= 0)
        return OBB_BAD_NUMBER;
    *out = box;
    return OBB_OK;
}

obb_status obb_box_from_matrix(const double matrix[static 16], const obb_vec3 *half_extents,
                               obb_box *out)
{
    const obb_vec3 h = half_extents != NULL ? *half_extents : (obb_vec3){1.0, 1.0, 1.0};
    obb_box box;
    obb_status st = obb_box_from_pose((obb_vec3){0}, h, (obb_quat){.w = 1.0}, 0.0, 3, &box);
    if (st == OBB_OK)
        st = obb_box_affine_image(&box, matrix, &box);
    if (st == OBB_OK && !obb_box_in_range(&box))
        st = OBB_BAD_NUMBER;
    if (st != OBB_OK)
        return st;
    box.center = obb_without_negative_zeros(box.center);
    box.half_extents = obb_without_negative_zeros(box.half_extents);
    *out = box;
    return OBB_OK;
}
