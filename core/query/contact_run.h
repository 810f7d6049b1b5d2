/* Contacts as a run: one array of all pairs by (id, id), with the versions of their boxes. A commit
 * that touches many boxes updates a run in one pass over it, and reads no box that it did not
 * touch. Internal to core/query. */
#ifndef OBB_CONTACT_RUN_H
#define OBB_CONTACT_RUN_H

#include "core/base/budget.h"
#include "core/kernels/batch.h"
#include "core/scene/commit.h"
#include "core/versions/box_pair.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ids of a run are below this, so that a pair of them is one word, its key. */
#define OBB_CONTACT_RUN_IDS ((uint64_t)1 << 32)

struct obb_contact_run {
    obb_box_pair *boxes; /* of the budget */
    uint64_t *keys; /* of these boxes, the smaller id above the other one; in the same block. Few
                     * passes read both. */
    size_t count;
};

/* Returns the key of a pair of ids. */
static inline uint64_t obb_contact_key(const uint64_t ids[static 2])
{
    return ids[0] << 32 | ids[1];
}

/* The boxes that a commit ended and that a run can have. If their ids are near each other: a bit
 * for each id from the least to the greatest. Else a hash set of the ids, behind a bit set that
 * rules out most other ids. */
struct obb_contact_ended {
    uint64_t *bits;       /* of ids; or eight for each slot */
    uint32_t first, span; /* id of the first bit; ids that have a bit, or 0: the hash set */
    uint64_t *made; /* bits: the commit made another version of the box; by id, or by slot. NULL:
                     * it removed no box */
    uint64_t *ids;  /* of the hash set: open addressing; 0: free */
    unsigned shift; /* from hash to slot */
};

/* Creates the set.
 *
 * made_ids  the ids of the versions that the commit made, in any order; NULL: they are read from
 *           the versions, a cache miss each.
 *
 * The caller releases the set by obb_contact_ended_fini, also after OBB_NO_MEMORY. O(boxes of the
 * commit), and four bytes for each of them until it returns. */
obb_status obb_contact_ended_init(struct obb_contact_ended *ended, const obb_committed *committed,
                                  const uint64_t *made_ids, struct obb_budget *budget);
void obb_contact_ended_fini(struct obb_contact_ended *ended);

/* Returns whether the commit removed the box. */
bool obb_contact_ended_removed(const struct obb_contact_ended *ended, uint64_t id);

/* Makes an empty run with room for `count` pairs. The caller releases it by obb_contact_run_fini.
 * OBB_NO_MEMORY. */
obb_status obb_contact_run_init(struct obb_contact_run *run, size_t count,
                                struct obb_budget *budget);
void obb_contact_run_fini(struct obb_contact_run *run); /* all zeroes are fine */

/* Adds a pair behind all others. There must be room. Returns false, and adds nothing, if one of its
 * ids is not below OBB_CONTACT_RUN_IDS. */
bool obb_contact_run_add(struct obb_contact_run *run, const obb_box_pair *boxes);

/* Takes a pair that a commit has changed: NULL where it is not in the run. The pairs live until it
 * returns. Returns false if there is no memory. */
typedef bool obb_contact_told(void *context, const obb_id_pair *before, const obb_id_pair *after);

/* What a commit does to a run. */
struct obb_contact_step {
    const struct obb_kernels *kernels;
    const struct obb_contact_ended *ended;
    const obb_id_pair
        *present; /* by (id, id), which are below OBB_CONTACT_RUN_IDS; none of them is a pair of the
                   * run that stays there */
    size_t count;
    bool stayed;               /* `tell` also hears of pairs that leave the run and come back */
    const atomic_bool *cancel; /* NULL: nobody cancels it */
    obb_contact_told *tell;    /* called for each pair that has begun or is gone, in order */
    void *context;
};

/* Brings the run to the state after a commit: the pairs of ended boxes leave it, and the present
 * pairs come in.
 *
 * Errors   OBB_NO_MEMORY, OBB_CANCELLED; then the run is as it was.
 * Cost     O(pairs of both); as much memory as they need, besides that of the run as it was. */
obb_status obb_contact_run_advance(struct obb_contact_run *run, const struct obb_contact_step *step,
                                   struct obb_budget *budget);

#endif
