/* Requests that move, rotate or scale one box. */
#ifndef WIRE_REQUEST_TRANSFORM_H
#define WIRE_REQUEST_TRANSFORM_H

#include "proto/request/request.h"

/* Reads {"translate","rotate","scale","space"} or {"matrix"}. `name` becomes the target. */
bool wire_read_transform(const wire_body *body, int dimensions, obb_str name,
                         struct obb_arena *arena, obb_transform_edit *out, wire_problem *problem);

#endif
