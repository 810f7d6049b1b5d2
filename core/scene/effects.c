#include "core/scene/effects.h"

#include "core/scene/chain.h"
#include "core/scene/scene_data.h"

#include <string.h>

/* Compares the bits: -0.0 is another number than 0.0. */
static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

static const struct obb_rig *rig_of(const struct obb_version *version)
{
    const struct obb_mount *mount =
        obb_version_is_frame(version) ? NULL : obb_version_mount(version);
    return mount == NULL ? NULL : mount->rig;
}

static unsigned changed_parts(const struct obb_version *a, const struct obb_version *b)
{
    unsigned parts = 0;
    if (!same_bits(&a->box.center, &b->box.center, sizeof a->box.center))
        parts |= OBB_PUT_CENTER;
    if (!same_bits(&a->box.half_extents, &b->box.half_extents, sizeof a->box.half_extents))
        parts |= OBB_PUT_HALF_EXTENTS;
    if (!same_bits(&a->box.rotation, &b->box.rotation, sizeof a->box.rotation) ||
        !same_bits(&a->box.angle, &b->box.angle, sizeof a->box.angle))
        parts |= OBB_PUT_ROTATION;
    if (a->category != b->category)
        parts |= OBB_PUT_CATEGORY;
    if (a->mask != b->mask)
        parts |= OBB_PUT_MASK;
    if (a->group != b->group)
        parts |= OBB_PUT_GROUP;
    const struct obb_extras *from = obb_version_extras(a), *to = obb_version_extras(b);
    if (from->entity != to->entity)
        parts |= OBB_PUT_ENTITY;
    if (from->data != to->data)
        parts |= OBB_PUT_DATA;
    if (rig_of(a) != rig_of(b))
        parts |= OBB_PUT_FRAME;
    if (from->ttl < to->ttl || from->ttl > to->ttl)
        parts |= OBB_PUT_TTL;
    return parts;
}

/* Returns whether the box moved with its frame, at the same pose in it. */
static bool carried(const struct obb_version *a, const struct obb_version *b)
{
    const struct obb_mount *mount = obb_version_mount(a);
    if (mount == NULL || rig_of(a) != rig_of(b))
        return false;
    const obb_box local = obb_mount_pose(mount, a->box.half_extents);
    return obb_mount_has_pose(obb_version_mount(b), &local);
}

static obb_effect effect_of_frame(const struct obb_version *before, const struct obb_version *after)
{
    const struct obb_version *either = after != NULL ? after : before;
    obb_effect effect = {.kind = OBB_EFFECT_FRAME_REMOVED,
                         .name = obb_record_name(obb_version_record(either)),
                         .before = before,
                         .after = after};
    if (after == NULL)
        return effect;
    effect.kind = OBB_EFFECT_FRAME;
    effect.box = after->box;
    effect.parts = before == NULL ? OBB_PUT_POSE : changed_parts(before, after);
    effect.teleported = before != NULL && !after->interpolated;
    return effect;
}

obb_effect obb_effect_of(const struct obb_version *before, const struct obb_version *after)
{
    enum { SHAPE = OBB_PUT_POSE | OBB_PUT_HALF_EXTENTS }; /* what is interpolated */
    const struct obb_version *either = after != NULL ? after : before;
    if (obb_version_is_frame(either))
        return effect_of_frame(before, after);
    obb_effect effect = {.kind = OBB_EFFECT_REMOVED,
                         .id = either->id,
                         .name = obb_record_name(obb_version_record(either)),
                         .before = before,
                         .after = after};
    if (after == NULL)
        return effect;
    effect.box = after->box;
    const struct obb_extras *extras = obb_version_extras(after);
    effect.attributes = (obb_attributes){.category = after->category,
                                         .mask = after->mask,
                                         .group = after->group,
                                         .entity = obb_interned_text(extras->entity),
                                         .data = obb_interned_text(extras->data),
                                         .has_ttl = extras->ttl >= 0.0,
                                         .ttl = extras->ttl >= 0.0 ? extras->ttl : 0.0};
    effect.since = extras->since;
    if (extras->mount != NULL) {
        effect.frame = obb_record_name(extras->mount->rig->record);
        effect.local = obb_mount_pose(extras->mount, after->box.half_extents);
    }
    if (before == NULL) {
        effect.kind = OBB_EFFECT_NEW;
        effect.parts = OBB_PUT_ALL;
    } else {
        effect.parts = changed_parts(before, after);
        effect.carried = effect.parts != 0 && carried(before, after);
        effect.put = after->put;
        effect.kind =
            (effect.parts & ~(unsigned)OBB_PUT_POSE) == 0 ? OBB_EFFECT_POSED : OBB_EFFECT_PUT;
        effect.teleported = (effect.parts & SHAPE) != 0 && !after->interpolated;
    }
    return effect;
}

