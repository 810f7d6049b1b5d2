/* The inside of a view, for core/query. Internal to core.
 *
 * A view shows the state after a commit, or a point in time between a state and the next one.
 * Between two states every box stands as the earlier state has it, except interpolated boxes: these
 * move from their version in the earlier state to the `newer` one. The layers know the earlier
 * state. The interpolated versions have an index of their own (motion.h), whose bounds cover the
 * whole way. So a query asks the layers, leaves out the interpolated boxes, and asks that index for
 * them. obb_view_pose gives the poses. */
#ifndef OBB_VIEW_INSIDE_H
#define OBB_VIEW_INSIDE_H

#include "core/index/index.h"
#include "core/index/layers.h"
#include "core/scene/view.h"
#include "core/versions/version.h"

struct obb_state;

/* What an overlay (overlay.h) shows in place of boxes of a view. */
struct obb_view_overlay {
    const struct obb_view *below; /* the view without the overlay */
    const struct obb_view *over;  /* the boxes of the overlay */
    /* The ids of the boxes of `below` that are not shown, in places by hash; 0: a free place. */
    const uint64_t *hidden;
    size_t hidden_mask; /* the number of places, a power of two, less 1 */
    /* The names of the frames of `below` that are not shown, in order. */
    const obb_str *hidden_frames;
    size_t hidden_frame_count;
};

/* Immutable while it is open, except `rests`, `ticket`, `previous` and `next`, which are the
 * writer's. */
struct obb_view {
    obb_view_info info;
    uint64_t revision;         /* of the state: versions with born <= revision < died */
    double alpha;              /* 0: the state itself; else the share, in (0, 1], of the way to the
                                * state after it */
    struct obb_layers *layers; /* of the state */
    size_t cache_room;         /* bytes of pairs that a query may leave with them (pair_cache.h) */
    const struct obb_versions *versions;
    struct obb_scene *scene;
    struct obb_state *state; /* the pinned one */
    struct obb_state *later; /* the state after it, pinned, too; set wherever alpha is not 0 */
    bool keeps_later;        /* all states after it stay (obb_view_keep_later) */
    struct obb_view *opened; /* itself, or the view that pins its states for it */
    bool rests;              /* nobody reads by it now (obb_view_rest) */
    uint64_t ticket;         /* views are numbered in the order they were opened or renewed */
    struct obb_view *previous, *next;
    uint64_t
        next_id; /* of the scene when the view was opened; with the tail if the view is of it */
    /* NULL, or the view shows `below` with the overlay. The members above are those of `below`,
     * whose own overlay comes first. */
    const struct obb_view_overlay *overlay;
};

/* Returns a view of the published state that is not open: it holds until the writer does anything
 * else with the scene. The writer's. */
struct obb_view obb_view_of_now(struct obb_scene *scene);

static inline size_t obb_view_place_of(uint64_t id, size_t mask)
{
    return (size_t)(id * 0x9e3779b97f4a7c15u >> 20) & mask;
}

/* Returns whether the box of that id is one that the overlay hides or shows anew. */
static inline bool obb_view_hides(const struct obb_view_overlay *overlay, uint64_t id)
{
    size_t place = obb_view_place_of(id, overlay->hidden_mask);
    while (overlay->hidden[place] != 0 && overlay->hidden[place] != id)
        place = (place + 1) & overlay->hidden_mask;
    return overlay->hidden[place] == id;
}

/* Where a version of this view's state is interpolated to on the way to the next state, or NULL: it
 * stands. */
static inline const struct obb_version *obb_view_interpolated(const struct obb_view *view,
                                                              const struct obb_version *version)
{
    if (atomic_load_explicit(&version->died, memory_order_acquire) != view->revision + 1)
        return NULL;
    const uint32_t newer = obb_version_newer(version);
    if (newer == OBB_NO_VERSION)
        return NULL;
    const struct obb_version *to = obb_version_at(view->versions, newer);
    return to->interpolated ? to : NULL;
}

/* The same of a box in a view that may lie between two states or not. */
static inline const struct obb_version *obb_view_interpolates_to(const struct obb_view *view,
                                                                 const struct obb_version *box)
{
    return view->alpha == 0.0 ? NULL : obb_view_interpolated(view, box);
}

/* Writes the ids of all boxes of that name that some state of the history, or of an open view, may
 * hold: at most `room` of them. Returns how many there are, which is 0 or 1 for most names. Any
 * thread. */
size_t obb_view_ids_of_name(const struct obb_view *view, obb_str name, uint64_t *out, size_t room);
/* Returns whether `box` of the view is not where the layers show it: it is interpolated, or an
 * overlay hides it or shows it. */
static inline bool obb_view_is_loose(const struct obb_view *view, const struct obb_version *box)
{
    for (; view->overlay != NULL; view = view->overlay->below)
        if (box->id >= view->overlay->below->next_id || obb_view_hides(view->overlay, box->id))
            return true;
    return obb_view_interpolates_to(view, box) != NULL;
}

/* Returns the interned string of an entity, which all its boxes share in every state, or NULL if no
 * box has that entity. Any thread. */
const struct obb_interned *obb_view_entity(const struct obb_view *view, obb_str entity);

#endif
