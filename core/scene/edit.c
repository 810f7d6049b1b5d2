#include "core/scene/edit.h"

#include "core/geometry/fit.h"
#include "core/query/query.h"
#include "core/scene/scene_body.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* How a commit is made. prepare writes the new versions into slots of their own, born at a revision that no view has
 * yet, and enters new boxes in names and ids at once: readers and views pass over them. A current version that gets
 * another one points to it by `newer`, one that is removed has the mark below there; nobody but the writer reads `newer`
 * before `died` says so. commit then only sets `newest` and `died` and puts the state in the history. */
#define REMOVED (OBB_NO_VERSION - 1)

#define SETTLE_AT_LEAST  256 /* objects released by any commit, so that garbage always shrinks */
#define SETTLE_FOR_SLOTS 64  /* and by a round of lookups where else the pool would grow */

/* One box that the commit changes. */
struct change {
    uint32_t old; /* OBB_NO_VERSION: the box is new */
    uint32_t new; /* OBB_NO_VERSION: it is removed */
};

struct obb_prepared {
    struct obb_scene *scene;
    const obb_edit *edit;
    struct obb_arena *arena;
    uint64_t revision;     /* of the commit when it changes something */
    obb_settings settings; /* after the commit */
    struct obb_future future;
    struct change *changes;
    size_t change_count;
    size_t boxes;            /* after the commit, as far as it is applied */
    size_t room;             /* for boxes, likewise */
    uint64_t first_id;       /* the scene's next_id before */
    struct obb_state *state; /* NULL: nothing changes */
    const struct obb_version **made, **ended;
    size_t made_count, ended_count;
    size_t removed;
    size_t missed_pose_count, missed_transform_count;
    uint64_t *new_ids;
    bool *missed_poses, *missed_transforms;
};

static struct obb_version *slot(const struct obb_prepared *p, uint32_t i)
{
    return obb_versions_slot(&p->scene->versions, i);
}

static uint32_t newer_of(const struct obb_version *version)
{
    return atomic_load_explicit(&version->newer, memory_order_relaxed);
}

static void set_newer(struct obb_version *version, uint32_t newer)
{
    atomic_store_explicit(&version->newer, newer, memory_order_relaxed);
}

/* ---- Finding and making versions ------------------------------------------------------------------------------ */

/* The entries of a group are looked up some at a time, so that the cache misses of one do not wait for those of
 * another: 1,000 poses in 10,000 boxes took twice as long one by one. */
#define AHEAD 16

struct found {
    uint32_t hash; /* of the name */
    struct obb_record *record;
};

/* A group's entries, each of which begins with its target. */
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

static struct found look_up(const struct obb_prepared *p, const obb_target *target)
{
    if (target->has_id)
        return (struct found){.record = obb_ids_find(&p->scene->ids, target->id)};
    const uint32_t hash = obb_scene_name_hash(p->scene, target->name);
    return (struct found){.hash = hash, .record = obb_scene_record(p->scene, target->name, hash)};
}

/* Looks up entry i and those after it, when i begins a round. */
static void look_ahead(const struct obb_prepared *p, struct entries *entries, size_t i)
{
    if (i % AHEAD != 0)
        return;
    /* Now, as it may free records that are found, and an entry takes one slot at most. */
    if (p->scene->versions.free_count < AHEAD)
        obb_scene_settle(p->scene, SETTLE_FOR_SLOTS);
    const struct obb_names *names = &p->scene->names;
    const size_t count = entries->count - i < AHEAD ? entries->count - i : AHEAD;
    struct found *found = entries->found;
    for (size_t k = 0; k < count; k++) {
        const obb_target *target = target_of(entries, i + k);
        found[k].hash = target->has_id ? 0 : obb_scene_name_hash(p->scene, target->name);
        if (!target->has_id)
            obb_names_warm_bucket(names, found[k].hash);
    }
    for (size_t k = 0; k < count; k++)
        if (!target_of(entries, i + k)->has_id)
            obb_names_warm_link(names, found[k].hash);
    for (size_t k = 0; k < count; k++) {
        const obb_target *target = target_of(entries, i + k);
        found[k].record = target->has_id ? obb_ids_find(&p->scene->ids, target->id)
                                         : obb_scene_record(p->scene, target->name, found[k].hash);
        if (found[k].record != NULL)
            obb_version_prefetch(
                slot(p, atomic_load_explicit(&found[k].record->newest, memory_order_relaxed)));
    }
}

