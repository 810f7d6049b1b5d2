/* The entries of an edit, applied to the boxes in order: which versions a commit makes and ends.
 * Internal to core.
 *
 * New versions are written into slots of their own and born at a revision that no view has yet, so
 * readers pass over them. Nothing that a view may see changes before the commit. */
#ifndef OBB_APPLY_H
#define OBB_APPLY_H

#include "core/base/arena.h"
#include "core/base/cancel.h"
#include "core/scene/edit.h"
#include "core/scene/effects.h"
#include "core/scene/scene_data.h"
#include "core/scene/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One box or frame that the commit changes. */
struct obb_change {
    uint32_t old; /* index of the current version, or OBB_NO_VERSION: the box is new */
    uint32_t new; /* index of the version that replaces it, or OBB_NO_VERSION: the box is removed */
};

struct obb_apply {
    struct obb_scene *scene;
    const obb_edit *edit;
    struct obb_arena *arena;
    uint64_t revision; /* of the commit if it changes something */
    double time;       /* likewise */
    int dimensions;    /* of the scene after the commit */
    struct obb_change *changes;
    size_t change_count, change_room;
    size_t change_most;   /* how many changes the entries can make, as far as that is known */
    size_t boxes, frames; /* in the scene, as far as the edit is applied */
    size_t room;          /* for further boxes and frames, likewise */
    uint64_t first_id;    /* the scene's next_id before */

    /* Entries that were applied or skipped, as in obb_committed. */
    size_t expired; /* the first so many changes */
    size_t removed, missed_pose_count, missed_transform_count;
    size_t removed_frames, made_frames;
    uint64_t *new_ids;
    bool *missed_poses, *missed_transforms;

    const atomic_bool *cancel; /* NULL: the work cannot be cancelled */
    size_t steps;              /* counted between polls of `cancel` */
};

/* Returns true once in about 1,000 calls if the work is cancelled. */
static inline bool obb_apply_given_up(struct obb_apply *apply)
{
    enum { POLL = 1024 };
    return apply->cancel != NULL && ++apply->steps % POLL == 0 && obb_cancelled(apply->cancel);
}

/* Begins with no change made. dimensions: of the scene after the commit. box_room: how many boxes
 * and frames the service may still add. Lists are allocated in `arena`; scene, edit and arena must
 * outlive `apply`. OBB_NO_MEMORY. */
obb_status obb_apply_init(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
                          int dimensions, size_t box_room, struct obb_arena *arena);

/* Removes the boxes that have expired at the commit's time, by id. Call it before obb_apply_run.
 * OBB_NO_MEMORY: the changes made so far remain in the list and must be undone. O(1) if no box has
 * expired. */
obb_status obb_apply_expiry(struct obb_apply *apply);

/* Applies all groups in their order, up to the first entry at fault, which *fault then names.
 * Errors are those of obb_edit_prepare about entries; the changes made so far remain in the list
 * and must be undone. */
obb_status obb_apply_run(struct obb_apply *apply, obb_fault *fault);

/* Begins likewise, to apply `effects` in place of an edit. `edit` holds the effects' time and
 * settings, and no entry. There is no limit of boxes. OBB_NO_MEMORY. */
obb_status obb_apply_init_effects(struct obb_apply *apply, struct obb_scene *scene,
                                  const obb_edit *edit, const obb_effects *effects, int dimensions,
                                  struct obb_arena *arena);

/* Applies all effects, up to the first one at fault. begins: the scene holds nothing yet, so boxes
 * and frames may have been changed before. OBB_NO_BOX: the box is not there; OBB_BAD_VALUE: an id
 * was given before, a name is taken, or a revision cannot be; OBB_BAD_NUMBER, OBB_BAD_EXTENT,
 * OBB_BAD_NAME; OBB_NO_MEMORY. The changes made so far remain in the list and must be undone. */
obb_status obb_apply_effects(struct obb_apply *apply, const obb_effects *effects, bool begins);

/* Begins likewise, to make the boxes and frames of the view's state in a scene that has none, and
 * that hashes names by the key of the view's scene. */
obb_status obb_apply_init_copy(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, const struct obb_view *view,
                               struct obb_arena *arena);

/* Makes a frame for each frame of the state, and a box of the same id for each box. OBB_NO_MEMORY,
 * OBB_CANCELLED. The changes made so far remain in the list and must be undone. */
obb_status obb_apply_copy(struct obb_apply *apply, const struct obb_view *view,
                          const atomic_bool *cancel);

/* Begins likewise, to make copies of `count` boxes in a scene that has none, and then to apply
 * `edit`. */
obb_status obb_apply_init_laid(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, size_t count, struct obb_arena *arena);

/* Makes a box for each of `boxes`, which the view shows in no frame: of the same id, name and
 * attributes, without a ttl. The ids ascend, and the scene hashes names by the key of the view's
 * scene. obb_apply_run changes the copies as it changes boxes of its own edit. OBB_NO_MEMORY. The
 * changes made so far remain in the list and must be undone. */
obb_status obb_apply_lay(struct obb_apply *apply, const struct obb_view *view,
                         const struct obb_version *const *boxes, size_t count);

/* Takes one change back: its box is as it was. Changes are undone newest first. */
void obb_apply_undo(struct obb_apply *apply, const struct obb_change *change);

static inline struct obb_version *obb_apply_slot(const struct obb_apply *apply, uint32_t i)
{
    return obb_versions_slot(&apply->scene->versions, i);
}

static inline void obb_apply_set_newer(struct obb_version *version, uint32_t newer)
{
    atomic_store_explicit(&obb_version_links(version)->newer, newer, memory_order_relaxed);
}

#endif
