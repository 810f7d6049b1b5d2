#include "proto/reply/reply_frame.h"

#include "proto/reply/reply_body.h"

/* Writes the name under `key`, and the pose. */
static void put_frame_members(struct wire_out *out, const char *key, const struct obb_view *view,
                              const struct obb_version *frame)
{
    const obb_box pose = obb_view_frame_pose(view, frame);
    wire_out_key(out, key);
    wire_out_string(out, obb_view_name(frame));
    wire_put_place(out, &pose, obb_view_info_get(view)->dimensions);
}

void wire_write_frame(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                      const struct obb_version *frame, bool has_at)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    put_frame_members(&out, "name", view, frame);
    wire_put_now(&out, view);
    if (has_at)
        wire_put_at(&out, view);
    wire_out_object_end(&out, object);
}

void wire_write_frames(struct wire_buf *buf, wire_media media, const struct obb_view *view,
                       const struct obb_version *const *frames, size_t count, bool more)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_now(&out, view);
    wire_out_key(&out, "frames");
    wire_out_array(&out, count);
    for (size_t i = 0; i < count; i++) {
        const wire_out_scope entry = wire_out_object(&out);
        put_frame_members(&out, "name", view, frames[i]);
        wire_out_object_end(&out, entry);
    }
    wire_out_array_end(&out);
    if (more && count > 0) {
        wire_out_key(&out, "cursor");
        wire_out_string(&out, obb_view_name(frames[count - 1]));
    }
    wire_out_object_end(&out, object);
}

void wire_write_export_frame(struct wire_buf *buf, const struct obb_view *view,
                             const struct obb_version *frame)
{
    struct wire_out out = wire_out_json(buf);
    const wire_out_scope object = wire_out_object(&out);
    put_frame_members(&out, "frame", view, frame);
    wire_out_object_end(&out, object);
    wire_buf_append(buf, "\n", 1);
}
