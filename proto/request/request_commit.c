#include "proto/request/request_commit.h"

#include "proto/codec/walk.h"
#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/orientation.h"
#include "proto/request/pose_columns.h"
#include "proto/request/request_body.h"
#include "proto/request/request_box_body.h"
#include "proto/request/request_query_body.h"
#include "proto/request/request_transform_body.h"
#include "proto/request/value.h"

#include <stddef.h>

/* In the order of application, in which the first fault counts. */
enum commit_field {
    TIME,
    IF_REVISION,
    IGNORE_MISSING,
    REMOVE,
    PUT,
    POSE,
    TRANSFORM,
    QUERIES,
    COMMIT_FIELDS
};

static const obb_str commit_fields[COMMIT_FIELDS] = {
    [TIME] = WIRE_FIELD("time"),
    [IF_REVISION] = WIRE_FIELD("if_revision"),
    [IGNORE_MISSING] = WIRE_FIELD("ignore_missing"),
    [REMOVE] = WIRE_FIELD("remove"),
    [PUT] = WIRE_FIELD("put"),
    [POSE] = WIRE_FIELD("pose"),
    [TRANSFORM] = WIRE_FIELD("transform"),
    [QUERIES] = WIRE_FIELD("queries"),
};

/* ---- Groups ----------------------------------------------------------------------------------
 *
 * After a fault, the edit holds the entries of the group that come before the fault. */

/* Ends an object whose keys are names: checks that they differ. Each name is kept in its item, at
 * that offset. */
static bool names_differ(const struct wire_list *list, size_t place, size_t offset)
{
    return !list->c->failed &&
           (list->count == 0 ||
            wire_check_keys(list->c, place, (const obb_str *)(const void *)(list->items + offset),
                            list->count, list->size));
}

static bool read_puts(struct wire_cursor *c, int dimensions, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_put));
    size_t whole = 0;
    for (; wire_next_name(c, &name); whole++) {
        obb_put *put = wire_list_add(&list);
        if (put == NULL || !wire_read_put(c, dimensions, false, put))
            break;
        put->target = (obb_target){.name = name};
    }
    edit->puts = (const obb_put *)(const void *)list.items;
    edit->put_count = whole;
    return names_differ(&list, place, offsetof(obb_put, target.name));
}

static bool read_pose(struct wire_cursor *c, int dimensions, obb_pose *out)
{
    enum { CENTER, ROTATION, TELEPORT, AXES, AXIS_ANGLE, ANGLE, COUNT };
    static const obb_str fields[COUNT] = {
        [CENTER] = WIRE_FIELD("center"),         [ROTATION] = WIRE_FIELD("rotation"),
        [TELEPORT] = WIRE_FIELD("teleport"),     [AXES] = WIRE_FIELD("axes"),
        [AXIS_ANGLE] = WIRE_FIELD("axis_angle"), [ANGLE] = WIRE_FIELD("angle")};
    static const enum wire_orientation_field orientations[COUNT] = {
        [ROTATION] = WIRE_ORIENTATION_ROTATION,
        [AXES] = WIRE_ORIENTATION_AXES,
        [AXIS_ANGLE] = WIRE_ORIENTATION_AXIS_ANGLE,
        [ANGLE] = WIRE_ORIENTATION_ANGLE};
    struct wire_object o;
    struct wire_orientation orientation = {.rotation = {0.0, 0.0, 0.0, 1.0}};
    obb_pose pose = {.has_center = false};
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == CENTER ? !wire_read_vector(c, dimensions, WIRE_COORDINATE, &pose.center)
            : field == TELEPORT
                ? !wire_read_bool(c, &pose.teleport)
                : !wire_read_orientation(c, orientations[field], dimensions, &orientation))
            return false;
    if (c->failed)
        return false;
    pose.has_center = wire_object_has(&o, CENTER);
    pose.has_rotation = orientation.given;
    const obb_status status = obb_quat_normalise(orientation.rotation, &pose.rotation);
    if (status != OBB_OK)
        return wire_fail_at(c, (wire_cause)status, orientation.place, NULL);
    pose.angle = orientation.angle;
    *out = pose;
    return true;
}

static bool read_poses_by_name(struct wire_cursor *c, int dimensions, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_pose));
    size_t whole = 0;
    for (; wire_next_name(c, &name); whole++) {
        obb_pose *pose = wire_list_add(&list);
        if (pose == NULL || !read_pose(c, dimensions, pose))
            break;
        pose->target = (obb_target){.name = name};
    }
    edit->poses = (const obb_pose *)(const void *)list.items;
    edit->pose_count = whole;
    return names_differ(&list, place, offsetof(obb_pose, target.name));
}

/* Tells whether poses are in columns. Columns are arrays, and poses by name are objects: the first
 * member tells. */
static bool is_columnar(struct wire_cursor *c)
{
    const struct wire_mark mark = wire_mark(c);
    obb_str key;
    const bool columnar =
        wire_enter_object(c) && wire_next_key(c, &key) && wire_peek(c) == WIRE_KIND_ARRAY;
    if (!c->failed)
        wire_rewind(c, &mark);
    return columnar;
}

static bool read_poses(struct wire_cursor *c, int dimensions, wire_commit *commit)
{
    if (!is_columnar(c))
        return !c->failed && read_poses_by_name(c, dimensions, &commit->edit);
    bool by_names = false;
    const bool read = wire_read_pose_columns(c, dimensions, &commit->edit.poses,
                                             &commit->edit.pose_count, &by_names);
    commit->columnar_names = by_names;
    commit->columnar_ids = !by_names;
    return read;
}

