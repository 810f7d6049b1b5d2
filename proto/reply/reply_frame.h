/* Replies about frames: one, a list, and the line of an export. They append to buf; check
 * buf->failed once, at the end. */
#ifndef WIRE_REPLY_FRAME_H
#define WIRE_REPLY_FRAME_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/codec/media.h"

/* Writes one frame with the revision and time of the newest state, and `at` if has_at. */
void wire_write_frame(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                      const struct obb_version *frame, bool has_at);

/* Writes a page of frames, which are in the order of their names. If `more`, it ends with a cursor
 * to the next page, which begins after the last frame. */
void wire_write_frames(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                       const struct obb_version *const *frames, size_t count, bool more);

/* Writes one frame as a line of an export (NDJSON). */
void wire_write_export_frame(struct wire_buf *buf, const struct obb_view *view,
                             const struct obb_version *frame);

#endif
