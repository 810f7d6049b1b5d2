/* What the inside of a view shows to the query engine. Internal to core.
 *
 * A view is the state after a commit, or a state on the way from it to the next one. In the second case every box stands
 * as the earlier state has it, except the interpolated ones: they move from their version in the earlier state to its
 * `newer` one. The layers know the earlier state; the interpolated versions have an index of their own, whose bounds cover
 * their way. So a query asks the layers, leaves out the interpolated ones, and asks `interpolated_index`; poses come
 * from obb_view_pose. */
#ifndef OBB_VIEW_H
#define OBB_VIEW_H

#include "core/index/index.h"
#include "core/index/layers.h"
#include "core/scene/scene.h"
#include "core/versions/version.h"

struct obb_state;

/* Immutable while it is open, but for the links, which are the writer's. */
struct obb_view {
    obb_view_info info;
    uint64_t revision;         /* the state: versions with born <= revision < died */
    double alpha;              /* 0: the state itself; else the share, in (0, 1], of the way to the
                                * state after it */
    struct obb_layers *layers; /* of the state */
    struct obb_index
        *interpolated_index; /* over the interpolated versions, built with motion; NULL: none are,
                                * as where alpha is 0 */
    const struct obb_versions *versions;
    struct obb_scene *scene;
    struct obb_state *state; /* what is pinned */
    uint64_t ticket;         /* views are numbered in the order they were opened */
    struct obb_view *previous, *next;
};

/* Where `box` of this view's state is interpolated to, or NULL: it stands. */
static inline const struct obb_version *obb_view_interpolates_to(const struct obb_view *view,
                                                                 const struct obb_version *box)
{
    if (view->interpolated_index == NULL ||
        atomic_load_explicit(&box->died, memory_order_acquire) != view->revision + 1)
        return NULL;
    const uint32_t newer = atomic_load_explicit(&box->newer, memory_order_relaxed);
    if (newer == OBB_NO_VERSION)
        return NULL;
    const struct obb_version *to = obb_version_at(view->versions, newer);
    return to->interpolated ? to : NULL;
}

/* The interned string that every box of that entity has, in this state and in all others; NULL: no box has it. Any thread. */
const struct obb_interned *obb_view_entity(const struct obb_view *view, obb_str entity);

#endif
