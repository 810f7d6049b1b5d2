/* Transforms, for decoders that read them as parts. Internal to the room. */
#ifndef WIRE_REQUEST_TRANSFORM_BODY_H
#define WIRE_REQUEST_TRANSFORM_BODY_H

#include "proto/codec/cursor.h"

/* Reads the transform of one box, without its target. Returns false if the cursor failed. */
bool wire_read_transform_members(struct wire_cursor *c, int dimensions, obb_transform *out);

#endif
