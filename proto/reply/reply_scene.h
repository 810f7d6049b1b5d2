/* Replies about scenes: one, a list, and the header of an export. They append to buf; check
 * buf->failed once, at the end. */
#ifndef WIRE_REPLY_SCENE_H
#define WIRE_REPLY_SCENE_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/codec/media.h"

/* Writes the settings and the state of one scene. */
void wire_write_scene(struct wire_buf *buf, wire_media media, obb_str name,
                      const obb_scene_info *info, bool durable);

typedef struct wire_scene_row {
    obb_str name;
    size_t boxes;
    uint64_t revision;
} wire_scene_row;

/* Writes a page of scenes. If `more`, it ends with a cursor to the next page, which begins after
 * the last row. */
void wire_write_scenes(struct wire_buf *buf, wire_media media, const wire_scene_row *rows,
                       size_t count, bool more);

/* Writes the header line of an export (NDJSON). The lines of the boxes follow by id; see
 * wire_write_export_box. The view must show the newest state. */
void wire_write_export_head(struct wire_buf *buf, obb_str scene, const obb_settings *settings,
                            const struct obb_view *view);

#endif
