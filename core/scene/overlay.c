#include "core/scene/overlay.h"

#include "core/base/cancel.h"
#include "core/base/sort.h"
#include "core/scene/commit.h"
#include "core/scene/footprint.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

#include <stdlib.h>
#include <string.h>

/* The state of the small scene before the edit or commit, and the one after it. */
enum { BEFORE = 1, AFTER = 2 };

/* A version of the small scene whose entity is, for as long as the overlay lives, the string of the
 * scene below: entities are equal if their strings are the same. */
struct lent {
    struct obb_extras *extras;
    struct obb_interned *own;
    struct lent *next;
};

struct obb_overlay {
    struct obb_scene *scene;
    struct lent *lent;
    uint64_t *hidden; /* places by hash, as in struct obb_view_overlay */
    size_t hidden_mask, hidden_count;
    const obb_str *hidden_frames;
    size_t hidden_frame_count;
    struct obb_budget *budget;
    size_t drawn; /* from it, for the small scene */
};

struct obb_scene *obb_overlay_end(struct obb_overlay *overlay)
{
    if (overlay == NULL)
        return NULL;
    for (struct lent *lent = overlay->lent; lent != NULL; lent = lent->next)
        lent->extras->entity = lent->own;
    struct obb_scene *scene = overlay->scene;
    while (scene != NULL && scene->first_view != NULL)
        (void)obb_view_close(scene->first_view);
    obb_budget_give(overlay->budget, overlay->drawn);
    return scene;
}

void obb_overlay_destroy(struct obb_overlay *overlay)
{
    obb_scene_destroy(obb_overlay_end(overlay));
}

static obb_status draw(struct obb_overlay *overlay, size_t bytes)
{
    if (!obb_budget_take(overlay->budget, bytes))
        return OBB_NO_MEMORY;
    overlay->drawn += bytes;
    return OBB_OK;
}

/* ---- What is touched below ------------------------------------------------------------------- */

/* The number of boxes between two polls of `cancel`. Work on fewer boxes polls only where it looks
 * at all boxes of a state. */
#define POLL 1024

/* Returns true once in POLL calls if the work is cancelled. *boxes counts the calls. */
static bool given_up(const atomic_bool *cancel, size_t *boxes)
{
    return ++*boxes % POLL == 0 && obb_cancelled(cancel);
}

/* Sorts a list. The sort of a long list can be cancelled, and takes memory for a second one.
 * OBB_NO_MEMORY, OBB_CANCELLED. */
static obb_status sort(void *list, size_t count, size_t size,
                       int (*compare)(const void *left, const void *right),
                       const atomic_bool *cancel, struct obb_arena *arena)
{
    if (count < POLL) {
        qsort(list, count, size, compare);
        return OBB_OK;
    }
    void *spare = obb_arena_alloc(arena, count, size);
    if (spare == NULL)
        return OBB_NO_MEMORY;
    return obb_sort_by(list, count, size, compare, spare, cancel) ? OBB_OK : OBB_CANCELLED;
}

/* The boxes of the view below that are touched, by id, and the frames of these boxes and of the
 * changes, by name. */
struct touched {
    uint64_t *ids;
    size_t count, room;
    uint64_t *removed; /* those that are removed by name or id, by id */
    size_t removed_count;
    uint64_t *pose_ids; /* of the boxes that the edit poses; 0: there is none. NULL: not known */
    obb_str *frames;
    size_t frame_count;
};

static obb_status init_touched(struct touched *touched, size_t room, struct obb_arena *arena)
{
    *touched =
        (struct touched){.ids = obb_arena_alloc(arena, room, sizeof *touched->ids), .room = room};
    return touched->ids != NULL ? OBB_OK : OBB_NO_MEMORY;
}

/* Touches the boxes of `count` entries, each of which begins with its target. If out_ids is not
 * NULL, out_ids[i] is the id of the box of entry i, or 0: there is none. */
