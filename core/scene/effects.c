#include "core/scene/effects.h"

#include "core/scene/scene_data.h"

#include <string.h>

/* Compares the bits: -0.0 is another number than 0.0. */
static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

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
    if (a->entity != b->entity)
        parts |= OBB_PUT_ENTITY;
    if (a->data != b->data)
        parts |= OBB_PUT_DATA;
    return parts;
}

obb_effect obb_effect_of(const struct obb_version *before, const struct obb_version *after)
{
    enum {
        POSE = OBB_PUT_CENTER | OBB_PUT_ROTATION,
        SHAPE = POSE | OBB_PUT_HALF_EXTENTS /* what is interpolated */
    };
    const struct obb_version *either = after != NULL ? after : before;
    obb_effect effect = {.kind = OBB_EFFECT_REMOVED,
                         .id = either->id,
                         .name = obb_record_name(either->record),
                         .before = before,
                         .after = after};
    if (after == NULL)
        return effect;
    effect.box = after->box;
    effect.attributes = (obb_attributes){.category = after->category,
                                         .mask = after->mask,
                                         .group = after->group,
                                         .entity = obb_interned_text(after->entity),
                                         .data = obb_interned_text(after->data)};
    if (before == NULL) {
        effect.kind = OBB_EFFECT_NEW;
        effect.parts = OBB_PUT_ALL;
    } else {
        effect.parts = changed_parts(before, after);
        effect.kind = (effect.parts & ~(unsigned)POSE) == 0 ? OBB_EFFECT_POSED : OBB_EFFECT_PUT;
        effect.teleported = (effect.parts & SHAPE) != 0 && !after->interpolated;
    }
    return effect;
}

/* ---- Steps of the history -------------------------------------------------------------------- */

/* Returns the version of a record that the commit of `revision` made, or NULL. The walk stays within
 * the versions of the states that the view holds. */
static const struct obb_version *made_at(const struct obb_scene *scene,
                                         const struct obb_record *record, uint64_t revision)
{
    uint32_t i = atomic_load_explicit(&record->newest, memory_order_acquire);
    while (i != OBB_NO_VERSION) {
        const struct obb_version *version = obb_version_at(&scene->versions, i);
        const uint64_t born = atomic_load_explicit(&version->born, memory_order_relaxed);
        if (born <= revision)
            return born == revision ? version : NULL;
        i = atomic_load_explicit(&version->older, memory_order_acquire);
    }
    return NULL;
}

/* Writes the effect on the ended version at the place, if it is of the place's kind. */
static bool next_ended(const obb_step *step, obb_step_place *place, obb_effect *out)
{
    while (place->next < step->ended_count) {
        const struct obb_version *before =
            obb_version_at(&step->scene->versions, step->ended->versions[place->next++]);
        const uint32_t newer = atomic_load_explicit(&before->newer, memory_order_relaxed);
        if ((newer == OBB_NO_VERSION) != (place->kind == OBB_EFFECT_REMOVED))
            continue;
        *out = obb_effect_of(
            before, newer == OBB_NO_VERSION ? NULL : obb_version_at(&step->scene->versions, newer));
        if (out->kind == place->kind)
            return true;
    }
    return false;
}

static bool next_new(const obb_step *step, obb_step_place *place, obb_effect *out)
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

bool obb_step_next(const obb_step *step, obb_step_place *place, obb_effect *out)
{
    return place->kind == OBB_EFFECT_NEW ? next_new(step, place, out)
                                         : next_ended(step, place, out);
}

obb_status obb_step_effects(const obb_step *step, struct obb_arena *arena, obb_effects *out)
{
    obb_effects effects = {.moment = step->moment,
                           .appends = true,
                           .time_stated = step->time_stated,
                           .restarts = step->restarts,
                           .has_settings = step->has_settings,
                           .settings = step->settings,
                           .next_id = step->next_id};
    obb_effect effect, *list = NULL;
    size_t capacity = 0;
    for (int kind = 0; kind < OBB_EFFECT_KINDS; kind++) {
        obb_step_place place = {.kind = (obb_effect_kind)kind};
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
