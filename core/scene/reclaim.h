/* Reclaiming: a scene releases objects that no reader can see any longer. Internal to core, the
 * writer's.
 *
 * Versions and other objects are released in two steps:
 *
 * 1. A version is garbage once no kept state holds it: none within reach, and none that a view
 * needs.
 *    Readers can then meet the version only as a stale entry of an index (see version.h), on their
 *    way along the chain of its record, or as the last version of a removed box. In the first two
 *    cases the slot is free at once.
 * 2. The last version of a removed box or frame, its record, the rig of a frame, emptied nodes of
 *    the id tree and interned strings without references are retired: taken out of their
 *    structures, and freed once every
 *    view that was open at that moment is closed. Views that were opened later cannot meet a
 *    retired object. Nor can a view at rest, once it is woken: it counts as opened when it was
 *    renewed last (obb_scene_renew_views).
 *
 * The versions that a commit ended are looked at when the state before the commit is no longer
 * kept. If an older state still holds some of them, the next kept state takes them over
 * (`earlier`), and they are looked at again when that older state goes. So each version is looked
 * at once for each state that held it last.
 *
 * As long as states go oldest first, versions leave a chain at its old end, where no reader comes.
 * Once a view holds a state that is out of reach (`gaps`), versions leave in the midst of a chain:
 *
 * - The writer links the neighbours past the version, adds one to `unlinks`, and then gives the
 * slot
 *   away.
 * - A reader reads `unlinks`, walks from the newest version, and reads `unlinks` again after the
 *   members of each version. If it has not changed, no slot that the walk came to was given away
 *   before its members were read. Otherwise the reader begins anew (chain.h).
 *
 * An edit that is discarded after its seal, or reverted, takes its versions out at the new end of
 * their chains. The writer lets `newest` of the records point to the versions before, and goes on
 * as above. */
#ifndef OBB_RECLAIM_H
#define OBB_RECLAIM_H

#include <stdbool.h>
#include <stddef.h>

struct obb_record;
struct obb_scene;
struct obb_state;
struct obb_version;

/* Drops one view's need of a state. The state, and versions that only it held, go if no view needs
 * the state and `at` does not reach it. O(1), except that broad phases of the state alone are
 * freed. */
void obb_scene_unpin(struct obb_scene *scene, struct obb_state *state);

/* Returns the version before this one in the chain of its record if it is not released, or NULL. */
struct obb_version *obb_scene_older(struct obb_scene *scene, const struct obb_version *version);

/* Tells readers that slots of versions that they may be walking to are about to be given away. */
void obb_scene_note_unlinks(struct obb_scene *scene);

/* Drops what the extras of a version hold references to: entity, data and mount. Extras that other
 * versions have, too, keep them. */
void obb_scene_drop_parts(struct obb_scene *scene, struct obb_version *version);

/* Retires a record and its newest version: takes the record out of the hash table and the id tree,
 * or, of a frame, its rig out of the list of rigs. */
void obb_scene_retire(struct obb_scene *scene, struct obb_record *record);

/* Returns whether there are retired objects. */
bool obb_scene_has_retired(const struct obb_scene *scene);

/* Releases states, versions and other objects that no reader needs; about `budget` objects at most.
 * A KiB of a broad phase counts as an object. At least one state is released if there is one. */
void obb_scene_reclaim(struct obb_scene *scene, size_t budget);

/* Frees the retired objects and the lists of garbage of a scene that is being destroyed. No view
 * may be open. */
void obb_scene_reclaim_all(struct obb_scene *scene);

#endif
