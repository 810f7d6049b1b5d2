#include "core/scene/apply.h"

#include "core/base/sort.h"
#include "core/geometry/fit.h"
#include "core/scene/name.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"

#include <math.h>
#include <string.h>

/* The mark in `newer` of a current version whose box the commit removes (see commit.c). */
#define REMOVED (OBB_NO_VERSION - 1)

/* A round of lookups releases at most so many objects if the pool of versions would grow
 * otherwise. */
#define RECLAIM_FOR_SLOTS 64

static uint32_t newer_of(const struct obb_version *version)
{
    return atomic_load_explicit(&version->newer, memory_order_relaxed);
}

/* Begins with room for `most` changes and for the ids of the edit's puts. */
static obb_status init(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
                       int dimensions, size_t most, size_t box_room, struct obb_arena *arena)
{
    const size_t boxes = obb_scene_boxes(scene);
    struct obb_change *changes = obb_arena_alloc(arena, most, sizeof *changes);
    uint64_t *new_ids = obb_arena_alloc(arena, edit->put_count, sizeof *new_ids);
    if (changes == NULL || new_ids == NULL)
        return OBB_NO_MEMORY;
    memset(new_ids, 0, edit->put_count * sizeof *new_ids);
    *apply = (struct obb_apply){
        .scene = scene,
        .edit = edit,
        .arena = arena,
        .revision = obb_history_now(&scene->history).revision + 1,
        .dimensions = dimensions,
        .changes = changes,
        .boxes = boxes,
        .room = box_room < SIZE_MAX - boxes ? box_room : SIZE_MAX - boxes,
        .first_id = scene->next_id,
        .new_ids = new_ids,
    };
    return OBB_OK;
}

obb_status obb_apply_init(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
                          int dimensions, size_t box_room, struct obb_arena *arena)
{
    const size_t boxes = obb_scene_boxes(scene);
    const size_t gone =
        edit->replace_all || edit->remove_count > boxes ? boxes : edit->remove_count;
    const size_t most =
        gone + edit->put_count + edit->pose_count + edit->transform_count + edit->merge_count;
    return init(apply, scene, edit, dimensions, most, box_room, arena);
}

obb_status obb_apply_init_effects(struct obb_apply *apply, struct obb_scene *scene,
                                  const obb_edit *edit, const obb_effects *effects, int dimensions,
                                  struct obb_arena *arena)
{
    const size_t most = effects->count + (effects->replaces_all ? obb_scene_boxes(scene) : 0);
    return init(apply, scene, edit, dimensions, most, SIZE_MAX, arena);
}

/* ---- Finding and making versions ------------------------------------------------------------- */

/* The entries of a group are looked up in rounds, so that their cache misses overlap: 1,000 poses
 * in 10,000 boxes took twice as long one by one. */
#define AHEAD 16

struct found {
    uint32_t hash; /* of the name */
    struct obb_record *record;
};

/* The entries of a group. Each entry begins with its target. */
struct entries {
    const void *first;
    size_t count, size;
    struct found found[AHEAD]; /* of entries i / AHEAD * AHEAD and so on */
};

static const obb_target *target_of(const struct entries *entries, size_t i)
{
    const void *entry = (const char *)entries->first + i * entries->size;
    return entry;
}

static struct found look_up(const struct obb_apply *apply, const obb_target *target)
{
    if (target->has_id)
        return (struct found){.record = obb_id_tree_find(&apply->scene->ids, target->id)};
    const uint32_t hash = obb_record_hash(apply->scene, target->name);
    return (struct found){.hash = hash,
                          .record = obb_record_find(apply->scene, target->name, hash)};
}

