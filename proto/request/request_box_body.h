/* Boxes, for decoders that read them as parts. Internal to the room. Those that read return false
 * if the cursor failed. */
#ifndef WIRE_REQUEST_BOX_BODY_H
#define WIRE_REQUEST_BOX_BODY_H

#include "proto/codec/cursor.h"

/* Reads a box with its attributes, in any of its forms. With `patch` any subset of the pose form is
 * enough. Fills all of *out except the target. */
bool wire_read_put(struct wire_cursor *c, int dimensions, bool patch, obb_put *out);

/* Reads a box that states its own name: a line of an import. It may state an id, which is
 * checked and noted in out->target.id, without has_id; else that is 0. */
bool wire_read_named_put(struct wire_cursor *c, int dimensions, obb_put *out);

/* Returns the field of a box that is nearest to a key (wire_nearest). */
obb_str wire_nearest_box_field(obb_str key);

#endif
