/* What one commit did, gathered once for all audiences of a channel. */
#ifndef SRV_CHANGES_H
#define SRV_CHANGES_H

#include "proto/wire.h"

/* A box that the commit changed, before and after it. NULL: the box was new, or is removed. */
typedef struct srv_box_change {
    const struct obb_version *before, *after;
    bool expired; /* removed by its ttl */
} srv_box_change;

typedef struct srv_changes {
    const struct obb_view *after; /* the state after the commit */
    obb_committed committed;
    const srv_box_change *boxes; /* by id */
    size_t box_count;
    const obb_contact_change *contacts; /* by (id, id) */
    size_t contact_count;
} srv_changes;

/* What is to be gathered. */
typedef struct srv_wanted {
    unsigned topics; /* WIRE_TOPIC_… */
    bool stayed;     /* contacts that stayed, too: a filter may match one of the boxes anew */
} srv_wanted;

/* Gathers what the commit between two states did. Any thread.
 *
 * contacts  the set of the state before, or NULL. It is moved on to the state after; with an error,
 *           or without room, it is destroyed and set to NULL.
 * out       lists in `arena`, valid while both views are open.
 * out_lost  the topics for which there was no room.
 * errors    OBB_CANCELLED. */
obb_status srv_changes_gather(const struct obb_view *before, const struct obb_view *after,
                              const srv_wanted *wanted, struct obb_contacts **contacts,
                              const atomic_bool *cancel, struct obb_arena *arena, srv_changes *out,
                              unsigned *out_lost);

#endif
