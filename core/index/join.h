/* All pairs of a state that may overlap. Internal to core. */
#ifndef OBB_JOIN_H
#define OBB_JOIN_H

#include "core/index/layers.h"

/* All pairs of the state, in phases of independent chunks: run every chunk of a phase on any threads, then call
 * obb_join_advance on one; 0 chunks: done, or *out_status says why not. Layers and *cancel (may be NULL, polled about
 * every 100 us) must outlive it. OBB_NO_MEMORY; OBB_LIMIT when there are 2^31 entries. */
struct obb_join;
typedef struct obb_join_pair {
    const struct obb_version *a, *b; /* a has the smaller id */
    obb_verdict verdict;
} obb_join_pair;
obb_status obb_join_create(const struct obb_layers *layers, uint64_t revision, double margin,
                           const atomic_bool *cancel, struct obb_join **out);

/* The same, but only pairs of which at least one is among `moved` (alive at the revision, each once): what a commit can
 * have changed, at a cost of what moved and, for each level, of an eighth of a byte an entry, allocated and set. Also
 * OBB_CANCELLED. */
obb_status obb_join_create_moved(const struct obb_layers *layers, uint64_t revision, double margin,
                                 const struct obb_version *const *moved, size_t moved_count,
                                 const atomic_bool *cancel, struct obb_join **out);

/* OBB_NO_MEMORY of both; of a chunk also OBB_CANCELLED, and OBB_LIMIT when there are more candidates than are held at once,
 * 2^23. After any of them the join can only be destroyed. */
size_t obb_join_advance(struct obb_join *join, obb_status *out_status);
obb_status obb_join_chunk(struct obb_join *join, size_t chunk);

/* After the last phase: candidate pairs with their verdicts (all SURE pairs overlap, at a negative margin deeper than
 * it; those in DOUBT await the double test), by (id of a, id of b). */
size_t obb_join_pair_count(const struct obb_join *join);
const obb_join_pair *obb_join_pairs(const struct obb_join *join);
void obb_join_destroy(struct obb_join *join); /* NULL is fine */

#endif