static void touch(struct touched *touched, const struct obb_view *below, const void *entries,
                  size_t count, size_t size, uint64_t *out_ids)
{
    obb_str names[OBB_VIEW_ROUND];
    const struct obb_version *boxes[OBB_VIEW_ROUND];
    for (size_t first = 0; first < count; first += OBB_VIEW_ROUND) {
        const size_t n = count - first < OBB_VIEW_ROUND ? count - first : OBB_VIEW_ROUND;
        const char *round = (const char *)entries + first * size;
        bool ids = false;
        for (size_t i = 0; i < n; i++) {
            const obb_target *target = (const void *)(round + i * size);
            names[i] = target->name;
            ids = ids || target->has_id;
        }
        if (!ids)
            obb_view_find_names(below, names, n, boxes);
        for (size_t i = 0; i < n; i++) {
            const obb_target *target = (const void *)(round + i * size);
            if (ids)
                boxes[i] = target->has_id ? obb_view_find_id(below, target->id)
                                          : obb_view_find(below, target->name);
            if (boxes[i] != NULL)
                touched->ids[touched->count++] = boxes[i]->id;
            if (out_ids != NULL)
                out_ids[first + i] = boxes[i] != NULL ? boxes[i]->id : 0;
        }
    }
}

/* Sorts ids, unless they ascend already, and drops repeated ones. *count becomes the number that is
 * left. OBB_NO_MEMORY, OBB_CANCELLED. */
static obb_status keep_different(uint64_t *ids, size_t *count, const atomic_bool *cancel,
                                 struct obb_arena *arena)
{
    size_t kept = 0, ascending = 0;
    while (ascending < *count && (ascending == 0 || ids[ascending - 1] < ids[ascending]))
        ascending++;
    if (ascending == *count)
        return OBB_OK;
    const obb_status st = sort(ids, *count, sizeof *ids, obb_compare_u64, cancel, arena);
    if (st != OBB_OK)
        return st;
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    *count = kept;
    return OBB_OK;
}

/* Notes that the boxes touched so far are removed. */
static obb_status note_removed(struct touched *touched, struct obb_arena *arena)
{
    if (touched->count == 0)
        return OBB_OK;
    touched->removed = obb_arena_alloc(arena, touched->count, sizeof *touched->removed);
    if (touched->removed == NULL)
        return OBB_NO_MEMORY;
    memcpy(touched->removed, touched->ids, touched->count * sizeof *touched->ids);
    touched->removed_count = touched->count;
    return keep_different(touched->removed, &touched->removed_count, NULL, arena);
}

static int compare_names(const void *left, const void *right)
{
    const obb_str *a = left, *b = right;
    return obb_str_compare(*a, *b);
}

/* Sorts names, and drops repeated ones and those of no frame of the view. *count becomes the number
 * that is left. OBB_NO_MEMORY, OBB_CANCELLED. */
static obb_status keep_frames(const struct obb_view *below, obb_str *names, size_t *count,
                              const atomic_bool *cancel, struct obb_arena *arena)
{
    size_t kept = 0, looked = 0;
    const obb_status st = sort(names, *count, sizeof *names, compare_names, cancel, arena);
    if (st != OBB_OK)
        return st;
    for (size_t i = 0; i < *count; i++) {
        if (given_up(cancel, &looked))
            return OBB_CANCELLED;
        if ((kept == 0 || !obb_str_equal(names[kept - 1], names[i])) &&
            obb_view_find_frame(below, names[i]) != NULL)
            names[kept++] = names[i];
    }
    *count = kept;
    return OBB_OK;
}

/* Touches all boxes of the frames. A past state has no list of them, so this looks at all boxes. */
static obb_status touch_boxes_of(struct touched *touched, const struct obb_view *below,
                                 const obb_str *frames, size_t frame_count,
                                 const atomic_bool *cancel, struct obb_arena *arena)
{
    obb_str frame;
    obb_box local;
    size_t seen = 0;
    if (frame_count == 0)
        return OBB_OK;
    for (const struct obb_version *box = obb_view_next(below, 0); box != NULL;
         box = obb_view_next(below, box->id)) {
        if (seen++ % POLL == 0 && obb_cancelled(cancel))
            return OBB_CANCELLED;
        if (!obb_view_local(box, &frame, &local) ||
            bsearch(&frame, frames, frame_count, sizeof frame, compare_names) == NULL)
            continue;
        if (touched->count == touched->room) {
            const size_t room = 2 * touched->room + 16;
            uint64_t *ids =
                obb_arena_grow(arena, touched->ids, touched->room, room, sizeof *touched->ids);
            if (ids == NULL)
                return OBB_NO_MEMORY;
            touched->ids = ids;
            touched->room = room;
        }
        touched->ids[touched->count++] = box->id;
    }
    return OBB_OK;
}

