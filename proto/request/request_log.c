#include "proto/request/request_log.h"

#include "proto/request/edit_groups_body.h"
#include "proto/request/request_body.h"
#include "proto/request/request_box_body.h"
#include "proto/request/request_import_body.h"
#include "proto/request/request_scene_body.h"
#include "proto/request/value.h"

/* ---- The state that the log begins with ------------------------------------------------------ */

static bool need(struct wire_cursor *c, size_t place, bool there, const char *field)
{
    return there || wire_fail_at(c, WIRE_MISSING_FIELD, place, field);
}

static bool read_head(struct wire_cursor *c, wire_log_head *out)
{
    const size_t place = wire_place(c);
    struct wire_export_header header;
    if (!wire_read_export_header(c, &header) ||
        !need(c, place, header.scene.length > 0, "\"scene\" is missing") ||
        !need(c, place, header.has_boxes, "\"boxes\" is missing") ||
        !need(c, place, header.has_frames || !header.framed, "\"frames\" is missing") ||
        !need(c, place, header.has_revision, "\"revision\" is missing") ||
        !need(c, place, header.has_time, "\"time\" is missing") ||
        !need(c, place, header.has_hash, "\"hash\" is missing: this is an export, not a log") ||
        !need(c, place, header.has_ids, "\"ids\" is missing"))
        return false;
    *out = (wire_log_head){.scene = header.scene,
                           .settings = header.settings,
                           .moment = {header.revision, header.time},
                           .frames = (size_t)header.frames,
                           .boxes = (size_t)header.boxes,
                           .next_id = header.next_id,
                           .hash = header.hash,
                           .exact = header.exact};
    return true;
}

bool wire_read_log_head(const wire_body *line, struct obb_arena *arena, wire_log_head *out,
                        wire_problem *problem)
{
    struct wire_cursor c;
    wire_body_open(&c, line, arena);
    return wire_body_close(&c, read_head(&c, out), problem);
}

bool wire_read_log_frame(const wire_body *line, int dimensions, struct obb_arena *arena,
                         obb_pose *out, wire_problem *problem)
{
    struct wire_cursor c;
    wire_body_open(&c, line, arena);
    return wire_body_close(&c, wire_read_named_frame(&c, dimensions, out), problem);
}

bool wire_read_log_box(const wire_body *line, int dimensions, struct obb_arena *arena, obb_put *out,
                       wire_problem *problem)
{
    struct wire_cursor c;
    wire_body_open(&c, line, arena);
    return wire_body_close(&c, wire_read_named_put(&c, dimensions, out), problem);
}

/* ---- Commits --------------------------------------------------------------------------------- */

/* The fields up to HASH are always there. After the settings come the groups up to the poses, for
 * transforms are logged as the poses that they lead to. */
enum { REVISION, TIME, HASH, RESTART, SETTINGS, GROUPS, FIELDS = GROUPS + WIRE_GROUP_TRANSFORM };

static bool read_settings(struct wire_cursor *c, wire_log_commit *commit)
{
    enum { DIMENSIONS, HISTORY, RECORD, COUNT };
    static const obb_str fields[COUNT] = {[DIMENSIONS] = WIRE_FIELD("dimensions"),
                                          [HISTORY] = WIRE_FIELD("history"),
                                          [RECORD] = WIRE_FIELD("record")};
    obb_settings *settings = obb_arena_alloc(c->arena, 1, sizeof *settings);
    if (settings == NULL)
        return wire_fail_memory(c);
    *settings = *commit->edit.settings;
    struct wire_object o;
    double dimensions;
    unsigned history;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        if (field == HISTORY) {
            if (!wire_read_history(c, NULL, settings, &history))
                return false;
        } else if (field == RECORD) {
            if (!wire_read_record_setting(c, settings))
                return false;
        } else {
            if (!wire_read_whole(c, 2, 3, &dimensions))
                return false;
            settings->dimensions = (int)dimensions;
        }
    }
    commit->edit.replace_all = settings->dimensions != commit->edit.dimensions;
    commit->edit.dimensions = settings->dimensions;
    commit->edit.settings = settings;
    return !c->failed;
}

static bool read_field(void *context, struct wire_cursor *c, int field)
{
    wire_log_commit *commit = context;
    obb_edit *edit = &commit->edit;
    wire_edit_form form;
    double whole;
    switch (field) {
    case REVISION:
        if (!wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole))
            return false;
        commit->moment.revision = (uint64_t)whole;
        return true;
    case TIME:
        return wire_read_real(c, WIRE_TIME, &commit->moment.time);
    case HASH:
        return wire_read_hash(c, &commit->hash);
    case RESTART:
        return wire_read_bool(c, &edit->restart);
    case SETTINGS:
        return read_settings(c, commit);
    default:
        return wire_read_group(c, (enum wire_group)(field - GROUPS), edit, &form);
    }
}

static bool read_commit(struct wire_cursor *c, wire_log_commit *commit)
{
    static const obb_str fields[FIELDS] = {[REVISION] = WIRE_FIELD("revision"),
                                           [TIME] = WIRE_FIELD("time"),
                                           [HASH] = WIRE_FIELD("hash"),
                                           [RESTART] = WIRE_FIELD("restart"),
                                           [SETTINGS] = WIRE_FIELD("settings"),
                                           [GROUPS + WIRE_GROUP_REMOVE] = WIRE_FIELD("remove"),
                                           [GROUPS + WIRE_GROUP_REMOVE_FRAMES] =
                                               WIRE_FIELD("remove_frames"),
                                           [GROUPS + WIRE_GROUP_FRAMES] = WIRE_FIELD("frames"),
                                           [GROUPS + WIRE_GROUP_PUT] = WIRE_FIELD("put"),
                                           [GROUPS + WIRE_GROUP_POSE] = WIRE_FIELD("pose")};
    struct wire_object o;
    int fault_field;
    if (!wire_object_enter(&o, c, fields, FIELDS) ||
        !wire_read_in_order(&o, read_field, commit, &fault_field))
        return false;
    for (int field = REVISION; field <= HASH; field++)
        if (!wire_object_need(&o, field))
            return false;
    commit->edit.has_time = true;
    commit->edit.time = commit->moment.time;
    if (!wire_object_has(&o, SETTINGS))
        commit->edit.settings = NULL;
    return true;
}

bool wire_read_log_commit(const wire_body *line, const obb_settings *current,
                          struct obb_arena *arena, wire_log_commit *out, wire_problem *problem)
{
    struct wire_cursor c;
    *out = (wire_log_commit){.edit = {.dimensions = current->dimensions, .settings = current}};
    wire_body_open(&c, line, arena);
    return wire_body_close(&c, read_commit(&c, out), problem);
}
