/* Views: a state of a scene, held in place while it is read.
 *
 * The writer opens and closes views. Any number of threads may read a view until the writer closes
 * it. */
#ifndef OBB_VIEW_H
#define OBB_VIEW_H

#include "core/base/arena.h"
#include "core/base/str.h"
#include "core/geometry/box.h"
#include "core/index/rebuild.h"
#include "core/scene/edit.h"
#include "core/scene/effects.h"
#include "core/scene/scene.h"

#include <stdatomic.h>

struct obb_view;
struct
    obb_version; /* a box as one state has it; opaque to other folders, see the accessors below */

typedef struct obb_view_info {
    obb_moment at;  /* of the state: the commit's, or the time asked for between two commits */
    obb_moment now; /* of the scene when the view was opened; with the tail if the view is of it */
    bool clamped;
    int dimensions;
    size_t boxes, frames; /* alive in the state; between two commits, in the earlier one */
} obb_view_info;

/* Opens the published state that `at` names (NULL: the newest one).
 *
 * By time, a state holds from its commit on. A commit that changes nothing and states a later time
 * prolongs the newest state; poses are interpolated from the last such time to the time of the next
 * commit. By revision, the time of the state is the last one that was stated for it.
 *
 * errors  OBB_GONE outside the history: *out_oldest and *out_newest (each may be NULL) then say
 *         what is within. OBB_NO_MEMORY.
 * Cost    O(log states). Between two commits the first query of that span that walks candidates
 *         pays for what the later commit changed. */
obb_status obb_view_open(struct obb_scene *scene, const obb_at *at, struct obb_view **out,
                         obb_moment *out_oldest, obb_moment *out_newest);

/* Opens the state that `at` names if the tail (commit.h) counts, too: as obb_view_open would if all
 * its commits were published. The view may stay open when the state is published, but it must be
 * closed before a commit is reverted that made the state, or the one after it, or that came before
 * them. The writer's; for tests. */
obb_status obb_view_open_tail(struct obb_scene *scene, const obb_at *at, struct obb_view **out,
                              obb_moment *out_oldest, obb_moment *out_newest);

/* Opens the published states that `count` moments name, and pins each state once.
 *
 * out_views         room for all moments, each time of `times` counted: one for each. Equal moments
 *                   that follow each other in a state share one. They may be read until the opened
 *                   views are closed.
 * out_opened        the same room: the views that the caller closes, also after an error; at most
 *                   one a state. *out_opened_count says how many.
 * arena             holds the other views.
 * errors            OBB_GONE: *out_fault (may be NULL) names the moment and what is within, as in
 *                   an edit. OBB_NO_MEMORY. Some views may be open then.
 * Cost              as obb_view_open for each state; about 0.1 us for each further moment. */
obb_status obb_views_open(struct obb_scene *scene, const obb_needed_moment *moments, size_t count,
                          struct obb_arena *arena, struct obb_view **out_views,
                          struct obb_view **out_opened, size_t *out_opened_count,
                          obb_fault *out_fault);

/* Does the same with what the moments meant when `present` was the newest moment. If the state of
 * `present` is out of reach: OBB_GONE, whatever the first moment is. */
obb_status obb_views_open_as_of(struct obb_scene *scene, const obb_moment *present,
                                const obb_needed_moment *moments, size_t count,
                                struct obb_arena *arena, struct obb_view **out_views,
                                struct obb_view **out_opened, size_t *out_opened_count,
                                obb_fault *out_fault);

/* Does the same with the tail, as obb_view_open_tail. */
obb_status obb_views_open_tail(struct obb_scene *scene, const obb_needed_moment *moments,
                               size_t count, struct obb_arena *arena, struct obb_view **out_views,
                               struct obb_view **out_opened, size_t *out_opened_count,
                               obb_fault *out_fault);

/* Returns roughly how many nanoseconds obb_views_open of the same moments takes, or, as soon as
 * that is clear, some number above `limit`. */
double obb_views_cost(const obb_needed_moment *moments, size_t count, double limit);

/* Keeps all states after the view's until the view is closed, even if `at` no longer reaches them.
 * Call it before the commit that follows obb_view_open. The writer's. O(1). */
void obb_view_keep_later(struct obb_view *view);

/* Opens the state of `revision`, which is neither older than the state of `view` nor newer than the
 * published state. `view` keeps later states (obb_view_keep_later), and the opened view does so,
 * too. OBB_NO_MEMORY. O(1). */
obb_status obb_view_open_later(const struct obb_view *view, uint64_t revision,
                               struct obb_view **out);

