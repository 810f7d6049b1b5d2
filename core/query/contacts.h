/* Contacts: the set of pairs that all-pairs lists for the newest state of a scene, updated from
 * commit to commit. So the cost of following a scene depends on the boxes that move. One thread at
 * a time.
 *
 * While commits move a few boxes, a pair is linked into a list of each of its two boxes. So a box
 * finds its pairs without a look at others, and a pair is removed from both lists in constant time.
 * While commits move many, all pairs stand in one sorted array, and a commit is merged into it. A
 * pair takes 32 bytes in lists and 24 in an array; twice as many while an array is merged.
 *
 * Source  Box2D keeps its contacts in lists in the same way. */
#ifndef OBB_CONTACTS_H
#define OBB_CONTACTS_H

#include "core/base/arena.h"
#include "core/query/query.h"
#include "core/scene/commit.h"
#include "core/scene/view.h"

struct obb_contacts;

/* Creates the set from the pairs of an all-pairs query without options. The set draws from the
 * budget, which must outlive it; NULL: no limit. The caller destroys it. O(count).
 * OBB_NO_MEMORY; OBB_CANCELLED soon after *cancel (may be NULL) is true. */
obb_status obb_contacts_create(struct obb_budget *budget, const obb_box_pair *pairs, size_t count,
                               const atomic_bool *cancel, struct obb_contacts **out);
void obb_contacts_destroy(struct obb_contacts *contacts); /* NULL is fine */
size_t obb_contacts_count(const struct obb_contacts *contacts);

/* Returns whether the pairs are in lists, and not in a sorted array. For tests. */
bool obb_contacts_listed(const struct obb_contacts *contacts);

/* A pair that a commit has changed. */
typedef struct obb_contact_change {
    /* The pair in the states before and after the commit: {NULL, NULL} where it is not in the
     * set. */
    obb_box_pair before, after;
    bool removed; /* the commit removed one of the two boxes, or both */
    bool expired; /* `removed`, and one of them by its ttl */
} obb_contact_change;

/* Updates the set across one commit. `before` and `after` are views of the states before and after
 * it.
 *
 * stayed  lists also the pairs that are in both sets, of which a box has another version now.
 * out     the changes by (id, id), allocated in `arena`, valid while both views are open.
 * errors  OBB_NO_MEMORY; OBB_CANCELLED soon after *cancel (may be NULL) is true. After an error the
 *         set can only be destroyed.
 * Cost    O(m + k log k) for m boxes in the commit with k pairs. If most commits move many boxes,
 *         O(all pairs + m). */
obb_status obb_contacts_advance(struct obb_contacts *contacts, const struct obb_view *before,
                                const struct obb_view *after, const obb_committed *committed,
                                bool stayed, const atomic_bool *cancel, struct obb_arena *arena,
                                const obb_contact_change **out, size_t *out_count);

/* Lists all pairs by (id, id), as versions of `view`: a view of the state to which the set was last
 * updated. The list is valid while the set is not updated and the arena is not reset. It is the
 * set's own, O(1), or if the set is in lists, it is allocated in `arena`: 16 bytes a pair, the rest
 * is as the boxes that have pairs, O(n log n). OBB_NO_MEMORY. */
obb_status obb_contacts_list(const struct obb_contacts *contacts, const struct obb_view *view,
                             struct obb_arena *arena, const obb_box_pair **out);

#endif
