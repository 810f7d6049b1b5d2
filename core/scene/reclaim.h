/* How a scene releases what nobody needs any longer. Internal to core, the writer's.
 *
 * What readers may still stand on is released in two steps:
 *
 * - A version is garbage once the last state that holds it is out of reach and pinned by no view. Readers then can only
 *   meet it as a stale entry of an index (see version.h) or as the end of a removed box, so its slot is free at once
 *   but for the last version of a removed box.
 * - That one, its record, emptied nodes of the ids and labels without references are taken out of their structures and
 *   stay retired until every view that was open then is closed; those opened since cannot meet them. */
#ifndef OBB_RECLAIM_H
#define OBB_RECLAIM_H

#include "core/versions/ids.h"
#include "core/versions/label.h"

#include <stddef.h>
#include <stdint.h>

struct obb_scene;

/* What was taken out and awaits its release. */
struct obb_retired {
    uint32_t
        versions; /* last versions of removed boxes, with their records; list through `newer` */
    struct obb_ids_node *nodes;
    struct obb_label *labels;
    uint64_t ticket; /* once all views up to this one are closed, all of it is free */
};

/* Takes a record out of names and ids and puts it, with its newest version, among the retired ones. */
void obb_scene_retire(struct obb_scene *scene, struct obb_record *record);

/* Lets go of states, versions and what else nobody needs; about `budget` objects at most. */
void obb_scene_reclaim(struct obb_scene *scene, size_t budget);

/* Frees the retired objects and the lists of garbage of a scene that has no open view and is being destroyed. */
void obb_scene_reclaim_all(struct obb_scene *scene);

#endif