/* Completes the list of frames, which begins with `count` names, with those of the touched boxes.
 * The boxes of a frame mostly follow each other. OBB_NO_MEMORY, OBB_CANCELLED. */
static obb_status add_frames_of_boxes(struct touched *touched, const struct obb_view *below,
                                      size_t count, const atomic_bool *cancel,
                                      struct obb_arena *arena)
{
    obb_str *frames = touched->frames;
    obb_box local;
    size_t looked = 0;
    for (size_t i = 0; i < touched->count; i++) {
        if (given_up(cancel, &looked))
            return OBB_CANCELLED;
        if (obb_view_local(obb_view_find_id(below, touched->ids[i]), &frames[count], &local) &&
            (count == 0 || !obb_str_equal(frames[count - 1], frames[count])))
            count++;
    }
    touched->frame_count = count;
    return keep_frames(below, frames, &touched->frame_count, cancel, arena);
}

static obb_status touched_by_edit(const struct obb_view *below, const obb_edit *edit,
                                  const atomic_bool *cancel, struct obb_arena *arena,
                                  struct touched *out)
{
    const size_t moved = edit->remove_frame_count + edit->frame_count;
    obb_put put;
    obb_status st = init_touched(out, obb_edit_entries(edit) - moved, arena);
    if (st != OBB_OK)
        return st;
    out->pose_ids = obb_arena_alloc(arena, edit->pose_count, sizeof *out->pose_ids);
    if (out->pose_ids == NULL)
        return OBB_NO_MEMORY;
    touch(out, below, edit->removes, edit->remove_count, sizeof *edit->removes, NULL);
    st = note_removed(out, arena);
    if (st != OBB_OK)
        return st;
    if (edit->put_count > 0)
        out->pose_ids = NULL; /* a name may now be that of a new box */
    for (size_t i = 0; i < edit->put_count; i++)
        touch(out, below, &obb_edit_put_without_box(edit, i, &put)->target, 1, 0, NULL);
    touch(out, below, edit->poses, edit->pose_count, sizeof *edit->poses, out->pose_ids);
    touch(out, below, edit->transforms, edit->transform_count, sizeof *edit->transforms, NULL);
    if (below->info.frames > 0 && moved > 0) {
        obb_str *names = obb_arena_alloc(arena, moved, sizeof *names);
        if (names == NULL)
            return OBB_NO_MEMORY;
        for (size_t i = 0; i < edit->remove_frame_count; i++)
            names[i] = edit->remove_frames[i];
        for (size_t i = 0; i < edit->frame_count; i++)
            names[edit->remove_frame_count + i] = edit->frames[i].target.name;
        size_t kept = moved;
        st = keep_frames(below, names, &kept, cancel, arena);
        if (st == OBB_OK)
            st = touch_boxes_of(out, below, names, kept, cancel, arena);
    }
    if (st == OBB_OK)
        st = keep_different(out->ids, &out->count, cancel, arena);
    if (st != OBB_OK || below->info.frames == 0)
        return st;
    size_t count = 0;
    out->frames = obb_arena_alloc(arena, moved + edit->put_count + out->count, sizeof(obb_str));
    if (out->frames == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < edit->remove_frame_count; i++)
        out->frames[count++] = edit->remove_frames[i];
    for (size_t i = 0; i < edit->frame_count; i++)
        out->frames[count++] = edit->frames[i].target.name;
    for (size_t i = 0; i < edit->put_count; i++)
        if (obb_edit_put_without_box(edit, i, &put)->frame.length > 0)
            out->frames[count++] = obb_edit_put_without_box(edit, i, &put)->frame;
    return add_frames_of_boxes(out, below, count, cancel, arena);
}

