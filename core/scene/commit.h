/* Commits: many changes, all or nothing. Prepare checks and allocates everything; commit cannot
 * fail.
 *
 * A caller that must write a commit to disk before others see it applies the commit, writes it, and
 * then publishes it. The commits that are applied and not yet published are the tail of the scene.
 * The next edit is prepared on the newest state of the tail: conditions, ids, time and room are
 * judged there. Views, infos, hashes and the history show the published state. Commits are
 * published from the oldest of the tail on, and reverted from the newest on. */
#ifndef OBB_COMMIT_H
#define OBB_COMMIT_H

#include "core/base/arena.h"
#include "core/scene/edit.h"
#include "core/scene/effects.h"
#include "core/scene/scene.h"
#include "core/scene/view.h"

#include <stdatomic.h>

struct obb_prepared;

typedef struct obb_committed {
    obb_moment moment;
    bool changed;                            /* false: nothing was different, the revision stands */
    bool restarted;                          /* the clock started anew */
    size_t removed, put, posed, transformed; /* entries that were applied; removed: boxes, also
                                              * those that went with their frame */
    size_t removed_frames, made_frames;      /* made: they were not there before */
    size_t expired; /* boxes that were removed because their ttl had passed: the first so many of
                     * `ended`, by id; not in `removed` */
    /* One per put, in the arena: the id of a new box, and 0 of a replaced one unless the edit wants
     * all_put_ids. */
    const uint64_t *new_ids;
    const bool *missed_poses;      /* one per pose: skipped by ignore_missing; NULL if none was */
    const bool *missed_transforms; /* one per transform, likewise */
    size_t missed;

    /* The versions of boxes that this commit made, and those that it ended; a replaced box has one
     * in each list. The lists are in the arena. The ended versions may be used while a view of the
     * state before is open, the made ones while a view of the state after is. */
    const struct obb_version *const *made, *const *ended;
    size_t made_count, ended_count;
    size_t gone; /* boxes of `ended` that have no version in `made`; `removed` may be what another
                  * daemon says */

    /* The frames that this commit made or moved, as it leaves them, and those that it removed, as
     * they were; in the arena, and to be used as the lists above. */
    const struct obb_version *const *frames;
    size_t frame_count;
} obb_committed;

/* Checks an edit and allocates everything that its commit takes. Until it is committed, applied or
 * discarded, views of the scene may be opened and closed, and see nothing of the edit; nothing else
 * may touch the scene, and no commit of the tail is published or reverted.
 *
 * now_ms    the server's clock, as in obb_scene_create.
 * box_room  how many boxes and frames the service may still add; those that the edit removes make
 *           further room.
 * arena     holds *out_prepared and the lists of obb_committed; the edit and the arena must outlive
 *           both.
 * errors    OBB_DIMENSIONS, OBB_TIME_BACKWARDS, OBB_REVISION, OBB_NO_BOX, OBB_NO_FRAME,
 *           OBB_FRAMED (a transform or merge of a box in a frame), OBB_LIMIT, OBB_SHEARED,
 *           OBB_BAD_NUMBER, OBB_BAD_EXTENT, OBB_BAD_NAME (of a new box or frame, or an entity),
 *           OBB_BAD_VALUE (data too long, settings), the errors of transforms and merges, OBB_GONE,
 *           OBB_SCENE_MEMORY, OBB_NO_MEMORY. The scene is as it was, and *out_fault is written.
 *           OBB_SCENE_MEMORY: obb_edit_bytes is above the room of obb_scene_set_room. This is found
 *           before anything is made. Only an edit with removals that may leave fewer boxes goes on,
 *           and has room if it does or makes no new version.
 * Cost      proportional to the entries (about 60 ns a pose) and to the boxes in the frames that
 *           are moved or removed (obb_edit_framed), and the upkeep of the broad phase (see
 *           layers.h). */
obb_status obb_edit_prepare(struct obb_scene *scene, const obb_edit *edit, double now_ms,
                            size_t box_room, struct obb_arena *arena,
                            struct obb_prepared **out_prepared, obb_fault *out_fault);

