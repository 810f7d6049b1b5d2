#include "proto/reply/reply_log.h"

#include "proto/reply/reply_body.h"
#include "proto/reply/reply_scene_body.h"

static void put_hash(struct wire_out *out, uint64_t hash)
{
    static const char digits[] = "0123456789abcdef";
    char text[16];
    for (int i = 0; i < 16; i++)
        text[i] = digits[hash >> (60 - 4 * i) & 15];
    wire_out_key(out, "hash");
    wire_out_string(out, (obb_str){text, sizeof text});
}

void wire_write_log_head(struct wire_buf *buf, obb_str scene, const obb_settings *settings,
                         const struct obb_view *view, const obb_digest *digest, uint64_t next_id)
{
    const obb_moment at = obb_view_info_get(view)->at;
    struct wire_out out = wire_out_json(buf);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_export_members(&out, scene, settings, view);
    put_hash(&out, obb_digest_content(digest, settings, at.time));
    wire_out_key(&out, "ids");
    const wire_out_scope ids = wire_out_object(&out);
    wire_out_key(&out, "next");
    wire_out_integer(&out, next_id);
    put_hash(&out, obb_digest_exact(digest, settings, at, next_id));
    wire_out_object_end(&out, ids);
    wire_out_object_end(&out, object);
    wire_buf_append(buf, "\n", 1);
}

static void put_time(struct wire_out *out, double time)
{
    wire_out_key(out, "time");
    wire_out_double(out, time);
}

void wire_log_line_begin(struct wire_log_line *line, struct wire_buf *buf, const obb_step *step)
{
    *line =
        (struct wire_log_line){.out = wire_out_json(buf), .dimensions = step->settings.dimensions};
    struct wire_out *out = &line->out;
    (void)wire_out_object(out);
    put_time(out, step->moment.time);
    if (step->restarts) {
        wire_out_key(out, "restart");
        wire_out_bool(out, true);
    }
    if (!step->has_settings)
        return;
    wire_out_key(out, "settings");
    const wire_out_scope settings = wire_out_object(out);
    wire_put_settings(out, &step->settings);
    wire_out_object_end(out, settings);
}

static bool is_list(enum wire_log_group group)
{
    return group == WIRE_LOG_REMOVE || group == WIRE_LOG_REMOVE_FRAMES;
}

/* Ends the open group, and begins that one unless it is open. */
static void enter(struct wire_log_line *line, enum wire_log_group group)
{
    static const char *const keys[] = {[WIRE_LOG_REMOVE] = "remove",
                                       [WIRE_LOG_REMOVE_FRAMES] = "remove_frames",
                                       [WIRE_LOG_FRAMES] = "frames",
                                       [WIRE_LOG_PUT] = "put",
                                       [WIRE_LOG_POSE] = "pose"};
    struct wire_out *out = &line->out;
    if (line->group == group)
        return;
    if (is_list(line->group))
        wire_out_array_end(out);
    else if (line->group != WIRE_LOG_NO_GROUP)
        wire_out_map_end(out);
    if (group != WIRE_LOG_NO_GROUP)
        wire_out_key(out, keys[group]);
    if (is_list(group))
        wire_out_array(out, 0);
    else if (group != WIRE_LOG_NO_GROUP)
        wire_out_map(out, 0);
    line->group = group;
}

void wire_log_line_remove(struct wire_log_line *line, const obb_effect *effect)
{
    enter(line, WIRE_LOG_REMOVE);
    wire_out_string(&line->out, effect->name);
}

void wire_log_line_remove_frame(struct wire_log_line *line, const obb_effect *effect)
{
    enter(line, WIRE_LOG_REMOVE_FRAMES);
    wire_out_string(&line->out, effect->name);
}

void wire_log_line_put(struct wire_log_line *line, const obb_effect *effect)
{
    struct wire_out *out = &line->out;
    enter(line, WIRE_LOG_PUT);
    wire_out_name_key(out, effect->name);
    const wire_out_scope box = wire_out_object(out);
    wire_put_pose(out, effect->frame.length > 0 ? &effect->local : &effect->box, line->dimensions);
    wire_put_attributes(out, &effect->attributes);
    if (effect->frame.length > 0) {
        wire_out_key(out, "frame");
        wire_out_string(out, effect->frame);
    }
    wire_out_object_end(out, box);
}

/* Writes the parts of a pose as the next entry of the group. */
static void put_moved(struct wire_log_line *line, const obb_effect *effect, const obb_box *pose,
                      unsigned parts)
{
    struct wire_out *out = &line->out;
    wire_out_name_key(out, effect->name);
    const wire_out_scope moved = wire_out_object(out);
    if ((parts & OBB_PUT_CENTER) != 0) {
        wire_out_key(out, "center");
        wire_out_vector(out, pose->center, line->dimensions);
    }
    if ((parts & OBB_PUT_ROTATION) != 0)
        wire_put_rotation(out, pose, line->dimensions);
    if (effect->teleported) {
        wire_out_key(out, "teleport");
        wire_out_bool(out, true);
    }
    wire_out_object_end(out, moved);
}

void wire_log_line_frame(struct wire_log_line *line, const obb_effect *effect)
{
    enter(line, WIRE_LOG_FRAMES);
    put_moved(line, effect, &effect->box, effect->parts);
}

void wire_log_line_pose(struct wire_log_line *line, const obb_effect *effect)
{
    enter(line, WIRE_LOG_POSE);
    if (effect->frame.length > 0)
        put_moved(line, effect, &effect->local, OBB_PUT_CENTER | OBB_PUT_ROTATION);
    else
        /* a pose that only renewed the ttl names the place where the box is */
        put_moved(line, effect, &effect->box, effect->parts != 0 ? effect->parts : OBB_PUT_CENTER);
}

void wire_log_line_end(struct wire_log_line *line, uint64_t revision, uint64_t hash)
{
    struct wire_out *out = &line->out;
    enter(line, WIRE_LOG_NO_GROUP);
    wire_out_key(out, "revision");
    wire_out_integer(out, revision);
    put_hash(out, hash);
    wire_out_object_end(out, (wire_out_scope){0});
    wire_buf_append(out->buf, "\n", 1);
}

void wire_write_log_time(struct wire_buf *buf, obb_moment moment, uint64_t hash)
{
    struct wire_log_line line = {.out = wire_out_json(buf)};
    (void)wire_out_object(&line.out);
    put_time(&line.out, moment.time);
    wire_log_line_end(&line, moment.revision, hash);
}
