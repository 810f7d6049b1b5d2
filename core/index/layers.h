/* The broad phase of one state: a base index and a few smaller ones laid over it for what changed since. Internal to
 * core. Immutable and counted; a commit makes the next layers from the last.
 *
 * Entries may be dead in the state that is asked (replaced or removed since they were indexed): everything here
 * visits only versions that are alive at the given revision, each once. */
#ifndef OBB_LAYERS_H
#define OBB_LAYERS_H

#include "core/index/index.h"

struct obb_layers;

/* Empty. kernels: NULL chooses; all indexes of these layers and of those made from them use it. */
obb_status obb_layers_create(int dimensions, const struct obb_kernels *kernels,
                             struct obb_layers **out);
void obb_layers_ref(struct obb_layers *layers);   /* the writer's */
void obb_layers_unref(struct obb_layers *layers); /* the writer's; NULL is fine */

/* The layers after a commit that made `added` and ended `ended` versions (those that were current before it and are
 * not after); revision is the commit's. `died` of the ended ones must not be set yet: they are told from what was dead
 * before by that. `previous` stays as it is.
 * Costs what was added, and merges what is small: never more than about 200 us beyond that. A larger rebuild is left
 * to rebuild.h. OBB_NO_MEMORY. */
obb_status obb_layers_next(const struct obb_layers *previous,
                           const struct obb_version *const *added, size_t added_count,
                           const struct obb_version *const *ended, size_t ended_count,
                           uint64_t revision, struct obb_layers **out);

/* Entries that were neither ended nor replaced by a rebase: the boxes of the state. */
size_t obb_layers_alive(const struct obb_layers *layers);
size_t obb_layers_entries(const struct obb_layers *layers); /* dead ones included */
int obb_layers_dimensions(const struct obb_layers *layers);

/* Has the structure decayed so far that a rebuild is worth its time? */
bool obb_layers_decayed(const struct obb_layers *layers);

/* Fresh layers of that index alone, which holds all that is alive in `layers` at `revision` and is theirs from now on;
 * OBB_NO_MEMORY, and then it stays the caller's. */
obb_status obb_layers_over(const struct obb_layers *layers, struct obb_index *index,
                           uint64_t revision, struct obb_layers **out);

/* `layers` with what a rebuild (rebuild.h) made of this or an earlier state in place of all that is not newer; or, with a
 * reference more, `layers` themselves when all is newer: commits have replaced everything meanwhile, or indexed it anew,
 * and `fresh` would only come on top. The writer's, after the commit that made `layers`; both stay the caller's.
 * O(levels). OBB_NO_MEMORY. */
obb_status obb_layers_rebased(struct obb_layers *layers, const struct obb_layers *fresh,
                              struct obb_layers **out);

/* The indexes, oldest first; which of the versions in one count at `revision`; and whether all of them do. */
size_t obb_layers_levels(const struct obb_layers *layers);
const struct obb_index *obb_layers_level(const struct obb_layers *layers, size_t level);
bool obb_layers_shows(const struct obb_layers *layers, size_t level,
                      const struct obb_version *version, uint64_t revision);
bool obb_layers_whole(const struct obb_layers *layers, size_t level, uint64_t revision);
const struct obb_kernels *obb_layers_kernels(const struct obb_layers *layers);

/* Structure check: every index valid, and the alive at `revision` are as many as the layers say. */
bool obb_layers_validate(const struct obb_layers *layers, uint64_t revision);

/* As in index.h, over all layers, alive at `revision` only. */
bool obb_layers_query(const struct obb_layers *layers, uint64_t revision, const obb_bounds *bounds,
                      void *context, obb_index_visit *visit);
bool obb_layers_overlap(const struct obb_layers *layers, uint64_t revision, const obb_solid *box,
                        double margin, void *context, obb_index_visit *visit);
double obb_layers_ray(const struct obb_layers *layers, uint64_t revision, const obb_ray *ray,
                      obb_vec3 grow, void *context, obb_index_reach *visit);
double obb_layers_nearest(const struct obb_layers *layers, uint64_t revision,
                          const obb_bounds *bounds, double max_distance, void *context,
                          obb_index_reach *visit);

#endif
