#include "core/scene/applying.h"

#include "core/scene/name.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"

#include <assert.h>
#include <string.h>

obb_status obb_apply_begin(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
                           int dimensions, size_t most, size_t box_room, struct obb_arena *arena)
{
    const size_t boxes = obb_scene_boxes(scene), frames = obb_scene_frames(scene);
    struct obb_change *changes = obb_arena_alloc(arena, most, sizeof *changes);
    uint64_t *new_ids = obb_arena_alloc(arena, edit->put_count, sizeof *new_ids);
    if (changes == NULL || new_ids == NULL)
        return OBB_NO_MEMORY;
    memset(new_ids, 0, edit->put_count * sizeof *new_ids);
    *apply = (struct obb_apply){
        .scene = scene,
        .edit = edit,
        .arena = arena,
        .revision = obb_history_tail_now(&scene->history).revision + 1,
        .dimensions = dimensions,
        .changes = changes,
        .change_room = most,
        .change_most = most,
        .boxes = boxes,
        .frames = frames,
        .room = box_room < SIZE_MAX - boxes - frames ? box_room : SIZE_MAX - boxes - frames,
        .first_id = scene->next_id,
        .new_ids = new_ids,
    };
    return OBB_OK;
}

obb_status obb_apply_make_room(struct obb_apply *apply, size_t count)
{
    apply->change_most += count;
    if (apply->change_most <= apply->change_room)
        return OBB_OK;
    const size_t twice = 2 * apply->change_room;
    const size_t room = twice > apply->change_most ? twice : apply->change_most;
    struct obb_change *changes =
        obb_arena_grow(apply->arena, apply->changes, apply->change_room, room, sizeof *changes);
    if (changes == NULL)
        return OBB_NO_MEMORY;
    apply->changes = changes;
    apply->change_room = room;
    return OBB_OK;
}

/* Gives back a version that no reader has seen, and that holds no references. */
static void give_unused(struct obb_apply *apply, struct obb_version *version)
{
    obb_version_publish(version, apply->revision, 0);
    obb_versions_give(&apply->scene->versions, version);
}

/* Adds a reference to each thing that extras refer to. */
static void ref_parts(const struct obb_extras *extras, bool of_frame)
{
    obb_interned_ref(extras->entity);
    obb_interned_ref(extras->data);
    if (!of_frame)
        obb_mount_ref(extras->mount);
}

/* Returns the extras of a version of this commit, for writing, which no other version has. NULL:
 * there is no memory. */
static struct obb_extras *extend(struct obb_apply *apply, struct obb_version *version)
{
    const bool shares = obb_version_shares(version);
    struct obb_extras *extras = obb_versions_extend(&apply->scene->versions, version);
    if (extras != NULL && shares)
        ref_parts(extras, obb_version_is_frame(version));
    return extras;
}

/* Gives a version, which the commit has just taken, the extras of the current one. Returns false if
 * there is no memory: the version is given back. */
static bool inherit_extras(struct obb_apply *apply, const struct obb_version *current,
                           struct obb_version *version)
{
    const struct obb_extras *from = obb_version_extras(current);
    if (from->entity == NULL && from->data == NULL && from->mount == NULL && from->ttl < 0.0)
        return true;
    if (from->ttl < 0.0) {
        obb_versions_share_extras(current, version);
        return true;
    }
    struct obb_extras *extras = obb_versions_extend(&apply->scene->versions, version);
    if (extras == NULL) {
        give_unused(apply, version);
        return false;
    }
    extras->entity = from->entity;
    extras->data = from->data;
    extras->mount = from->mount;
    extras->ttl = from->ttl;
    extras->since = obb_expiry_since(current, obb_history_newest(&apply->scene->history)->began);
    ref_parts(extras, false); /* a frame has no ttl */
    return true;
}

struct obb_version *obb_apply_writable(struct obb_apply *apply, struct obb_version *current)
{
    struct obb_version *version = obb_apply_latest(apply, current);
    if (atomic_load_explicit(&version->born, memory_order_relaxed) == apply->revision)
        return version;
    version = obb_versions_take(&apply->scene->versions, obb_version_record(current));
    if (version == NULL)
        return NULL;
    /* Read before a bit beside `self` is written: reading it afterwards would wait. */
    const uint32_t self = version->self;
    struct obb_version_links *links = obb_version_links(version);
    if (!inherit_extras(apply, current, version))
        return NULL;
    version->box = current->box;
    version->category = current->category;
    version->mask = current->mask;
    version->group = current->group;
    version->put = 0;
    version->interpolated = 1;
    version->id = current->id;
    atomic_store_explicit(&links->older, current->self, memory_order_release);
    atomic_store_explicit(&links->newer, OBB_NO_VERSION, memory_order_relaxed);
    obb_version_publish(version, apply->revision, OBB_NEVER);
    obb_apply_set_newer(current, self);
    apply->changes[apply->change_count++] = (struct obb_change){.old = current->self, .new = self};
    return version;
}

