/* Views: a state of a scene, held in place while it is read. */
#ifndef OBB_VIEW_H
#define OBB_VIEW_H

#include "core/base/str.h"
#include "core/geometry/box.h"
#include "core/index/rebuild.h"
#include "core/scene/scene.h"

#include <stdatomic.h>

struct obb_view;    /* a state of a scene, held in place */
struct obb_version; /* a box as one state has it; opaque to others, see the accessors below */

typedef struct obb_view_info {
    obb_moment at;  /* of the state: the commit's, or the time asked for between two */
    obb_moment now; /* of the scene when the view was opened */
    bool clamped;
    int dimensions;
    size_t boxes; /* alive in the state; when between two commits, in the earlier */
} obb_view_info;

/* Opens the state that `at` names (NULL: now). By time, a state holds from its commit on; a commit that changes nothing
 * but states a later time prolongs it, and poses run from the last such time to the next commit's. By revision, its time
 * is the last that was stated for it. O(1) but for a state between two commits, where it costs what the
 * later one changed, once a commit. OBB_GONE outside the history, with *out_oldest and *out_newest (when not NULL)
 * written. */
obb_status obb_view_open(struct obb_scene *scene, const obb_at *at, struct obb_view **out,
                         obb_moment *out_oldest, obb_moment *out_newest);

/* The writer's; NULL is fine. Returns NULL, or, when the scene was removed from its store and this was its last view, the
 * scene, the caller's to destroy. */
struct obb_scene *obb_view_close(struct obb_view *view);

const obb_view_info *obb_view_info_get(const struct obb_view *view);
const struct obb_scene *obb_view_scene(const struct obb_view *view);

/* The box of that name or id in this state, or NULL. O(1). Any thread. */
const struct obb_version *obb_view_find(const struct obb_view *view, obb_str name);
const struct obb_version *obb_view_find_id(const struct obb_view *view, uint64_t id);

/* The next box by id after `after` (0: the first) in this state, or NULL. Amortised O(1) in a walk. Any thread. */
const struct obb_version *obb_view_next(const struct obb_view *view, uint64_t after);

/* What a state says of a box of its own; strings live as long as the view. The pose is interpolated where the
 * view lies between two commits. */
uint64_t obb_view_id(const struct obb_version *box);
obb_str obb_view_name(const struct obb_version *box);
obb_box obb_view_pose(const struct obb_view *view, const struct obb_version *box);
obb_solid obb_view_solid(const struct obb_view *view, const struct obb_version *box);
obb_attributes obb_view_attributes(const struct obb_version *box);

/* Begins it. Any thread. View and *cancel (may be NULL) must outlive the rebuild, which is the caller's to destroy.
 * OBB_NO_MEMORY. */
obb_status obb_view_rebuild(const struct obb_view *view, const atomic_bool *cancel,
                            struct obb_rebuild **out);

#endif