bool obb_effect_is(obb_effect_kind kind, const struct obb_version *before,
                   const struct obb_version *after)
{
    const bool of_frame = obb_version_is_frame(after != NULL ? after : before);
    if (after == NULL)
        return kind == (of_frame ? OBB_EFFECT_FRAME_REMOVED : OBB_EFFECT_REMOVED);
    if (of_frame || before == NULL)
        return kind == (of_frame ? OBB_EFFECT_FRAME : OBB_EFFECT_NEW);
    if (kind != OBB_EFFECT_PUT && kind != OBB_EFFECT_POSED)
        return false;
    const bool posed = (changed_parts(before, after) & ~(unsigned)OBB_PUT_POSE) == 0;
    return kind == (posed ? OBB_EFFECT_POSED : OBB_EFFECT_PUT);
}

/* ---- Steps of the history -------------------------------------------------------------------- */

/* Returns the version of a record that the commit of `revision` made, or NULL. */
static const struct obb_version *made_at(const struct obb_scene *scene,
                                         const struct obb_record *record, uint64_t revision)
{
    const struct obb_version *version = obb_chain_find(scene, record, revision);
    return version != NULL && atomic_load_explicit(&version->born, memory_order_relaxed) == revision
               ? version
               : NULL;
}

/* Writes the effect on the new frame at the place, which goes on behind the ended versions. */
static bool next_new_frame(const obb_step *step, obb_effect_place *place, obb_effect *out)
{
    const size_t i = (size_t)place->next - step->ended_count;
    if (step->made == NULL || i >= step->made->count)
        return false;
    place->next++;
    *out = obb_effect_of(NULL, obb_version_at(&step->scene->versions, step->made->versions[i]));
    return true;
}

/* Writes the effect on the ended version at the place, if it is of the place's kind. */
static bool next_ended(const obb_step *step, obb_effect_place *place, obb_effect *out)
{
    while (place->next < step->ended_count) {
        const struct obb_version *before =
            obb_version_at(&step->scene->versions, step->ended->versions[place->next++]);
        const uint32_t newer = obb_version_newer(before);
        const struct obb_version *after =
            newer == OBB_NO_VERSION ? NULL : obb_version_at(&step->scene->versions, newer);
        if (!obb_effect_is(place->kind, before, after))
            continue;
        *out = obb_effect_of(before, after);
        out->expired = place->next <= step->expired;
        return true;
    }
    return place->kind == OBB_EFFECT_FRAME && next_new_frame(step, place, out);
}

static bool next_new(const obb_step *step, obb_effect_place *place, obb_effect *out)
{
    const uint64_t from = place->next > step->first_id ? place->next : step->first_id;
    for (const struct obb_record *record = obb_id_tree_seek(&step->scene->ids, from);
         record != NULL && record->id < step->next_id;
         record = obb_id_tree_seek(&step->scene->ids, record->id + 1)) {
        const struct obb_version *after = made_at(step->scene, record, step->moment.revision);
        if (after == NULL)
            continue;
        place->next = record->id + 1;
        *out = obb_effect_of(NULL, after);
        return true;
    }
    return false;
}

bool obb_step_next(const obb_step *step, obb_effect_place *place, obb_effect *out)
{
    return place->kind == OBB_EFFECT_NEW ? next_new(step, place, out)
                                         : next_ended(step, place, out);
}

bool obb_step_carried(const obb_step *step, const obb_effect *effect)
{
    if (!effect->carried || !effect->teleported)
        return effect->carried;
    const struct obb_rig *rig = obb_version_extras(effect->after)->mount->rig;
    const struct obb_version *frame = made_at(step->scene, rig->record, step->moment.revision);
    return frame != NULL && !frame->interpolated;
}

obb_effects obb_step_summary(const obb_step *step)
{
    return (obb_effects){.moment = step->moment,
                         .appends = true,
                         .time_stated = step->time_stated,
                         .restarts = step->restarts,
                         .has_settings = step->has_settings,
                         .settings = step->settings,
                         .first_id = step->first_id,
                         .next_id = step->next_id,
                         .removed = step->removed,
                         .put = step->put,
                         .posed = step->posed,
                         .transformed = step->transformed};
}

obb_status obb_step_effects(const obb_step *step, struct obb_arena *arena, obb_effects *out)
{
    obb_effects effects = obb_step_summary(step);
    obb_effect effect, *list = NULL;
    size_t capacity = 0;
    for (int kind = 0; kind < OBB_EFFECT_KINDS; kind++) {
        obb_effect_place place = {.kind = (obb_effect_kind)kind};
        while (obb_step_next(step, &place, &effect)) {
            if (effects.count == capacity) {
                const size_t larger = capacity == 0 ? step->ended_count + 16 : 2 * capacity;
                list = obb_arena_grow(arena, list, capacity, larger, sizeof *list);
                if (list == NULL)
                    return OBB_NO_MEMORY;
                capacity = larger;
            }
            list[effects.count++] = effect;
        }
    }
    effects.list = list;
    *out = effects;
    return OBB_OK;
}