/* Writes the commit that made the state of `revision`, which is newer than the state of `view`.
 * `view` keeps later states. Returns false if no such state is published yet. The writer's; the
 * step may be read on any thread until the view is closed. O(1). */
bool obb_view_step(const struct obb_view *view, uint64_t revision, obb_step *out);

/* Return what the state of the view is known to be by now: its settings; the time until which it
 * holds (later commits that changed nothing have moved the time on); the id of the first box that
 * was or will be made after it. The writer's. */
const obb_settings *obb_view_settings(const struct obb_view *view);
double obb_view_until(const struct obb_view *view);
uint64_t obb_view_next_id(const struct obb_view *view);

/* Says whether the view rests: nobody reads by it until it is woken, nor keeps anything that was
 * read by it but boxes and frames of states that it holds. NULL is fine. Views are awake when they
 * are opened. The writer's. O(1). */
void obb_view_rest(const struct obb_view *view, bool rests);

/* Lets go what was removed while views rest and is kept for these alone, as if each of them had
 * been opened now. What an edit makes that is then refused, discarded or rehearsed is removed, too:
 * without a call before each edit, that would add up beside a view that rests. The writer's.
 * O(open views), and O(1) where nothing is kept. */
void obb_scene_renew_views(struct obb_scene *scene);

/* Closes the view; the writer's. NULL is fine. If the scene was removed from its store and this was
 * its last view, returns the scene, which the caller destroys; otherwise NULL. */
struct obb_scene *obb_view_close(struct obb_view *view);

/* Returns what was known of the view when it was opened. It lives as long as the view. Any
 * thread. */
const obb_view_info *obb_view_info_get(const struct obb_view *view);

/* Returns the scene that the view is of. Any thread. */
const struct obb_scene *obb_view_scene(const struct obb_view *view);

/* Returns the box of that name or id in this state, or NULL. O(1). Any thread. */
const struct obb_version *obb_view_find(const struct obb_view *view, obb_str name);
const struct obb_version *obb_view_find_id(const struct obb_view *view, uint64_t id);

/* Looks up a round of at most OBB_VIEW_ROUND names: out[i] is the box of names[i], or NULL. Their
 * cache misses overlap, so a name takes half the time of obb_view_find. Any thread. */
#define OBB_VIEW_ROUND 16
void obb_view_find_names(const struct obb_view *view, const obb_str *names, size_t count,
                         const struct obb_version **out);

/* Returns the box with the smallest id above `after` in this state (0: the first box), or NULL.
 * Amortised O(1) in a walk. Any thread. */
const struct obb_version *obb_view_next(const struct obb_view *view, uint64_t after);

/* The parts of a box in this state. Strings live as long as the view. The pose is interpolated if
 * the view lies between two commits. Any thread. */
uint64_t obb_view_id(const struct obb_version *box);
uint64_t obb_view_changed(const struct obb_version *box); /* the revision that last changed it */
obb_str obb_view_name(const struct obb_version *box);
obb_box obb_view_pose(const struct obb_view *view, const struct obb_version *box);
obb_solid obb_view_solid(const struct obb_view *view, const struct obb_version *box);
obb_attributes obb_view_attributes(const struct obb_version *box);

/* Returns the time from which the ttl of a box counts. Any thread. */
double obb_view_since(const struct obb_view *view, const struct obb_version *box);

/* Returns whether the commit that made this version of the box names the box in a put. */
bool obb_view_put(const struct obb_version *box);

/* Returns the frame of that name in this state, or NULL. O(log n). Any thread. */
const struct obb_version *obb_view_find_frame(const struct obb_view *view, obb_str name);

/* Returns the first frame by name in this state that is not before `name` (length 0: the first
 * frame), or if `after`, the first one behind it; or NULL. O(log n). Any thread. */
const struct obb_version *obb_view_next_frame(const struct obb_view *view, obb_str name,
                                              bool after);

/* Returns the pose of a frame, as obb_view_pose that of a box; half_extents are 0. obb_view_name
 * gives its name. Any thread. */
obb_box obb_view_frame_pose(const struct obb_view *view, const struct obb_version *frame);

/* Returns true if the box stands in a frame, and then writes the frame's name and the pose of the
 * box in it, with the half extents of the box. Between two commits both are those of the earlier
 * commit. The name lives as long as the view. Any thread. */
bool obb_view_local(const struct obb_version *box, obb_str *out_frame, obb_box *out_local);

/* Begins to rebuild the broad phase of the view's state, which the caller destroys. The view and
 * *cancel (may be NULL) must outlive the rebuild. OBB_NO_MEMORY. Any thread. */
obb_status obb_view_rebuild(const struct obb_view *view, const atomic_bool *cancel,
                            struct obb_rebuild **out);

#endif
