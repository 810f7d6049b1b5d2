#include "core/scene/apply_copy.h"

#include "core/scene/record.h"

obb_status obb_apply_init_copy(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, const struct obb_view *view,
                               struct obb_arena *arena)
{
    const obb_view_info *info = obb_view_info_get(view);
    return obb_apply_begin(apply, scene, edit, info->dimensions, info->boxes + info->frames,
                           SIZE_MAX, arena);
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
    const obb_status st = obb_apply_create_frame(apply, obb_view_name(from), &version);
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
        struct obb_rig *rig = obb_version_rig(obb_apply_find_frame(apply, name));
        *last = (struct copied_frame){
            .from = stood_in, .to = rig, .frame = obb_apply_frame(apply, rig)};
    }
    local.half_extents = version->box.half_extents;
    if (obb_frame_place(&last->frame, &local, &placed) != OBB_OK ||
        !obb_box_same_bits(&placed, &version->box)) {
        if (obb_frame_local(&last->frame, &version->box, &local) != OBB_OK ||
            obb_frame_place(&last->frame, &local, &placed) != OBB_OK)
            return OBB_OK;
        version->box = placed;
    }
    return obb_apply_set_mount(apply, version, last->to, &local);
}

/* Makes a box of the same id, name and attributes where the view shows it, in no frame and without
 * a ttl. OBB_NO_MEMORY. */
static obb_status copy_plain(struct obb_apply *apply, const struct obb_view *view,
                             const struct obb_version *from, uint32_t hash,
                             struct obb_version **out)
{
    struct obb_version *version = NULL;
    apply->scene->next_id = from->id;
    obb_status st = obb_apply_create_box(apply, obb_view_name(from), hash, &version);
    if (st != OBB_OK)
        return st;
    version->box = obb_view_pose(view, from);
    version->category = from->category;
    version->mask = from->mask;
    version->group = from->group;
    st = obb_apply_set_entity(apply, version, obb_interned_text(obb_version_extras(from)->entity));
    if (st == OBB_OK)
        st = obb_apply_set_data(apply, version, obb_interned_text(obb_version_extras(from)->data));
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
        st = obb_apply_set_ttl(apply, version, obb_version_extras(from)->ttl,
                               obb_view_since(view, from));
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
    obb_status st = obb_apply_begin_many(apply, obb_view_info_get(view)->boxes);
    if (st == OBB_OK)
        st = copy_all(apply, view, cancel);
    obb_records_gather(apply->scene, false);
    return st;
}

obb_status obb_apply_init_laid(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, size_t count, struct obb_arena *arena)
{
    return obb_apply_begin(apply, scene, edit, edit->dimensions, count + obb_edit_entries(edit),
                           SIZE_MAX, arena);
}

obb_status obb_apply_lay(struct obb_apply *apply, const struct obb_view *view,
                         const struct obb_version *const *boxes, size_t count)
{
    obb_status st = obb_apply_begin_many(apply, count);
    for (size_t i = 0; i < count && st == OBB_OK; i++) {
        struct obb_version *version;
        const uint32_t hash =
            obb_hash_table_hash(&obb_version_record(boxes[i])->link); /* of the same key */
        st = copy_plain(apply, view, boxes[i], hash, &version);
    }
    obb_records_gather(apply->scene, false);
    return st;
}
