/* Rehearsals: the states that the moments of a prepared commit would name after it, while the scene
 * stays as it is. For commits that are only tried, and to check the changes of their queries. */
#ifndef OBB_REHEARSAL_H
#define OBB_REHEARSAL_H

#include "core/scene/commit.h"
#include "core/scene/overlay.h"

typedef struct obb_rehearsal {
    struct obb_view **views;  /* one per moment of the edit, as obb_views_open orders them */
    struct obb_view **opened; /* the views that the caller closes, at most one a state */
    size_t opened_count;
    struct obb_overlay *overlay; /* of the commit, or NULL; the caller destroys it */
} obb_rehearsal;

/* Opens the views of a prepared commit's moments, and checks the `with` of each moment. Afterwards
 * the caller discards, applies or makes the commit. The views stay valid; they are of the tail
 * (obb_views_open_tail).
 *
 * cancel  ends the work once it is true; may be NULL. It is polled before each state.
 * out     zeroed by the caller. The lists are in the arena. The caller ends it, also after an
 *         error.
 * errors  of a `with` those of obb_overlay_of_edit: *out_fault says of_with, and where.
 *         OBB_NO_MEMORY, OBB_CANCELLED.
 * Cost    as obb_views_open, O(changes) if a moment lies after the state before, and that of each
 *         `with` for each state that its moment names. The writer's. */
obb_status obb_rehearse(const struct obb_prepared *prepared, const atomic_bool *cancel,
                        struct obb_arena *arena, obb_rehearsal *out, obb_fault *out_fault);

/* Closes the views and destroys the overlay. The writer's. */
void obb_rehearsal_end(obb_rehearsal *rehearsal);

#endif