/* Touches all boxes of the view: effects that replace them name none of them. */
static void touch_all(struct touched *touched, const struct obb_view *below)
{
    for (const struct obb_version *box = obb_view_next(below, 0); box != NULL;
         box = obb_view_next(below, box->id))
        touched->ids[touched->count++] = box->id;
}

/* Appends the names of all frames of the view to `names`. Returns how many there are. */
static size_t all_frames(const struct obb_view *below, obb_str *names)
{
    size_t count = 0;
    for (const struct obb_version *frame = obb_view_next_frame(below, (obb_str){0}, false);
         frame != NULL; frame = obb_view_next_frame(below, obb_view_name(frame), true))
        names[count++] = obb_view_name(frame);
    return count;
}

static obb_status touched_by_effects(const struct obb_view *below, const obb_effects *effects,
                                     struct obb_arena *arena, struct touched *out)
{
    const bool all = effects->replaces_all;
    obb_status st = init_touched(out, effects->count + (all ? below->info.boxes : 0), arena);
    if (st != OBB_OK)
        return st;
    if (all)
        touch_all(out, below);
    for (size_t i = 0; i < effects->count; i++)
        if (effects->list[i].kind != OBB_EFFECT_NEW && effects->list[i].id != 0)
            out->ids[out->count++] = effects->list[i].id;
    st = keep_different(out->ids, &out->count, NULL, arena);
    if (st != OBB_OK || below->info.frames == 0)
        return st;
    const size_t frames = effects->count + out->count + (all ? below->info.frames : 0);
    out->frames = obb_arena_alloc(arena, frames, sizeof(obb_str));
    if (out->frames == NULL)
        return OBB_NO_MEMORY;
    size_t count = all ? all_frames(below, out->frames) : 0;
    for (size_t i = 0; i < effects->count; i++) {
        const obb_effect *effect = &effects->list[i];
        const obb_str frame = effect->id == 0 ? effect->name : effect->frame;
        if (frame.length > 0)
            out->frames[count++] = frame;
    }
    return add_frames_of_boxes(out, below, count, NULL, arena);
}

static obb_status hide(struct obb_overlay *overlay, const struct touched *touched,
                       struct obb_arena *arena)
{
    size_t places = 8;
    while (places < 2 * touched->count)
        places *= 2;
    overlay->hidden = obb_arena_alloc(arena, places, sizeof *overlay->hidden);
    if (overlay->hidden == NULL)
        return OBB_NO_MEMORY;
    memset(overlay->hidden, 0, places * sizeof *overlay->hidden);
    overlay->hidden_mask = places - 1;
    overlay->hidden_count = touched->count;
    for (size_t i = 0; i < touched->count; i++) {
        size_t place = obb_view_place_of(touched->ids[i], overlay->hidden_mask);
        while (overlay->hidden[place] != 0)
            place = (place + 1) & overlay->hidden_mask;
        overlay->hidden[place] = touched->ids[i];
    }
    overlay->hidden_frames = touched->frames;
    overlay->hidden_frame_count = touched->frame_count;
    return OBB_OK;
}

/* ---- The small scene ------------------------------------------------------------------------- */

static obb_status commit(struct obb_scene *scene, const obb_edit *edit, const atomic_bool *cancel,
                         struct obb_arena *arena, obb_fault *out_fault)
{
    struct obb_prepared *prepared;
    obb_committed committed;
    const obb_status st =
        obb_edit_prepare_until(scene, edit, 0.0, SIZE_MAX, cancel, arena, &prepared, out_fault);
    if (st == OBB_OK)
        obb_edit_commit(prepared, &committed);
    return st;
}

/* Returns the put that makes a copy of a box, which *out_box holds as the view shows it. */
static obb_put put_of(const struct obb_view *below, const struct obb_version *box, obb_box *out_box)
{
    obb_put put = {.target.name = obb_view_name(box),
                   .parts = OBB_PUT_ALL,
                   .box = obb_view_pose(below, box),
                   .attributes = obb_view_attributes(box)};
    put.attributes.has_ttl = false; /* a question lets nothing expire */
    *out_box = put.box;
    (void)obb_view_local(box, &put.frame, &put.box);
    return put;
}

