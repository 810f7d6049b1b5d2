/* The inside of a prepared commit, for its rehearsal. Internal to core. */
#ifndef OBB_COMMIT_INSIDE_H
#define OBB_COMMIT_INSIDE_H

#include "core/scene/commit.h"
#include "core/scene/history.h"

/* Return the scene and the edit of a prepared commit; of one that no edit made, an edit without
 * entries. */
struct obb_scene *obb_prepared_scene(const struct obb_prepared *prepared);
const obb_edit *obb_prepared_edit(const struct obb_prepared *prepared);

/* Returns the scene's next id before the commit. */
uint64_t obb_prepared_first_id(const struct obb_prepared *prepared);

/* Finds the state that `at` means after the commit: obb_history_find with the commit's future. */
obb_status obb_prepared_find(const struct obb_prepared *prepared, const obb_at *at,
                             struct obb_history_position *out);

#endif
