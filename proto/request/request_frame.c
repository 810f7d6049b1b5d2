#include "proto/request/request_frame.h"

#include "proto/request/edit_groups_body.h"
#include "proto/request/request_body.h"

bool wire_read_frame(const wire_body *body, int dimensions, obb_str name, struct obb_arena *arena,
                     obb_pose *out, wire_problem *problem)
{
    struct wire_cursor c;
    obb_pose pose;
    wire_body_open(&c, body, arena);
    if (!wire_body_close(&c, wire_read_pose(&c, dimensions, &pose), problem))
        return false;
    pose.target = (obb_target){.name = name};
    *out = pose;
    return true;
}
