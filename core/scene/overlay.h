/* Overlays: boxes laid over a view that are stored nowhere. For questions about what is not stored:
 * an edit that holds for one query, or a commit that is only rehearsed.
 *
 * An overlay is a small scene of its own. It begins with copies of the boxes that the edit touches,
 * with their ids, of the boxes of frames that the edit moves or removes, and of the frames of all
 * these boxes. The edit is then a commit of the small scene; if it touches no frame, the copies and
 * the edit are one commit. So what an edit means is said once, in apply.c, and the overlay has an
 * index, names, history and interpolation as any scene. A view with an overlay shows the boxes of
 * the small scene in place of those of the same ids, and its frames in place of those of the same
 * names. Between two commits a copied box stands where the view shows it, and its pose in its frame
 * is that of the earlier commit.
 *
 * The scene below only has to be readable: any thread that may read the view may lay an overlay. */
#ifndef OBB_OVERLAY_H
#define OBB_OVERLAY_H

#include "core/base/arena.h"
#include "core/scene/effects.h"
#include "core/scene/view.h"

struct obb_overlay;

/* Makes the overlay of an edit over a view, which may have an overlay itself.
 *
 * edit       groups of boxes and frames only: no time, condition, moments or settings. New boxes
 *            get the next ids of the scene below.
 * cancel     ends the work once it is true; may be NULL. Polled about every 1,000 boxes.
 * arena      holds lists of the overlay, which draws from arena->budget.
 * out        the caller destroys it before the arena and `below`.
 * errors     those of obb_edit_prepare about entries; *out_fault then names the entry.
 *            OBB_NO_MEMORY, OBB_CANCELLED.
 * Cost       about 3 us, and 0.1 us for each entry. If the edit touches frames, or boxes in
 *            frames: about 15 us, 0.7 us for each entry, 2 us for each box of its frames, and if
 *            it names frames that are there, a look at every box of the state: about 60 ns each.
 *            Any thread. */
obb_status obb_overlay_of_edit(const struct obb_view *below, const obb_edit *edit,
                               const atomic_bool *cancel, struct obb_arena *arena,
                               struct obb_overlay **out, obb_fault *out_fault);

/* Makes the overlay of a commit that is prepared. `below` is a view of the newest state, and the
 * commit's effects have `before` and `after`. Otherwise as above. */
obb_status obb_overlay_of_effects(const struct obb_view *below, const obb_effects *effects,
                                  struct obb_arena *arena, struct obb_overlay **out);

/* Opens a view of `below` with the overlay.
 *
 * below   the view that the overlay was made over.
 * at      NULL: after the edit. Otherwise a moment of the overlay's history: between the state
 *         below and the commit that is rehearsed.
 * out     in the arena; may be read by any thread until the overlay is destroyed. obb_view_close is
 *         not for it. Its info is that of `below`, except the number of boxes.
 * errors  OBB_GONE, OBB_NO_MEMORY. One thread at a time. */
obb_status obb_overlay_open(struct obb_overlay *overlay, const struct obb_view *below,
                            const obb_at *at, struct obb_arena *arena, struct obb_view **out);

void obb_overlay_destroy(struct obb_overlay *overlay); /* NULL is fine. O(boxes of the overlay) */

/* Ends the overlay, and returns its small scene for the caller to destroy, on any thread, or
 * NULL. */
struct obb_scene *obb_overlay_end(struct obb_overlay *overlay); /* NULL is fine */

#endif
