/* Copies: a new scene made of one state of another.
 *
 * The copy holds the boxes of the state with names, ids and attributes, and its frames with the
 * boxes in them, at revision 1, which is the only state of its history. Between two commits boxes
 * and frames are where they are then. A box that its frame would place elsewhere gets another pose
 * in the frame, and stands where the frame places it by that pose: within rounding of where it
 * stood. Records, logs and exports hold the pose in the frame, and every reader places the box from
 * it. If that pose is out of range, the box stands in no frame. Texts are copied, too: interned
 * strings are counted by the one writer of their scene, and to count them across scenes would cost
 * every commit an atomic. */
#ifndef OBB_COPY_H
#define OBB_COPY_H

#include "core/base/budget.h"
#include "core/scene/view.h"

/* What a copy is made of. */
typedef struct obb_copy {
    const struct obb_view *view; /* the state; open until the copy is made */
    obb_str name;                /* of the copy */
    uint64_t next_id;            /* of the copy's next new box: that of the source */
    bool time_stated;            /* false: the clock of the copy is the server's, too */
    double now_ms;               /* the server's clock, as in obb_scene_create */
    uint64_t epoch;              /* of the copy, as in obb_store_adopt; 0: not known yet */
} obb_copy;

/* Returns what a copy of the view's state is made of. The writer's. O(1). */
obb_copy obb_copy_of(const struct obb_view *view, obb_str name, double now_ms);

/* Makes the copy, which is in no store, and which the caller owns.
 *
 * cancel  gives the copy up once it is true; may be NULL.
 * budget  what the work takes beside the scene draws from it; NULL: no limit.
 * errors  OBB_BAD_NAME, OBB_NO_MEMORY, OBB_CANCELLED.
 * Cost    O(boxes). Any thread. */
obb_status obb_scene_copy(const obb_copy *copy, const atomic_bool *cancel,
                          struct obb_budget *budget, struct obb_scene **out);

#endif
