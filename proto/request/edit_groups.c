#include "proto/request/edit_groups.h"

#include "proto/codec/walk.h"
#include "proto/request/edit_groups_body.h"
#include "proto/request/list.h"
#include "proto/request/orientation.h"
#include "proto/request/pose_columns.h"
#include "proto/request/put_columns.h"
#include "proto/request/request_box_body.h"
#include "proto/request/request_transform_body.h"
#include "proto/request/value.h"

#include <stddef.h>

/* ---- Puts and poses -------------------------------------------------------------------------- */

bool wire_names_differ(const struct wire_list *list, size_t place, size_t offset)
{
    return !list->c->failed &&
           (list->count == 0 ||
            wire_check_keys(list->c, place, (const obb_str *)(const void *)(list->items + offset),
                            list->count, list->size));
}

static bool read_puts_by_name(struct wire_cursor *c, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_put));
    size_t whole = 0;
    for (; wire_next_name(c, &name); whole++) {
        obb_put *put = wire_list_add(&list);
        if (put == NULL || !wire_read_put(c, edit->dimensions, false, put))
            break;
        put->target = (obb_target){.name = name};
    }
    edit->puts = (const obb_put *)(const void *)list.items;
    edit->put_count = whole;
    edit->puts_differ = wire_names_differ(&list, place, offsetof(obb_put, target.name));
    return edit->puts_differ;
}

static bool read_puts(struct wire_cursor *c, obb_edit *edit, wire_edit_form *form)
{
    if (!wire_is_put_columns(c))
        return !c->failed && read_puts_by_name(c, edit);
    form->put_columns = edit->all_put_ids = edit->puts_differ = true;
    return wire_read_put_columns(c, edit->dimensions, &edit->put_columns, &edit->put_count);
}

/* Reads a pose; with `named` that of a line of an import, which states the frame's name. */
static bool read_pose(struct wire_cursor *c, int dimensions, bool named, obb_pose *out)
{
    enum { CENTER, ROTATION, TELEPORT, AXES, AXIS_ANGLE, ANGLE, FRAME, COUNT };
    static const obb_str fields[COUNT] = {[CENTER] = WIRE_FIELD("center"),
                                          [ROTATION] = WIRE_FIELD("rotation"),
                                          [TELEPORT] = WIRE_FIELD("teleport"),
                                          [AXES] = WIRE_FIELD("axes"),
                                          [AXIS_ANGLE] = WIRE_FIELD("axis_angle"),
                                          [ANGLE] = WIRE_FIELD("angle"),
                                          [FRAME] = WIRE_FIELD("frame")};
    static const enum wire_orientation_field orientations[COUNT] = {
        [ROTATION] = WIRE_ORIENTATION_ROTATION,
        [AXES] = WIRE_ORIENTATION_AXES,
        [AXIS_ANGLE] = WIRE_ORIENTATION_AXIS_ANGLE,
        [ANGLE] = WIRE_ORIENTATION_ANGLE};
    struct wire_object o;
    struct wire_orientation orientation = {.rotation = {0.0, 0.0, 0.0, 1.0}};
    obb_pose pose = {.has_center = false};
    if (!wire_object_enter(&o, c, fields, named ? COUNT : FRAME))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == CENTER  ? !wire_read_vector(c, dimensions, WIRE_COORDINATE, &pose.center)
            : field == FRAME ? !wire_read_name(c, &pose.target.name)
            : field == TELEPORT
                ? !wire_read_bool(c, &pose.teleport)
                : !wire_read_orientation(c, orientations[field], dimensions, &orientation))
            return false;
    if (c->failed || (named && !wire_object_need(&o, FRAME)))
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

bool wire_read_pose(struct wire_cursor *c, int dimensions, obb_pose *out)
{
    return read_pose(c, dimensions, false, out);
}

bool wire_read_named_frame(struct wire_cursor *c, int dimensions, obb_pose *out)
{
    return read_pose(c, dimensions, true, out);
}

static bool read_poses_by_name(struct wire_cursor *c, int dimensions, const obb_pose **out,
                               size_t *out_count)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_pose));
    size_t whole = 0;
    for (; wire_next_name(c, &name); whole++) {
        obb_pose *pose = wire_list_add(&list);
        if (pose == NULL || !wire_read_pose(c, dimensions, pose))
            break;
        pose->target = (obb_target){.name = name};
    }
    *out = (const obb_pose *)(const void *)list.items;
    *out_count = whole;
    return wire_names_differ(&list, place, offsetof(obb_pose, target.name));
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

static bool read_poses(struct wire_cursor *c, obb_edit *edit, wire_edit_form *form)
{
    if (!is_columnar(c))
        return !c->failed &&
               read_poses_by_name(c, edit->dimensions, &edit->poses, &edit->pose_count);
    bool by_names = false;
    const bool read = wire_read_pose_columns(c, edit->dimensions, false, &edit->poses,
                                             &edit->pose_count, &by_names);
    form->pose_names = by_names;
    form->pose_ids = !by_names;
    return read;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool read_remove_frames(struct wire_cursor *c, obb_edit *edit, wire_edit_form *form)
{
    form->remove_frames = true;
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_str));
    while (wire_next_item(c)) {
        obb_str *name = wire_list_add(&list);
        if (name == NULL || !wire_read_name(c, name))
            return false;
    }
    edit->remove_frames = (const obb_str *)(const void *)list.items;
    edit->remove_frame_count = list.count;
    return !c->failed;
}

