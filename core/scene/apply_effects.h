/* Effects applied in place of an edit: what one commit did becomes what another does. Internal to
 * core. */
#ifndef OBB_APPLY_EFFECTS_H
#define OBB_APPLY_EFFECTS_H

#include "core/scene/applying.h"
#include "core/scene/effects.h"

/* Begins as obb_apply_init does, to apply `effects` in place of an edit. `edit` holds the effects'
 * time and settings, and no entry. There is no limit of boxes. OBB_NO_MEMORY. */
obb_status obb_apply_init_effects(struct obb_apply *apply, struct obb_scene *scene,
                                  const obb_edit *edit, const obb_effects *effects, int dimensions,
                                  struct obb_arena *arena);

/* Applies all effects, up to the first one at fault. begins: the scene holds nothing yet, so boxes
 * and frames may have been changed before. OBB_NO_BOX: the box is not there; OBB_BAD_VALUE: an id
 * was given before, a name is taken, or a revision cannot be; OBB_BAD_NUMBER, OBB_BAD_EXTENT,
 * OBB_BAD_NAME; OBB_NO_MEMORY. The changes made so far remain in the list and must be undone. */
obb_status obb_apply_effects(struct obb_apply *apply, const obb_effects *effects, bool begins);

#endif