/* The current version of the record's box, as the commit has it so far; NULL: there is none. */
static struct obb_version *current_of(const struct obb_prepared *p, const struct obb_record *record)
{
    struct obb_version *current = record == NULL ? NULL : obb_scene_current(p->scene, record);
    return current == NULL || newer_of(current) == REMOVED ? NULL : current;
}

static struct obb_version *find(const struct obb_prepared *p, const obb_target *target)
{
    return current_of(p, look_up(p, target).record);
}

/* What the commit has made of a current version so far. */
static struct obb_version *latest(const struct obb_prepared *p, struct obb_version *current)
{
    return newer_of(current) == OBB_NO_VERSION ? current : slot(p, newer_of(current));
}

/* The version that the commit makes of the box, for writing; NULL: no memory. */
static struct obb_version *writable(struct obb_prepared *p, struct obb_version *current)
{
    struct obb_version *version = latest(p, current);
    if (atomic_load_explicit(&version->born, memory_order_relaxed) == p->revision)
        return version;
    version = obb_versions_take(&p->scene->versions);
    if (version == NULL)
        return NULL;
    const uint32_t self =
        version->self; /* beside a bit that is written: reading it then would wait */
    version->box = current->box;
    version->category = current->category;
    version->mask = current->mask;
    version->group = current->group;
    version->glides = 1;
    version->entity = current->entity;
    version->data = current->data;
    version->record = current->record;
    version->id = current->id;
    version->older = current->self;
    obb_labels_again(version->entity);
    obb_labels_again(version->data);
    set_newer(version, OBB_NO_VERSION);
    obb_version_publish(version, p->revision, OBB_NEVER);
    set_newer(current, self);
    p->changes[p->change_count++] = (struct change){.old = current->self, .new = self};
    return version;
}

/* A new box of that name. OBB_BAD_NAME, OBB_LIMIT, OBB_NO_MEMORY. */
static obb_status create(struct obb_prepared *p, obb_str name, uint32_t hash,
                         struct obb_version **out)
{
    struct obb_scene *scene = p->scene;
    if (!obb_name_valid(name))
        return OBB_BAD_NAME;
    if (p->room == 0)
        return OBB_LIMIT;
    if (obb_names_reserve(&scene->names, scene->names.count + 1) != OBB_OK)
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
    version->glides = 0;
    version->entity = version->data = NULL;
    version->record = record;
    version->id = record->id;
    version->older = OBB_NO_VERSION;
    set_newer(version, OBB_NO_VERSION);
    obb_version_publish(version, p->revision, OBB_NEVER);
    if (obb_ids_insert(&scene->ids, record) != OBB_OK) {
        obb_version_publish(version, p->revision, 0);
        obb_versions_give(&scene->versions, version);
        obb_record_destroy(scene, record);
        return OBB_NO_MEMORY;
    }
    obb_names_insert(&scene->names, &record->link, hash);
    scene->next_id++;
    p->boxes++;
    p->room--;
    p->changes[p->change_count++] = (struct change){.old = OBB_NO_VERSION, .new = version->self};
    *out = version;
    return OBB_OK;
}

/* ---- Applying, entry by entry ------------------------------------------------------------------------------------ */

static void remove_box(struct obb_prepared *p, struct obb_version *current)
{
    set_newer(current, REMOVED);
    p->changes[p->change_count++] = (struct change){.old = current->self, .new = OBB_NO_VERSION};
    p->boxes--;
    p->room++;
}

static void remove_all(struct obb_prepared *p)
{
    for (struct obb_record *record = obb_ids_seek(&p->scene->ids, 1); record != NULL;
         record = obb_ids_seek(&p->scene->ids, record->id + 1)) {
        struct obb_version *current = obb_scene_current(p->scene, record);
        if (current == NULL)
            continue;
        remove_box(p, current);
        p->removed++;
    }
}

