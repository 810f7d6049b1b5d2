#include "core/scene/apply.h"

#include "core/base/sort.h"
#include "core/geometry/fit.h"
#include "core/geometry/frame.h"
#include "core/scene/name.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The mark in `newer` of a current version whose box or frame the commit removes (see commit.c). */
#define REMOVED (OBB_NO_VERSION - 1)

/* A round of lookups releases at most so many objects if the pool of versions would grow
 * otherwise. */
#define RECLAIM_FOR_SLOTS 64

/* Begins with room for `most` changes and for the ids of the edit's puts. */
static obb_status init(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
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
    return init(apply, scene, edit, dimensions, most, box_room, arena);
}

obb_status obb_apply_init_effects(struct obb_apply *apply, struct obb_scene *scene,
                                  const obb_edit *edit, const obb_effects *effects, int dimensions,
                                  struct obb_arena *arena)
{
    const size_t all = obb_scene_boxes(scene) + obb_scene_frames(scene);
    const size_t most = effects->count + (effects->replaces_all ? all : 0);
    return init(apply, scene, edit, dimensions, most, SIZE_MAX, arena);
}

/* Makes room for changes of `count` boxes that are reached through their frame. */
static obb_status make_room(struct obb_apply *apply, size_t count)
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

/* ---- Finding and making versions ------------------------------------------------------------- */

/* The entries of a group are looked up in rounds, so that their cache misses overlap: 1,000 poses
 * in 10,000 boxes took twice as long one by one. */
#define AHEAD 16

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
    struct found found[AHEAD];      /* of entries i / AHEAD * AHEAD and so on */
    obb_box boxes[AHEAD];           /* likewise, of puts in columns */
    obb_put put;                    /* of these, the one that is applied */
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

/* If entry i begins a round, looks up all entries of the round, and makes the boxes of puts in
 * columns. */
