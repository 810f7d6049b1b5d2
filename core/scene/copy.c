#include "core/scene/copy.h"

#include "core/scene/commit.h"
#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"

obb_copy obb_copy_of(const struct obb_view *view, obb_str name, double now_ms)
{
    return (obb_copy){.view = view,
                      .name = name,
                      .next_id = obb_scene_published_next_id(view->scene),
                      .time_stated = obb_scene_has_tail(view->scene)
                                         ? view->scene->published.time_stated
                                         : view->scene->time_stated,
                      .now_ms = now_ms};
}

obb_status obb_scene_copy(const obb_copy *copy, const atomic_bool *cancel,
                          struct obb_budget *budget, struct obb_scene **out)
{
    const struct obb_view *view = copy->view;
    struct obb_scene *scene = NULL;
    struct obb_prepared *prepared = NULL;
    struct obb_arena arena;
    obb_arena_init(&arena);
    arena.budget = budget;
    /* a clock that is the server's goes on at the time of the state */
    obb_status st =
        obb_scene_create(copy->name, &view->state->settings, copy->now_ms - view->info.at.time,
                         view->scene->kernels, &scene);
    if (st == OBB_OK)
        scene->key = view->scene->key; /* so no name is hashed again */
    if (st == OBB_OK)
        st = obb_copy_prepare(scene, view, copy->next_id, copy->time_stated, cancel, &arena,
                              &prepared);
    if (st == OBB_OK) {
        obb_committed committed;
        obb_edit_commit(prepared, &committed);
        scene->epoch = copy->epoch;
        *out = scene;
    } else {
        obb_scene_destroy(scene);
    }
    obb_arena_fini(&arena);
    return st;
}