static bool read_frames(struct wire_cursor *c, obb_edit *edit, wire_edit_form *form)
{
    form->frames = true;
    if (!wire_is_put_columns(c))
        return !c->failed &&
               read_poses_by_name(c, edit->dimensions, &edit->frames, &edit->frame_count);
    form->frame_names = true;
    bool by_names;
    return wire_read_pose_columns(c, edit->dimensions, true, &edit->frames, &edit->frame_count,
                                  &by_names);
}

/* ---- Transforms ------------------------------------------------------------------------------ */

static bool read_transforms(struct wire_cursor *c, obb_edit *edit)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_enter_object(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_transform_edit));
    size_t whole = 0;
    for (; wire_next_name(c, &name); whole++) {
        obb_transform_edit *change = wire_list_add(&list);
        if (change == NULL || !wire_read_transform_members(c, edit->dimensions, &change->transform))
            break;
        change->target = (obb_target){.name = name};
    }
    edit->transforms = (const obb_transform_edit *)(const void *)list.items;
    edit->transform_count = whole;
    return wire_names_differ(&list, place, offsetof(obb_transform_edit, target.name));
}

/* ---- All groups ------------------------------------------------------------------------------ */

bool wire_read_group(struct wire_cursor *c, enum wire_group group, obb_edit *edit,
                     wire_edit_form *form)
{
    switch (group) {
    case WIRE_GROUP_REMOVE:
        return wire_read_targets(c, &edit->removes, &edit->remove_count);
    case WIRE_GROUP_REMOVE_FRAMES:
        return read_remove_frames(c, edit, form);
    case WIRE_GROUP_FRAMES:
        return read_frames(c, edit, form);
    case WIRE_GROUP_PUT:
        return read_puts(c, edit, form);
    case WIRE_GROUP_POSE:
        return read_poses(c, edit, form);
    case WIRE_GROUP_TRANSFORM:
        return read_transforms(c, edit);
    case WIRE_GROUPS:
        break;
    }
    return false;
}

void wire_keep_groups(obb_edit *edit, int group)
{
    size_t *const counts[WIRE_GROUPS] = {[WIRE_GROUP_REMOVE] = &edit->remove_count,
                                         [WIRE_GROUP_REMOVE_FRAMES] = &edit->remove_frame_count,
                                         [WIRE_GROUP_FRAMES] = &edit->frame_count,
                                         [WIRE_GROUP_PUT] = &edit->put_count,
                                         [WIRE_GROUP_POSE] = &edit->pose_count,
                                         [WIRE_GROUP_TRANSFORM] = &edit->transform_count};
    for (int later = group < 0 ? 0 : group + 1; later < WIRE_GROUPS; later++)
        *counts[later] = 0;
}

/* ---- The first fault ------------------------------------------------------------------------- */

bool wire_read_in_order(struct wire_object *o, wire_read_field *read, void *context,
                        int *out_fault_field)
{
    struct wire_cursor *c = o->c;
    struct wire_fault first = {.place = 0};
    int first_field = o->count;
    for (int field; (field = wire_object_next(o)) >= 0;) {
        const struct wire_mark mark = wire_mark(c);
        if (read(context, c, field))
            continue;
        if (c->fault.cause == WIRE_MALFORMED || c->fault.cause == WIRE_OBB_NO_MEMORY ||
            c->fault.cause == (wire_cause)OBB_CANCELLED)
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
    if (c->failed || first_field == o->count)
        return !c->failed;
    *out_fault_field = first_field;
    return wire_fail_item(c, first.cause, first.place, first.item, first.detail);
}

/* ---- The changes of a query ------------------------------------------------------------------ */

static bool read_with_group(void *context, struct wire_cursor *c, int field)
{
    wire_with *with = context;
    return wire_read_group(c, (enum wire_group)field, &with->edit, &with->form);
}

bool wire_read_with(struct wire_cursor *c, int dimensions, const obb_edit **out)
{
    static const obb_str fields[WIRE_GROUPS] = {[WIRE_GROUP_REMOVE] = WIRE_FIELD("remove"),
                                                [WIRE_GROUP_REMOVE_FRAMES] =
                                                    WIRE_FIELD("remove_frames"),
                                                [WIRE_GROUP_FRAMES] = WIRE_FIELD("frames"),
                                                [WIRE_GROUP_PUT] = WIRE_FIELD("put"),
                                                [WIRE_GROUP_POSE] = WIRE_FIELD("pose"),
                                                [WIRE_GROUP_TRANSFORM] = WIRE_FIELD("transform")};
    struct wire_object o;
    int fault_group = WIRE_GROUPS;
    *out = NULL;
    wire_with *with = obb_arena_alloc(c->arena, 1, sizeof *with);
    if (with == NULL)
        return wire_fail_memory(c);
    *with = (wire_with){.edit = {.dimensions = dimensions}};
    if (!wire_object_enter(&o, c, fields, WIRE_GROUPS))
        return false;
    const obb_edit *edit = &with->edit;
    if (!wire_read_in_order(&o, read_with_group, with, &fault_group)) {
        if (fault_group < WIRE_GROUPS) {
            wire_keep_groups(&with->edit, fault_group);
            *out = obb_edit_entries(edit) <= WIRE_MOST_WITH ? edit : NULL;
        }
        return false;
    }
    if (obb_edit_entries(edit) > WIRE_MOST_WITH)
        return wire_fail_at(c, WIRE_OBB_BAD_COUNT, o.place,
                            "the changes of a query have at most 1,000 entries");
    *out = edit;
    return true;
}