/* The same, but gives up with OBB_CANCELLED once *cancel is true; the scene is as it was then.
 * cancel: may be NULL; polled about every 1,000 boxes. */
obb_status obb_edit_prepare_until(struct obb_scene *scene, const obb_edit *edit, double now_ms,
                                  size_t box_room, const atomic_bool *cancel,
                                  struct obb_arena *arena, struct obb_prepared **out_prepared,
                                  obb_fault *out_fault);

/* Does the work of obb_edit_apply that grows with the edit, and reclaims what earlier commits left,
 * so that apply and commit take O(1). Not needed for small edits. Until commit, apply or discard,
 * views may be closed and not opened. O(changes). */
void obb_edit_seal(struct obb_prepared *prepared);

/* Makes the prepared edit the newest state, which only the writer sees, as part of the tail: views
 * of it are opened by obb_views_open_tail. Allocates nothing and cannot fail. The prepared edit and
 * its arena must live until the edit is published or reverted, or the scene is destroyed. The edit
 * is not one that begins a scene, nor a copy. O(changes), or O(1) if the edit is sealed.
 *
 * out_committed  the lists of versions are valid until the edit is published or reverted, and
 *                afterwards as in obb_committed. */
void obb_edit_apply(struct obb_prepared *prepared, obb_committed *out_committed);

/* Publishes the oldest commit of the tail, which the prepared edit made: views that are opened from
 * now on see its state. States that the commit puts out of reach go now. Also for an edit that made
 * no state. Cannot fail. O(1) beyond the upkeep that obb_edit_commit does, too. */
void obb_edit_publish(struct obb_prepared *prepared);

/* Takes the newest commit of the tail back, which the prepared edit made: the scene is as it was
 * before obb_edit_prepare, and the ids of new boxes are given again. No view may be open of its
 * state, or of the way there from the state before. All other views stay as they are. Cannot fail.
 * Like obb_edit_seal it runs on any thread, and no view may be opened meanwhile. O(changes), and
 * O(boxes with a ttl) if the clock started anew. */
void obb_edit_revert(struct obb_prepared *prepared);

/* Makes the prepared edit the newest state, and publishes it: apply and publish in one, for a scene
 * without a tail. Allocates nothing and cannot fail. O(changes), or O(1) if the edit is sealed. */
void obb_edit_commit(struct obb_prepared *prepared, obb_committed *out_committed);

/* Writes what obb_edit_commit would. The lists of versions are valid until commit, apply or
 * discard, the others as long as the arena. */
void obb_prepared_describe(const struct obb_prepared *prepared, obb_committed *out_committed);

/* Returns the fingerprint (digest.h) of the state that the commit makes, from that of the state
 * which it builds on. May be called as long as obb_prepared_next may. O(changes). */
uint64_t obb_prepared_fingerprint(const struct obb_prepared *prepared, uint64_t before);

/* Leaves the scene as it was before obb_edit_prepare. */
void obb_edit_discard(struct obb_prepared *prepared);

/* Writes what the prepared commit does; the list is in `arena`. Call it before commit, apply or
 * discard. The texts and versions stay until commit or discard, or until an applied edit is
 * published or reverted, and after commit or publish while a view of the state before is open.
 * OBB_NO_MEMORY. */
obb_status obb_prepared_effects(const struct obb_prepared *prepared, struct obb_arena *arena,
                                obb_effects *out);

/* Returns what obb_prepared_effects writes, without the list. Call it before commit, apply or
 * discard. */
obb_effects obb_prepared_summary(const struct obb_prepared *prepared);

/* Writes the next effect of the place's kind, and moves the place on. Returns false if there is
 * none. The kinds one after the other, and of each all effects, are the list of
 * obb_prepared_effects. May be called until commit or discard, or until an applied edit is
 * published or reverted. All effects of a kind take O(changes). Any thread, if nothing but views
 * touches the scene. */
