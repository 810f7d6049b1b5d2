/* Locked scenes. The loop is the only writer of scenes, so a scene needs no lock as a rule. A scene
 * is locked while a worker of the pool touches it: to prepare a large edit, to take one back, or to
 * measure the bounds of a large scene. Meanwhile only views that are open already may be read.
 * Everybody else waits until the scene is unlocked.
 *
 * Views are opened and closed here, too, because a view of a locked scene cannot be closed at once.
 * Loop only. */
#ifndef SRV_LOCK_H
#define SRV_LOCK_H

#include "core/obb.h"
#include "server/base/drain.h"
#include "server/base/pool.h"

struct srv_request;
struct srv_scene_lock;

/* All locks of a service. Zeroed except for the first group. */
struct srv_locks {
    struct srv_pool *pool;   /* destroys removed scenes whose last view is closed */
    struct srv_drain *drain; /* held meanwhile */

    struct srv_scene_lock *first; /* the list of locked scenes */
    size_t promised_boxes;        /* the sum of their `promised` */
    size_t promised_bytes;        /* the sum of theirs */
    size_t open_views;
};

/* Something that goes on when a scene is unlocked. */
struct srv_wait {
    void (*again)(struct srv_wait *wait); /* set by the owner */
    struct srv_scene_lock *lock;          /* the lock that it waits for; NULL: none */
    struct srv_wait *previous, *next;
};

/* One locked scene, in the memory of whoever locked it. */
struct srv_scene_lock {
    struct obb_scene *scene;
    obb_scene_info info;   /* of the scene as it was when it was locked, without bounds */
    bool hidden;           /* the edit that is being prepared makes the scene */
    size_t promised;       /* boxes that the edit may add */
    size_t promised_bytes; /* bytes that it may add, see srv_lock_promise */
    struct srv_wait *first, *last;
    struct obb_view **closing; /* views to close on release; owned, with room for all open views */
    size_t closing_count;
    struct srv_scene_lock *next;
};

/* ---- For whoever locks ----------------------------------------------------------------------- */

/* Locks `scene`, which must be unlocked. `lock` is zeroed. Returns false if there is no memory;
 * then the scene is not locked. */
bool srv_lock_take(struct srv_locks *locks, struct srv_scene_lock *lock, struct obb_scene *scene,
                   bool hidden, size_t promised);

/* Sets how many bytes the edit of a locked scene may add, and takes them from the room of others
 * until the scene is unlocked. */
void srv_lock_promise(struct srv_locks *locks, struct srv_scene_lock *lock, size_t bytes);

/* Unlocks the scene and closes the views that were waiting to be closed. The caller may then touch
 * the scene, and must call srv_lock_wake when it has. */
void srv_lock_release(struct srv_locks *locks, struct srv_scene_lock *lock);

/* Calls what waits for a released lock, in the order of arrival. */
void srv_lock_wake(struct srv_scene_lock *lock);

/* ---- For everybody else ---------------------------------------------------------------------- */

/* Returns true while `scene` is locked. */
bool srv_scene_locked(const struct srv_locks *locks, const struct obb_scene *scene);

/* If the scene is locked, queues `wait` and returns true. wait->again is called when the scene is
 * unlocked. It must look the scene up anew, and may find it locked again. */
bool srv_lock_wait(struct srv_locks *locks, const struct obb_scene *scene, struct srv_wait *wait);

/* Takes `wait` out of the queue of its lock. */
void srv_lock_unwait(struct srv_wait *wait);

/* If the scene is locked, lets the request wait, and returns true. Its handler is called anew when
 * the scene is unlocked. Also returns true after answering the request if there is no memory for
 * that. */
bool srv_request_waits(struct srv_request *request, const struct obb_scene *scene);

/* Writes the scene's info without bounds, also while the scene is locked. *out_hidden (may be
 * NULL): others must not see the scene yet. O(locked scenes). */
void srv_scene_info(const struct srv_locks *locks, const struct obb_scene *scene,
                    obb_scene_info *out, bool *out_hidden);

/* Counts views that the caller has opened with obb_views_open. */
void srv_views_opened(struct srv_locks *locks, size_t count);

/* obb_view_open, obb_view_open_later and obb_view_close, which no other file of server/ calls (the
 * README says who opens views otherwise). To open a view the scene must be unlocked. A view of a
 * locked scene is closed when the scene is unlocked. NULL may be closed. */
obb_status srv_view_open(struct srv_locks *locks, struct obb_scene *scene, const obb_at *at,
                         struct obb_view **out, obb_moment *out_oldest, obb_moment *out_newest);
obb_status srv_view_open_later(struct srv_locks *locks, const struct obb_view *view,
                               uint64_t revision, struct obb_view **out);
void srv_view_close(struct srv_locks *locks, struct obb_view *view);

/* Puts a view of a later state of the same scene in place of *view (see obb_view_open_later). On
 * OBB_NO_MEMORY *view stays. */
obb_status srv_view_move(struct srv_locks *locks, uint64_t revision, struct obb_view **view);

#endif
