/* Reclaiming: a scene releases objects that no reader can see any longer. Internal to core, the
 * writer's.
 *
 * Versions and other objects are released in two steps:
 *
 * 1. A version is garbage once the last state that holds it is out of reach and no view pins that
 *    state. Readers can then meet the version only as a stale entry of an index (see version.h) or
 *    as the last version of a removed box. In the first case the slot is free at once.
 * 2. The last version of a removed box, its record, emptied nodes of the id tree and interned
 *    strings without references are retired: taken out of their structures, and freed once every
 *    view that was open at that moment is closed. Views that were opened later cannot meet a
 *    retired object. */
#ifndef OBB_RECLAIM_H
#define OBB_RECLAIM_H

#include <stddef.h>

struct obb_record;
struct obb_scene;

/* Retires a record and its newest version: takes the record out of the hash table and the id
 * tree. */
void obb_scene_retire(struct obb_scene *scene, struct obb_record *record);

/* Releases states, versions and other objects that no reader needs; about `budget` objects at
 * most. */
void obb_scene_reclaim(struct obb_scene *scene, size_t budget);

/* Frees the retired objects and the lists of garbage of a scene that is being destroyed. No view
 * may be open. */
void obb_scene_reclaim_all(struct obb_scene *scene);

#endif
