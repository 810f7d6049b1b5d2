#include "core/scene/apply.h"

#include "core/base/sort.h"
#include "core/geometry/fit.h"
#include "core/scene/name.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

obb_status obb_apply_init(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
                          int dimensions, size_t box_room, struct obb_arena *arena)
{
    const size_t boxes = obb_scene_boxes(scene), frames = obb_scene_frames(scene);
    const size_t gone =
        edit->replace_all || edit->remove_count > boxes ? boxes : edit->remove_count;
    const size_t gone_frames =
        edit->replace_all || edit->remove_frame_count > frames ? frames : edit->remove_frame_count;
    const size_t most = gone + gone_frames + edit->frame_count + edit->put_count +
                        edit->pose_count + edit->transform_count + edit->merge_count;
    return obb_apply_begin(apply, scene, edit, dimensions, most, box_room, arena);
}

/* ---- Looking up ------------------------------------------------------------------------------ */

struct found {
    uint32_t hash; /* of the name */
    struct obb_record *record;
};

/* The entries of a group. If it names boxes, each entry begins with its target, unless the entries
 * are puts in columns. */
struct entries {
    const void *first;
    size_t count, size;
    const obb_put_columns *columns; /* or NULL */
    bool new;                       /* no box of these names can be there: nothing is looked up */
    bool plain;                     /* columns that hold only names, boxes and numbers */
    struct found found[OBB_APPLY_ROUND]; /* of the entries of a round */
    obb_box boxes[OBB_APPLY_ROUND];      /* likewise, of puts in columns */
    obb_put put;                         /* of these, the one that is applied */
};

static obb_target target_at(const struct entries *entries, size_t i)
{
    if (entries->columns != NULL)
        return (obb_target){.name = entries->columns->names[i]};
    const obb_target *entry = (const void *)((const char *)entries->first + i * entries->size);
    return *entry;
}

static struct found look_up(const struct obb_apply *apply, const obb_target *target)
{
    if (target->has_id)
        return (struct found){.record = obb_id_tree_find(&apply->scene->ids, target->id)};
    const uint32_t hash = obb_record_hash(apply->scene, target->name);
    return (struct found){.hash = hash,
                          .record = obb_record_find(apply->scene, target->name, hash)};
}

bool obb_apply_has_box(const struct obb_apply *apply, const obb_target *target)
{
    return obb_apply_current(apply, look_up(apply, target).record) != NULL;
}

/* If entry i begins a round, looks up all entries of the round, and makes the boxes of puts in
 * columns. */
static void look_ahead(const struct obb_apply *apply, struct entries *entries, size_t i)
{
    if (i % OBB_APPLY_ROUND != 0)
        return;
    /* Reclaiming may free records, so it comes before the lookups; an entry takes one slot at
     * most. If all boxes are new, no name is left, and so hardly a version to reclaim. */
    if (!entries->new && apply->scene->versions.free_count < OBB_APPLY_ROUND)
        obb_scene_reclaim(apply->scene, OBB_APPLY_RECLAIM);
    const struct obb_hash_table *names = &apply->scene->names;
    const size_t count =
        entries->count - i < OBB_APPLY_ROUND ? entries->count - i : OBB_APPLY_ROUND;
    struct found *found = entries->found;
    if (entries->columns != NULL)
        entries->columns->make_boxes(entries->columns->maker, i, count, entries->boxes);
    for (size_t k = 0; k < count; k++) {
        const obb_target target = target_at(entries, i + k);
        found[k].hash = target.has_id ? 0 : obb_record_hash(apply->scene, target.name);
        found[k].record = NULL;
        if (!target.has_id)
            obb_hash_table_prefetch_bucket(names, found[k].hash);
    }
    for (size_t k = 0; k < count; k++)
        if (!target_at(entries, i + k).has_id)
            obb_hash_table_prefetch_link(names, found[k].hash);
    for (size_t k = 0; k < count && entries->new; k++)
        obb_hash_table_prefetch_second(names, found[k].hash);
    for (size_t k = 0; k < count && !entries->new; k++) {
        const obb_target target = target_at(entries, i + k);
        found[k].record = target.has_id ? obb_id_tree_find(&apply->scene->ids, target.id)
                                        : obb_record_find(apply->scene, target.name, found[k].hash);
        __builtin_prefetch(found[k].record); /* NULL is fine */
    }
    for (size_t k = 0; k < count && !entries->new; k++)
        if (found[k].record != NULL)
            obb_versions_prefetch(
                &apply->scene->versions,
                atomic_load_explicit(&found[k].record->newest, memory_order_relaxed));
}