static obb_status apply_remove(struct obb_prepared *p, const struct found *found)
{
    struct obb_version *current = current_of(p, found->record);
    if (current == NULL)
        return p->edit->remove_must_exist ? OBB_NO_BOX : OBB_OK;
    remove_box(p, current);
    p->removed++;
    return OBB_OK;
}

static obb_status set_label(struct obb_prepared *p, struct obb_label **place, obb_str text)
{
    if (obb_str_equal(obb_label_text(*place), text))
        return OBB_OK;
    struct obb_label *label = NULL;
    const obb_status st = obb_labels_take(&p->scene->labels, text, &label);
    if (st == OBB_OK) {
        obb_labels_drop(&p->scene->labels, *place, &p->scene->fresh.labels);
        *place = label;
    }
    return st;
}

/* Checks what a put states; box.h has made it canonical, but parts of a box may come from anywhere. */
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

/* May a box that was not there have been made since it was looked up? Only by an entry of its round. */
static bool perhaps_made(const struct found *found, size_t i)
{
    const struct found *first = found - i % AHEAD;
    while (first != found && first->hash != found->hash)
        first++;
    return first != found;
}

static obb_status apply_put(struct obb_prepared *p, size_t i, const struct found *found)
{
    const obb_put *put = &p->edit->puts[i];
    obb_status st = check_put(put);
    if (st != OBB_OK)
        return st;
    struct obb_version *current = current_of(p, found->record), *version = NULL;
    if (current == NULL && perhaps_made(found, i))
        current = find(p, &put->target);
    if (current != NULL) {
        version = writable(p, current);
        if (version == NULL)
            return OBB_NO_MEMORY;
    } else if (put->parts != OBB_PUT_ALL || put->target.has_id) {
        return OBB_NO_BOX;
    } else {
        st = create(p, put->target.name, found->hash, &version);
        if (st != OBB_OK)
            return st;
        p->new_ids[i] = version->record->id;
    }
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
        st = set_label(p, &version->entity, put->attributes.entity);
    if (st == OBB_OK && (put->parts & OBB_PUT_DATA) != 0)
        st = set_label(p, &version->data, put->attributes.data);
    return st;
}

/* A pose or transform of a box that is not there: skipped and noted when the commit says so. */
static obb_status miss(struct obb_prepared *p, bool **missed, size_t *missed_count, size_t count,
                       size_t i)
{
    if (!p->edit->ignore_missing)
        return OBB_NO_BOX;
    if (*missed == NULL) {
        *missed = obb_arena_alloc(p->arena, count, sizeof **missed);
        if (*missed == NULL)
            return OBB_NO_MEMORY;
        memset(*missed, 0, count * sizeof **missed);
    }
    (*missed)[i] = true;
    (*missed_count)++;
    return OBB_OK;
}

static obb_status apply_pose(struct obb_prepared *p, size_t i, const struct found *found)
{
    const obb_pose *pose = &p->edit->poses[i];
    struct obb_version *current = current_of(p, found->record);
    if (current == NULL)
        return miss(p, &p->missed_poses, &p->missed_pose_count, p->edit->pose_count, i);
    const bool planar = p->settings.dimensions == 2;
    if (pose->has_center && obb_bad_coordinate(pose->center) >= 0)
        return OBB_BAD_NUMBER;
    if (planar && pose->has_rotation && !isfinite(pose->angle))
        return OBB_BAD_NUMBER;
    struct obb_version *version = writable(p, current);
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
        version->glides = 0;
    return OBB_OK;
}

