/* Requests that merge boxes into one. */
#ifndef WIRE_REQUEST_MERGE_H
#define WIRE_REQUEST_MERGE_H

#include "proto/request/request.h"

/* Reads {"with":[names]}, at least one name. `name` becomes the target. */
bool wire_read_merge(const wire_body *body, obb_str name, struct obb_arena *arena, obb_merge *out,
                     wire_problem *problem);

#endif