/* ---- Transforms and queries ------------------------------------------------------------------ */

static bool read_transforms(struct wire_cursor *c, int dimensions, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_transform_edit));
    size_t whole = 0;
    for (; wire_next_name(c, &name); whole++) {
        obb_transform_edit *change = wire_list_add(&list);
        if (change == NULL || !wire_read_transform_members(c, dimensions, &change->transform))
            break;
        change->target = (obb_target){.name = name};
    }
    edit->transforms = (const obb_transform_edit *)(const void *)list.items;
    edit->transform_count = whole;
    return names_differ(&list, place, offsetof(obb_transform_edit, target.name));
}

/* Writes moment i of the edit for query i: if core finds a fault with a moment, the query of that
 * index is at fault. */
static bool need_moments(struct wire_cursor *c, wire_commit *commit)
{
    const size_t count = commit->query_count;
    obb_needed_moment *moments = obb_arena_alloc(c->arena, count, sizeof *moments);
    if (moments == NULL) {
        commit->query_count = 0; /* an earlier fault may be told, and the entries before it used */
        return wire_fail_memory(c);
    }
    for (size_t i = 0; i < count; i++) {
        const obb_query *query = &commit->queries[i];
        moments[i] = (obb_needed_moment){.dimensions = query->dimensions};
        if (query->has_at)
            moments[i].at = query->at;
    }
    commit->edit.moments = moments;
    commit->edit.moment_count = count;
    return true;
}

static bool read_queries(struct wire_cursor *c, int dimensions, wire_commit *commit)
{
    struct wire_list list;
    if (!wire_list_begin_limited(&list, c, sizeof(obb_query), WIRE_COMMIT_QUERIES,
                                 "a commit takes at most 100,000 queries"))
        return false;
    size_t whole = 0;
    for (; wire_next_item(c); whole++) {
        obb_query *query = wire_list_add(&list);
        if (query == NULL || !wire_read_query_object(c, NULL, dimensions, query))
            break;
    }
    commit->queries = (const obb_query *)(const void *)list.items;
    commit->query_count = whole;
    return need_moments(c, commit) && !c->failed;
}

/* ---- The commit ------------------------------------------------------------------------------ */

static bool read_group(struct wire_cursor *c, int field, wire_commit *commit)
{
    obb_edit *edit = &commit->edit;
    double whole;
    switch ((enum commit_field)field) {
    case TIME:
        return edit->has_time = wire_read_real(c, WIRE_TIME, &edit->time);
    case IF_REVISION:
        edit->has_if_revision = wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole);
        if (edit->has_if_revision)
            edit->if_revision = (uint64_t)whole;
        return edit->has_if_revision;
    case IGNORE_MISSING:
        return wire_read_bool(c, &edit->ignore_missing);
    case REMOVE:
        return wire_read_targets(c, &edit->removes, &edit->remove_count);
    case PUT:
        return read_puts(c, edit->dimensions, edit);
    case POSE:
        return read_poses(c, edit->dimensions, commit);
    case TRANSFORM:
        return read_transforms(c, edit->dimensions, edit);
    case QUERIES:
        return read_queries(c, edit->dimensions, commit);
    case COMMIT_FIELDS:
        break;
    }
    return false;
}

/* Keeps only what is applied before the fault in that field: the groups before it, and of the group
 * itself the entries that were read. */
static void keep_before(int field, wire_commit *commit)
{
    obb_edit *edit = &commit->edit;
    edit->has_time = edit->has_time && TIME < field;
    edit->has_if_revision = edit->has_if_revision && IF_REVISION < field;
    edit->remove_count = REMOVE < field ? edit->remove_count : 0;
    edit->put_count = PUT <= field ? edit->put_count : 0;
    edit->pose_count = POSE <= field ? edit->pose_count : 0;
    edit->transform_count = TRANSFORM <= field ? edit->transform_count : 0;
    commit->query_count = QUERIES <= field ? commit->query_count : 0;
    edit->moment_count = commit->query_count;
}

/* Reads all groups. After a fault it skips that group and goes on, because a group that comes later
 * in the text may be applied earlier, and then its fault counts. An unknown field counts before all
 * groups. */
static bool read_commit(struct wire_cursor *c, wire_commit *commit, int *out_fault_field)
{
    struct wire_object o;
    struct wire_fault first = {.place = 0};
    int first_field = COMMIT_FIELDS;
    *out_fault_field = TIME;
    if (!wire_object_enter(&o, c, commit_fields, COMMIT_FIELDS))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        const struct wire_mark mark = wire_mark(c);
        if (read_group(c, field, commit))
            continue;
        if (c->fault.cause == WIRE_MALFORMED || c->fault.cause == WIRE_OBB_NO_MEMORY)
            return false;
        if (field < first_field) {
            first_field = field;
            first = c->fault;
        }
        c->failed = false;
        wire_rewind(c, &mark);
        if (!wire_skip(c))
            return false;
    }
    if (c->failed || first_field == COMMIT_FIELDS)
        return !c->failed;
    *out_fault_field = first_field;
    return wire_fail_item(c, first.cause, first.place, first.item, first.detail);
}

bool wire_read_commit(const wire_body *body, int dimensions, struct obb_arena *arena,
                      wire_commit *out, wire_problem *problem)
{
    struct wire_cursor c;
    int fault_field;
    *out = (wire_commit){.edit = {.dimensions = dimensions}};
    wire_body_open(&c, body, arena);
    const bool good = wire_body_close(&c, read_commit(&c, out, &fault_field), problem);
    if (!good)
        keep_before(fault_field, out);
    return good;
}