bool obb_prepared_next(const struct obb_prepared *prepared, obb_effect_place *place,
                       obb_effect *out);

/* Prepares a commit that has these effects, to the bit. No limit holds, and nothing that an edit
 * would be refused for. Otherwise as obb_edit_prepare; go on with obb_edit_commit or
 * obb_edit_discard.
 *
 * effects  must outlive the prepared commit, with their texts. `before` and `after` are not read.
 * begins   the effects load a state: of any revision, all boxes new, ids with gaps. It is then the
 *          only state of the history. The scene must be as created, without an open view.
 *          Revision 0 is a state without boxes: `appends` is false.
 * errors   OBB_REVISION (the effects do not follow the newest state, or the scene is not as
 *          created); OBB_TIME_BACKWARDS; OBB_BAD_VALUE (settings, time, revision, an id or name
 *          that is taken, kinds out of order); OBB_NO_BOX; OBB_DIMENSIONS; OBB_BAD_NUMBER,
 *          OBB_BAD_EXTENT, OBB_BAD_ROTATION, OBB_BAD_NAME; OBB_NO_MEMORY. The scene is as it
 *          was. */
obb_status obb_effects_prepare(struct obb_scene *scene, const obb_effects *effects, bool begins,
                               struct obb_arena *arena, struct obb_prepared **out_prepared);

/* Prepares the commit that makes a scene a copy of the view's state, at revision 1 and the time of
 * the view. The scene is as created, with the settings of the state, and hashes names by the key of
 * the view's scene. next_id: of the next new box, above all ids of the state. time_stated: whether
 * the time counts as stated. cancel: gives up once it is true; may be NULL. OBB_NO_MEMORY,
 * OBB_CANCELLED. O(boxes). */
obb_status obb_copy_prepare(struct obb_scene *scene, const struct obb_view *view, uint64_t next_id,
                            bool time_stated, const atomic_bool *cancel, struct obb_arena *arena,
                            struct obb_prepared **out_prepared);

/* Prepares the commit that makes copies of some boxes of a view's state and applies an edit to
 * them, at revision 1 and time 0: for overlay.h.
 *
 * scene    as created, with the settings of the state; it hashes names by the key of the view's
 *          scene.
 * boxes    `count` boxes of the state, by id; none stands in a frame.
 * next_id  of the next new box, above all ids of the state.
 * edit     groups of boxes and frames only, and it removes none of `boxes`.
 * errors   those of obb_edit_prepare about entries. *out_fault then names the entry. */
obb_status obb_laid_prepare(struct obb_scene *scene, const struct obb_view *view,
                            const struct obb_version *const *boxes, size_t count, uint64_t next_id,
                            const obb_edit *edit, struct obb_arena *arena,
                            struct obb_prepared **out_prepared, obb_fault *out_fault);

/* Reads from the history what the commit between two states did. `before` and `after` are views of
 * consecutive states.
 *
 * out     without new_ids, missed_poses, missed_transforms and missed. The lists are in `arena`:
 *         the versions that replaced others in the order in which the commit touched them, then the
 *         new boxes by id. They are valid while both views are open.
 * errors  OBB_NO_MEMORY.
 * Cost    O(changes). Any thread. */
obb_status obb_committed_read(const struct obb_view *before, const struct obb_view *after,
                              struct obb_arena *arena, obb_committed *out);

/* Returns whether the box of that id is among those that expired. O(log expired). Any thread. */
bool obb_committed_expired(const obb_committed *committed, uint64_t id);

/* Returns the revision of the commit that last changed the box, or 0 if there is no such box now.
 * O(1). The writer's. */
uint64_t obb_scene_changed(struct obb_scene *scene, const obb_target *target);

/* Returns the same of the newest state, which the next commit builds on. */
uint64_t obb_scene_tail_changed(struct obb_scene *scene, const obb_target *target);

/* Returns whether the newest state has a frame of that name. O(log frames). The writer's. */
bool obb_scene_tail_has_frame(struct obb_scene *scene, obb_str name);

#endif