static void look_ahead(const struct obb_apply *apply, struct entries *entries, size_t i)
{
    if (i % AHEAD != 0)
        return;
    /* Reclaiming may free records, so it comes before the lookups; an entry takes one slot at
     * most. If all boxes are new, no name is left, and so hardly a version to reclaim. */
    if (!entries->new && apply->scene->versions.free_count < AHEAD)
        obb_scene_reclaim(apply->scene, RECLAIM_FOR_SLOTS);
    const struct obb_hash_table *names = &apply->scene->names;
    const size_t count = entries->count - i < AHEAD ? entries->count - i : AHEAD;
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

/* Returns the current version of the record's box, or NULL if there is no such box or the commit
 * has removed it. */
static struct obb_version *current_of(const struct obb_apply *apply,
                                      const struct obb_record *record)
{
    struct obb_version *current = record == NULL ? NULL : obb_scene_current(apply->scene, record);
    return current == NULL || obb_version_newer(current) == REMOVED ? NULL : current;
}

static struct obb_version *find(const struct obb_apply *apply, const obb_target *target)
{
    return current_of(apply, look_up(apply, target).record);
}

/* Returns the version that the commit has made of a current version so far, or the current version
 * itself. */
static struct obb_version *latest(const struct obb_apply *apply, struct obb_version *current)
{
    return obb_version_newer(current) == OBB_NO_VERSION
               ? current
               : obb_apply_slot(apply, obb_version_newer(current));
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

/* Returns the version that the commit makes of the box, for writing, or NULL if there is no
 * memory. */
static struct obb_version *writable(struct obb_apply *apply, struct obb_version *current)
{
    struct obb_version *version = latest(apply, current);
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

/* Makes room for `count` puts, if they are so many that most boxes of the scene are new: each
 * doubling of the table of names costs a walk a bucket, and each record and each page of versions a
 * block of the heap. The caller ends the gathering of records. OBB_NO_MEMORY. */
static obb_status begin_many(struct obb_apply *apply, size_t count)
{
    struct obb_hash_table *names = &apply->scene->names;
    if (count < AHEAD || count < names->count)
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

/* Creates a box of that name, which is valid. OBB_LIMIT, OBB_NO_MEMORY. */
static obb_status create(struct obb_apply *apply, obb_str name, uint32_t hash,
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

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Returns the current version of the frame of that name, or NULL if there is no such frame or the
 * commit has removed it. */
static struct obb_version *find_frame(const struct obb_apply *apply, obb_str name)
{
    const struct obb_rig *rig = obb_rigs_seek(&apply->scene->rigs, name, false);
    return rig != NULL && obb_str_equal(obb_record_name(rig->record), name)
               ? current_of(apply, rig->record)
               : NULL;
}

/* Creates a frame of that name at 0, not turned. OBB_BAD_NAME, OBB_LIMIT, OBB_NO_MEMORY. */
static obb_status create_frame(struct obb_apply *apply, obb_str name, struct obb_version **out)
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

/* Returns the frame as the edit has left it so far. */
static obb_frame frame_of(const struct obb_apply *apply, const struct obb_rig *rig)
{
    struct obb_version *current = obb_scene_current(apply->scene, rig->record);
    return obb_frame_from_pose(&latest(apply, current)->box, apply->dimensions);
}

/* Notes that a box of the commit stands in a frame, at that pose in it. OBB_NO_MEMORY. */
static obb_status set_mount(struct obb_apply *apply, struct obb_version *version,
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

/* Takes a box of the commit out of its frame, if it stands in one. OBB_NO_MEMORY. */
static obb_status clear_mount(struct obb_apply *apply, struct obb_version *version)
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

/* Puts a box of the commit into a frame, at that pose in it. OBB_BAD_NUMBER, OBB_NO_MEMORY. */
static obb_status mount_box(struct obb_apply *apply, struct obb_version *version,
                            struct obb_rig *rig, const obb_frame *frame, const obb_box *local)
{
    const obb_status st = obb_frame_place(frame, local, &version->box);
    return st == OBB_OK ? set_mount(apply, version, rig, local) : st;
}

/* Fetches the boxes of a rig from i on into the cache, as many as a round has: first their records,
 * then their versions, then their extras, then their mounts. */
static void fetch_boxes(const struct obb_apply *apply, const struct obb_rig *rig, uint32_t i)
{
    if (i % AHEAD != 0)
        return;
    /* A slot for each box of the round. No record of the rig is freed: it holds current boxes. */
    if (apply->scene->versions.free_count < AHEAD)
        obb_scene_reclaim(apply->scene, RECLAIM_FOR_SLOTS);
    const uint32_t end = rig->count - i < AHEAD ? rig->count : i + AHEAD;
    for (uint32_t k = i; k < end; k++)
        __builtin_prefetch(rig->boxes[k]);
    for (uint32_t k = i; k < end; k++)
        obb_versions_prefetch(&apply->scene->versions,
                              atomic_load_explicit(&rig->boxes[k]->newest, memory_order_relaxed));
    const struct obb_extras *extras[AHEAD];
    for (uint32_t k = i; k < end; k++) {
        extras[k - i] = obb_version_extras(obb_apply_slot(
            apply, atomic_load_explicit(&rig->boxes[k]->newest, memory_order_relaxed)));
        __builtin_prefetch(extras[k - i]);
    }
    for (uint32_t k = i; k < end; k++)
        __builtin_prefetch(extras[k - i]->mount);
}

/* Poses all boxes of a frame with it. */
static obb_status pose_boxes(struct obb_apply *apply, const struct obb_rig *rig, bool teleport)
{
    const obb_frame frame = frame_of(apply, rig);
    obb_status st = make_room(apply, rig->count);
    for (uint32_t i = 0; i < rig->count && st == OBB_OK; i++) {
        if (obb_apply_given_up(apply))
            return OBB_CANCELLED;
        fetch_boxes(apply, rig, i);
        struct obb_version *current = current_of(apply, rig->boxes[i]);
        if (current == NULL)
            continue; /* the commit has removed it */
        /* the version that the commit makes has the mount of the latest one */
        const struct obb_mount *mount = obb_version_mount(latest(apply, current));
        struct obb_version *version = writable(apply, current);
        if (version == NULL)
            return OBB_NO_MEMORY;
        const obb_box local = obb_mount_pose(mount, version->box.half_extents);
        st = obb_frame_place(&frame, &local, &version->box);
        if (teleport)
            version->interpolated = 0;
    }
    return st;
}

/* ---- Applying, entry by entry ---------------------------------------------------------------- */

static void remove_box(struct obb_apply *apply, struct obb_version *current)
{
    obb_apply_set_newer(current, REMOVED);
    apply->changes[apply->change_count++] =
        (struct obb_change){.old = current->self, .new = OBB_NO_VERSION};
    apply->boxes--;
    apply->room++;
}

static void remove_frame(struct obb_apply *apply, struct obb_version *current)
{
    obb_apply_set_newer(current, REMOVED);
    apply->changes[apply->change_count++] =
        (struct obb_change){.old = current->self, .new = OBB_NO_VERSION};
    apply->frames--;
    apply->room++;
    apply->removed_frames++;
}

/* Lets the ttl of a version of this commit count from the commit on. */
static void renew(const struct obb_apply *apply, struct obb_version *version)
{
    struct obb_extras *extras = obb_version_own_extras(version);
    if (extras != NULL && extras->ttl >= 0.0) /* then no other version has them */
        extras->since = apply->time;
}

/* Sets the ttl of a version of this commit, or OBB_NO_TTL, and the time from which it counts.
 * OBB_NO_MEMORY. */
static obb_status set_ttl(struct obb_apply *apply, struct obb_version *version, double ttl,
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
    if (due == NULL || make_room(apply, count) != OBB_OK)
        return OBB_NO_MEMORY;
    obb_expiry_list(&apply->scene->expiry, apply->time, due);
    qsort((void *)due, count, sizeof *due, by_id);
    for (size_t i = 0; i < count; i++) {
        struct obb_version *current = obb_scene_current(apply->scene, due[i]);
        assert(current != NULL);
        remove_box(apply, current);
    }
    apply->expired = count;
    return OBB_OK;
}

static void remove_all(struct obb_apply *apply)
{
    for (struct obb_record *record = obb_id_tree_seek(&apply->scene->ids, 1); record != NULL;
         record = obb_id_tree_seek(&apply->scene->ids, record->id + 1)) {
        struct obb_version *current = obb_scene_current(apply->scene, record);
        if (current == NULL)
            continue;
        remove_box(apply, current);
        apply->removed++;
    }
    for (struct obb_rig *rig = obb_rigs_seek(&apply->scene->rigs, (obb_str){0}, false); rig != NULL;
         rig = obb_rig_next(rig)) {
        struct obb_version *current = obb_scene_current(apply->scene, rig->record);
        if (current != NULL)
            remove_frame(apply, current);
    }
}

static obb_status apply_remove(struct obb_apply *apply, const struct found *found)
{
    struct obb_version *current = current_of(apply, found->record);
    if (current == NULL)
        return apply->edit->remove_must_exist ? OBB_NO_BOX : OBB_OK;
    remove_box(apply, current);
    apply->removed++;
    return OBB_OK;
}

/* Removes a frame and its boxes. */
static obb_status remove_rig(struct obb_apply *apply, struct obb_version *current)
{
    const struct obb_rig *rig = obb_version_rig(current);
    if (make_room(apply, rig->count) != OBB_OK)
        return OBB_NO_MEMORY;
    for (uint32_t k = 0; k < rig->count; k++) {
        if (obb_apply_given_up(apply))
            return OBB_CANCELLED;
        struct obb_version *box = current_of(apply, rig->boxes[k]);
        if (box == NULL)
            continue;
        remove_box(apply, box);
        apply->removed++;
    }
    remove_frame(apply, current);
    return OBB_OK;
}

static obb_status apply_remove_frame(struct obb_apply *apply, size_t i)
{
    struct obb_version *current = find_frame(apply, apply->edit->remove_frames[i]);
    if (current == NULL)
        return apply->edit->remove_frame_must_exist ? OBB_NO_FRAME : OBB_OK;
    return remove_rig(apply, current);
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

/* Makes or moves a frame. If boxes may stand in it that must be posed now, *out_rig is its rig, and
 * otherwise NULL. */
static obb_status pose_frame(struct obb_apply *apply, const obb_pose *pose,
                             const struct obb_rig **out_rig)
{
    *out_rig = NULL;
    obb_status st = check_pose(apply, pose);
    if (st != OBB_OK)
        return st;
    struct obb_version *current = find_frame(apply, pose->target.name), *version;
    if (current == NULL) {
        st = create_frame(apply, pose->target.name, &version);
        if (st == OBB_OK)
            set_pose(apply, pose, &version->box);
        return st; /* boxes enter it later */
    }
    obb_box box = latest(apply, current)->box;
    set_pose(apply, pose, &box);
    if (obb_box_same_bits(&box, &latest(apply, current)->box))
        return OBB_OK;
    version = writable(apply, current);
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
        st = pose_boxes(apply, obb_version_rig(moved), moved->interpolated == 0);
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
        st = pose_frame(apply, &frames[fault->index], &rig);
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

/* Sets the entity of a version of this commit, at once where it is the same: most boxes have none.
 * OBB_NO_MEMORY. */
static inline obb_status set_entity(struct obb_apply *apply, struct obb_version *version,
                                    obb_str text)
{
    if (obb_str_equal(obb_interned_text(obb_version_extras(version)->entity), text))
        return OBB_OK;
    struct obb_extras *extras = extend(apply, version);
    return extras == NULL ? OBB_NO_MEMORY : set_interned(apply, &extras->entity, text);
}

/* The same of the data. */
static inline obb_status set_data(struct obb_apply *apply, struct obb_version *version,
                                  obb_str text)
{
    if (obb_str_equal(obb_interned_text(obb_version_extras(version)->data), text))
        return OBB_OK;
    struct obb_extras *extras = extend(apply, version);
    return extras == NULL ? OBB_NO_MEMORY : set_interned(apply, &extras->data, text);
}

/* Checks the parts that a put states: box_forms.h makes whole boxes canonical, but single parts may
 * come from anywhere. */
static obb_status check_put(const obb_put *put)
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
    const struct found *first = found - i % AHEAD;
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
        const struct obb_version *current = find_frame(apply, put->frame);
        if (current == NULL)
            return OBB_NO_FRAME;
        rig = obb_version_rig(current);
    } else if ((put->parts & OBB_PUT_FRAME) != 0) {
        rig = NULL;
    }
    if (rig == NULL) {
        set_parts(put, &version->box);
        return clear_mount(apply, version);
    }
    if (apply->edit->put_boxes != NULL) {
        version->box = apply->edit->put_boxes[i];
        return set_mount(apply, version, rig, &put->box);
    }
    const obb_frame frame = frame_of(apply, rig);
    obb_box local = put->box; /* a new box has all parts of the put */
    if (!created) {
        const bool stays = mount != NULL && mount->rig == rig;
        local = stays ? obb_mount_pose(mount, version->box.half_extents) : version->box;
        if (!stays && (put->parts & OBB_PUT_POSE) != OBB_PUT_POSE &&
            obb_frame_local(&frame, &version->box, &local) != OBB_OK)
            return OBB_BAD_NUMBER;
    }
    set_parts(put, &local);
    return mount_box(apply, version, rig, &frame, &local);
}

/* Returns put i. That of columns is good until the next call. */
static const obb_put *put_at(struct entries *entries, size_t i)
{
    if (entries->columns == NULL)
        return (const obb_put *)entries->first + i;
    obb_put_columns_row(entries->columns, i, &entries->put);
    entries->put.box = entries->boxes[i % AHEAD];
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
    const struct found *found = &entries->found[i % AHEAD];
    const obb_put_columns *columns = entries->columns;
    struct obb_version *current = current_of(apply, found->record), *version = NULL;
    if (current != NULL && latest(apply, current)->has_extras)
        return false;
    *out = OBB_OK;
    if (current == NULL) {
        if (apply->edit->put_ids != NULL)
            apply->scene->next_id = apply->edit->put_ids[i];
        *out = create(apply, columns->names[i], found->hash, &version);
    } else {
        version = writable(apply, current);
        *out = version == NULL ? OBB_NO_MEMORY : OBB_OK;
    }
    if (*out != OBB_OK)
        return true;
    if (current == NULL || apply->edit->all_put_ids)
        apply->new_ids[i] = version->id;
    const obb_attributes *rest = &columns->rest.attributes;
    version->put = 1;
    version->box = entries->boxes[i % AHEAD];
    version->category = columns->categories != NULL ? columns->categories[i] : rest->category;
    version->mask = columns->masks != NULL ? columns->masks[i] : rest->mask;
    version->group = columns->groups != NULL ? columns->groups[i] : rest->group;
    return true;
}

static obb_status apply_put(struct obb_apply *apply, size_t i, struct entries *entries)
{
    const struct found *found = &entries->found[i % AHEAD];
    obb_status st = OBB_OK;
    if (entries->plain && apply_plain_put(apply, i, entries, &st))
        return st;
    const obb_put *put = put_at(entries, i);
    st = check_put(put);
    if (st != OBB_OK)
        return st;
    struct obb_version *current = current_of(apply, found->record), *version = NULL;
    if (current == NULL && !apply->edit->puts_differ &&
        (put->target.has_id || perhaps_made(found, i)))
        current = find(apply, &put->target);
    const bool created = current == NULL;
    if (current != NULL) {
        version = writable(apply, current);
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
        st = create(apply, put->target.name, found->hash, &version);
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
        st = set_ttl(apply, version, put->attributes.has_ttl ? put->attributes.ttl : OBB_NO_TTL,
                     apply->time);
    renew(apply, version);
    if (st == OBB_OK && (put->parts & OBB_PUT_ENTITY) != 0)
        st = set_entity(apply, version, put->attributes.entity);
    if (st == OBB_OK && (put->parts & OBB_PUT_DATA) != 0)
        st = set_data(apply, version, put->attributes.data);
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
    struct obb_version *current = current_of(apply, found->record);
    if (current == NULL)
        return miss(apply, &apply->missed_poses, &apply->missed_pose_count, apply->edit->pose_count,
                    i);
    const obb_status st = check_pose(apply, pose);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = writable(apply, current);
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
    const obb_frame frame = frame_of(apply, rig);
    obb_box local = obb_mount_pose(mount, version->box.half_extents);
    set_pose(apply, pose, &local);
    return mount_box(apply, version, rig, &frame, &local);
}

static obb_status apply_transform(struct obb_apply *apply, size_t i, const struct found *found)
{
    const obb_transform_edit *change = &apply->edit->transforms[i];
    struct obb_version *current = current_of(apply, found->record);
    if (current == NULL)
        return miss(apply, &apply->missed_transforms, &apply->missed_transform_count,
                    apply->edit->transform_count, i);
    if (obb_version_mount(latest(apply, current)) != NULL)
        return OBB_FRAMED;
    obb_box box;
    const obb_status st = obb_box_transform(&latest(apply, current)->box, &change->transform,
                                            apply->dimensions, &box);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = writable(apply, current);
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
        boxes[k] = latest(apply, other)->box;
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
    struct obb_version *current = current_of(apply, found->record);
    if (current == NULL)
        return OBB_NO_BOX;
    if (obb_version_mount(latest(apply, current)) != NULL)
        return OBB_FRAMED;
    obb_box *others = NULL, box;
    size_t count = 0;
    obb_status st = other_boxes(apply, merge, current, &others, &count, out_member);
    if (st != OBB_OK)
        return st;
    st = obb_fit_merge(&latest(apply, current)->box, others, count, apply->dimensions,
                       apply->arena->budget, &box);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->box = box;
    return OBB_OK;
}

static obb_status apply_entry(struct obb_apply *apply, struct entries *entries, obb_fault *fault)
{
    const struct found *found = &entries->found[fault->index % AHEAD];
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
        remove_all(apply);
    obb_status st = begin_many(apply, apply->edit->put_count);
    if (st == OBB_OK)
        st = apply_groups(apply, fault);
    obb_records_gather(apply->scene, false);
    return st;
}

/* ---- Effects --------------------------------------------------------------------------------- */

/* Brings a box into the frame of an effect. OBB_BAD_VALUE if the frame does not place the box where
 * the effect says. */
static obb_status write_mount(struct obb_apply *apply, struct obb_version *version,
                              const obb_effect *effect)
{
    if (effect->frame.length == 0)
        return clear_mount(apply, version);
    const struct obb_version *current = find_frame(apply, effect->frame);
    if (current == NULL)
        return OBB_NO_FRAME;
    struct obb_rig *rig = obb_version_rig(current);
    const obb_frame frame = frame_of(apply, rig);
    const obb_box said = version->box;
    obb_box local = effect->local;
    local.half_extents = said.half_extents;
    const obb_status st = mount_box(apply, version, rig, &frame, &local);
    return st == OBB_OK && !obb_box_same_bits(&said, &version->box) ? OBB_BAD_VALUE : st;
}

/* Writes the parts that an effect changed, bit for bit. */
static obb_status write_parts(struct obb_apply *apply, struct obb_version *version,
                              const obb_effect *effect)
{
    obb_status st = OBB_OK;
    if ((effect->parts & OBB_PUT_CENTER) != 0)
        version->box.center = effect->box.center;
    if ((effect->parts & OBB_PUT_HALF_EXTENTS) != 0)
        version->box.half_extents = effect->box.half_extents;
    if ((effect->parts & OBB_PUT_ROTATION) != 0) {
        version->box.rotation = effect->box.rotation;
        version->box.angle = effect->box.angle;
    }
    if ((effect->parts & OBB_PUT_CATEGORY) != 0)
        version->category = effect->attributes.category;
    if ((effect->parts & OBB_PUT_MASK) != 0)
        version->mask = effect->attributes.mask;
    if ((effect->parts & OBB_PUT_GROUP) != 0)
        version->group = effect->attributes.group;
    if ((effect->parts & OBB_PUT_ENTITY) != 0)
        st = set_entity(apply, version, effect->attributes.entity);
    if (st == OBB_OK && (effect->parts & OBB_PUT_DATA) != 0)
        st = set_data(apply, version, effect->attributes.data);
    if (st == OBB_OK)
        st = set_ttl(apply, version,
                     effect->attributes.has_ttl ? effect->attributes.ttl : OBB_NO_TTL,
                     effect->since);
    if (effect->teleported)
        version->interpolated = 0;
    return st == OBB_OK ? write_mount(apply, version, effect) : st;
}

static obb_status check_stored_rotation(const obb_box *box)
{
    obb_quat unit;
    if (!isfinite(box->angle) || obb_quat_normalise(box->rotation, &unit) != OBB_OK)
        return OBB_BAD_NUMBER;
    /* stored rotations are normalised, which changes no bit again */
    const obb_quat q = box->rotation;
    const bool same = unit.x == q.x && unit.y == q.y && unit.z == q.z && unit.w == q.w;
    return same ? OBB_OK : OBB_BAD_ROTATION;
}

/* Checks what no stored box can have: an effect may come from a record that somebody wrote. */
static obb_status check_effect(const obb_effect *effect)
{
    const obb_put put = {
        .parts = effect->parts | OBB_PUT_TTL, .box = effect->box, .attributes = effect->attributes};
    obb_status st = OBB_OK;
    if (effect->attributes.has_ttl && !(fabs(effect->since) <= OBB_MAX_WHOLE))
        return OBB_BAD_VALUE;
    if ((effect->parts & OBB_PUT_ROTATION) != 0)
        st = check_stored_rotation(&effect->box);
    if (st == OBB_OK && effect->frame.length > 0)
        st = check_stored_rotation(&effect->local);
    if (st == OBB_OK && effect->frame.length > 0 && obb_bad_coordinate(effect->local.center) >= 0)
        st = OBB_BAD_NUMBER;
    return st == OBB_OK ? check_put(&put) : st;
}

static obb_status apply_frame_effect(struct obb_apply *apply, const obb_effect *effect)
{
    struct obb_version *current = find_frame(apply, effect->name);
    if (effect->kind == OBB_EFFECT_FRAME_REMOVED)
        return current == NULL ? OBB_NO_FRAME : remove_rig(apply, current);
    const obb_pose pose = {.target = {.name = effect->name},
                           .center = effect->box.center,
                           .rotation = effect->box.rotation,
                           .angle = effect->box.angle,
                           .has_center = (effect->parts & OBB_PUT_CENTER) != 0,
                           .has_rotation = (effect->parts & OBB_PUT_ROTATION) != 0,
                           .teleport = effect->teleported};
    const struct obb_rig *rig;
    const obb_status st = pose_frame(apply, &pose, &rig);
    return rig != NULL ? pose_boxes(apply, rig, pose.teleport) : st;
}

static obb_status make_box(struct obb_apply *apply, const obb_effect *effect,
                           struct obb_version **out)
{
    const uint32_t hash = obb_record_hash(apply->scene, effect->name);
    if (effect->id < apply->scene->next_id || effect->id > (uint64_t)OBB_MAX_WHOLE ||
        effect->parts != OBB_PUT_ALL ||
        current_of(apply, obb_record_find(apply->scene, effect->name, hash)) != NULL)
        return OBB_BAD_VALUE;
    if (!obb_name_valid(effect->name))
        return OBB_BAD_NAME;
    apply->scene->next_id = effect->id;
    return create(apply, effect->name, hash, out);
}

/* Returns whether a box may expire now: expired boxes come before all others, by id. */
static bool expires_next(const struct obb_apply *apply, uint64_t id)
{
    return apply->expired == apply->change_count &&
           (apply->expired == 0 ||
            obb_apply_slot(apply, apply->changes[apply->expired - 1].old)->id < id);
}

static obb_status apply_effect(struct obb_apply *apply, const obb_effect *effect)
{
    struct obb_version *version = NULL;
    obb_status st = check_effect(effect);
    if (st != OBB_OK)
        return st;
    if (apply->scene->versions.free_count == 0)
        obb_scene_reclaim(apply->scene, RECLAIM_FOR_SLOTS);
    if (effect->kind == OBB_EFFECT_FRAME || effect->kind == OBB_EFFECT_FRAME_REMOVED)
        return apply_frame_effect(apply, effect);
    if (effect->kind == OBB_EFFECT_NEW) {
        st = make_box(apply, effect, &version);
        return st == OBB_OK ? write_parts(apply, version, effect) : st;
    }
    struct obb_version *current =
        current_of(apply, obb_id_tree_find(&apply->scene->ids, effect->id));
    if (current == NULL)
        return OBB_NO_BOX;
    if (effect->kind == OBB_EFFECT_REMOVED) {
        if (latest(apply, current) != current)
            return OBB_BAD_VALUE; /* removed boxes come first */
        if (effect->expired && !expires_next(apply, effect->id))
            return OBB_BAD_VALUE;
        remove_box(apply, current);
        apply->expired += effect->expired;
        apply->removed += !effect->expired;
        return OBB_OK;
    }
    version = writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->put = effect->put;
    version->box = current->box; /* its frame may have moved it, but `parts` count from before */
    return write_parts(apply, version, effect);
}

/* Lets the version that the effect has made be born when its box or frame was last changed. */
static obb_status set_changed(struct obb_apply *apply, const obb_effect *effect, bool begins)
{
    if (effect->changed == 0)
        return OBB_OK;
    const bool is_new = effect->kind == OBB_EFFECT_NEW || effect->kind == OBB_EFFECT_FRAME;
    if (!begins || !is_new || effect->changed > apply->revision)
        return OBB_BAD_VALUE;
    struct obb_version *version =
        obb_apply_slot(apply, apply->changes[apply->change_count - 1].new);
    atomic_store_explicit(&version->born, effect->changed, memory_order_relaxed);
    return OBB_OK;
}

/* Applies all effects in their order. */
static obb_status apply_each_effect(struct obb_apply *apply, const obb_effects *effects,
                                    bool begins)
{
    for (size_t i = 0; i < effects->count; i++) {
        if (i > 0 && effects->list[i].kind < effects->list[i - 1].kind)
            return OBB_BAD_VALUE;
        obb_status st = apply_effect(apply, &effects->list[i]);
        if (st == OBB_OK)
            st = set_changed(apply, &effects->list[i], begins);
        if (st != OBB_OK)
            return st;
    }
    if (effects->next_id < apply->scene->next_id || effects->next_id > (uint64_t)OBB_MAX_WHOLE + 1)
        return OBB_BAD_VALUE;
    apply->scene->next_id = effects->next_id;
    return OBB_OK;
}

obb_status obb_apply_effects(struct obb_apply *apply, const obb_effects *effects, bool begins)
{
    if (effects->replaces_all)
        remove_all(apply);
    obb_status st = begin_many(apply, effects->count);
    if (st == OBB_OK)
        st = apply_each_effect(apply, effects, begins);
    obb_records_gather(apply->scene, false);
    return st;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

obb_status obb_apply_init_copy(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, const struct obb_view *view,
                               struct obb_arena *arena)
{
    const obb_view_info *info = obb_view_info_get(view);
    return init(apply, scene, edit, info->dimensions, info->boxes + info->frames, SIZE_MAX, arena);
}

/* A frame of the state, and its copy. */
struct copied_frame {
    const struct obb_rig *from;
    struct obb_rig *to;
    obb_frame frame;
};

static obb_status copy_frame(struct obb_apply *apply, const struct obb_view *view,
                             const struct obb_version *from)
{
    struct obb_version *version = NULL;
    const obb_status st = create_frame(apply, obb_view_name(from), &version);
    if (st != OBB_OK)
        return st;
    version->box = obb_view_frame_pose(view, from);
    return obb_quat_normalise(version->box.rotation, &version->box.rotation);
}

/* Brings the copy of a box into the copy of its frame. The box stays where it is: between two
 * commits its frame places it elsewhere, and then the pose in the frame follows from the one in the
 * scene. If that pose is out of range, the copy stands in no frame. `last` is the frame of the box
 * before. */
static obb_status copy_mount(struct obb_apply *apply, const struct obb_version *from,
                             struct obb_version *version, struct copied_frame *last)
{
    obb_str name;
    obb_box local, placed;
    if (!obb_view_local(from, &name, &local))
        return OBB_OK;
    const struct obb_rig *stood_in = obb_version_mount(from)->rig;
    if (stood_in != last->from) {
        struct obb_rig *rig = obb_version_rig(find_frame(apply, name));
        *last = (struct copied_frame){.from = stood_in, .to = rig, .frame = frame_of(apply, rig)};
    }
    local.half_extents = version->box.half_extents;
    if (obb_frame_place(&last->frame, &local, &placed) != OBB_OK ||
        !obb_box_same_bits(&placed, &version->box)) {
        if (obb_frame_local(&last->frame, &version->box, &local) != OBB_OK ||
            obb_frame_place(&last->frame, &local, &placed) != OBB_OK)
            return OBB_OK;
        version->box = placed;
    }
    return set_mount(apply, version, last->to, &local);
}

/* Makes a box of the same id, name and attributes where the view shows it, in no frame and without
 * a ttl. OBB_NO_MEMORY. */
static obb_status copy_plain(struct obb_apply *apply, const struct obb_view *view,
                             const struct obb_version *from, uint32_t hash,
                             struct obb_version **out)
{
    struct obb_version *version = NULL;
    apply->scene->next_id = from->id;
    obb_status st = create(apply, obb_view_name(from), hash, &version);
    if (st != OBB_OK)
        return st;
    version->box = obb_view_pose(view, from);
    version->category = from->category;
    version->mask = from->mask;
    version->group = from->group;
    st = set_entity(apply, version, obb_interned_text(obb_version_extras(from)->entity));
    if (st == OBB_OK)
        st = set_data(apply, version, obb_interned_text(obb_version_extras(from)->data));
    *out = version;
    return st;
}

static obb_status copy_box(struct obb_apply *apply, const struct obb_view *view,
                           const struct obb_version *from, struct copied_frame *last)
{
    struct obb_version *version = NULL;
    const uint32_t hash =
        obb_hash_table_hash(&obb_version_record(from)->link); /* of the same key */
    obb_status st = copy_plain(apply, view, from, hash, &version);
    if (st != OBB_OK)
        return st;
    /* between two commits a rotation is computed */
    if (!obb_box_same_bits(&version->box, &from->box))
        st = obb_quat_normalise(version->box.rotation, &version->box.rotation);
    if (st == OBB_OK)
        st = set_ttl(apply, version, obb_version_extras(from)->ttl, obb_view_since(view, from));
    return st == OBB_OK ? copy_mount(apply, from, version, last) : st;
}

/* Returns true for one entry in 256 if the work is cancelled. */
static bool given_up(const atomic_bool *cancel, size_t *entries)
{
    enum { POLL = 256 };
    return (*entries)++ % POLL == 0 && cancel != NULL && atomic_load(cancel);
}

/* Copies all frames and boxes. */
static obb_status copy_all(struct obb_apply *apply, const struct obb_view *view,
                           const atomic_bool *cancel)
{
    obb_status st = OBB_OK;
    size_t entries = 0;
    struct copied_frame last = {.from = NULL};
    for (const struct obb_version *frame = obb_view_next_frame(view, (obb_str){0}, false);
         frame != NULL && st == OBB_OK;
         frame = obb_view_next_frame(view, obb_view_name(frame), true)) {
        if (given_up(cancel, &entries))
            return OBB_CANCELLED;
        st = copy_frame(apply, view, frame);
    }
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL && st == OBB_OK;
         box = obb_view_next(view, box->id)) {
        if (given_up(cancel, &entries))
            return OBB_CANCELLED;
        st = copy_box(apply, view, box, &last);
    }
    return st;
}

obb_status obb_apply_copy(struct obb_apply *apply, const struct obb_view *view,
                          const atomic_bool *cancel)
{
    obb_status st = begin_many(apply, obb_view_info_get(view)->boxes);
    if (st == OBB_OK)
        st = copy_all(apply, view, cancel);
    obb_records_gather(apply->scene, false);
    return st;
}

obb_status obb_apply_init_laid(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, size_t count, struct obb_arena *arena)
{
    return init(apply, scene, edit, edit->dimensions, count + obb_edit_entries(edit), SIZE_MAX,
                arena);
}

obb_status obb_apply_lay(struct obb_apply *apply, const struct obb_view *view,
                         const struct obb_version *const *boxes, size_t count)
{
    obb_status st = begin_many(apply, count);
    for (size_t i = 0; i < count && st == OBB_OK; i++) {
        struct obb_version *version;
        const uint32_t hash =
            obb_hash_table_hash(&obb_version_record(boxes[i])->link); /* of the same key */
        st = copy_plain(apply, view, boxes[i], hash, &version);
    }
    obb_records_gather(apply->scene, false);
    return st;
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
