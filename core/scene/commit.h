/* Commits: many changes, all or nothing. prepare checks and allocates everything; commit cannot fail. */
#ifndef OBB_COMMIT_H
#define OBB_COMMIT_H

#include "core/base/arena.h"
#include "core/scene/edit.h"
#include "core/scene/scene.h"

struct obb_prepared;

typedef struct obb_committed {
    obb_moment moment;
    bool changed;                            /* false: nothing was different, the revision stands */
    size_t removed, put, posed, transformed; /* entries that were applied; removed: boxes */
    const uint64_t *new_ids;       /* one per put, 0 where it replaced a box; in the arena */
    const bool *missed_poses;      /* one per pose: skipped by ignore_missing; NULL when none was */
    const bool *missed_transforms; /* one per transform, likewise */
    size_t missed;

    /* What this commit made and ended, in the arena; boxes that it replaced are in both. Those ended may be used while a view
     * of the state before is open, those made while one of the state after is. */
    const struct obb_version *const *made, *const *ended;
    size_t made_count, ended_count;
} obb_committed;

/* box_room: how many boxes the service may still add; what the edit removes makes room as well. Errors leave the scene
 * as it was and *out_fault written: OBB_DIMENSIONS, OBB_TIME_BACKWARDS, OBB_REVISION, OBB_NO_BOX, OBB_LIMIT, OBB_SHEARED,
 * OBB_BAD_NUMBER, OBB_BAD_EXTENT, OBB_BAD_NAME (of a new box or an entity), OBB_BAD_VALUE (data too long, settings), what
 * transforms and merges answer, OBB_GONE, OBB_NO_MEMORY. Until commit or discard views of the scene may be opened and
 * closed, which see nothing of the edit; nothing else may touch it. commit asks for no memory. Cost: what the edit
 * names (about 60 ns a pose), and the upkeep of the broad phase (see layers.h). */
obb_status obb_edit_prepare(struct obb_scene *scene, const obb_edit *edit, double now_ms,
                            size_t box_room, struct obb_arena *arena,
                            struct obb_prepared **out_prepared, obb_fault *out_fault);
void obb_edit_commit(struct obb_prepared *prepared, obb_committed *out_committed);
void obb_edit_discard(struct obb_prepared *prepared);

/* Changes settings as one commit that changes no box. OBB_DIMENSIONS when they would change on a scene that holds boxes.
 * *out_changed says whether the revision was raised. */
obb_status obb_scene_configure(struct obb_scene *scene, const obb_settings *settings, double now_ms,
                               bool *out_changed);

#endif
