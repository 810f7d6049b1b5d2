#include "server/scenes/lock.h"

#include "server/scenes/async_destroy.h"
#include "server/scenes/services.h"
#include "server/scenes/work.h"

#include <assert.h>

static struct srv_scene_lock *lock_of(const struct srv_locks *locks, const struct obb_scene *scene)
{
    struct srv_scene_lock *lock = locks->first; /* as a rule there is none */
    while (lock != NULL && lock->scene != scene)
        lock = lock->next;
    return lock;
}

bool srv_lock_take(struct srv_locks *locks, struct srv_scene_lock *lock, struct obb_scene *scene,
                   bool hidden, size_t promised)
{
    lock->closing = obb_malloc(locks->open_views, sizeof(struct obb_view *));
    if (lock->closing == NULL)
        return false;
    obb_scene_info_without_bounds(scene, &lock->info);
    lock->scene = scene;
    lock->hidden = hidden;
    lock->promised = promised;
    lock->next = locks->first;
    locks->first = lock;
    locks->promised_boxes += promised;
    return true;
}

void srv_lock_promise(struct srv_locks *locks, struct srv_scene_lock *lock, size_t bytes)
{
    locks->promised_bytes = locks->promised_bytes - lock->promised_bytes + bytes;
    lock->promised_bytes = bytes;
}

void srv_lock_release(struct srv_locks *locks, struct srv_scene_lock *lock)
{
    struct srv_scene_lock **at = &locks->first;
    while (*at != lock)
        at = &(*at)->next;
    *at = lock->next;
    locks->promised_boxes -= lock->promised;
    srv_lock_promise(locks, lock, 0);
    for (size_t i = 0; i < lock->closing_count; i++)
        srv_async_destroy(locks->pool, locks->drain, obb_view_close(lock->closing[i]));
    obb_free(lock->closing);
}

void srv_lock_unwait(struct srv_wait *wait)
{
    struct srv_scene_lock *lock = wait->lock;
    *(wait->previous != NULL ? &wait->previous->next : &lock->first) = wait->next;
    *(wait->next != NULL ? &wait->next->previous : &lock->last) = wait->previous;
    wait->lock = NULL;
}

void srv_lock_wake(struct srv_scene_lock *lock)
{
    while (lock->first != NULL) {
        struct srv_wait *wait = lock->first;
        srv_lock_unwait(wait);
        wait->again(wait);
    }
}

bool srv_scene_locked(const struct srv_locks *locks, const struct obb_scene *scene)
{
    return lock_of(locks, scene) != NULL;
}

bool srv_lock_wait(struct srv_locks *locks, const struct obb_scene *scene, struct srv_wait *wait)
{
    struct srv_scene_lock *lock = lock_of(locks, scene);
    if (lock == NULL)
        return false;
    wait->lock = lock;
    wait->next = NULL;
    wait->previous = lock->last;
    *(lock->last != NULL ? &lock->last->next : &lock->first) = wait;
    lock->last = wait;
    return true;
}

/* In the request's arena. */
struct waiting_request {
    struct srv_wait wait; /* first */
    struct srv_request *request;
};

static void call_handler(struct srv_wait *wait)
{
    srv_request_again(((struct waiting_request *)wait)->request);
}

static void on_cancel(struct srv_request *request)
{
    struct waiting_request *w = request->work;
    srv_lock_unwait(&w->wait);
    srv_reply_cancelled(request);
}

bool srv_request_waits(struct srv_request *request, const struct obb_scene *scene)
{
    struct srv_locks *locks = request->services->locks;
    if (lock_of(locks, scene) == NULL)
        return false;
    struct waiting_request *w = srv_work_room(request, sizeof *w);
    if (w == NULL)
        return true;
    w->wait.again = call_handler;
    w->request = request;
    request->work = w;
    request->on_cancel = on_cancel;
    return srv_lock_wait(locks, scene, &w->wait);
}

void srv_scene_info(const struct srv_locks *locks, const struct obb_scene *scene,
                    obb_scene_info *out, bool *out_hidden)
{
    const struct srv_scene_lock *lock = lock_of(locks, scene);
    if (lock != NULL)
        *out = lock->info;
    else
        obb_scene_info_without_bounds(scene, out);
    if (out_hidden != NULL)
        *out_hidden = lock != NULL && lock->hidden;
}

obb_status srv_view_open(struct srv_locks *locks, struct obb_scene *scene, const obb_at *at,
                         struct obb_view **out, obb_moment *out_oldest, obb_moment *out_newest)
{
    assert(lock_of(locks, scene) == NULL);
    const obb_status status = obb_view_open(scene, at, out, out_oldest, out_newest);
    locks->open_views += status == OBB_OK;
    return status;
}

obb_status srv_view_open_later(struct srv_locks *locks, const struct obb_view *view,
                               uint64_t revision, struct obb_view **out)
{
    assert(lock_of(locks, obb_view_scene(view)) == NULL);
    const obb_status status = obb_view_open_later(view, revision, out);
    locks->open_views += status == OBB_OK;
    return status;
}

void srv_views_opened(struct srv_locks *locks, size_t count) { locks->open_views += count; }

obb_status srv_view_move(struct srv_locks *locks, uint64_t revision, struct obb_view **view)
{
    assert(lock_of(locks, obb_view_scene(*view)) == NULL);
    struct obb_view *later = NULL;
    const obb_status status = obb_view_open_later(*view, revision, &later);
    if (status != OBB_OK)
        return status;
    locks->open_views++;
    srv_view_close(locks, *view);
    *view = later;
    return OBB_OK;
}

void srv_view_close(struct srv_locks *locks, struct obb_view *view)
{
    if (view == NULL)
        return;
    locks->open_views--;
    struct srv_scene_lock *lock =
        locks->first != NULL ? lock_of(locks, obb_view_scene(view)) : NULL;
    if (lock != NULL)
        lock->closing[lock->closing_count++] = view;
    else
        srv_async_destroy(locks->pool, locks->drain, obb_view_close(view));
}