static obb_status apply_transform(struct obb_prepared *p, size_t i, const struct found *found)
{
    const obb_transform_edit *change = &p->edit->transforms[i];
    struct obb_version *current = current_of(p, found->record);
    if (current == NULL)
        return miss(p, &p->missed_transforms, &p->missed_transform_count, p->edit->transform_count,
                    i);
    obb_box box;
    const obb_status st = obb_box_transform(&latest(p, current)->box, &change->transform,
                                            p->settings.dimensions, &box);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = writable(p, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->box = box;
    return OBB_OK;
}

static obb_status apply_merge(struct obb_prepared *p, size_t i, const struct found *found,
                              size_t *out_member)
{
    const obb_merge *merge = &p->edit->merges[i];
    *out_member = OBB_FAULT_TARGET;
    struct obb_version *current = current_of(p, found->record);
    if (current == NULL)
        return OBB_NO_BOX;
    obb_box *others = obb_arena_alloc(p->arena, merge->with_count, sizeof *others);
    if (others == NULL)
        return OBB_NO_MEMORY;
    for (size_t k = 0; k < merge->with_count; k++) {
        struct obb_version *other = find(p, &merge->with[k]);
        if (other == NULL) {
            *out_member = k;
            return OBB_NO_BOX;
        }
        others[k] = latest(p, other)->box;
    }
    obb_box box;
    const obb_status st = obb_fit_merge(&latest(p, current)->box, others, merge->with_count,
                                        p->settings.dimensions, &box);
    if (st != OBB_OK)
        return st;
    struct obb_version *version = writable(p, current);
    if (version == NULL)
        return OBB_NO_MEMORY;
    version->box = box;
    return OBB_OK;
}

static obb_status apply_entry(struct obb_prepared *p, const struct found *found, obb_fault *fault)
{
    switch (fault->group) {
    case OBB_GROUP_REMOVE:
        return apply_remove(p, found);
    case OBB_GROUP_PUT:
        return apply_put(p, fault->index, found);
    case OBB_GROUP_POSE:
        return apply_pose(p, fault->index, found);
    case OBB_GROUP_TRANSFORM:
        return apply_transform(p, fault->index, found);
    case OBB_GROUP_MERGE:
        return apply_merge(p, fault->index, found, &fault->member);
    case OBB_GROUP_NONE:
    case OBB_GROUP_TIME:
    case OBB_GROUP_IF_REVISION:
    case OBB_GROUP_QUERY:
        break;
    }
    return OBB_OK;
}

/* All groups in their order, up to the first entry at fault. */
static obb_status apply(struct obb_prepared *p, obb_fault *fault)
{
    const obb_edit *edit = p->edit;
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
        remove_all(p);
    /* As many puts as there are names are a load: room for all at once, as each doubling of the table costs a walk a bucket. */
    struct obb_names *names = &p->scene->names;
    if (edit->put_count >= AHEAD && edit->put_count >= names->count &&
        obb_names_reserve(names, names->count + edit->put_count) != OBB_OK)
        return OBB_NO_MEMORY;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        struct entries entries = groups[g].entries;
        *fault = (obb_fault){.group = groups[g].group};
        for (; fault->index < entries.count; fault->index++) {
            look_ahead(p, &entries, fault->index);
            const obb_status st = apply_entry(p, &entries.found[fault->index % AHEAD], fault);
            if (st != OBB_OK)
                return st;
        }
    }
    *fault = (obb_fault){.group = OBB_GROUP_NONE};
    return OBB_OK;
}

/* ---- Undoing ------------------------------------------------------------------------------------------------------ */

static void drop_labels(struct obb_prepared *p, const struct obb_version *version)
{
    obb_labels_drop(&p->scene->labels, version->entity, &p->scene->fresh.labels);
    obb_labels_drop(&p->scene->labels, version->data, &p->scene->fresh.labels);
}

/* The box is again as it was. */
static void undo(struct obb_prepared *p, const struct change *change)
{
    if (change->old != OBB_NO_VERSION)
        set_newer(slot(p, change->old), OBB_NO_VERSION);
    if (change->new == OBB_NO_VERSION)
        return;
    struct obb_version *version = slot(p, change->new);
    drop_labels(p, version);
    obb_version_publish(version, p->revision, 0);
    if (change->old != OBB_NO_VERSION)
        obb_versions_give(&p->scene->versions, version); /* no reader has seen it */
    else
        obb_scene_exile(p->scene, version->record);
}

