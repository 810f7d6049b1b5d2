#include "proto/reply/reply_commit.h"

#include "proto/reply/reply_body.h"
#include "proto/reply/reply_problem_body.h"
#include "proto/reply/reply_query_body.h"

/* Puts in columns: the ids of all boxes, in the order of the rows. */
static void put_all_ids(struct wire_out *out, const uint64_t *ids, size_t count)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = ids[i] > largest ? ids[i] : largest;
    wire_out_ids(out, count, largest);
    for (size_t i = 0; i < count; i++)
        wire_out_id(out, ids[i]);
    wire_out_ids_end(out);
}

/* Puts by name: the ids of new boxes, of which there are `count`. */
static void put_new_ids(struct wire_out *out, const obb_edit *edit, const uint64_t *new_ids,
                        size_t count)
{
    wire_out_map(out, count);
    for (size_t i = 0; i < edit->put_count; i++) {
        if (new_ids[i] == 0)
            continue;
        wire_out_name_key(out, edit->puts[i].target.name);
        wire_out_integer(out, new_ids[i]);
    }
    wire_out_map_end(out);
}

static void put_ids(struct wire_out *out, const wire_commit *commit, const uint64_t *new_ids,
                    bool omit)
{
    const obb_edit *edit = &commit->edit;
    size_t count = 0;
    for (size_t i = 0; i < edit->put_count; i++)
        count += new_ids[i] != 0;
    if (count == 0 && !commit->form.put_columns)
        return;
    wire_out_key(out, omit ? "ids_omitted" : "ids");
    if (omit)
        wire_out_bool(out, true);
    else if (commit->form.put_columns)
        put_all_ids(out, new_ids, count);
    else
        put_new_ids(out, edit, new_ids, count);
}

static void put_target(struct wire_out *out, const obb_target *target)
{
    if (target->has_id)
        wire_out_integer(out, target->id);
    else
        wire_out_string(out, target->name);
}

/* Writes the targets that ignore_missing skipped, poses before transforms, by name or id as they
 * were sent. */
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
                          const obb_result *const *results, const wire_problem *unanswered,
                          bool omit_ids, size_t (*entries)[2])
{
    const obb_edit *edit = &commit->edit;
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_moment(&out, committed->moment);
    if (commit->dry_run) {
        wire_out_key(&out, "dry_run");
        wire_out_bool(&out, true);
    }
    if (commit->repeated) {
        wire_out_key(&out, "repeated");
        wire_out_bool(&out, true);
    }
    wire_put_count(&out, "removed", committed->removed);
    if (committed->expired > 0)
        wire_put_count(&out, "expired", committed->expired);
    if (commit->form.remove_frames)
        wire_put_count(&out, "removed_frames", committed->removed_frames);
    if (commit->form.frames)
        wire_put_count(&out, "frames", edit->frame_count);
    wire_put_count(&out, "put", committed->put);
    wire_put_count(&out, "posed", committed->posed);
    wire_put_count(&out, "transformed", committed->transformed);
    put_ids(&out, commit, committed->new_ids, omit_ids);
    put_missing(&out, edit, committed);
    wire_out_key(&out, "results");
    wire_out_array(&out, commit->query_count);
    for (size_t i = 0, view = 0; i < commit->query_count; i++) {
        const wire_out_scope entry = wire_out_object(&out);
        if (entries != NULL)
            entries[i][0] = buf->length - 1;
        if (unanswered != NULL) {
            wire_put_tag(&out, &commit->queries[i]);
            wire_out_key(&out, "problem");
            wire_put_problem(&out, unanswered);
        } else {
            wire_put_result(&out, views[view], &commit->queries[i], results[i]);
            view += obb_query_views(&commit->queries[i]);
        }
        wire_out_object_end(&out, entry);
        if (entries != NULL)
            entries[i][1] = buf->length;
    }
    wire_out_array_end(&out);
    wire_out_object_end(&out, object);
}