/* If entry i begins a round, looks up all entries of the round. */
static void look_ahead(const struct obb_apply *apply, struct entries *entries, size_t i)
{
    if (i % AHEAD != 0)
        return;
    /* Reclaiming may free records, so it comes before the lookups; an entry takes one slot at
     * most. */
    if (apply->scene->versions.free_count < AHEAD)
        obb_scene_reclaim(apply->scene, RECLAIM_FOR_SLOTS);
    const struct obb_hash_table *names = &apply->scene->names;
    const size_t count = entries->count - i < AHEAD ? entries->count - i : AHEAD;
    struct found *found = entries->found;
    for (size_t k = 0; k < count; k++) {
        const obb_target *target = target_of(entries, i + k);
        found[k].hash = target->has_id ? 0 : obb_record_hash(apply->scene, target->name);
        if (!target->has_id)
            obb_hash_table_prefetch_bucket(names, found[k].hash);
    }
    for (size_t k = 0; k < count; k++)
        if (!target_of(entries, i + k)->has_id)
            obb_hash_table_prefetch_link(names, found[k].hash);
    for (size_t k = 0; k < count; k++) {
        const obb_target *target = target_of(entries, i + k);
        found[k].record = target->has_id
                              ? obb_id_tree_find(&apply->scene->ids, target->id)
                              : obb_record_find(apply->scene, target->name, found[k].hash);
        if (found[k].record != NULL)
            obb_version_prefetch(obb_apply_slot(
                apply, atomic_load_explicit(&found[k].record->newest, memory_order_relaxed)));
    }
}

/* Returns the current version of the record's box, or NULL if there is no such box or the commit
 * has removed it. */
static struct obb_version *current_of(const struct obb_apply *apply,
                                      const struct obb_record *record)
{
    struct obb_version *current = record == NULL ? NULL : obb_scene_current(apply->scene, record);
    return current == NULL || newer_of(current) == REMOVED ? NULL : current;
}

static struct obb_version *find(const struct obb_apply *apply, const obb_target *target)
{
    return current_of(apply, look_up(apply, target).record);
}

/* Returns the version that the commit has made of a current version so far, or the current version
 * itself. */
static struct obb_version *latest(const struct obb_apply *apply, struct obb_version *current)
{
    return newer_of(current) == OBB_NO_VERSION ? current : obb_apply_slot(apply, newer_of(current));
}

/* Returns the version that the commit makes of the box, for writing, or NULL if there is no
 * memory. */
static struct obb_version *writable(struct obb_apply *apply, struct obb_version *current)
{
    struct obb_version *version = latest(apply, current);
    if (atomic_load_explicit(&version->born, memory_order_relaxed) == apply->revision)
        return version;
    version = obb_versions_take(&apply->scene->versions);
    if (version == NULL)
        return NULL;
    /* Read before the bit beside it is written: reading it afterwards would wait. */
    const uint32_t self = version->self;
    version->box = current->box;
    version->category = current->category;
    version->mask = current->mask;
    version->group = current->group;
    version->put = 0;
    version->interpolated = 1;
    version->entity = current->entity;
    version->data = current->data;
    version->record = current->record;
    version->id = current->id;
    obb_version_set_older(version, current->self);
    obb_interned_ref(version->entity);
    obb_interned_ref(version->data);
    obb_apply_set_newer(version, OBB_NO_VERSION);
    obb_version_publish(version, apply->revision, OBB_NEVER);
    obb_apply_set_newer(current, self);
    apply->changes[apply->change_count++] = (struct obb_change){.old = current->self, .new = self};
    return version;
}

/* Creates a box of that name. OBB_BAD_NAME, OBB_LIMIT, OBB_NO_MEMORY. */
static obb_status create(struct obb_apply *apply, obb_str name, uint32_t hash,
                         struct obb_version **out)
{
    struct obb_scene *scene = apply->scene;
    if (!obb_name_valid(name))
        return OBB_BAD_NAME;
    if (apply->room == 0)
        return OBB_LIMIT;
    if (obb_hash_table_reserve(&scene->names, scene->names.count + 1) != OBB_OK)
        return OBB_NO_MEMORY;
    struct obb_record *record = obb_record_create(scene, name);
    if (record == NULL)
        return OBB_NO_MEMORY;
    struct obb_version *version = obb_versions_take(&scene->versions);
    if (version == NULL) {
        obb_record_destroy(scene, record);
        return OBB_NO_MEMORY;
    }
    atomic_store_explicit(&record->newest, version->self, memory_order_relaxed);
    version->put = 1;
    version->interpolated = 0;
    version->entity = version->data = NULL;
    version->record = record;
    version->id = record->id;
    obb_version_set_older(version, OBB_NO_VERSION);
    obb_apply_set_newer(version, OBB_NO_VERSION);
    obb_version_publish(version, apply->revision, OBB_NEVER);
    if (obb_id_tree_insert(&scene->ids, record) != OBB_OK) {
        obb_version_publish(version, apply->revision, 0);
        obb_versions_give(&scene->versions, version);
        obb_record_destroy(scene, record);
        return OBB_NO_MEMORY;
    }
    obb_hash_table_insert(&scene->names, &record->link, hash);
    scene->next_id++;
    apply->boxes++;
    apply->room--;
    apply->changes[apply->change_count++] =
        (struct obb_change){.old = OBB_NO_VERSION, .new = version->self};
    *out = version;
    return OBB_OK;
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

static obb_status set_interned(struct obb_apply *apply, struct obb_interned **place, obb_str text)
{
    if (obb_str_equal(obb_interned_text(*place), text))
        return OBB_OK;
    struct obb_interned *interned = NULL;
    const obb_status st = obb_interned_table_take(&apply->scene->interned, text, &interned);
    if (st == OBB_OK) {
        obb_interned_table_drop(&apply->scene->interned, *place, &apply->scene->fresh.interned);
        *place = interned;
    }
    return st;
}

/* Checks the parts that a put states: box_forms.h makes whole boxes canonical, but single parts may come
 * from anywhere. */
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
    return OBB_OK;
}

