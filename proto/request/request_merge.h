/* Requests that merge boxes into one. */
#ifndef WIRE_REQUEST_MERGE_H
#define WIRE_REQUEST_MERGE_H

#include "proto/request/request.h"

enum { WIRE_MERGE_NAMES = 1000 }; /* the most names of one merge, repeated ones counted */

/* Reads {"with":[names]}, 1 to WIRE_MERGE_NAMES names. `name` becomes the target. */
bool wire_read_merge(const wire_body *body, obb_str name, struct obb_arena *arena, obb_merge *out,
                     wire_problem *problem);

#endif
