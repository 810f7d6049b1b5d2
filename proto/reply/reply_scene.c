#include "proto/reply/reply_scene.h"

#include "proto/reply/reply_body.h"
#include "proto/reply/reply_scene_body.h"

void wire_write_scene(struct wire_buf *buf, wire_media media, obb_str name,
                      const obb_scene_info *info, bool durable)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_out_key(&out, "name");
    wire_out_string(&out, name);
    wire_put_settings(&out, &info->settings);
    if (durable) {
        wire_out_key(&out, "durable");
        wire_out_bool(&out, true);
    }
    wire_put_count(&out, "boxes", info->boxes);
    wire_put_moment(&out, info->now);
    wire_put_named_moment(&out, "oldest", info->oldest);
    wire_out_key(&out, "bounds");
    if (info->has_bounds)
        wire_put_bounds(&out, &info->bounds, info->settings.dimensions);
    else
        wire_out_null(&out);
    wire_out_object_end(&out, object);
}

void wire_write_scenes(struct wire_buf *buf, wire_media media, const wire_scene_row *rows,
                       size_t count, bool more)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_out_key(&out, "scenes");
    wire_out_array(&out, count);
    for (size_t i = 0; i < count; i++) {
        const wire_out_scope row = wire_out_object(&out);
        wire_out_key(&out, "name");
        wire_out_string(&out, rows[i].name);
        wire_put_count(&out, "boxes", rows[i].boxes);
        wire_out_key(&out, "revision");
        wire_out_integer(&out, rows[i].revision);
        wire_out_object_end(&out, row);
    }
    wire_out_array_end(&out);
    if (more && count > 0) {
        wire_out_key(&out, "cursor");
        wire_out_string(&out, rows[count - 1].name);
    }
    wire_out_object_end(&out, object);
}

void wire_put_export_members(struct wire_out *out, obb_str scene, const obb_settings *settings,
                             const struct obb_view *view)
{
    const obb_view_info *info = obb_view_info_get(view);
    wire_out_key(out, "format");
    wire_out_string(out, obb_str_of("obbd-scene"));
    wire_put_count(out, "version", 2);
    wire_out_key(out, "scene");
    wire_out_string(out, scene);
    wire_put_settings(out, settings);
    wire_put_count(out, "boxes", info->boxes);
    wire_put_count(out, "frames", info->frames);
    wire_put_moment(out, info->at);
}

void wire_write_export_head(struct wire_buf *buf, obb_str scene, const obb_settings *settings,
                            const struct obb_view *view)
{
    struct wire_out out = wire_out_json(buf);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_export_members(&out, scene, settings, view);
    wire_out_object_end(&out, object);
    wire_buf_append(buf, "\n", 1);
}