/* Returns false if no entry can have created the box since it was looked up by its name: only one of
 * the same round could. */
static bool perhaps_made(const struct found *found, size_t i)
{
    const struct found *first = found - i % AHEAD;
    while (first != found && first->hash != found->hash)
        first++;
    return first != found;
}

static obb_status apply_put(struct obb_apply *apply, size_t i, const struct found *found)
{
    const obb_put *put = &apply->edit->puts[i];
    obb_status st = check_put(put);
    if (st != OBB_OK)
        return st;
    struct obb_version *current = current_of(apply, found->record), *version = NULL;
    if (current == NULL && (put->target.has_id || perhaps_made(found, i)))
        current = find(apply, &put->target);
    if (current != NULL) {
        version = writable(apply, current);
        if (version == NULL)
            return OBB_NO_MEMORY;
        if (apply->edit->all_put_ids)
            apply->new_ids[i] = version->id;
    } else if (put->parts != OBB_PUT_ALL || put->target.has_id) {
        return OBB_NO_BOX;
    } else {
        if (apply->edit->put_ids != NULL)
            apply->scene->next_id = apply->edit->put_ids[i];
        st = create(apply, put->target.name, found->hash, &version);
        if (st != OBB_OK)
            return st;
        apply->new_ids[i] = version->record->id;
    }
    version->put = 1;
    if ((put->parts & OBB_PUT_CENTER) != 0)
        version->box.center = put->box.center;
    if ((put->parts & OBB_PUT_HALF_EXTENTS) != 0)
        version->box.half_extents = put->box.half_extents;
    if ((put->parts & OBB_PUT_ROTATION) != 0) {
        version->box.rotation = put->box.rotation;
        version->box.angle = put->box.angle;
    }
    if ((put->parts & OBB_PUT_CATEGORY) != 0)
        version->category = put->attributes.category;
    if ((put->parts & OBB_PUT_MASK) != 0)
        version->mask = put->attributes.mask;
    if ((put->parts & OBB_PUT_GROUP) != 0)
        version->group = put->attributes.group;
    if ((put->parts & OBB_PUT_ENTITY) != 0)
        st = set_interned(apply, &version->entity, put->attributes.entity);
    if (st == OBB_OK && (put->parts & OBB_PUT_DATA) != 0)
        st = set_interned(apply, &version->data, put->attributes.data);
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
    const bool planar = apply->dimensions == 2;
    if (pose->has_center && obb_bad_coordinate(pose->center) >= 0)
        return OBB_BAD_NUMBER;
    if (planar && pose->has_rotation && !isfinite(pose->angle))
        return OBB_BAD_NUMBER;
    struct obb_version *version = writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    if (pose->has_center) {
        version->box.center.x = pose->center.x;
        version->box.center.y = pose->center.y;
        if (!planar)
            version->box.center.z = pose->center.z;
    }
    if (pose->has_rotation && planar)
        version->box.angle = pose->angle;
    else if (pose->has_rotation)
        version->box.rotation = pose->rotation;
    if (pose->teleport)
        version->interpolated = 0;
    return OBB_OK;
}

