/* Frames: a pose in the scene, and boxes whose pose is given in it. The same bits on every CPU. */
#ifndef OBB_FRAME_H
#define OBB_FRAME_H

#include "core/base/status.h"
#include "core/geometry/box.h"

/* A frame, ready to place boxes: a solid whose extents are ignored. Its axes are made as those of a
 * box are, so a frame that is turned by a multiple of 90 degrees about a coordinate axis moves
 * numbers without rounding. */
typedef struct obb_frame {
    obb_solid solid;
    obb_quat rotation;
    double angle; /* degrees, in the plane */
} obb_frame;

/* Returns the frame of a pose, whose half extents are ignored. Cost as obb_solid_from_box. */
obb_frame obb_frame_from_pose(const obb_box *pose, int dimensions);

/* Writes to *out the box in the scene whose pose in the frame is that of `local`. Half extents are
 * copied. *out is written only on OBB_OK and may be *local.
 *
 * With the frame's centre c and axes a[0], a[1], a[2], and the local centre v, each coordinate is
 * c + ((a[0] v.x + a[1] v.y) + a[2] v.z), every product and sum rounded once. The rotation is
 * obb_quat_normalise_computed of obb_quat_product(frame, local). The angle is the sum of both
 * angles, not reduced. No computed number is -0.0.
 *
 * Errors   OBB_BAD_NUMBER if a coordinate is above OBB_MAX_COORDINATE or the angle not finite.
 * Accuracy each coordinate is within 4e-15 (|v.x| + |v.y| + |v.z|) and an ulp of the exact one,
 * each
 *          component of the rotation within 2e-15. */
obb_status obb_frame_place(const obb_frame *frame, const obb_box *local, obb_box *out);

/* Writes to *out the pose in the frame of a box in the scene, the inverse of obb_frame_place up to
 * rounding: a coordinate is the dot product of an axis and world - c. Half extents are copied. *out
 * may be *world.
 *
 * Errors   as obb_frame_place. */
obb_status obb_frame_local(const obb_frame *frame, const obb_box *world, obb_box *out);

#endif