/* From so many new boxes on their records lie in common blocks: what is left over of the last block
 * is then less than what the blocks save. */
#define GATHERED 64

obb_status obb_apply_begin_many(struct obb_apply *apply, size_t count)
{
    struct obb_hash_table *names = &apply->scene->names;
    if (count < OBB_APPLY_ROUND || count < names->count)
        return OBB_OK;
    if (count >= GATHERED)
        obb_records_gather(apply->scene, true);
    if (!obb_versions_reserve(&apply->scene->versions, count))
        return OBB_NO_MEMORY;
    return obb_hash_table_reserve(names, names->count + count);
}

/* Fills in the first version of a box or frame, except pose, attributes and extras. */
static void begin_first_version(const struct obb_apply *apply, struct obb_version *version,
                                struct obb_record *record)
{
    struct obb_version_links *links = obb_version_links(version); /* before the bits, as above */
    atomic_store_explicit(&record->newest, version->self, memory_order_relaxed);
    version->put = 1;
    version->interpolated = 0;
    version->id = record->id;
    atomic_store_explicit(&links->older, OBB_NO_VERSION, memory_order_release);
    atomic_store_explicit(&links->newer, OBB_NO_VERSION, memory_order_relaxed);
    obb_version_publish(version, apply->revision, OBB_NEVER);
}

obb_status obb_apply_create_box(struct obb_apply *apply, obb_str name, uint32_t hash,
                                struct obb_version **out)
{
    struct obb_scene *scene = apply->scene;
    if (apply->room == 0)
        return OBB_LIMIT;
    if (obb_hash_table_reserve(&scene->names, scene->names.count + 1) != OBB_OK)
        return OBB_NO_MEMORY;
    struct obb_record *record = obb_record_create(scene, name);
    if (record == NULL)
        return OBB_NO_MEMORY;
    struct obb_version *version = obb_versions_take(&scene->versions, record);
    if (version == NULL) {
        obb_record_destroy(scene, record);
        return OBB_NO_MEMORY;
    }
    const uint32_t self = version->self; /* before the bits, as above */
    begin_first_version(apply, version, record);
    if (obb_id_tree_insert(&scene->ids, record) != OBB_OK) {
        give_unused(apply, version);
        obb_record_destroy(scene, record);
        return OBB_NO_MEMORY;
    }
    obb_hash_table_insert(&scene->names, &record->link, hash);
    scene->next_id++;
    apply->boxes++;
    apply->room--;
    apply->changes[apply->change_count++] = (struct obb_change){.old = OBB_NO_VERSION, .new = self};
    *out = version;
    return OBB_OK;
}

obb_status obb_apply_set_ttl(struct obb_apply *apply, struct obb_version *version, double ttl,
                             double since)
{
    if (ttl < 0.0 && obb_version_extras(version)->ttl < 0.0)
        return OBB_OK;
    struct obb_extras *extras = extend(apply, version);
    if (extras == NULL)
        return OBB_NO_MEMORY;
    extras->ttl = ttl;
    extras->since = ttl < 0.0 ? 0.0 : since;
    return OBB_OK;
}

static obb_status set_interned(struct obb_apply *apply, struct obb_interned **place, obb_str text)
{
    struct obb_interned *interned = NULL;
    const obb_status st = obb_interned_table_take(&apply->scene->interned, text, &interned);
    if (st == OBB_OK) {
        obb_interned_table_drop(&apply->scene->interned, *place, &apply->scene->fresh.interned);
        *place = interned;
    }
    return st;
}

obb_status obb_apply_set_entity(struct obb_apply *apply, struct obb_version *version, obb_str text)
{
    if (obb_str_equal(obb_interned_text(obb_version_extras(version)->entity), text))
        return OBB_OK;
    struct obb_extras *extras = extend(apply, version);
    return extras == NULL ? OBB_NO_MEMORY : set_interned(apply, &extras->entity, text);
}