/* Copies the touched boxes and frames as the view shows them: the state BEFORE. */
static obb_status copy_touched(struct obb_overlay *overlay, const struct obb_view *below,
                               const struct touched *touched, double time,
                               const atomic_bool *cancel, struct obb_arena *arena)
{
    obb_put *puts = obb_arena_alloc(arena, touched->count, sizeof *puts);
    obb_box *boxes = obb_arena_alloc(arena, touched->count, sizeof *boxes);
    obb_pose *frames = obb_arena_alloc(arena, touched->frame_count, sizeof *frames);
    size_t copied = 0;
    if (puts == NULL || boxes == NULL || frames == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < touched->count; i++) {
        if (given_up(cancel, &copied))
            return OBB_CANCELLED;
        puts[i] = put_of(below, obb_view_find_id(below, touched->ids[i]), &boxes[i]);
    }
    for (size_t i = 0; i < touched->frame_count; i++) {
        const obb_box pose =
            obb_view_frame_pose(below, obb_view_find_frame(below, touched->frames[i]));
        frames[i] = (obb_pose){.target.name = touched->frames[i],
                               .center = pose.center,
                               .rotation = pose.rotation,
                               .angle = pose.angle,
                               .has_center = true,
                               .has_rotation = true};
    }
    const obb_edit edit = {.dimensions = below->info.dimensions,
                           .has_time = true,
                           .time = time,
                           .frames = frames,
                           .frame_count = touched->frame_count,
                           .puts = puts,
                           .put_count = touched->count,
                           .put_ids = touched->ids,
                           .put_boxes = boxes,
                           .replace_all = true}; /* a state of its own, also without boxes */
    obb_fault fault;
    obb_status st = draw(overlay, obb_edit_bytes(overlay->scene, &edit));
    if (st == OBB_OK)
        st = commit(overlay->scene, &edit, cancel, arena, &fault);
    overlay->scene->next_id = below->next_id;
    return st;
}

/* Makes an overlay whose scene is as created. */
static obb_status begin(const struct obb_view *below, const struct touched *touched,
                        struct obb_arena *arena, struct obb_overlay **out)
{
    struct obb_overlay *overlay = obb_arena_alloc(arena, 1, sizeof *overlay);
    if (overlay == NULL)
        return OBB_NO_MEMORY;
    *overlay = (struct obb_overlay){.budget = arena->budget};
    const obb_settings settings = {.dimensions = below->info.dimensions,
                                   .history_span = OBB_MAX_WHOLE,
                                   .history_commits = AFTER};
    const obb_str name = {"overlay", 7};
    obb_status st = draw(overlay, obb_scene_empty_bytes(name));
    if (st == OBB_OK)
        st = obb_scene_create(name, &settings, 0.0, obb_layers_kernels(below->layers),
                              &overlay->scene);
    if (st == OBB_OK)
        st = hide(overlay, touched, arena);
    if (st != OBB_OK) {
        obb_overlay_destroy(overlay);
        return st;
    }
    overlay->scene->key = below->scene->key;     /* so copies need no hash of their names */
    overlay->scene->cached_bounds.known = false; /* nobody asks for them */
    obb_layers_short_lived(obb_history_newest(&overlay->scene->history)->layers);
    *out = overlay;
    return OBB_OK;
}

/* Makes the state AFTER in two commits: the state BEFORE, and the edit. */
static obb_status commit_in_two(struct obb_overlay *overlay, const struct obb_view *below,
                                const struct touched *touched, const obb_edit *edit,
                                const atomic_bool *cancel, struct obb_arena *arena,
                                obb_fault *out_fault)
{
    obb_status st = copy_touched(overlay, below, touched, 0.0, cancel, arena);
    if (st == OBB_OK)
        st = draw(overlay, obb_edit_bytes(overlay->scene, edit));
    return st == OBB_OK ? commit(overlay->scene, edit, cancel, arena, out_fault) : st;
}

/* Writes the edit with its poses by id, where the ids are known: the small scene need not look up
 * their names again. OBB_NO_MEMORY. */
