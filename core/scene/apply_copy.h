/* Copies of the boxes and frames of a state, made in a scene that has none. Internal to core. */
#ifndef OBB_APPLY_COPY_H
#define OBB_APPLY_COPY_H

#include "core/scene/applying.h"
#include "core/scene/view.h"

/* Begins as obb_apply_init does, to make the boxes and frames of the view's state in a scene that
 * has none, and that hashes names by the key of the view's scene. */
obb_status obb_apply_init_copy(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, const struct obb_view *view,
                               struct obb_arena *arena);

/* Makes a frame for each frame of the state, and a box of the same id for each box. OBB_NO_MEMORY,
 * OBB_CANCELLED. The changes made so far remain in the list and must be undone. */
obb_status obb_apply_copy(struct obb_apply *apply, const struct obb_view *view,
                          const atomic_bool *cancel);

/* Begins as obb_apply_init does, to make copies of `count` boxes in a scene that has none, and then
 * to apply `edit`. */
obb_status obb_apply_init_laid(struct obb_apply *apply, struct obb_scene *scene,
                               const obb_edit *edit, size_t count, struct obb_arena *arena);

/* Makes a box for each of `boxes`, which the view shows in no frame: of the same id, name and
 * attributes, without a ttl. The ids ascend, and the scene hashes names by the key of the view's
 * scene. obb_apply_run changes the copies as it changes boxes of its own edit. OBB_NO_MEMORY. The
 * changes made so far remain in the list and must be undone. */
obb_status obb_apply_lay(struct obb_apply *apply, const struct obb_view *view,
                         const struct obb_version *const *boxes, size_t count);

#endif