void obb_edit_discard(struct obb_prepared *p)
{
    obb_state_destroy(p->state);
    for (size_t i = p->change_count; i-- > 0;)
        undo(p, &p->changes[i]);
    p->scene->next_id = p->first_id;
    obb_scene_settle(p->scene, 2 * p->change_count + SETTLE_AT_LEAST);
}

/* ---- Preparing ---------------------------------------------------------------------------------------------------- */

static obb_status check_moment(struct obb_prepared *p, double now_ms, obb_fault *fault)
{
    const struct obb_scene *scene = p->scene;
    const obb_edit *edit = p->edit;
    const obb_moment now = obb_history_now(&scene->history);
    p->future.moment = now;
    fault->group = OBB_GROUP_TIME;
    fault->newest = now;
    if (edit->has_time) {
        if (!(fabs(edit->time) <= OBB_MAX_WHOLE))
            return OBB_BAD_NUMBER;
        if (scene->has_committed && edit->time < now.time)
            return OBB_TIME_BACKWARDS;
        p->future.moment.time = edit->time;
        p->future.restarts = !scene->has_committed;
    } else if (!scene->time_stated && now_ms - scene->created_ms > now.time) {
        p->future.moment.time = now_ms - scene->created_ms;
    }
    fault->group = OBB_GROUP_IF_REVISION;
    if (edit->has_if_revision && edit->if_revision != now.revision)
        return OBB_REVISION;
    fault->group = OBB_GROUP_NONE;
    return OBB_OK;
}

static bool same_settings(const obb_settings *a, const obb_settings *b)
{
    return a->dimensions == b->dimensions && a->history_span == b->history_span &&
           a->history_commits == b->history_commits;
}

/* Bit for bit: -0.0 is another number than 0.0. */
static bool same_double(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static bool same_vector(obb_vec3 a, obb_vec3 b)
{
    return same_double(a.x, b.x) && same_double(a.y, b.y) && same_double(a.z, b.z);
}

static bool same_pose(const obb_box *a, const obb_box *b)
{
    return same_vector(a->center, b->center) && same_vector(a->half_extents, b->half_extents) &&
           same_double(a->rotation.x, b->rotation.x) && same_double(a->rotation.y, b->rotation.y) &&
           same_double(a->rotation.z, b->rotation.z) && same_double(a->rotation.w, b->rotation.w) &&
           same_double(a->angle, b->angle);
}

static bool same_attributes(const struct obb_version *a, const struct obb_version *b)
{
    return a->category == b->category && a->mask == b->mask && a->group == b->group &&
           a->entity == b->entity && a->data == b->data;
}

/* Drops versions that came out as they were, and lists the others. */
static obb_status list_changes(struct obb_prepared *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->change_count; i++) {
        const struct change change = p->changes[i];
        if (change.old != OBB_NO_VERSION && change.new != OBB_NO_VERSION) {
            const struct obb_version *old = slot(p, change.old);
            struct obb_version *new = slot(p, change.new);
            const bool moved = !same_pose(&old->box, &new->box);
            if (!moved && same_attributes(old, new)) {
                undo(p, &change);
                continue;
            }
            new->glides = new->glides &&moved;
        }
        p->changes[kept++] = change;
    }
    p->change_count = kept;
    p->made = (const struct obb_version **)obb_arena_alloc(p->arena, kept,
                                                           sizeof(const struct obb_version *));
    p->ended = (const struct obb_version **)obb_arena_alloc(p->arena, kept,
                                                            sizeof(const struct obb_version *));
    if (p->made == NULL || p->ended == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < kept; i++) {
        if (p->changes[i].new != OBB_NO_VERSION)
            p->made[p->made_count++] = slot(p, p->changes[i].new);
        if (p->changes[i].old != OBB_NO_VERSION)
            p->ended[p->ended_count++] = slot(p, p->changes[i].old);
    }
    return OBB_OK;
}

