/* The header of an export, for lines that say more. Internal to the room. */
#ifndef WIRE_REPLY_SCENE_BODY_H
#define WIRE_REPLY_SCENE_BODY_H

#include "proto/codec/out.h"

/* Writes the members of the header of an export of the view's state. */
void wire_put_export_members(struct wire_out *out, obb_str scene, const obb_settings *settings,
                             const struct obb_view *view);

#endif