static obb_status apply_transform(struct obb_apply *apply, size_t i, const struct found *found)
{
    const obb_transform_edit *change = &apply->edit->transforms[i];
    struct obb_version *current = current_of(apply, found->record);
    if (current == NULL)
        return miss(apply, &apply->missed_transforms, &apply->missed_transform_count,
                    apply->edit->transform_count, i);
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

static obb_status apply_entry(struct obb_apply *apply, const struct found *found, obb_fault *fault)
{
    switch (fault->group) {
    case OBB_GROUP_REMOVE:
        return apply_remove(apply, found);
    case OBB_GROUP_PUT:
        return apply_put(apply, fault->index, found);
    case OBB_GROUP_POSE:
        return apply_pose(apply, fault->index, found);
    case OBB_GROUP_TRANSFORM:
        return apply_transform(apply, fault->index, found);
    case OBB_GROUP_MERGE:
        return apply_merge(apply, fault->index, found, &fault->member);
    case OBB_GROUP_NONE:
    case OBB_GROUP_TIME:
    case OBB_GROUP_IF_REVISION:
    case OBB_GROUP_IF_BOX:
    case OBB_GROUP_MOMENT:
        break;
    }
    return OBB_OK;
}

obb_status obb_apply_run(struct obb_apply *apply, obb_fault *fault)
{
    const obb_edit *edit = apply->edit;
    const struct {
        obb_group group;
        struct entries entries;
    } groups[] = {
        {OBB_GROUP_REMOVE, {edit->removes, edit->remove_count, sizeof *edit->removes, {{0}}}},
        {OBB_GROUP_PUT, {edit->puts, edit->put_count, sizeof *edit->puts, {{0}}}},
        {OBB_GROUP_POSE, {edit->poses, edit->pose_count, sizeof *edit->poses, {{0}}}},
        {OBB_GROUP_TRANSFORM,
         {edit->transforms, edit->transform_count, sizeof *edit->transforms, {{0}}}},
        {OBB_GROUP_MERGE, {edit->merges, edit->merge_count, sizeof *edit->merges, {{0}}}},
    };
    if (edit->replace_all)
        remove_all(apply);
    /* If there are at least as many puts as names, make room for all of them at once: each doubling
     * of the table costs a walk a bucket. */
    struct obb_hash_table *names = &apply->scene->names;
    if (edit->put_count >= AHEAD && edit->put_count >= names->count &&
        obb_hash_table_reserve(names, names->count + edit->put_count) != OBB_OK)
        return OBB_NO_MEMORY;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        struct entries entries = groups[g].entries;
        *fault = (obb_fault){.group = groups[g].group};
        for (; fault->index < entries.count; fault->index++) {
            look_ahead(apply, &entries, fault->index);
            const obb_status st = apply_entry(apply, &entries.found[fault->index % AHEAD], fault);
            if (st != OBB_OK)
                return st;
        }
    }
    *fault = (obb_fault){.group = OBB_GROUP_NONE};
    return OBB_OK;
}

/* ---- Effects --------------------------------------------------------------------------------- */

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
        st = set_interned(apply, &version->entity, effect->attributes.entity);
    if (st == OBB_OK && (effect->parts & OBB_PUT_DATA) != 0)
        st = set_interned(apply, &version->data, effect->attributes.data);
    if (effect->teleported)
        version->interpolated = 0;
    return st;
}

/* Checks what no stored box can have: an effect may come from a record that somebody wrote. */
static obb_status check_effect(const obb_effect *effect)
{
    const obb_put put = {
        .parts = effect->parts, .box = effect->box, .attributes = effect->attributes};
    const obb_quat q = effect->box.rotation;
    if ((effect->parts & OBB_PUT_ROTATION) != 0) {
        obb_quat unit;
        if (!isfinite(effect->box.angle) || obb_quat_normalise(q, &unit) != OBB_OK)
            return OBB_BAD_NUMBER;
        if (unit.x != q.x || unit.y != q.y || unit.z != q.z || unit.w != q.w)
            return OBB_BAD_ROTATION; /* stored rotations are normalised, which changes no bit again */
    }
    return check_put(&put);
}

static obb_status make_box(struct obb_apply *apply, const obb_effect *effect,
                           struct obb_version **out)
{
    const uint32_t hash = obb_record_hash(apply->scene, effect->name);
    if (effect->id < apply->scene->next_id || effect->id > (uint64_t)OBB_MAX_WHOLE ||
        effect->parts != OBB_PUT_ALL ||
        current_of(apply, obb_record_find(apply->scene, effect->name, hash)) != NULL)
        return OBB_BAD_VALUE;
    apply->scene->next_id = effect->id;
    return create(apply, effect->name, hash, out);
}

