#include "core/scene/motion.h"

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/scene/scene_data.h"

#include <assert.h>
#include <time.h>

#define WAIT_NS    100000 /* between two looks at the work of another thread */
#define POLL_BOXES 1024   /* looked at between two polls of *cancel: cold, 100 us */

static bool is_made(const struct obb_state *state)
{
    return atomic_load_explicit(&state->motion, memory_order_acquire) == OBB_MOTION_MADE;
}

/* Lists the versions that move, and in `to` where each of them moves. */
static obb_status list_moving(const struct obb_view *view, const atomic_bool *cancel,
                              const struct obb_version **from, const struct obb_version **to,
                              size_t *out_count)
{
    const struct obb_ended *ended = view->later->ended;
    size_t count = 0;
    for (size_t i = 0; i < ended->count; i++) {
        if (i % POLL_BOXES == 0 && obb_cancelled(cancel))
            return OBB_CANCELLED;
        const struct obb_version *version = obb_version_at(view->versions, ended->versions[i]);
        const struct obb_version *newer = obb_view_interpolated(view, version);
        if (newer == NULL || obb_version_is_frame(version))
            continue;
        from[count] = version;
        to[count++] = newer;
    }
    *out_count = count;
    return OBB_OK;
}

static obb_status build(const struct obb_view *view, const atomic_bool *cancel,
                        struct obb_index **out)
{
    const size_t most = view->later->ended->count;
    const struct obb_version **pairs =
        (const struct obb_version **)obb_malloc(most, 2 * sizeof(const struct obb_version *));
    if (pairs == NULL)
        return OBB_NO_MEMORY;
    size_t count = 0;
    obb_status st = list_moving(view, cancel, pairs, pairs + most, &count);
    if (st == OBB_OK && count > 0)
        st = obb_index_build(pairs, pairs + most, count, view->later->settings.dimensions,
                             obb_layers_kernels(view->layers), cancel, NULL, out);
    obb_free((void *)pairs);
    return st;
}

/* Returns false if another thread is building. */
static bool make_alone(const struct obb_view *view, const atomic_bool *cancel,
                       obb_status *out_status)
{
    struct obb_state *state = view->later;
    int motion = OBB_MOTION_NONE;
    if (!atomic_compare_exchange_strong_explicit(&state->motion, &motion, OBB_MOTION_BUILDING,
                                                 memory_order_acquire, memory_order_acquire)) {
        *out_status = OBB_OK;
        return motion == OBB_MOTION_MADE;
    }
    *out_status = build(view, cancel, &state->motion_index);
    atomic_store_explicit(&state->motion, *out_status == OBB_OK ? OBB_MOTION_MADE : OBB_MOTION_NONE,
                          memory_order_release);
    return true;
}

/* Without the overlays of the view. */
static size_t left_of(const struct obb_view *view)
{
    return view->alpha == 0.0 || is_made(view->later) ? 0 : view->later->ended->count;
}

static obb_status make(const struct obb_view *view, const atomic_bool *cancel)
{
    const struct timespec pause = {.tv_nsec = WAIT_NS};
    obb_status st = OBB_OK;
    while (view->alpha != 0.0 && !make_alone(view, cancel, &st)) {
        if (obb_cancelled(cancel))
            return OBB_CANCELLED;
        (void)nanosleep(&pause, NULL);
    }
    return st;
}

static obb_status make_now(const struct obb_view *view)
{
    obb_status st = OBB_OK;
    return view->alpha == 0.0 || make_alone(view, NULL, &st) ? st : OBB_CANCELLED;
}

size_t obb_motion_left(const struct obb_view *view)
{
    size_t left = left_of(view);
    for (; view->overlay != NULL; view = view->overlay->below)
        left += left_of(view->overlay->over);
    return left;
}

size_t obb_motion_boxes(const struct obb_view *view)
{
    if (view->alpha == 0.0 || !is_made(view->later))
        return obb_motion_left(view);
    const struct obb_index *index = view->later->motion_index;
    return index == NULL ? 0 : obb_index_count(index);
}

obb_status obb_motion_make(const struct obb_view *view, const atomic_bool *cancel)
{
    obb_status st = make(view, cancel);
    for (; st == OBB_OK && view->overlay != NULL; view = view->overlay->below)
        st = make(view->overlay->over, cancel);
    return st;
}

obb_status obb_motion_make_now(const struct obb_view *view)
{
    obb_status st = make_now(view);
    for (; st == OBB_OK && view->overlay != NULL; view = view->overlay->below)
        st = make_now(view->overlay->over);
    return st;
}

const struct obb_index *obb_motion_index(const struct obb_view *view)
{
    if (view->alpha == 0.0)
        return NULL;
    assert(is_made(view->later));
    return view->later->motion_index;
}
