/* Poses in columns: one array of names or ids, one of all centres, one of all rotations or angles.
 * Internal to the room. */
#ifndef WIRE_POSE_COLUMNS_H
#define WIRE_POSE_COLUMNS_H

#include "proto/codec/cursor.h"

/* Reads {"names" or "ids","centers","rotations" or "angles"} of boxes, or of frames: a frame has no
 * id, and its centres may be absent. *out is in the arena; *by_names tells how the boxes were
 * named. Returns false if the cursor failed; *out then holds the rows before the
 * one at fault, none if the fault is in the columns as such. Columns as such come first (unknown
 * fields, lengths), then the rows in their order. */
bool wire_read_pose_columns(struct wire_cursor *c, int dimensions, bool frames,
                            const obb_pose **out, size_t *out_count, bool *by_names);

#endif
