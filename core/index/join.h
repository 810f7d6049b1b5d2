/* A join: all pairs of versions of a state that may overlap. Internal to core.
 *
 * A join runs in phases of independent chunks: call obb_join_advance on one thread, run every chunk
 * of the phase on any threads, and repeat until obb_join_advance returns 0. The pairs do not depend
 * on which thread ran a chunk. */
#ifndef OBB_JOIN_H
#define OBB_JOIN_H

#include "core/base/budget.h"
#include "core/index/layers.h"

struct obb_join;

typedef struct obb_join_pair {
    const struct obb_version *a, *b; /* a has the smaller id */
    obb_verdict verdict;
    bool plain; /* true: both are plain (obb_version_plain); false: perhaps they are not */
} obb_join_pair;

/* Creates a join of all pairs that overlap at `margin` (scene units), or may. `layers` and *cancel
 * (may be NULL, polled about every 100 us) must outlive the join, which draws from `budget`.
 * OBB_NO_MEMORY. OBB_CANCELLED. OBB_LIMIT if there are 2^31 entries or more. */
obb_status obb_join_create(const struct obb_layers *layers, uint64_t revision, double margin,
                           const atomic_bool *cancel, struct obb_budget *budget,
                           struct obb_join **out);

/* Creates a join for who only wants to know how many pairs there are: sure pairs of plain boxes are
 * counted, not kept. The other pairs are kept, in no order of ids. It takes about half the time of
 * the join of all pairs, and hardly any memory. */
obb_status obb_join_create_counting(const struct obb_layers *layers, uint64_t revision,
                                    double margin, const atomic_bool *cancel,
                                    struct obb_budget *budget, struct obb_join **out);

/* Creates a join of only those pairs of which at least one box is among `moved`: the pairs that a
 * commit can have changed. moved: versions alive at the revision, each once. 
 * The index of the moved draws from the budget, too. Cost: that of the moved versions, and for each
 * level an eighth of a byte an entry, allocated and set. */
obb_status obb_join_create_moved(const struct obb_layers *layers, uint64_t revision, double margin,
                                 const struct obb_version *const *moved, size_t moved_count,
                                 const atomic_bool *cancel, struct obb_budget *budget,
                                 struct obb_join **out);

/* Returns the number of chunks of the next phase. 0 means that the pairs are there if *out_status
 * is OBB_OK. After any other status (OBB_NO_MEMORY) the join can only be destroyed. */
size_t obb_join_advance(struct obb_join *join, obb_status *out_status);

/* Runs one chunk of the phase. Returns OBB_NO_MEMORY, OBB_CANCELLED, or OBB_LIMIT if there are more
 * than 2^23 pairs to keep, which is the most that a join holds. After any of them the join can only
 * be destroyed. */
obb_status obb_join_chunk(struct obb_join *join, size_t chunk);

/* Return the candidate pairs after the last phase, in order of (id of a, id of b); a counting join
 * keeps only some of them, as its comment says. A SURE pair
 * overlaps; at a negative margin it overlaps deeper than that. A pair in DOUBT needs the double
 * test. The join owns the array. */
size_t obb_join_pair_count(const struct obb_join *join);
const obb_join_pair *obb_join_pairs(const struct obb_join *join);

/* Returns the number of pairs that a counting join counted and did not keep; 0 of other joins. */
size_t obb_join_counted(const struct obb_join *join);
void obb_join_destroy(struct obb_join *join); /* NULL is fine */

#endif
