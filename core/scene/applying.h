/* A commit while its entries are applied: the versions of boxes and frames that it makes and ends
 * so far. Internal to core/scene.
 *
 * New versions are written into slots of their own and born at a revision that no view has yet, so
 * readers pass over them. Nothing that a view may see changes before the commit. Each function
 * notes the changes that it makes, for obb_apply_undo. "A version of this commit" is one that
 * obb_apply_writable or one of the functions that create has returned. O(1) unless said. */
#ifndef OBB_APPLYING_H
#define OBB_APPLYING_H

#include "core/base/arena.h"
#include "core/base/cancel.h"
#include "core/geometry/frame.h"
#include "core/scene/edit.h"
#include "core/scene/scene_data.h"

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

static inline struct obb_version *obb_apply_slot(const struct obb_apply *apply, uint32_t i)
{
    return obb_versions_slot(&apply->scene->versions, i);
}

static inline void obb_apply_set_newer(struct obb_version *version, uint32_t newer)
{
    atomic_store_explicit(&obb_version_links(version)->newer, newer, memory_order_relaxed);
}

/* Boxes are looked up in rounds of so many, so that their cache misses overlap: 1,000 poses in
 * 10,000 boxes took twice as long one by one. */
#define OBB_APPLY_ROUND 16

/* A round releases at most so many objects if the pool of versions would grow otherwise. */
#define OBB_APPLY_RECLAIM 64

/* The mark in `newer` of a current version whose box or frame the commit removes (see commit.c). */
#define OBB_APPLY_REMOVED (OBB_NO_VERSION - 1)

/* Returns the current version of the record's box or frame, or NULL if `record` is NULL, if there
 * is no such box, or if the commit has removed it. */
static inline struct obb_version *obb_apply_current(const struct obb_apply *apply,
                                                    const struct obb_record *record)
{
    struct obb_version *current = record == NULL ? NULL : obb_scene_current(apply->scene, record);
    return current == NULL || obb_version_newer(current) == OBB_APPLY_REMOVED ? NULL : current;
}

/* Returns the version that the commit has made of a current version so far, or the current version
 * itself. */
static inline struct obb_version *obb_apply_latest(const struct obb_apply *apply,
                                                   struct obb_version *current)
{
    return obb_version_newer(current) == OBB_NO_VERSION
               ? current
               : obb_apply_slot(apply, obb_version_newer(current));
}

/* Begins with room for `most` changes and for the ids of the edit's puts. The rest as
 * obb_apply_init. OBB_NO_MEMORY. */
obb_status obb_apply_begin(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
                           int dimensions, size_t most, size_t box_room, struct obb_arena *arena);

/* Makes room for `count` changes more than obb_apply_begin knew of, as of boxes that are reached
 * through their frame. OBB_NO_MEMORY. */
obb_status obb_apply_make_room(struct obb_apply *apply, size_t count);

/* Makes room for `count` new boxes, if they are so many that most boxes of the scene are new: each
 * doubling of the table of names costs a walk a bucket, and each record and each page of versions a
 * block of the heap. The caller ends the gathering of records. OBB_NO_MEMORY. O(buckets). */
obb_status obb_apply_begin_many(struct obb_apply *apply, size_t count);

/* Returns the version that the commit makes of a box or frame, for writing, or NULL if there is no
 * memory. */
struct obb_version *obb_apply_writable(struct obb_apply *apply, struct obb_version *current);

/* Creates a box of that name, which is valid and free. hash: of the name (obb_record_hash).
 * OBB_LIMIT, OBB_NO_MEMORY. */
obb_status obb_apply_create_box(struct obb_apply *apply, obb_str name, uint32_t hash,
                                struct obb_version **out);

/* Sets the ttl of a version of this commit in milliseconds, or OBB_NO_TTL, and the time from which
 * it counts. OBB_NO_MEMORY. */
obb_status obb_apply_set_ttl(struct obb_apply *apply, struct obb_version *version, double ttl,
                             double since);

/* Set the entity or the data of a version of this commit, at once where it is the same: most boxes
 * have none. OBB_NO_MEMORY. */
obb_status obb_apply_set_entity(struct obb_apply *apply, struct obb_version *version, obb_str text);
obb_status obb_apply_set_data(struct obb_apply *apply, struct obb_version *version, obb_str text);

/* Removes a box, given its current version. */
void obb_apply_remove_box(struct obb_apply *apply, struct obb_version *current);

/* Removes all boxes and frames. O(boxes + frames). */
void obb_apply_remove_all(struct obb_apply *apply);

/* Returns the current version of the frame of that name, or NULL if there is no such frame or the
 * commit has removed it. O(log frames). */
struct obb_version *obb_apply_find_frame(const struct obb_apply *apply, obb_str name);

/* Creates a frame of that name at 0, not turned. OBB_BAD_NAME, OBB_LIMIT, OBB_NO_MEMORY.
 * O(log frames). */
obb_status obb_apply_create_frame(struct obb_apply *apply, obb_str name, struct obb_version **out);

/* Returns the frame of a rig as the commit has left it so far. */
obb_frame obb_apply_frame(const struct obb_apply *apply, const struct obb_rig *rig);

/* Notes that a box of the commit stands in a frame, at that pose in it; its box is written by the
 * caller. OBB_NO_MEMORY. */
obb_status obb_apply_set_mount(struct obb_apply *apply, struct obb_version *version,
                               struct obb_rig *rig, const obb_box *local);

/* Takes a box of the commit out of its frame, if it stands in one. OBB_NO_MEMORY. */
obb_status obb_apply_clear_mount(struct obb_apply *apply, struct obb_version *version);

/* Puts a box of the commit into a frame, at that pose in it. OBB_BAD_NUMBER, OBB_NO_MEMORY. */
obb_status obb_apply_mount(struct obb_apply *apply, struct obb_version *version,
                           struct obb_rig *rig, const obb_frame *frame, const obb_box *local);

/* Poses all boxes of a frame with it. OBB_BAD_NUMBER, OBB_NO_MEMORY, OBB_CANCELLED. O(boxes of the
 * frame). */
obb_status obb_apply_pose_boxes(struct obb_apply *apply, const struct obb_rig *rig, bool teleport);

/* Removes a frame, given its current version, and its boxes. OBB_NO_MEMORY, OBB_CANCELLED. O(boxes
 * of the frame). */
obb_status obb_apply_remove_rig(struct obb_apply *apply, struct obb_version *current);

/* Takes one change back: its box is as it was. Changes are undone newest first. */
void obb_apply_undo(struct obb_apply *apply, const struct obb_change *change);

#endif
