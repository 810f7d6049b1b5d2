/* The pairs that all-pairs lists for the present of a scene, kept up to date from what each commit moved: so following a
 * scene costs what moves in it. One thread at a time.
 *
 * Pairs hang in a list of each of their two boxes, so that a box finds its own without a look at the others, and a pair is
 * taken out of both in constant time (as Box2D keeps its contacts; 32 bytes a pair). */
#ifndef OBB_CONTACTS_H
#define OBB_CONTACTS_H

#include "core/base/arena.h"
#include "core/query/query.h"
#include "core/scene/commit.h"
#include "core/scene/view.h"

struct obb_contacts;

/* Of the pairs of an all-pairs query without options. O(count). OBB_NO_MEMORY. */
obb_status obb_contacts_create(const obb_box_pair *pairs, size_t count, struct obb_contacts **out);
void obb_contacts_destroy(struct obb_contacts *contacts); /* NULL is fine */
size_t obb_contacts_count(const struct obb_contacts *contacts);

/* What one commit did to them; each list by (id, id). */
typedef struct obb_contact_changes {
    const obb_box_pair *begun; /* boxes as the state after the commit has them */
    const obb_box_pair *ended; /* likewise: both are still there, but apart */
    const obb_box_pair
        *removed; /* one of the two is not there any more: as the state before had them */
    size_t begun_count, ended_count, removed_count;
} obb_contact_changes;

/* Takes them from the state before a commit to the one after it; both views are the present of their time. The lists
 * are the arena's and as good as the views. After OBB_NO_MEMORY or OBB_CANCELLED (soon after *cancel, which may be NULL, is
 * true) they are good for obb_contacts_destroy alone. O(m + k log k) for m boxes in the commit with k pairs. */
obb_status obb_contacts_advance(struct obb_contacts *contacts, const struct obb_view *before,
                                const struct obb_view *after, const obb_committed *committed,
                                const atomic_bool *cancel, struct obb_arena *arena,
                                obb_contact_changes *out);

/* All pairs, by (id, id), of the view that they were last taken to; the list is the arena's. O(n log n). OBB_NO_MEMORY. */
obb_status obb_contacts_list(const struct obb_contacts *contacts, const struct obb_view *view,
                             struct obb_arena *arena, const obb_box_pair **out);

#endif