/* The broad phase after the commit. */
static obb_status prepare_layers(struct obb_prepared *p)
{
    struct obb_layers *before = obb_history_newest(&p->scene->history)->layers;
    if (!p->edit->replace_all && p->settings.dimensions == p->scene->settings.dimensions) {
        if (p->change_count > 0)
            return obb_layers_next(before, p->made, p->made_count, p->ended, p->ended_count,
                                   p->revision, &p->state->layers);
        obb_layers_ref(before);
        p->state->layers = before;
        return OBB_OK;
    }
    struct obb_layers *empty = NULL; /* nothing of what was is left */
    obb_status st = obb_layers_create(p->settings.dimensions, p->scene->kernels, &empty);
    if (st == OBB_OK)
        st =
            obb_layers_next(empty, p->made, p->made_count, NULL, 0, p->revision, &p->state->layers);
    obb_layers_unref(empty);
    return st;
}

static obb_status prepare_state(struct obb_prepared *p)
{
    p->state = obb_state_create(p->revision, p->ended_count);
    if (p->state == NULL || obb_history_reserve(&p->scene->history) != OBB_OK)
        return OBB_NO_MEMORY;
    p->state->dimensions = p->settings.dimensions;
    p->state->boxes = p->boxes;
    p->state->time = p->state->until = p->future.moment.time;
    struct obb_ended *ended = p->state->ended;
    for (size_t i = 0; i < p->change_count; i++)
        if (p->changes[i].old != OBB_NO_VERSION)
            ended->versions[ended->count++] = p->changes[i].old;
    return prepare_layers(p);
}

/* The past that the edit's queries ask for must still be there after the commit. */
static obb_status check_queries(const struct obb_prepared *p, obb_fault *fault)
{
    fault->group = OBB_GROUP_QUERY;
    const struct obb_history *history = &p->scene->history;
    for (; fault->index < p->edit->query_count; fault->index++) {
        const obb_query *query = &p->edit->queries[fault->index];
        int dimensions = p->settings.dimensions;
        if (query->has_at) {
            struct obb_place place;
            const obb_status st = obb_history_find(history, &p->future, &query->at, &place,
                                                   &fault->oldest, &fault->newest);
            if (st ==
                OBB_GONE) { /* nothing will have happened: what is said is true of the present */
                fault->newest = obb_history_now(history);
                if (fault->oldest.revision > fault->newest.revision)
                    fault->oldest = fault->newest;
            }
            if (st != OBB_OK)
                return st;
            if (place.index < history->count)
                dimensions = obb_history_state(history, place.index)->dimensions;
        }
        if (query->dimensions != dimensions) {
            fault->dimensions = dimensions;
            return OBB_DIMENSIONS;
        }
    }
    *fault = (obb_fault){.group = OBB_GROUP_NONE};
    return OBB_OK;
}

static obb_status prepare(struct obb_prepared *p, double now_ms, obb_fault *fault)
{
    const obb_edit *edit = p->edit;
    const struct obb_scene *scene = p->scene;
    obb_status st = check_moment(p, now_ms, fault);
    if (st != OBB_OK)
        return st;
    st = apply(p, fault);
    if (st != OBB_OK)
        return st;
    st = list_changes(p);
    if (st != OBB_OK)
        return st;
    p->future.appends =
        p->change_count > 0 || edit->replace_all || !same_settings(&p->settings, &scene->settings);
    if (p->future.appends) {
        st = prepare_state(p);
        if (st != OBB_OK)
            return st;
        p->future.moment.revision = p->state->revision;
    } else if (!edit->has_time) {
        p->future.moment = obb_history_now(&scene->history);
    }
    return check_queries(p, fault);
}