obb_status obb_apply_set_data(struct obb_apply *apply, struct obb_version *version, obb_str text)
{
    if (obb_str_equal(obb_interned_text(obb_version_extras(version)->data), text))
        return OBB_OK;
    struct obb_extras *extras = extend(apply, version);
    return extras == NULL ? OBB_NO_MEMORY : set_interned(apply, &extras->data, text);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

struct obb_version *obb_apply_find_frame(const struct obb_apply *apply, obb_str name)
{
    const struct obb_rig *rig = obb_rigs_seek(&apply->scene->rigs, name, false);
    return rig != NULL && obb_str_equal(obb_record_name(rig->record), name)
               ? obb_apply_current(apply, rig->record)
               : NULL;
}

obb_status obb_apply_create_frame(struct obb_apply *apply, obb_str name, struct obb_version **out)
{
    struct obb_scene *scene = apply->scene;
    if (!obb_name_valid(name))
        return OBB_BAD_NAME;
    if (apply->room == 0)
        return OBB_LIMIT;
    struct obb_record *record = obb_record_create(scene, name);
    if (record == NULL)
        return OBB_NO_MEMORY;
    record->id = 0;
    struct obb_rig *rig = obb_rig_create(&scene->rigs, record);
    struct obb_version *version = rig == NULL ? NULL : obb_versions_take(&scene->versions, record);
    struct obb_extras *extras =
        version == NULL ? NULL : obb_versions_extend(&scene->versions, version);
    if (extras == NULL) {
        if (version != NULL)
            give_unused(apply, version);
        if (rig != NULL)
            obb_rig_destroy(&scene->rigs, rig);
        obb_record_destroy(scene, record);
        return OBB_NO_MEMORY;
    }
    begin_first_version(apply, version, record);
    version->box = (obb_box){.rotation = {0.0, 0.0, 0.0, 1.0}};
    version->category = version->mask = 0;
    version->group = 0;
    extras->rig = rig;
    obb_rigs_insert(&scene->rigs, rig);
    apply->frames++;
    apply->made_frames++;
    apply->room--;
    apply->changes[apply->change_count++] =
        (struct obb_change){.old = OBB_NO_VERSION, .new = version->self};
    *out = version;
    return OBB_OK;
}

obb_frame obb_apply_frame(const struct obb_apply *apply, const struct obb_rig *rig)
{
    struct obb_version *current = obb_scene_current(apply->scene, rig->record);
    assert(current != NULL);
    return obb_frame_from_pose(&obb_apply_latest(apply, current)->box, apply->dimensions);
}

obb_status obb_apply_set_mount(struct obb_apply *apply, struct obb_version *version,
                               struct obb_rig *rig, const obb_box *local)
{
    struct obb_rigs *rigs = &apply->scene->rigs;
    const struct obb_mount *before = obb_version_mount(version);
    if (before != NULL && before->rig == rig && obb_mount_has_pose(before, local))
        return OBB_OK;
    struct obb_extras *extras = extend(apply, version);
    if (extras == NULL)
        return OBB_NO_MEMORY;
    struct obb_mount *mount = obb_mount_create(rigs, rig, local);
    if (mount == NULL)
        return OBB_NO_MEMORY;
    obb_mount_unref(rigs, extras->mount);
    extras->mount = mount;
    return OBB_OK;
}

obb_status obb_apply_clear_mount(struct obb_apply *apply, struct obb_version *version)
{
    if (obb_version_mount(version) == NULL)
        return OBB_OK;
    struct obb_extras *extras = extend(apply, version);
    if (extras == NULL)
        return OBB_NO_MEMORY;
    obb_mount_unref(&apply->scene->rigs, extras->mount);
    extras->mount = NULL;
    return OBB_OK;
}

obb_status obb_apply_mount(struct obb_apply *apply, struct obb_version *version,
                           struct obb_rig *rig, const obb_frame *frame, const obb_box *local)
{
    const obb_status st = obb_frame_place(frame, local, &version->box);
    return st == OBB_OK ? obb_apply_set_mount(apply, version, rig, local) : st;
}

/* Fetches the boxes of a rig from i on into the cache, as many as a round has: first their records,
 * then their versions, then their extras, then their mounts. */
static void fetch_boxes(const struct obb_apply *apply, const struct obb_rig *rig, uint32_t i)
{
    if (i % OBB_APPLY_ROUND != 0)
        return;
    /* A slot for each box of the round. No record of the rig is freed: it holds current boxes. */
    if (apply->scene->versions.free_count < OBB_APPLY_ROUND)
        obb_scene_reclaim(apply->scene, OBB_APPLY_RECLAIM);
    const uint32_t end = rig->count - i < OBB_APPLY_ROUND ? rig->count : i + OBB_APPLY_ROUND;
    for (uint32_t k = i; k < end; k++)
        __builtin_prefetch(rig->boxes[k]);
    for (uint32_t k = i; k < end; k++)
        obb_versions_prefetch(&apply->scene->versions,
                              atomic_load_explicit(&rig->boxes[k]->newest, memory_order_relaxed));
    const struct obb_extras *extras[OBB_APPLY_ROUND];
    for (uint32_t k = i; k < end; k++) {
        extras[k - i] = obb_version_extras(obb_apply_slot(
            apply, atomic_load_explicit(&rig->boxes[k]->newest, memory_order_relaxed)));
        __builtin_prefetch(extras[k - i]);
    }
    for (uint32_t k = i; k < end; k++)
        __builtin_prefetch(extras[k - i]->mount);
}

obb_status obb_apply_pose_boxes(struct obb_apply *apply, const struct obb_rig *rig, bool teleport)
{
    const obb_frame frame = obb_apply_frame(apply, rig);
    obb_status st = obb_apply_make_room(apply, rig->count);
    for (uint32_t i = 0; i < rig->count && st == OBB_OK; i++) {
        if (obb_apply_given_up(apply))
            return OBB_CANCELLED;
        fetch_boxes(apply, rig, i);
        struct obb_version *current = obb_apply_current(apply, rig->boxes[i]);
        if (current == NULL)
            continue; /* the commit has removed it */
        /* the version that the commit makes has the mount of the latest one */
        const struct obb_mount *mount = obb_version_mount(obb_apply_latest(apply, current));
        struct obb_version *version = obb_apply_writable(apply, current);
        if (version == NULL)
            return OBB_NO_MEMORY;
        const obb_box local = obb_mount_pose(mount, version->box.half_extents);
        st = obb_frame_place(&frame, &local, &version->box);
        if (teleport)
            version->interpolated = 0;
    }
    return st;
}

/* ---- Removing -------------------------------------------------------------------------------- */

void obb_apply_remove_box(struct obb_apply *apply, struct obb_version *current)
{
    obb_apply_set_newer(current, OBB_APPLY_REMOVED);
    apply->changes[apply->change_count++] =
        (struct obb_change){.old = current->self, .new = OBB_NO_VERSION};
    apply->boxes--;
    apply->room++;
}

static void remove_frame(struct obb_apply *apply, struct obb_version *current)
{
    obb_apply_set_newer(current, OBB_APPLY_REMOVED);
    apply->changes[apply->change_count++] =
        (struct obb_change){.old = current->self, .new = OBB_NO_VERSION};
    apply->frames--;
    apply->room++;
    apply->removed_frames++;
}

void obb_apply_remove_all(struct obb_apply *apply)
{
    for (struct obb_record *record = obb_id_tree_seek(&apply->scene->ids, 1); record != NULL;
         record = obb_id_tree_seek(&apply->scene->ids, record->id + 1)) {
        struct obb_version *current = obb_scene_current(apply->scene, record);
        if (current == NULL)
            continue;
        obb_apply_remove_box(apply, current);
        apply->removed++;
    }
    for (struct obb_rig *rig = obb_rigs_seek(&apply->scene->rigs, (obb_str){0}, false); rig != NULL;
         rig = obb_rig_next(rig)) {
        struct obb_version *current = obb_scene_current(apply->scene, rig->record);
        if (current != NULL)
            remove_frame(apply, current);
    }
}

obb_status obb_apply_remove_rig(struct obb_apply *apply, struct obb_version *current)
{
    const struct obb_rig *rig = obb_version_rig(current);
    if (obb_apply_make_room(apply, rig->count) != OBB_OK)
        return OBB_NO_MEMORY;
    for (uint32_t k = 0; k < rig->count; k++) {
        if (obb_apply_given_up(apply))
            return OBB_CANCELLED;
        struct obb_version *box = obb_apply_current(apply, rig->boxes[k]);
        if (box == NULL)
            continue;
        obb_apply_remove_box(apply, box);
        apply->removed++;
    }
    remove_frame(apply, current);
    return OBB_OK;
}

/* ---- Undoing --------------------------------------------------------------------------------- */

void obb_apply_undo(struct obb_apply *apply, const struct obb_change *change)
{
    if (change->old != OBB_NO_VERSION)
        obb_apply_set_newer(obb_apply_slot(apply, change->old), OBB_NO_VERSION);
    if (change->new == OBB_NO_VERSION)
        return;
    struct obb_version *version = obb_apply_slot(apply, change->new);
    obb_scene_drop_parts(apply->scene, version);
    obb_version_publish(version, apply->revision, 0);
    if (change->old != OBB_NO_VERSION)
        obb_versions_give(&apply->scene->versions, version); /* no reader has seen it */
    else
        obb_scene_retire(apply->scene, obb_version_record(version));
}
