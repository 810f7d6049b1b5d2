/* Settings of a scene, for decoders that read them as a part. Internal to the room. */
#ifndef WIRE_REQUEST_SCENE_BODY_H
#define WIRE_REQUEST_SCENE_BODY_H

#include "proto/codec/cursor.h"

enum { WIRE_HISTORY_SPAN = 1, WIRE_HISTORY_COMMITS = 2 };

/* Reads {"span","commits"} into *settings; a field that is not sent keeps its value. *out_fields is
 * the set of the fields that were sent, of WIRE_HISTORY_…. A history beyond that of *most (NULL:
 * any) is OBB_BAD_VALUE. Returns false if the cursor failed. */
bool wire_read_history(struct wire_cursor *c, const obb_settings *most, obb_settings *settings,
                       unsigned *out_fields);

/* Reads how many queries the scene keeps: 0 to OBB_MAX_RECORD. Returns false if the cursor
 * failed. */
bool wire_read_record_setting(struct wire_cursor *c, obb_settings *settings);

#endif
