/* The index of the boxes that move between two commits. Internal to core, for core/query.
 *
 * A view between two commits opens without the index. The first query that walks candidates builds
 * the index, which serves all views between the same two commits. The state after them keeps the
 * index until the state before them goes. An index does not change once it is made. A view with
 * overlays has an index for each overlay between two commits, too. */
#ifndef OBB_MOTION_H
#define OBB_MOTION_H

#include "core/scene/view_inside.h"

/* Returns how many boxes building would look at: 0 if the view shows a state, or if the index is
 * made. O(1). Any thread. */
size_t obb_motion_left(const struct obb_view *view);

/* Returns the number of boxes that move, or, before the index is made, an upper bound. O(1). Any
 * thread. */
size_t obb_motion_boxes(const struct obb_view *view);

/* Makes the index, unless it is made or the view shows a state.
 *
 * If another thread is building the index, waits for that thread. If that thread fails, builds in
 * its place. cancel (may be NULL) is polled about every 100 us.
 * OBB_NO_MEMORY; OBB_CANCELLED. Any thread. O(boxes that the later commit changed). */
obb_status obb_motion_make(const struct obb_view *view, const atomic_bool *cancel);

/* Does the same, but returns OBB_CANCELLED if another thread is building the index. */
obb_status obb_motion_make_now(const struct obb_view *view);

/* Returns the index of the view below all overlays, which must be made, or NULL if no box moves.
 * The versions are those of the state before; the bounds hold the whole way of a box. O(1). Any
 * thread. */
const struct obb_index *obb_motion_index(const struct obb_view *view);

#endif