static obb_status by_ids(const obb_edit *edit, const struct touched *touched,
                         struct obb_arena *arena, obb_edit *out)
{
    *out = *edit;
    if (touched->pose_ids == NULL || edit->pose_count == 0)
        return OBB_OK;
    obb_pose *poses = obb_arena_alloc(arena, edit->pose_count, sizeof *poses);
    if (poses == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < edit->pose_count; i++) {
        poses[i] = edit->poses[i];
        if (touched->pose_ids[i] != 0)
            poses[i].target = (obb_target){.id = touched->pose_ids[i], .has_id = true};
    }
    out->poses = poses;
    return OBB_OK;
}

/* Makes the state AFTER in one commit, for an edit that touches no frame and whose removes are free
 * to miss. The boxes that it removes are not copied. */
static obb_status commit_in_one(struct obb_overlay *overlay, const struct obb_view *below,
                                const struct touched *touched, const obb_edit *edit,
                                struct obb_arena *arena, obb_fault *out_fault)
{
    struct obb_prepared *prepared = NULL;
    obb_committed committed;
    const struct obb_version **boxes = (const struct obb_version **)obb_arena_alloc(
        arena, touched->count, sizeof(const struct obb_version *));
    obb_edit *own = obb_arena_alloc(arena, 1, sizeof *own);
    if (boxes == NULL || own == NULL || by_ids(edit, touched, arena, own) != OBB_OK)
        return OBB_NO_MEMORY;
    size_t count = 0, removed = 0;
    for (size_t i = 0; i < touched->count; i++)
        if (removed < touched->removed_count && touched->removed[removed] == touched->ids[i])
            removed++;
        else
            boxes[count++] = obb_view_find_id(below, touched->ids[i]);
    obb_status st = draw(overlay, obb_copies_bytes(boxes, count));
    if (st == OBB_OK)
        st = draw(overlay, obb_edit_bytes(overlay->scene, own));
    if (st == OBB_OK)
        st = obb_laid_prepare(overlay->scene, below, boxes, count, below->next_id, own, arena,
                              &prepared, out_fault);
    if (st == OBB_OK)
        obb_edit_commit(prepared, &committed);
    return st;
}

/* Draws what the small scene has taken of pages and blocks, of which it uses a part: most overlays
 * have a few versions. */
static obb_status draw_unused(struct obb_overlay *overlay)
{
    return draw(overlay, obb_versions_unused(&overlay->scene->versions));
}

obb_status obb_overlay_of_edit(const struct obb_view *below, const obb_edit *edit,
                               const atomic_bool *cancel, struct obb_arena *arena,
                               struct obb_overlay **out, obb_fault *out_fault)
{
    struct touched touched;
    struct obb_overlay *overlay = NULL;
    *out_fault = (obb_fault){.group = OBB_GROUP_NONE};
    obb_status st = touched_by_edit(below, edit, cancel, arena, &touched);
    if (st == OBB_OK)
        st = begin(below, &touched, arena, &overlay);
    if (st != OBB_OK)
        return st;
    const bool in_two = touched.frame_count > 0 || edit->remove_must_exist;
    st = in_two ? commit_in_two(overlay, below, &touched, edit, cancel, arena, out_fault)
                : commit_in_one(overlay, below, &touched, edit, arena, out_fault);
    if (st == OBB_OK)
        st = draw_unused(overlay);
    if (st == OBB_OK)
        *out = overlay;
    else
        obb_overlay_destroy(overlay);
    if (st == OBB_CANCELLED)
        *out_fault = (obb_fault){.group = OBB_GROUP_NONE};
    return st;
}

/* Returns about how many bytes the effects add to the small scene. */
static size_t bytes_of(const obb_effects *effects)
{
    size_t bytes = effects->count * (sizeof(struct obb_version) + sizeof(struct obb_version_links) +
                                     sizeof(struct obb_extras) + sizeof(struct obb_record));
    for (size_t i = 0; i < effects->count; i++)
        bytes += effects->list[i].id == 0            ? sizeof(struct obb_rig)
                 : effects->list[i].frame.length > 0 ? sizeof(struct obb_mount)
                                                     : 0;
    return bytes;
}