obb_status obb_edit_prepare(struct obb_scene *scene, const obb_edit *edit, double now_ms,
                            size_t box_room, struct obb_arena *arena,
                            struct obb_prepared **out_prepared, obb_fault *out_fault)
{
    *out_fault = (obb_fault){.group = OBB_GROUP_NONE, .dimensions = scene->settings.dimensions};
    const obb_settings settings = edit->settings != NULL ? *edit->settings : scene->settings;
    if (!obb_settings_valid(&settings))
        return OBB_BAD_VALUE;
    const size_t boxes = obb_scene_boxes(scene);
    if (edit->dimensions != settings.dimensions ||
        (settings.dimensions != scene->settings.dimensions && boxes > 0 && !edit->replace_all))
        return OBB_DIMENSIONS;
    const size_t gone =
        edit->replace_all || edit->remove_count > boxes ? boxes : edit->remove_count;
    const size_t most =
        gone + edit->put_count + edit->pose_count + edit->transform_count + edit->merge_count;
    struct obb_prepared *p = obb_arena_alloc(arena, 1, sizeof *p);
    struct change *changes = obb_arena_alloc(arena, most, sizeof *changes);
    uint64_t *new_ids = obb_arena_alloc(arena, edit->put_count, sizeof *new_ids);
    if (p == NULL || changes == NULL || new_ids == NULL)
        return OBB_NO_MEMORY;
    memset(new_ids, 0, edit->put_count * sizeof *new_ids);
    *p = (struct obb_prepared){
        .scene = scene,
        .edit = edit,
        .arena = arena,
        .revision = obb_history_now(&scene->history).revision + 1,
        .settings = settings,
        .future = {.span = settings.history_span, .commits = settings.history_commits},
        .changes = changes,
        .boxes = boxes,
        .room = box_room < SIZE_MAX - boxes ? box_room : SIZE_MAX - boxes,
        .first_id = scene->next_id,
        .new_ids = new_ids,
    };
    const obb_status st = prepare(p, now_ms, out_fault);
    if (st == OBB_OK)
        *out_prepared = p;
    else
        obb_edit_discard(p);
    return st;
}

/* ---- Committing ----------------------------------------------------------------------------------------------------- */

static void flip(struct obb_prepared *p, const struct change *change)
{
    struct obb_scene *scene = p->scene;
    if (change->old != OBB_NO_VERSION) {
        struct obb_version *old = slot(p, change->old);
        if (change->new == OBB_NO_VERSION) {
            set_newer(old, OBB_NO_VERSION);
        } else {
            atomic_store_explicit(&old->record->newest, change->new, memory_order_release);
        }
        atomic_store_explicit(&old->died, p->state->revision, memory_order_release);
        obb_rim_remove(&scene->rim, &old->box, scene->settings.dimensions);
    }
    if (change->new != OBB_NO_VERSION)
        obb_rim_add(&scene->rim, &slot(p, change->new)->box, p->settings.dimensions);
}

void obb_edit_commit(struct obb_prepared *p, obb_committed *out)
{
    struct obb_scene *scene = p->scene;
    struct obb_state *before = obb_history_newest(&scene->history);
    if (p->future.restarts)
        before->time = before->until = p->future.moment.time;
    if (p->future.appends) {
        if (scene->total != NULL)
            *scene->total = *scene->total - before->boxes + p->boxes;
        for (size_t i = 0; i < p->change_count; i++)
            flip(p, &p->changes[i]);
        obb_history_push(&scene->history, p->state);
        scene->settings = p->settings;
        scene->history.span = p->settings.history_span;
        scene->history.commits = p->settings.history_commits;
    } else {
        before->until = p->future.moment.time;
    }
    scene->time_stated = scene->time_stated || p->edit->has_time;
    scene->has_committed = scene->has_committed || p->future.appends || p->edit->has_time;
    const obb_edit *edit = p->edit;
    *out = (obb_committed){
        .moment = p->future.moment,
        .changed = p->future.appends,
        .removed = p->removed,
        .put = edit->put_count,
        .posed = edit->pose_count - p->missed_pose_count,
        .transformed = edit->transform_count - p->missed_transform_count,
        .new_ids = p->new_ids,
        .missed_poses = p->missed_poses,
        .missed_transforms = p->missed_transforms,
        .missed = p->missed_pose_count + p->missed_transform_count,
        .made = p->made,
        .ended = p->ended,
        .made_count = p->made_count,
        .ended_count = p->ended_count,
    };
    obb_history_prune(&scene->history);
    obb_scene_settle(scene, 2 * p->change_count + SETTLE_AT_LEAST);
}