static struct obb_version *find(const struct obb_apply *apply, const obb_target *target)
{
    return obb_apply_current(apply, look_up(apply, target).record);
}

/* ---- Applying, entry by entry ---------------------------------------------------------------- */

/* Lets the ttl of a version of this commit count from the commit on. */
static void renew(const struct obb_apply *apply, struct obb_version *version)
{
    struct obb_extras *extras = obb_version_own_extras(version);
    if (extras != NULL && extras->ttl >= 0.0) /* then no other version has them */
        extras->since = apply->time;
}

static int by_id(const void *a, const void *b)
{
    const struct obb_record *const *x = a, *const *y = b;
    return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

obb_status obb_apply_expiry(struct obb_apply *apply)
{
    const size_t count = obb_expiry_due(&apply->scene->expiry, apply->time, SIZE_MAX);
    if (count == 0)
        return OBB_OK;
    struct obb_record **due =
        (struct obb_record **)obb_arena_alloc(apply->arena, count, sizeof(struct obb_record *));
    if (due == NULL || obb_apply_make_room(apply, count) != OBB_OK)
        return OBB_NO_MEMORY;
    obb_expiry_list(&apply->scene->expiry, apply->time, due);
    qsort((void *)due, count, sizeof *due, by_id);
    for (size_t i = 0; i < count; i++) {
        struct obb_version *current = obb_scene_current(apply->scene, due[i]);
        assert(current != NULL);
        obb_apply_remove_box(apply, current);
    }
    apply->expired = count;
    return OBB_OK;
}

static obb_status apply_remove(struct obb_apply *apply, const struct found *found)
{
    struct obb_version *current = obb_apply_current(apply, found->record);
    if (current == NULL)
        return apply->edit->remove_must_exist ? OBB_NO_BOX : OBB_OK;
    obb_apply_remove_box(apply, current);
    apply->removed++;
    return OBB_OK;
}

static obb_status apply_remove_frame(struct obb_apply *apply, size_t i)
{
    struct obb_version *current = obb_apply_find_frame(apply, apply->edit->remove_frames[i]);
    if (current == NULL)
        return apply->edit->remove_frame_must_exist ? OBB_NO_FRAME : OBB_OK;
    return obb_apply_remove_rig(apply, current);
}

/* Checks a pose of a box or frame. Its rotation is normalised already. */
static obb_status check_pose(const struct obb_apply *apply, const obb_pose *pose)
{
    const bool bad_angle = apply->dimensions == 2 && pose->has_rotation && !isfinite(pose->angle);
    return bad_angle || (pose->has_center && obb_bad_coordinate(pose->center) >= 0) ? OBB_BAD_NUMBER
                                                                                    : OBB_OK;
}

/* Writes the parts that a pose states. */
static void set_pose(const struct obb_apply *apply, const obb_pose *pose, obb_box *box)
{
    const bool planar = apply->dimensions == 2;
    if (pose->has_center) {
        box->center.x = pose->center.x;
        box->center.y = pose->center.y;
        if (!planar)
            box->center.z = pose->center.z;
    }
    if (pose->has_rotation && planar)
        box->angle = pose->angle;
    else if (pose->has_rotation)
        box->rotation = pose->rotation;
}

obb_status obb_apply_pose_frame(struct obb_apply *apply, const obb_pose *pose,
                                const struct obb_rig **out_rig)
{
    *out_rig = NULL;
    obb_status st = check_pose(apply, pose);
    if (st != OBB_OK)
        return st;
    struct obb_version *current = obb_apply_find_frame(apply, pose->target.name), *version;
    if (current == NULL) {
        st = obb_apply_create_frame(apply, pose->target.name, &version);
        if (st == OBB_OK)
            set_pose(apply, pose, &version->box);
        return st; /* boxes enter it later */
    }
    obb_box box = obb_apply_latest(apply, current)->box;
    set_pose(apply, pose, &box);
    if (obb_box_same_bits(&box, &obb_apply_latest(apply, current)->box))
        return OBB_OK;
    version = obb_apply_writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->box = box;
    if (pose->teleport)
        version->interpolated = 0;
    *out_rig = obb_version_rig(current);
    return OBB_OK;
}

/* Poses the boxes of all frames that were moved by the changes from `first` on, which are of frames
 * only: of each frame once, however often the edit names it. *out_moved is the frame at fault. */
static obb_status pose_moved(struct obb_apply *apply, size_t first,
                             const struct obb_version **out_moved)
{
    const size_t end = apply->change_count; /* the changes of the boxes follow */
    obb_status st = OBB_OK;
    for (size_t i = first; i < end && st == OBB_OK; i++) {
        if (apply->changes[i].old == OBB_NO_VERSION)
            continue; /* boxes enter a new frame later */
        const struct obb_version *moved = obb_apply_slot(apply, apply->changes[i].new);
        *out_moved = moved;
        st = obb_apply_pose_boxes(apply, obb_version_rig(moved), moved->interpolated == 0);
    }
    return st;
}

/* Applies the frames of the edit, and poses their boxes where the last pose of each frame says. If
 * a frame is at fault, those before it come first, and their boxes may be at fault. */
static obb_status apply_frames(struct obb_apply *apply, obb_fault *fault)
{
    const obb_pose *frames = apply->edit->frames;
    const size_t first = apply->change_count;
    const struct obb_version *moved = NULL;
    const struct obb_rig *rig;
    obb_status st = OBB_OK;
    while (fault->index < apply->edit->frame_count && st == OBB_OK) {
        st = obb_apply_pose_frame(apply, &frames[fault->index], &rig);
        fault->index += st == OBB_OK;
    }
    const obb_status of_boxes = pose_moved(apply, first, &moved);
    if (of_boxes == OBB_OK)
        return st;
    const obb_str name = obb_record_name(obb_version_record(moved));
    do /* the pose that counts is the last one before the fault */
        fault->index--;
    while (!obb_str_equal(frames[fault->index].target.name, name));
    return of_boxes;
}

obb_status obb_apply_check_put(const obb_put *put)
{
    const obb_attributes *attributes = &put->attributes;
    if ((put->parts & OBB_PUT_CENTER) != 0 && obb_bad_coordinate(put->box.center) >= 0)
        return OBB_BAD_NUMBER;
    if ((put->parts & OBB_PUT_HALF_EXTENTS) != 0) {
        if (obb_bad_coordinate(put->box.half_extents) >= 0)
            return OBB_BAD_NUMBER;
        if (obb_bad_extent(put->box.half_extents) >= 0)
            return OBB_BAD_EXTENT;
    }
    if ((put->parts & OBB_PUT_ENTITY) != 0 && attributes->entity.length > 0 &&
        !obb_name_valid(attributes->entity))
        return OBB_BAD_NAME;
    if ((put->parts & OBB_PUT_DATA) != 0 && attributes->data.length > OBB_MAX_DATA)
        return OBB_BAD_VALUE;
    if ((put->parts & OBB_PUT_TTL) != 0 && attributes->has_ttl &&
        !(attributes->ttl >= 0.0 && attributes->ttl <= OBB_MAX_WHOLE))
        return OBB_BAD_VALUE;
    return OBB_OK;
}

/* Returns false if no entry can have created the box since it was looked up by its name: only one
 * of the same round could. */
static bool perhaps_made(const struct found *found, size_t i)
{
    const struct found *first = found - i % OBB_APPLY_ROUND;
    while (first != found && first->hash != found->hash)
        first++;
    return first != found;
}

/* Writes the parts of the pose that a put states. */
static void set_parts(const obb_put *put, obb_box *box)
{
    if ((put->parts & OBB_PUT_CENTER) != 0)
        box->center = put->box.center;
    if ((put->parts & OBB_PUT_HALF_EXTENTS) != 0)
        box->half_extents = put->box.half_extents;
    if ((put->parts & OBB_PUT_ROTATION) != 0) {
        box->rotation = put->box.rotation;
        box->angle = put->box.angle;
    }
}

/* Writes the frame and the pose of put i. */
static obb_status put_pose(struct obb_apply *apply, size_t i, const obb_put *put,
                           struct obb_version *version, bool created)
{
    const struct obb_mount *mount = obb_version_mount(version);
    struct obb_rig *rig = mount == NULL ? NULL : mount->rig;
    if ((put->parts & OBB_PUT_FRAME) != 0 && put->frame.length > 0) {
        const struct obb_version *current = obb_apply_find_frame(apply, put->frame);
        if (current == NULL)
            return OBB_NO_FRAME;
        rig = obb_version_rig(current);
    } else if ((put->parts & OBB_PUT_FRAME) != 0) {
        rig = NULL;
    }
    if (rig == NULL) {
        set_parts(put, &version->box);
        return obb_apply_clear_mount(apply, version);
    }
    if (apply->edit->put_boxes != NULL) {
        version->box = apply->edit->put_boxes[i];
        return obb_apply_set_mount(apply, version, rig, &put->box);
    }
    const obb_frame frame = obb_apply_frame(apply, rig);
    obb_box local = put->box; /* a new box has all parts of the put */
    if (!created) {
        const bool stays = mount != NULL && mount->rig == rig;
        local = stays ? obb_mount_pose(mount, version->box.half_extents) : version->box;
        if (!stays && (put->parts & OBB_PUT_POSE) != OBB_PUT_POSE &&
            obb_frame_local(&frame, &version->box, &local) != OBB_OK)
            return OBB_BAD_NUMBER;
    }
    set_parts(put, &local);
    return obb_apply_mount(apply, version, rig, &frame, &local);
}

/* Returns put i. That of columns is good until the next call. */
static const obb_put *put_at(struct entries *entries, size_t i)
{
    if (entries->columns == NULL)
        return (const obb_put *)entries->first + i;
    obb_put_columns_row(entries->columns, i, &entries->put);
    entries->put.box = entries->boxes[i % OBB_APPLY_ROUND];
    return &entries->put;
}

/* Returns whether put i of the edit is of columns that say nothing of frames, entities and ttls. */
static bool is_plain(const obb_edit *edit, const obb_put_columns *columns)
{
    const obb_put *rest = &columns->rest;
    return edit->puts_differ && columns->entities == NULL && columns->frames == NULL &&
           columns->ttls == NULL && rest->frame.length == 0 && !rest->attributes.has_ttl &&
           rest->attributes.entity.length == 0 && rest->attributes.data.length == 0;
}

/* Applies put i of plain columns, which need no further check (see edit.h). Returns false if the
 * box has extras: then apply_put does it. */
static bool apply_plain_put(struct obb_apply *apply, size_t i, const struct entries *entries,
                            obb_status *out)
{
    const struct found *found = &entries->found[i % OBB_APPLY_ROUND];
    const obb_put_columns *columns = entries->columns;
    struct obb_version *current = obb_apply_current(apply, found->record), *version = NULL;
    if (current != NULL && obb_apply_latest(apply, current)->has_extras)
        return false;
    *out = OBB_OK;
    if (current == NULL) {
        if (apply->edit->put_ids != NULL)
            apply->scene->next_id = apply->edit->put_ids[i];
        *out = obb_apply_create_box(apply, columns->names[i], found->hash, &version);
    } else {
        version = obb_apply_writable(apply, current);
        *out = version == NULL ? OBB_NO_MEMORY : OBB_OK;
    }
    if (*out != OBB_OK)
        return true;
    if (current == NULL || apply->edit->all_put_ids)
        apply->new_ids[i] = version->id;
    const obb_attributes *rest = &columns->rest.attributes;
    version->put = 1;
    version->box = entries->boxes[i % OBB_APPLY_ROUND];
    version->category = columns->categories != NULL ? columns->categories[i] : rest->category;
    version->mask = columns->masks != NULL ? columns->masks[i] : rest->mask;
    version->group = columns->groups != NULL ? columns->groups[i] : rest->group;
    return true;
}

static obb_status apply_put(struct obb_apply *apply, size_t i, struct entries *entries)
{
    const struct found *found = &entries->found[i % OBB_APPLY_ROUND];
    obb_status st = OBB_OK;
    if (entries->plain && apply_plain_put(apply, i, entries, &st))
        return st;
    const obb_put *put = put_at(entries, i);
    st = obb_apply_check_put(put);
    if (st != OBB_OK)
        return st;
    struct obb_version *current = obb_apply_current(apply, found->record), *version = NULL;
    if (current == NULL && !apply->edit->puts_differ &&
        (put->target.has_id || perhaps_made(found, i)))
        current = find(apply, &put->target);
    const bool created = current == NULL;
    if (current != NULL) {
        version = obb_apply_writable(apply, current);
        if (version == NULL)
            return OBB_NO_MEMORY;
        if (apply->edit->all_put_ids)
            apply->new_ids[i] = version->id;
    } else if (put->parts != OBB_PUT_ALL || put->target.has_id || apply->edit->puts_must_exist) {
        return OBB_NO_BOX;
    } else if (!apply->edit->puts_differ && !obb_name_valid(put->target.name)) {
        return OBB_BAD_NAME;
    } else {
        if (apply->edit->put_ids != NULL)
            apply->scene->next_id = apply->edit->put_ids[i];
        st = obb_apply_create_box(apply, put->target.name, found->hash, &version);
        if (st != OBB_OK)
            return st;
        apply->new_ids[i] = version->id;
    }
    version->put = 1;
    st = put_pose(apply, i, put, version, created);
    if (st != OBB_OK)
        return st;
    if ((put->parts & OBB_PUT_CATEGORY) != 0)
        version->category = put->attributes.category;
    if ((put->parts & OBB_PUT_MASK) != 0)
        version->mask = put->attributes.mask;
    if ((put->parts & OBB_PUT_GROUP) != 0)
        version->group = put->attributes.group;
    if ((put->parts & OBB_PUT_TTL) != 0)
        st = obb_apply_set_ttl(apply, version,
                               put->attributes.has_ttl ? put->attributes.ttl : OBB_NO_TTL,
                               apply->time);
    renew(apply, version);
    if (st == OBB_OK && (put->parts & OBB_PUT_ENTITY) != 0)
        st = obb_apply_set_entity(apply, version, put->attributes.entity);
    if (st == OBB_OK && (put->parts & OBB_PUT_DATA) != 0)
        st = obb_apply_set_data(apply, version, put->attributes.data);
    return st;
}

/* Skips and notes a pose or transform of a missing box if the edit ignores missing boxes; otherwise
 * OBB_NO_BOX. */
static obb_status miss(struct obb_apply *apply, bool **missed, size_t *missed_count, size_t count,
                       size_t i)
{
    if (!apply->edit->ignore_missing)
        return OBB_NO_BOX;
    if (*missed == NULL) {
        *missed = obb_arena_alloc(apply->arena, count, sizeof **missed);
        if (*missed == NULL)
            return OBB_NO_MEMORY;
        memset(*missed, 0, count * sizeof **missed);
    }
    (*missed)[i] = true;
    (*missed_count)++;
    return OBB_OK;
}

static obb_status apply_pose(struct obb_apply *apply, size_t i, const struct found *found)
{
    const obb_pose *pose = &apply->edit->poses[i];
    struct obb_version *current = obb_apply_current(apply, found->record);
    if (current == NULL)
        return miss(apply, &apply->missed_poses, &apply->missed_pose_count, apply->edit->pose_count,
                    i);
    const obb_status st = check_pose(apply, pose);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = obb_apply_writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    if (pose->teleport)
        version->interpolated = 0;
    renew(apply, version);
    const struct obb_mount *mount = obb_version_mount(version);
    if (mount == NULL) {
        set_pose(apply, pose, &version->box);
        return OBB_OK;
    }
    struct obb_rig *rig = mount->rig;
    const obb_frame frame = obb_apply_frame(apply, rig);
    obb_box local = obb_mount_pose(mount, version->box.half_extents);
    set_pose(apply, pose, &local);
    return obb_apply_mount(apply, version, rig, &frame, &local);
}

static obb_status apply_transform(struct obb_apply *apply, size_t i, const struct found *found)
{
    const obb_transform_edit *change = &apply->edit->transforms[i];
    struct obb_version *current = obb_apply_current(apply, found->record);
    if (current == NULL)
        return miss(apply, &apply->missed_transforms, &apply->missed_transform_count,
                    apply->edit->transform_count, i);
    if (obb_version_mount(obb_apply_latest(apply, current)) != NULL)
        return OBB_FRAMED;
    obb_box box;
    const obb_status st = obb_box_transform(&obb_apply_latest(apply, current)->box,
                                            &change->transform, apply->dimensions, &box);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = obb_apply_writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->box = box;
    return OBB_OK;
}

/* Writes the different boxes that `merge` names, without the target, in the order in which they
 * are named first. *out_member is the name without a box if there is one. */
static obb_status other_boxes(struct obb_apply *apply, const obb_merge *merge,
                              const struct obb_version *target, obb_box **out, size_t *out_count,
                              size_t *out_member)
{
    /* the version in the upper half, the place in the lower half */
    uint64_t *keys = obb_arena_alloc(apply->arena, merge->with_count, sizeof *keys);
    obb_box *boxes = obb_arena_alloc(apply->arena, merge->with_count, sizeof *boxes);
    if (keys == NULL || boxes == NULL || merge->with_count > UINT32_MAX)
        return OBB_NO_MEMORY;
    for (size_t k = 0; k < merge->with_count; k++) {
        struct obb_version *other = find(apply, &merge->with[k]);
        if (other == NULL) {
            *out_member = k;
            return OBB_NO_BOX;
        }
        boxes[k] = obb_apply_latest(apply, other)->box;
        keys[k] = (uint64_t)other->self << 32 | k;
    }
    obb_sort_u64(keys, merge->with_count);
    size_t count = 0;
    uint32_t last = target->self;
    for (size_t k = 0; k < merge->with_count; k++) {
        const uint32_t self = (uint32_t)(keys[k] >> 32);
        if (self == target->self || self == last)
            continue;
        last = self;
        keys[count++] = (uint32_t)keys[k];
    }
    obb_sort_u64(keys, count);
    for (size_t k = 0; k < count; k++)
        boxes[k] = boxes[keys[k]];
    *out = boxes;
    *out_count = count;
    return OBB_OK;
}

static obb_status apply_merge(struct obb_apply *apply, size_t i, const struct found *found,
                              size_t *out_member)
{
    const obb_merge *merge = &apply->edit->merges[i];
    *out_member = OBB_FAULT_TARGET;
    struct obb_version *current = obb_apply_current(apply, found->record);
    if (current == NULL)
        return OBB_NO_BOX;
    if (obb_version_mount(obb_apply_latest(apply, current)) != NULL)
        return OBB_FRAMED;
    obb_box *others = NULL, box;
    size_t count = 0;
    obb_status st = other_boxes(apply, merge, current, &others, &count, out_member);
    if (st != OBB_OK)
        return st;
    st = obb_fit_merge(&obb_apply_latest(apply, current)->box, others, count, apply->dimensions,
                       apply->arena->budget, &box);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = obb_apply_writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->box = box;
    return OBB_OK;
}

static obb_status apply_entry(struct obb_apply *apply, struct entries *entries, obb_fault *fault)
{
    const struct found *found = &entries->found[fault->index % OBB_APPLY_ROUND];
    switch (fault->group) {
    case OBB_GROUP_REMOVE:
        return apply_remove(apply, found);
    case OBB_GROUP_REMOVE_FRAMES:
        return apply_remove_frame(apply, fault->index);
    case OBB_GROUP_PUT:
        return apply_put(apply, fault->index, entries);
    case OBB_GROUP_POSE:
        return apply_pose(apply, fault->index, found);
    case OBB_GROUP_TRANSFORM:
        return apply_transform(apply, fault->index, found);
    case OBB_GROUP_MERGE:
        return apply_merge(apply, fault->index, found, &fault->member);
    case OBB_GROUP_FRAMES: /* apply_frames applies all of them */
    case OBB_GROUP_NONE:
    case OBB_GROUP_TIME:
    case OBB_GROUP_IF_REVISION:
    case OBB_GROUP_IF_BOX:
    case OBB_GROUP_MOMENT:
        break;
    }
    return OBB_OK;
}

/* Returns whether the entries of a group begin with the target of a box. */
static bool names_boxes(obb_group group)
{
    return group != OBB_GROUP_REMOVE_FRAMES && group != OBB_GROUP_FRAMES;
}

/* Applies all groups in their order. */
static obb_status apply_groups(struct obb_apply *apply, obb_fault *fault)
{
    const obb_edit *edit = apply->edit;
    const obb_put_columns *columns =
        edit->puts == NULL && edit->put_count > 0 ? edit->put_columns : NULL;
    const struct {
        obb_group group;
        struct group_entries {
            const void *first;
            size_t count, size;
            const obb_put_columns *columns;
        } entries;
    } groups[] = {
        {OBB_GROUP_REMOVE, {edit->removes, edit->remove_count, sizeof *edit->removes, NULL}},
        {OBB_GROUP_REMOVE_FRAMES,
         {edit->remove_frames, edit->remove_frame_count, sizeof *edit->remove_frames, NULL}},
        {OBB_GROUP_FRAMES, {edit->frames, edit->frame_count, sizeof *edit->frames, NULL}},
        {OBB_GROUP_PUT, {edit->puts, edit->put_count, sizeof *edit->puts, columns}},
        {OBB_GROUP_POSE, {edit->poses, edit->pose_count, sizeof *edit->poses, NULL}},
        {OBB_GROUP_TRANSFORM,
         {edit->transforms, edit->transform_count, sizeof *edit->transforms, NULL}},
        {OBB_GROUP_MERGE, {edit->merges, edit->merge_count, sizeof *edit->merges, NULL}},
    };
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        const struct group_entries *of = &groups[g].entries;
        *fault = (obb_fault){.group = groups[g].group};
        if (of->count == 0)
            continue;
        if (fault->group == OBB_GROUP_FRAMES) {
            const obb_status st = apply_frames(apply, fault);
            if (st != OBB_OK)
                return st;
            continue;
        }
        struct entries entries; /* `boxes` are written round by round */
        memset(entries.found, 0, sizeof entries.found);
        if (of->columns != NULL)
            entries.put = of->columns->rest;
        entries.first = of->first;
        entries.count = of->count;
        entries.size = of->size;
        entries.columns = of->columns;
        entries.plain = of->columns != NULL && is_plain(edit, of->columns);
        entries.new =
            groups[g].group == OBB_GROUP_PUT && edit->puts_differ && apply->scene->names.count == 0;
        for (; fault->index < entries.count; fault->index++) {
            if (obb_apply_given_up(apply))
                return OBB_CANCELLED;
            if (names_boxes(fault->group))
                look_ahead(apply, &entries, fault->index);
            const obb_status st = apply_entry(apply, &entries, fault);
            if (st != OBB_OK)
                return st;
        }
    }
    *fault = (obb_fault){.group = OBB_GROUP_NONE};
    return OBB_OK;
}

obb_status obb_apply_run(struct obb_apply *apply, obb_fault *fault)
{
    if (apply->edit->replace_all)
        obb_apply_remove_all(apply);
    obb_status st = obb_apply_begin_many(apply, apply->edit->put_count);
    if (st == OBB_OK)
        st = apply_groups(apply, fault);
    obb_records_gather(apply->scene, false);
    return st;
}
