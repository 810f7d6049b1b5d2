/* The broad phase of one state: a base index, a few smaller ones laid over it, and a short list of the latest
 * changes. Internal to core. Immutable and counted; a commit makes the next layers from the last.
 *
 * Entries may be dead in the state that is asked (replaced or removed since they were indexed): everything here
 * visits only versions that are alive at the given revision, each once. */
#ifndef OBB_LAYERS_H
#define OBB_LAYERS_H

#include "core/index.h"

struct obb_layers;

obb_status obb_layers_create(int dimensions, struct obb_layers **out); /* empty */
void obb_layers_ref(struct obb_layers *layers);                        /* the writer's */
void obb_layers_unref(struct obb_layers *layers); /* the writer's; NULL is fine */

/* The layers after a commit that made `added` and ended `ended` versions, `alive` being left in all. revision is the
 * commit's. Bounded work: merges what is small, never more than about 200 us; a larger rebuild is left to
 * obb_layers_rebuild. OBB_NO_MEMORY leaves previous as it was. */
obb_status obb_layers_next(struct obb_layers *previous, const struct obb_version *const *added,
                           size_t added_count, size_t ended, size_t alive, uint64_t revision,
                           struct obb_layers **out);

/* Has the structure decayed so far that a rebuild is worth its time? */
bool obb_layers_decayed(const struct obb_layers *layers);

/* A fresh base over the versions alive at `revision`; any thread, the view of that revision open. Cancellable. */
obb_status obb_layers_rebuild(const struct obb_layers *layers, uint64_t revision,
                              const atomic_bool *cancel, struct obb_index **out);

/* The layers with `base` (built for base_revision) in place of all that is not newer than it. The writer's. */
obb_status obb_layers_rebased(const struct obb_layers *layers, struct obb_index *base,
                              uint64_t base_revision, struct obb_layers **out);

/* As in index.h, over all layers, alive at `revision` only. */
void obb_layers_query(const struct obb_layers *layers, uint64_t revision, const obb_bounds *bounds,
                      void *context, obb_index_visit *visit);
void obb_layers_overlap(const struct obb_layers *layers, uint64_t revision, const obb_solid *box,
                        double margin, void *context, obb_index_visit *visit);
void obb_layers_ray(const struct obb_layers *layers, uint64_t revision, const obb_ray *ray,
                    obb_vec3 grow, void *context, obb_index_reach *visit);
void obb_layers_nearest(const struct obb_layers *layers, uint64_t revision,
                        const obb_bounds *bounds, double max_distance, void *context,
                        obb_index_reach *visit);

/* All pairs of the state, in phases of independent chunks: run every chunk of a phase on any threads, then call
 * obb_join_advance on one; 0 chunks: done. */
struct obb_join;
typedef struct obb_join_pair {
    const struct obb_version *a, *b; /* a has the smaller id */
    obb_verdict verdict;
} obb_join_pair;
obb_status obb_join_create(const struct obb_layers *layers, uint64_t revision, double margin,
                           const atomic_bool *cancel, struct obb_join **out);
size_t obb_join_advance(struct obb_join *join, obb_status *out_status);
obb_status obb_join_chunk(struct obb_join *join, size_t chunk);

/* After the last phase: candidate pairs with their verdicts (all SURE pairs overlap at margin 0; those in DOUBT await the
 * double test), by (id of a, id of b), chunk by chunk. */
size_t obb_join_pair_count(const struct obb_join *join);
const obb_join_pair *obb_join_pairs(const struct obb_join *join);
void obb_join_destroy(struct obb_join *join);

#endif
