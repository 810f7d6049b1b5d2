/* The entries of an edit, applied to the boxes in order: which versions a commit makes and ends.
 * Internal to core. */
#ifndef OBB_APPLY_H
#define OBB_APPLY_H

#include "core/scene/applying.h"

/* Begins with no change made. dimensions: of the scene after the commit. box_room: how many boxes
 * and frames the service may still add. Lists are allocated in `arena`; scene, edit and arena must
 * outlive `apply`. OBB_NO_MEMORY. */
obb_status obb_apply_init(struct obb_apply *apply, struct obb_scene *scene, const obb_edit *edit,
                          int dimensions, size_t box_room, struct obb_arena *arena);

/* Returns whether the scene has the box, which the changes so far have not removed. O(1), of an id
 * O(log boxes). */
bool obb_apply_has_box(const struct obb_apply *apply, const obb_target *target);

/* Removes the boxes that have expired at the commit's time, by id. Call it before obb_apply_run.
 * OBB_NO_MEMORY: the changes made so far remain in the list and must be undone. O(1) if no box has
 * expired. */
obb_status obb_apply_expiry(struct obb_apply *apply);

/* Applies all groups in their order, up to the first entry at fault, which *fault then names.
 * Errors are those of obb_edit_prepare about entries; the changes made so far remain in the list
 * and must be undone. */
obb_status obb_apply_run(struct obb_apply *apply, obb_fault *fault);

/* Checks the parts that a put states. box_forms.h makes whole boxes canonical, but single parts may
 * come from anywhere. OBB_BAD_NUMBER, OBB_BAD_EXTENT, OBB_BAD_NAME, OBB_BAD_VALUE. */
obb_status obb_apply_check_put(const obb_put *put);

/* Makes or moves a frame. If boxes may stand in it that must be posed now, *out_rig is its rig, and
 * otherwise NULL. OBB_BAD_NUMBER and the errors of obb_apply_create_frame. */
obb_status obb_apply_pose_frame(struct obb_apply *apply, const obb_pose *pose,
                                const struct obb_rig **out_rig);

#endif
