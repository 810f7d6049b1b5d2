#include "server/scenes/companion.h"

#include "server/scenes/remembered.h"

#include <assert.h>

struct srv_companion *srv_companion_of(const struct obb_scene *scene)
{
    return obb_scene_context(scene);
}

struct srv_companion *srv_companion_make(struct srv_companions *all, struct obb_scene *scene)
{
    struct srv_companion *companion = srv_companion_of(scene);
    if (companion != NULL)
        return companion;
    companion = obb_calloc(1, sizeof *companion);
    if (companion == NULL)
        return NULL;
    companion->scene = scene;
    companion->next = all->first;
    if (all->first != NULL)
        all->first->previous = companion;
    all->first = companion;
    obb_scene_set_context(scene, companion);
    return companion;
}

void srv_companion_drop(struct srv_companions *all, struct obb_scene *scene)
{
    struct srv_companion *companion = srv_companion_of(scene);
    if (companion == NULL)
        return;
    assert(companion->tail == NULL);
    srv_remembered_destroy(companion->remembered);
    *(companion->previous != NULL ? &companion->previous->next : &all->first) = companion->next;
    if (companion->next != NULL)
        companion->next->previous = companion->previous;
    obb_scene_set_context(scene, NULL);
    obb_free(companion);
}