static obb_status apply_effect(struct obb_apply *apply, const obb_effect *effect)
{
    struct obb_version *version = NULL;
    obb_status st = check_effect(effect);
    if (st != OBB_OK)
        return st;
    if (apply->scene->versions.free_count == 0)
        obb_scene_reclaim(apply->scene, RECLAIM_FOR_SLOTS);
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
        remove_box(apply, current);
        apply->removed++;
        return OBB_OK;
    }
    version = writable(apply, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->put = effect->kind == OBB_EFFECT_PUT;
    return write_parts(apply, version, effect);
}

obb_status obb_apply_effects(struct obb_apply *apply, const obb_effects *effects)
{
    struct obb_hash_table *names = &apply->scene->names;
    if (effects->replaces_all)
        remove_all(apply);
    if (effects->count >= AHEAD && effects->count >= names->count &&
        obb_hash_table_reserve(names, names->count + effects->count) != OBB_OK)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < effects->count; i++) {
        if (i > 0 && effects->list[i].kind < effects->list[i - 1].kind)
            return OBB_BAD_VALUE;
        const obb_status st = apply_effect(apply, &effects->list[i]);
        if (st != OBB_OK)
            return st;
    }
    if (effects->next_id < apply->scene->next_id || effects->next_id > (uint64_t)OBB_MAX_WHOLE + 1)
        return OBB_BAD_VALUE;
    apply->scene->next_id = effects->next_id;
    return OBB_OK;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

obb_status obb_apply_init_copy(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, const struct obb_view *view,
                               struct obb_arena *arena)
{
    const obb_view_info *info = obb_view_info_get(view);
    return init(apply, scene, edit, info->dimensions, info->boxes, SIZE_MAX, arena);
}

static obb_status copy_box(struct obb_apply *apply, const struct obb_view *view,
                           const struct obb_version *from)
{
    const obb_str name = obb_view_name(from);
    struct obb_version *version = NULL;
    apply->scene->next_id = from->id;
    obb_status st = create(apply, name, obb_record_hash(apply->scene, name), &version);
    if (st != OBB_OK)
        return st;
    version->box = obb_view_pose(view, from);
    /* between two commits a rotation is computed; stored ones stay as they are */
    st = obb_quat_normalise(version->box.rotation, &version->box.rotation);
    version->category = from->category;
    version->mask = from->mask;
    version->group = from->group;
    if (st == OBB_OK)
        st = set_interned(apply, &version->entity, obb_interned_text(from->entity));
    if (st == OBB_OK)
        st = set_interned(apply, &version->data, obb_interned_text(from->data));
    return st;
}

obb_status obb_apply_copy(struct obb_apply *apply, const struct obb_view *view,
                          const atomic_bool *cancel)
{
    enum { POLL = 256 }; /* boxes between two looks at `cancel` */
    obb_status st = obb_hash_table_reserve(&apply->scene->names, obb_view_info_get(view)->boxes);
    size_t count = 0;
    for (const struct obb_version *box = obb_view_next(view, 0); box != NULL && st == OBB_OK;
         box = obb_view_next(view, box->id)) {
        if (count++ % POLL == 0 && cancel != NULL && atomic_load(cancel))
            return OBB_CANCELLED;
        st = copy_box(apply, view, box);
    }
    return st;
}

/* ---- Undoing --------------------------------------------------------------------------------- */

static void drop_interned(struct obb_apply *apply, const struct obb_version *version)
{
    obb_interned_table_drop(&apply->scene->interned, version->entity,
                            &apply->scene->fresh.interned);
    obb_interned_table_drop(&apply->scene->interned, version->data, &apply->scene->fresh.interned);
}

void obb_apply_undo(struct obb_apply *apply, const struct obb_change *change)
{
    if (change->old != OBB_NO_VERSION)
        obb_apply_set_newer(obb_apply_slot(apply, change->old), OBB_NO_VERSION);
    if (change->new == OBB_NO_VERSION)
        return;
    struct obb_version *version = obb_apply_slot(apply, change->new);
    drop_interned(apply, version);
    obb_version_publish(version, apply->revision, 0);
    if (change->old != OBB_NO_VERSION)
        obb_versions_give(&apply->scene->versions, version); /* no reader has seen it */
    else
        obb_scene_retire(apply->scene, version->record);
}
