/* Layers: the broad phase of one state. They are a base index, and a few smaller indexes laid over
 * it for later changes. Layers are immutable and counted by reference; a commit makes the next
 * layers from the last. Internal to core.
 *
 * An entry of an index is dead in a state if its version was replaced or removed since it was
 * indexed. All functions here visit only versions that are alive at the given revision, each
 * once. */
#ifndef OBB_LAYERS_H
#define OBB_LAYERS_H

#include "core/index/index.h"

struct obb_layers;

/* Creates empty layers with one reference. kernels: used by all indexes of these layers and of
 * layers made from them; NULL: the widest that this CPU has. OBB_NO_MEMORY. */
obb_status obb_layers_create(int dimensions, const struct obb_kernels *kernels,
                             struct obb_layers **out);

/* Says that few questions are asked of these layers and of all that obb_layers_next makes from
 * them: small indexes of theirs are quick to build rather than to search (obb_index_build_few). */
void obb_layers_short_lived(struct obb_layers *layers);

/* Adds the bytes of the layers and of their indexes to *account, which must outlive them and all
 * layers made from them: those are counted there, too, until the last reference to them is dropped.
 * An index that several layers share is counted once. The writer's. */
void obb_layers_charge(struct obb_layers *layers, size_t *account);

/* Counts the pairs that joins of these layers have recorded (obb_index_charge_pairs). The writer's.
 * O(levels). */
void obb_layers_charge_pairs(const struct obb_layers *layers);

/* Frees the pairs that joins have recorded (obb_index_drop_pairs). The writer's, while there is no
 * reader. O(levels). */
void obb_layers_drop_pairs(const struct obb_layers *layers);

/* Returns the bytes of the layers and of their indexes. O(levels). */
size_t obb_layers_bytes(const struct obb_layers *layers);

/* Add and drop a reference. NULL is fine for unref. The writer's. */
void obb_layers_ref(struct obb_layers *layers);
void obb_layers_unref(struct obb_layers *layers);

/* Creates the layers after a commit. `previous` stays as it is.
 *
 * added     versions that the commit made.
 * ended     versions that were current before the commit and are not after it. Their `died` must
 *           not be set yet, because that tells them from versions that died before.
 * revision  of the commit.
 * cancel    may be NULL; polled about every 100 us while many versions are indexed.
 * returns   OBB_NO_MEMORY or OBB_CANCELLED, and then *out is not written.
 * Cost      the indexing of the added versions, and at most about 200 us for merging small levels.
 *           A larger rebuild is left to rebuild.h. */
obb_status obb_layers_next(const struct obb_layers *previous,
                           const struct obb_version *const *added, size_t added_count,
                           const struct obb_version *const *ended, size_t ended_count,
                           uint64_t revision, const atomic_bool *cancel, struct obb_layers **out);

/* Returns the number of boxes of the state. */
size_t obb_layers_alive(const struct obb_layers *layers);

/* Returns the number of entries of all indexes, dead ones included. */
size_t obb_layers_entries(const struct obb_layers *layers);
int obb_layers_dimensions(const struct obb_layers *layers);

/* Returns an id that no entry exceeds, dead ones included; 0 if there is none. O(levels). */
uint64_t obb_layers_most_id(const struct obb_layers *layers);

/* Returns whether the layers have decayed so far that a rebuild pays: more than a quarter of the
 * entries is dead, or there are more than eight levels. */
bool obb_layers_decayed(const struct obb_layers *layers);

/* Creates layers of one index, which must hold all versions that are alive in `layers` at
 * `revision`. The new layers take over the reference of the caller to the index. After
 * OBB_NO_MEMORY the caller still owns it. */
obb_status obb_layers_over(const struct obb_layers *layers, struct obb_index *index,
                           uint64_t revision, struct obb_layers **out);

/* Puts a rebuild in place of the levels that it replaces.
 *
 * layers   of the last commit.
 * fresh    made by a rebuild (rebuild.h) of this or an earlier state.
 * *out     `fresh` under the newer levels of `layers`. If all levels are newer, *out is `layers`
 *          with one more reference: commits have replaced or indexed all entries again, and `fresh`
 *          would only add entries.
 * returns  OBB_NO_MEMORY, and then *out is not written.
 * The caller keeps its references to both. O(levels). The writer's. */
obb_status obb_layers_rebased(struct obb_layers *layers, const struct obb_layers *fresh,
                              struct obb_layers **out);

/* Returns the number of levels, oldest first. */
size_t obb_layers_levels(const struct obb_layers *layers);

/* Returns the index of a level. */
const struct obb_index *obb_layers_level(const struct obb_layers *layers, size_t level);

/* Returns the index of just those versions that the commit of `revision` made: the newest level, as
 * after most commits. Returns NULL if that level has others, too. count: how many the commit made,
 * all of them alive in the state of the layers. The index lives as long as the layers. O(1). */
const struct obb_index *obb_layers_made(const struct obb_layers *layers, uint64_t revision,
                                        size_t count);

/* Returns whether an entry of a level is alive at `revision`. */
bool obb_layers_shows(const struct obb_layers *layers, size_t level,
                      const struct obb_version *version, uint64_t revision);

/* Returns true if all entries of a level are known to be alive at `revision`. O(1). */
bool obb_layers_whole(const struct obb_layers *layers, size_t level, uint64_t revision);

/* Returns whether an entry is certainly dead at `revision` if a later level has its id. So it is if
 * the layers are of that revision and no version stands in two levels. O(levels). */
bool obb_layers_supersede(const struct obb_layers *layers, uint64_t revision);
const struct obb_kernels *obb_layers_kernels(const struct obb_layers *layers);

/* Checks the structure, for tests and fuzzers: every index is valid, and the number of entries
 * alive at `revision` is the one that obb_layers_alive returns. */
bool obb_layers_validate(const struct obb_layers *layers, uint64_t revision);

/* The walks of index.h, over all levels, for versions alive at `revision`. */
bool obb_layers_query(const struct obb_layers *layers, uint64_t revision, const obb_bounds *bounds,
                      void *context, obb_index_visit *visit);
bool obb_layers_overlap(const struct obb_layers *layers, uint64_t revision, const obb_solid *box,
                        double margin, void *context, obb_index_visit *visit);
void obb_layers_rays(const struct obb_layers *layers, uint64_t revision, struct obb_cast *casts,
                     size_t count, obb_vec3 grow, bool closest, obb_index_reach *visit);
double obb_layers_nearest(const struct obb_layers *layers, uint64_t revision,
                          const obb_bounds *bounds, double max_distance, void *context,
                          obb_index_reach *visit);

#endif
