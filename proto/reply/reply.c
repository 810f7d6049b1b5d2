/* Replies about scenes and commits, problems, and the members that several replies share. */
#include "proto/reply/reply.h"

#include <stdio.h>

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

void wire_put_pose(struct wire_out *out, const obb_box *box, int dimensions)
{
    wire_out_key(out, "center");
    wire_out_vector(out, box->center, dimensions);
    wire_out_key(out, "half_extents");
    wire_out_vector(out, box->half_extents, dimensions);
    if (dimensions == 2) {
        wire_out_key(out, "angle");
        wire_out_double(out, box->angle);
    } else {
        const obb_quat q = box->rotation;
        wire_out_key(out, "rotation");
        wire_out_doubles(out, (const double[4]){q.x, q.y, q.z, q.w}, 4);
    }
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

/* ---- Problems -------------------------------------------------------------------------------------------- */

static void put_text(struct wire_out *out, const char *key, const char *text)
{
    if (text == NULL)
        return;
    wire_out_key(out, key);
    wire_out_string(out, obb_str_of(text));
}

static void put_named_moment(struct wire_out *out, const char *key, obb_moment moment)
{
    wire_out_key(out, key);
    const wire_out_scope object = wire_out_object(out);
    wire_put_moment(out, moment);
    wire_out_object_end(out, object);
}

static void put_problem(struct wire_out *out, const wire_problem *problem)
{
    char type[64];
    const wire_out_scope object = wire_out_object(out);
    (void)snprintf(type, sizeof type, "/problems/%s", problem->type);
    put_text(out, "type", type);
    put_text(out, "title", problem->title);
    wire_out_key(out, "status");
    wire_out_integer(out, (uint64_t)problem->status);
    put_text(out, "detail", problem->detail);
    put_text(out, "pointer", problem->pointer);
    if (problem->has_range) {
        put_named_moment(out, "oldest", problem->oldest);
        put_named_moment(out, "newest", problem->newest);
    }
    put_text(out, "allow", problem->allow);
    if (problem->retry_after > 0) {
        wire_out_key(out, "retry_after");
        wire_out_integer(out, (uint64_t)problem->retry_after);
    }
    wire_out_object_end(out, object);
}

void wire_write_problem(struct wire_buf *buf, const wire_problem *problem)
{
    struct wire_out out = wire_out_json(buf);
    put_problem(&out, problem);
}

/* ---- Scenes ----------------------------------------------------------------------------------------------- */

static void put_history(struct wire_out *out, const obb_settings *settings)
{
    wire_out_key(out, "history");
    const wire_out_scope history = wire_out_object(out);
    wire_out_key(out, "span");
    wire_out_double(out, settings->history_span);
    wire_out_key(out, "commits");
    wire_out_integer(out, settings->history_commits);
    wire_out_object_end(out, history);
}

void wire_write_scene(struct wire_buf *buf, wire_media media, obb_str name,
                      const obb_scene_info *info)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_out_key(&out, "name");
    wire_out_string(&out, name);
    wire_put_count(&out, "dimensions", (size_t)info->settings.dimensions);
    put_history(&out, &info->settings);
    wire_put_count(&out, "boxes", info->boxes);
    wire_put_moment(&out, info->now);
    put_named_moment(&out, "oldest", info->oldest);
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

void wire_write_export_head(struct wire_buf *buf, obb_str scene, const obb_settings *settings,
                            const struct obb_view *view)
{
    const obb_view_info *info = obb_view_info_get(view);
    struct wire_out out = wire_out_json(buf);
    const wire_out_scope object = wire_out_object(&out);
    wire_out_key(&out, "format");
    wire_out_string(&out, obb_str_of("obbd-scene"));
    wire_put_count(&out, "version", 1);
    wire_out_key(&out, "scene");
    wire_out_string(&out, scene);
    wire_put_count(&out, "dimensions", (size_t)settings->dimensions);
    put_history(&out, settings);
    wire_put_count(&out, "boxes", info->boxes);
    wire_put_moment(&out, info->at);
    wire_out_object_end(&out, object);
    wire_buf_append(buf, "\n", 1);
}

/* ---- Commits --------------------------------------------------------------------------------------------- */

static void put_new_ids(struct wire_out *out, const obb_edit *edit, const uint64_t *new_ids)
{
    size_t count = 0;
    for (size_t i = 0; i < edit->put_count; i++)
        count += new_ids[i] != 0;
    if (count == 0)
        return;
    wire_out_key(out, "ids");
    wire_out_map(out, count);
    for (size_t i = 0; i < edit->put_count; i++) {
        if (new_ids[i] == 0)
            continue;
        wire_out_name_key(out, edit->puts[i].target.name);
        wire_out_integer(out, new_ids[i]);
    }
    wire_out_map_end(out);
}

static void put_target(struct wire_out *out, const obb_target *target)
{
    if (target->has_id)
        wire_out_integer(out, target->id);
    else
        wire_out_string(out, target->name);
}

/* What ignore_missing skipped, poses before transforms, by name or id as it was sent. */
static void put_missing(struct wire_out *out, const obb_edit *edit, const obb_committed *committed)
{
    if (committed->missed == 0)
        return;
    wire_out_key(out, "missing");
    wire_out_array(out, committed->missed);
    for (size_t i = 0; committed->missed_poses != NULL && i < edit->pose_count; i++)
        if (committed->missed_poses[i])
            put_target(out, &edit->poses[i].target);
    for (size_t i = 0; committed->missed_transforms != NULL && i < edit->transform_count; i++)
        if (committed->missed_transforms[i])
            put_target(out, &edit->transforms[i].target);
    wire_out_array_end(out);
}

void wire_write_committed(struct wire_buf *buf, wire_media media, const wire_commit *commit,
                          const obb_committed *committed, const struct obb_view *const *views,
                          const obb_result *const *results, const wire_problem *unanswered)
{
    const obb_edit *edit = &commit->edit;
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_moment(&out, committed->moment);
    wire_put_count(&out, "removed", committed->removed);
    wire_put_count(&out, "put", committed->put);
    wire_put_count(&out, "posed", committed->posed);
    wire_put_count(&out, "transformed", committed->transformed);
    put_new_ids(&out, edit, committed->new_ids);
    put_missing(&out, edit, committed);
    wire_out_key(&out, "results");
    wire_out_array(&out, commit->query_count);
    for (size_t i = 0; i < commit->query_count; i++) {
        const wire_out_scope entry = wire_out_object(&out);
        if (unanswered != NULL) {
            wire_out_key(&out, "problem");
            put_problem(&out, unanswered);
        } else {
            wire_put_result(&out, views[i], &commit->queries[i], results[i]);
        }
        wire_out_object_end(&out, entry);
    }
    wire_out_array_end(&out);
    wire_out_object_end(&out, object);
}
