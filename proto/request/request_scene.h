/* Requests about a scene: its settings. */
#ifndef WIRE_REQUEST_SCENE_H
#define WIRE_REQUEST_SCENE_H

#include "proto/request/request.h"

/* Reads {"dimensions","history"}. A field that is not sent keeps its value of *current. */
bool wire_read_settings(const wire_body *body, const obb_settings *current, struct obb_arena *arena,
                        obb_settings *out, wire_problem *problem);

#endif
