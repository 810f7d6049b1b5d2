/* Replies about boxes: one, a list, and the line of an export. They append to buf; check
 * buf->failed once, at the end. */
#ifndef WIRE_REPLY_BOX_H
#define WIRE_REPLY_BOX_H

#include "core/obb.h"
#include "proto/base/buf.h"
#include "proto/codec/media.h"

/* Writes one box with the revision and time of the newest state, and `at` if has_at. include is a
 * set of WIRE_INCLUDE_…: the derived geometry. */
void wire_write_box(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                    const struct obb_version *box, unsigned include, bool has_at);

/* Writes a page of boxes, which are in the order of their ids, and `at` if has_at. If `more`, it
 * ends with a cursor to the next page, which begins after the last box. */
void wire_write_boxes(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                      const struct obb_version *const *boxes, size_t count, bool has_at, bool more);

/* Writes one box as a line of an export (NDJSON). */
void wire_write_export_box(struct wire_buf *buf, const struct obb_view *view,
                           const struct obb_version *box);

#endif
