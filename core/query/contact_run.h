/* Contacts as a run: one array of all pairs by (id, id), with the versions of their boxes. A commit
 * that touches many boxes updates a run in two passes over it, and reads no box that it did not
 * touch. Internal to core/query. */
#ifndef OBB_CONTACT_RUN_H
#define OBB_CONTACT_RUN_H

#include "core/base/budget.h"
#include "core/scene/commit.h"
#include "core/versions/box_pair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct obb_contact_run {
    obb_id_pair *pairs; /* of the budget */
    size_t count, capacity;
};

/* The boxes that a commit ended. If their ids are near each other: a bit for each id from the least
 * to the greatest. Else a hash set of the ids, behind a bit set that rules out most other ids. */
struct obb_ended {
    uint64_t *bits; /* of ids; or eight for each slot */
    uint64_t first; /* id of the first bit */
    uint64_t span;  /* ids that have a bit; 0: the hash set */
    uint64_t *made; /* bits: the commit made another version of the box; by id, or by slot */
    uint64_t *ids;  /* of the hash set: open addressing; 0: free */
    unsigned shift; /* from hash to slot */
};

/* Creates the set. The caller releases it by obb_ended_fini, also after OBB_NO_MEMORY. O(boxes of
 * the commit). */
obb_status obb_ended_init(struct obb_ended *ended, const obb_committed *committed,
                          struct obb_budget *budget);
void obb_ended_fini(struct obb_ended *ended);

/* Returns whether the commit removed the box. */
bool obb_ended_removed(const struct obb_ended *ended, uint64_t id);

/* Makes room for `capacity` pairs in all. OBB_NO_MEMORY. */
obb_status obb_contact_run_reserve(struct obb_contact_run *run, size_t capacity,
                                   struct obb_budget *budget);

/* Takes the pairs of ended boxes out of the run. Both lists stay in order.
 *
 * *out     the pairs taken out, drawn from the budget; the caller frees them by obb_budget_free.
 * Errors   OBB_NO_MEMORY, and then *out is not written and the contents of the run are unspecified.
 * Cost     O(pairs of the run). */
obb_status obb_contact_run_part(struct obb_contact_run *run, const struct obb_ended *ended,
                                struct obb_budget *budget, obb_id_pair **out, size_t *out_count);

/* Merges sorted pairs into the run, which has none of them and has room for all. O(pairs of
 * both). */
void obb_contact_run_merge(struct obb_contact_run *run, const obb_id_pair *pairs, size_t count);

#endif
