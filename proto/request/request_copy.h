/* Requests that copy a scene. */
#ifndef WIRE_REQUEST_COPY_H
#define WIRE_REQUEST_COPY_H

#include "proto/request/request.h"

typedef struct wire_copy {
    obb_str to; /* a valid name */
    bool has_at, replace;
    obb_at at;
} wire_copy;

/* Reads {"to","at","replace"}. */
bool wire_read_copy(const wire_body *body, struct obb_arena *arena, wire_copy *out,
                    wire_problem *problem);

#endif