obb_status obb_overlay_of_effects(const struct obb_view *below, const obb_effects *effects,
                                  struct obb_arena *arena, struct obb_overlay **out)
{
    struct touched touched;
    struct obb_overlay *overlay = NULL;
    const double after = effects->moment.time, before = below->info.now.time;
    obb_status st = touched_by_effects(below, effects, arena, &touched);
    if (st == OBB_OK)
        st = begin(below, &touched, arena, &overlay);
    if (st != OBB_OK)
        return st;
    /* a scene's first commit may state any time */
    st = copy_touched(overlay, below, &touched, before < after ? before : after, NULL, arena);
    obb_effects own = *effects;
    own.moment.revision = effects->appends ? AFTER : BEFORE;
    own.time_stated = true;
    own.has_settings = false;
    struct obb_prepared *prepared = NULL;
    obb_committed committed;
    if (st == OBB_OK)
        st = draw(overlay, bytes_of(effects));
    if (st == OBB_OK)
        st = obb_effects_prepare(overlay->scene, &own, false, arena, &prepared);
    if (st == OBB_OK) {
        obb_edit_commit(prepared, &committed);
        st = draw_unused(overlay);
    }
    if (st == OBB_OK)
        *out = overlay;
    else
        obb_overlay_destroy(overlay);
    return st;
}

/* ---- The view -------------------------------------------------------------------------------- */

/* Gives the boxes of `over` the strings of the entities that the scene below has, too, and notes
 * which string they have for each text. The string of the scene below may be that of a commit which
 * is only tried: then the scene loses it while the view is open, and the boxes keep it. */
static obb_status lend_entities(struct obb_overlay *overlay, const struct obb_view *below,
                                const struct obb_view *over, struct obb_arena *arena)
{
    if (overlay->scene->interned.hash_table.count == 0)
        return OBB_OK;
    for (const struct obb_version *box = obb_view_next(over, 0); box != NULL;
         box = obb_view_next(over, box->id)) {
        struct obb_extras *extras = obb_version_own_extras(box);
        if (extras == NULL || extras->entity == NULL)
            continue;
        const struct obb_interned *shared =
            obb_view_entity(below, obb_interned_text(extras->entity));
        if (shared == extras->entity) /* an earlier view of the overlay has given it */
            continue;
        extras->entity->lent = shared != NULL ? shared : extras->entity;
        if (shared == NULL)
            continue;
        struct lent *lent = obb_arena_alloc(arena, 1, sizeof *lent);
        if (lent == NULL)
            return OBB_NO_MEMORY;
        *lent = (struct lent){.extras = extras, .own = extras->entity, .next = overlay->lent};
        overlay->lent = lent;
        extras->entity = (struct obb_interned *)(uintptr_t)shared;
    }
    return OBB_OK;
}

obb_status obb_overlay_open(struct obb_overlay *overlay, const struct obb_view *below,
                            const obb_at *at, struct obb_arena *arena, struct obb_view **out)
{
    struct obb_view *over, *view = obb_arena_alloc(arena, 1, sizeof *view);
    struct obb_view_overlay *joint = obb_arena_alloc(arena, 1, sizeof *joint);
    if (view == NULL || joint == NULL)
        return OBB_NO_MEMORY;
    obb_status st = obb_view_open(overlay->scene, at, &over, NULL, NULL);
    if (st == OBB_OK)
        st = lend_entities(overlay, below, over, arena);
    if (st != OBB_OK)
        return st;
    *joint = (struct obb_view_overlay){.below = below,
                                       .over = over,
                                       .hidden = overlay->hidden,
                                       .hidden_mask = overlay->hidden_mask,
                                       .hidden_frames = overlay->hidden_frames,
                                       .hidden_frame_count = overlay->hidden_frame_count};
    *view = *below;
    view->overlay = joint;
    view->next_id = overlay->scene->next_id;
    view->info.boxes = below->info.boxes - overlay->hidden_count + over->info.boxes;
    view->info.frames = below->info.frames - overlay->hidden_frame_count + over->info.frames;
    *out = view;
    return OBB_OK;
}
