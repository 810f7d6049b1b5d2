/* Requests about one box: PUT and PATCH. */
#ifndef WIRE_REQUEST_BOX_H
#define WIRE_REQUEST_BOX_H

#include "proto/request/request.h"

/* Reads a box (PUT), or with `patch` the change of one (PATCH). A patch is any subset of the pose
 * form, or a whole box in another form. If `entity`, `data`, `frame` or `ttl` is null, the box has
 * none. Beside `frame`, the pose is in that frame, and may be written as `local`. `name` becomes
 * the target. */
bool wire_read_box(const wire_body *body, int dimensions, bool patch, obb_str name,
                   struct obb_arena *arena, obb_put *out, wire_problem *problem);

#endif
