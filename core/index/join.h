/* A join: all pairs of versions of a state that overlap. Internal to core.
 *
 * A join runs in phases of independent chunks: call obb_join_advance on one thread, run every chunk
 * of the phase on any threads, and repeat until obb_join_advance returns 0. The pairs do not depend
 * on which thread ran a chunk. */
#ifndef OBB_JOIN_H
#define OBB_JOIN_H

#include "core/base/budget.h"
#include "core/index/join_wish.h"
#include "core/index/layers.h"
#include "core/versions/box_pair.h"

struct obb_join;

/* Creates a join of all pairs. `layers` and *cancel (may be NULL, polled about every 100 us) must
 * outlive the join, which draws from `budget`. OBB_NO_MEMORY. OBB_CANCELLED. OBB_LIMIT if there are
 * 2^31 entries or more. */
obb_status obb_join_create(const struct obb_layers *layers, uint64_t revision,
                           const obb_join_wish *wish, const atomic_bool *cancel,
                           struct obb_budget *budget, struct obb_join **out);

/* Creates a join of only those pairs of which at least one box is among `moved`: the pairs that a
 * commit can have changed. moved: the versions that the commit of the revision made, each once; all
 * of them are alive then. If the newest level is no index of them (obb_layers_made), one is built,
 * which draws from the budget, too. Cost: that of the moved versions, and for each level an eighth
 * of a byte an entry, allocated and set; if more than one box in 64 moved, a nanosecond and up to
 * four bytes an entry. */
obb_status obb_join_create_moved(const struct obb_layers *layers, uint64_t revision,
                                 const obb_join_wish *wish, const struct obb_version *const *moved,
                                 size_t moved_count, const atomic_bool *cancel,
                                 struct obb_budget *budget, struct obb_join **out);

/* Returns the number of chunks of the next phase. 0 means that the pairs are there if *out_status
 * is OBB_OK. After any other status (OBB_NO_MEMORY) the join can only be destroyed. */
size_t obb_join_advance(struct obb_join *join, obb_status *out_status);

/* Runs one chunk of the phase. Returns OBB_NO_MEMORY, OBB_CANCELLED, or OBB_LIMIT if there are more
 * than 2^23 pairs to list, which is the most that a join holds. After any of them the join can only
 * be destroyed. */
obb_status obb_join_chunk(struct obb_join *join, size_t chunk);

/* Returns how many entries a cache spared the walk: those of the indexes whose pairs with
 * themselves were read from it. After the last phase; for tests. */
size_t obb_join_cached(const struct obb_join *join);

/* Returns whether the ids of later levels told which entries are alive, and no version was asked.
 * After the last phase; for tests. */
bool obb_join_marked(const struct obb_join *join);

/* Return the counts and the listed pairs after the last phase, in order of (id of a, id of b). The
 * caller takes over the block, which is NULL if it was taken before or is not what the join lists,
 * and frees it by obb_budget_free.
 *
 * Ranks: the high half is that of a, the low half that of b, and an id is *out_base plus its rank.
 * If the ids of the state are too far apart for that, a join that was to list ranks lists boxes. */
obb_join_counts obb_join_count(const struct obb_join *join);
uint64_t *obb_join_take_ranks(struct obb_join *join, uint64_t *out_base);
obb_box_pair *obb_join_take_boxes(struct obb_join *join);
obb_id_pair *obb_join_take_ids(struct obb_join *join);
void obb_join_destroy(struct obb_join *join); /* NULL is fine */

#endif
