#include "core/scene/apply_effects.h"

#include "core/scene/apply.h"
#include "core/scene/name.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"

#include <math.h>

obb_status obb_apply_init_effects(struct obb_apply *apply, struct obb_scene *scene,
                                  const obb_edit *edit, const obb_effects *effects, int dimensions,
                                  struct obb_arena *arena)
{
    const size_t all = obb_scene_boxes(scene) + obb_scene_frames(scene);
    const size_t most = effects->count + (effects->replaces_all ? all : 0);
    return obb_apply_begin(apply, scene, edit, dimensions, most, SIZE_MAX, arena);
}

/* Brings a box into the frame of an effect. OBB_BAD_VALUE if the frame does not place the box where
 * the effect says. */
static obb_status write_mount(struct obb_apply *apply, struct obb_version *version,
                              const obb_effect *effect)
{
    if (effect->frame.length == 0)
        return obb_apply_clear_mount(apply, version);
    const struct obb_version *current = obb_apply_find_frame(apply, effect->frame);
    if (current == NULL)
        return OBB_NO_FRAME;
    struct obb_rig *rig = obb_version_rig(current);
    const obb_frame frame = obb_apply_frame(apply, rig);
    const obb_box said = version->box;
    obb_box local = effect->local;
    local.half_extents = said.half_extents;
    const obb_status st = obb_apply_mount(apply, version, rig, &frame, &local);
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
        st = obb_apply_set_entity(apply, version, effect->attributes.entity);
    if (st == OBB_OK && (effect->parts & OBB_PUT_DATA) != 0)
        st = obb_apply_set_data(apply, version, effect->attributes.data);
    if (st == OBB_OK)
        st = obb_apply_set_ttl(apply, version,
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
    return st == OBB_OK ? obb_apply_check_put(&put) : st;
}

static obb_status apply_frame_effect(struct obb_apply *apply, const obb_effect *effect)
{
    struct obb_version *current = obb_apply_find_frame(apply, effect->name);
    if (effect->kind == OBB_EFFECT_FRAME_REMOVED)
        return current == NULL ? OBB_NO_FRAME : obb_apply_remove_rig(apply, current);
    const obb_pose pose = {.target = {.name = effect->name},
                           .center = effect->box.center,
                           .rotation = effect->box.rotation,
                           .angle = effect->box.angle,
                           .has_center = (effect->parts & OBB_PUT_CENTER) != 0,
                           .has_rotation = (effect->parts & OBB_PUT_ROTATION) != 0,
                           .teleport = effect->teleported};
    const struct obb_rig *rig;
    const obb_status st = obb_apply_pose_frame(apply, &pose, &rig);
    return rig != NULL ? obb_apply_pose_boxes(apply, rig, pose.teleport) : st;
}

static obb_status make_box(struct obb_apply *apply, const obb_effect *effect,
                           struct obb_version **out)
{
    const uint32_t hash = obb_record_hash(apply->scene, effect->name);
    if (effect->id < apply->scene->next_id || effect->id > (uint64_t)OBB_MAX_WHOLE ||
        effect->parts != OBB_PUT_ALL ||
        obb_apply_current(apply, obb_record_find(apply->scene, effect->name, hash)) != NULL)
        return OBB_BAD_VALUE;
    if (!obb_name_valid(effect->name))
        return OBB_BAD_NAME;
    apply->scene->next_id = effect->id;
    return obb_apply_create_box(apply, effect->name, hash, out);
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
        obb_scene_reclaim(apply->scene, OBB_APPLY_RECLAIM);
    if (effect->kind == OBB_EFFECT_FRAME || effect->kind == OBB_EFFECT_FRAME_REMOVED)
        return apply_frame_effect(apply, effect);
    if (effect->kind == OBB_EFFECT_NEW) {
        st = make_box(apply, effect, &version);
        return st == OBB_OK ? write_parts(apply, version, effect) : st;
    }
    struct obb_version *current =
        obb_apply_current(apply, obb_id_tree_find(&apply->scene->ids, effect->id));
    if (current == NULL)
        return OBB_NO_BOX;
    if (effect->kind == OBB_EFFECT_REMOVED) {
        if (obb_apply_latest(apply, current) != current)
            return OBB_BAD_VALUE; /* removed boxes come first */
        if (effect->expired && !expires_next(apply, effect->id))
            return OBB_BAD_VALUE;
        obb_apply_remove_box(apply, current);
        apply->expired += effect->expired;
        apply->removed += !effect->expired;
        return OBB_OK;
    }
    version = obb_apply_writable(apply, current);
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
        obb_apply_remove_all(apply);
    obb_status st = obb_apply_begin_many(apply, effects->count);
    if (st == OBB_OK)
        st = apply_each_effect(apply, effects, begins);
    obb_records_gather(apply->scene, false);
    return st;
}
