/* Requests about a scene: its settings. */
#ifndef WIRE_REQUEST_SCENE_H
#define WIRE_REQUEST_SCENE_H

#include "proto/request/request.h"

/* Settings as they were sent: each may be absent. */
typedef struct wire_settings {
    obb_settings settings; /* what was not sent is 0 */
    bool has_dimensions, has_span, has_commits, has_record, has_durable;
    bool durable;
} wire_settings;

/* Reads {"dimensions","history","record","durable"}. A history beyond that of *most is
 * OBB_BAD_VALUE. */
bool wire_read_settings(const wire_body *body, const obb_settings *most, struct obb_arena *arena,
                        wire_settings *out, wire_problem *problem);

/* Returns `current` with the settings that were sent. */
obb_settings wire_settings_over(const wire_settings *sent, obb_settings current);

#endif
