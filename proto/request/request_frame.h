/* Requests about one frame: PUT. */
#ifndef WIRE_REQUEST_FRAME_H
#define WIRE_REQUEST_FRAME_H

#include "proto/request/request.h"

/* Reads the pose of a frame, as an entry of a commit's `frames` states it. `name` becomes the
 * target. */
bool wire_read_frame(const wire_body *body, int dimensions, obb_str name, struct obb_arena *arena,
                     obb_pose *out, wire_problem *problem);

#endif
