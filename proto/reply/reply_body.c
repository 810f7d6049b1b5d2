#include "proto/reply/reply_body.h"

void wire_put_moment(struct wire_out *out, obb_moment moment)
{
    wire_out_key(out, "revision");
    wire_out_integer(out, moment.revision);
    wire_out_key(out, "time");
    wire_out_double(out, moment.time);
}

void wire_put_now(struct wire_out *out, const struct obb_view *view)
{
    wire_put_moment(out, obb_view_info_get(view)->now);
}

void wire_put_at(struct wire_out *out, const struct obb_view *view)
{
    const obb_view_info *info = obb_view_info_get(view);
    wire_out_key(out, "at");
    const wire_out_scope at = wire_out_object(out);
    wire_put_moment(out, info->at);
    wire_out_key(out, "clamped");
    wire_out_bool(out, info->clamped);
    wire_out_object_end(out, at);
}

void wire_put_rotation(struct wire_out *out, const obb_box *box, int dimensions)
{
    if (dimensions == 2) {
        wire_out_key(out, "angle");
        wire_out_double(out, box->angle);
    } else {
        const obb_quat q = box->rotation;
        wire_out_key(out, "rotation");
        wire_out_doubles(out, (const double[4]){q.x, q.y, q.z, q.w}, 4);
    }
}

void wire_put_place(struct wire_out *out, const obb_box *box, int dimensions)
{
    wire_out_key(out, "center");
    wire_out_vector(out, box->center, dimensions);
    wire_put_rotation(out, box, dimensions);
}

void wire_put_pose(struct wire_out *out, const obb_box *box, int dimensions)
{
    wire_out_key(out, "center");
    wire_out_vector(out, box->center, dimensions);
    wire_out_key(out, "half_extents");
    wire_out_vector(out, box->half_extents, dimensions);
    wire_put_rotation(out, box, dimensions);
}

void wire_put_local(struct wire_out *out, const struct obb_version *box, int dimensions)
{
    obb_str frame;
    obb_box local;
    if (!obb_view_local(box, &frame, &local))
        return;
    wire_out_key(out, "frame");
    wire_out_string(out, frame);
    wire_out_key(out, "local");
    const wire_out_scope object = wire_out_object(out);
    wire_put_place(out, &local, dimensions);
    wire_out_object_end(out, object);
}

void wire_put_attributes(struct wire_out *out, const obb_attributes *attributes)
{
    wire_out_key(out, "category");
    wire_out_integer(out, attributes->category);
    wire_out_key(out, "mask");
    wire_out_integer(out, attributes->mask);
    wire_out_key(out, "group");
    wire_out_signed(out, attributes->group);
    if (attributes->entity.length != 0) {
        wire_out_key(out, "entity");
        wire_out_string(out, attributes->entity);
    }
    if (attributes->data.length != 0) {
        wire_out_key(out, "data");
        wire_out_data(out, attributes->data);
    }
    if (attributes->has_ttl) {
        wire_out_key(out, "ttl");
        wire_out_double(out, attributes->ttl);
    }
}

/* -0 + 0 is 0. */
void wire_put_derived_number(struct wire_out *out, double value)
{
    wire_out_double(out, value + 0.0);
}

void wire_put_derived(struct wire_out *out, obb_vec3 v, int dimensions)
{
    wire_out_vector(out, (obb_vec3){v.x + 0.0, v.y + 0.0, v.z + 0.0}, dimensions);
}

void wire_put_bounds(struct wire_out *out, const obb_bounds *bounds, int dimensions)
{
    const wire_out_scope object = wire_out_object(out);
    wire_out_key(out, "min");
    wire_put_derived(out, bounds->min, dimensions);
    wire_out_key(out, "max");
    wire_put_derived(out, bounds->max, dimensions);
    wire_out_object_end(out, object);
}

void wire_put_count(struct wire_out *out, const char *key, size_t count)
{
    wire_out_key(out, key);
    wire_out_integer(out, count);
}

void wire_put_named_moment(struct wire_out *out, const char *key, obb_moment moment)
{
    wire_out_key(out, key);
    const wire_out_scope object = wire_out_object(out);
    wire_put_moment(out, moment);
    wire_out_object_end(out, object);
}

void wire_put_settings(struct wire_out *out, const obb_settings *settings)
{
    wire_put_count(out, "dimensions", (size_t)settings->dimensions);
    wire_out_key(out, "history");
    const wire_out_scope history = wire_out_object(out);
    wire_out_key(out, "span");
    wire_out_double(out, settings->history_span);
    wire_out_key(out, "commits");
    wire_out_integer(out, settings->history_commits);
    wire_out_object_end(out, history);
    wire_put_count(out, "record", settings->record);
}

void wire_put_truncated(struct wire_out *out, bool truncated)
{
    if (!truncated)
        return;
    wire_out_key(out, "truncated");
    wire_out_bool(out, true);
}
