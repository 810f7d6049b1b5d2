#include "server/scenes/scene_memory.h"

#include <stdint.h>

#define SLACK 64 /* shedding makes room for 1 / SLACK of the limit more, so it is seldom needed */

size_t srv_scene_memory_room(const struct srv_scene_memory *memory)
{
    if (memory->limit == 0)
        return SIZE_MAX;
    const size_t taken = obb_store_bytes(memory->store) + memory->locks->promised_bytes;
    return taken < memory->limit ? memory->limit - taken : 0;
}

static bool has_room(const struct srv_scene_memory *memory, size_t bytes)
{
    if (memory->limit == 0)
        return true;
    const size_t taken = obb_store_bytes(memory->store) + memory->locks->promised_bytes;
    return taken <= memory->limit && bytes <= memory->limit - taken;
}

static bool is_untouchable(const struct srv_scene_memory *memory, const struct obb_scene *scene,
                           const struct obb_scene *mine)
{
    return scene != mine && srv_scene_locked(memory->locks, scene);
}

static bool can_forget(const struct srv_scene_memory *memory, const struct obb_scene *scene,
                       const struct obb_scene *mine)
{
    obb_scene_info info;
    if (is_untouchable(memory, scene, mine))
        return false;
    obb_scene_info_without_bounds(scene, &info);
    return info.oldest.revision < info.now.revision;
}

/* Returns the scene with the largest history that can give up a state, or NULL. *out_next is the
 * size of the second largest. */
static struct obb_scene *largest(const struct srv_scene_memory *memory,
                                 const struct obb_scene *mine, size_t *out_next)
{
    struct obb_scene *found = NULL;
    size_t most = 0;
    *out_next = 0;
    for (struct obb_scene *scene = obb_store_next(memory->store, (obb_str){.length = 0});
         scene != NULL; scene = obb_store_next(memory->store, obb_scene_name(scene))) {
        if (!can_forget(memory, scene, mine))
            continue;
        const size_t bytes = obb_scene_history_bytes(scene);
        if (found == NULL || bytes > most) {
            *out_next = most;
            most = bytes;
            found = scene;
        } else if (bytes > *out_next) {
            *out_next = bytes;
        }
    }
    return found;
}

/* Gives up cached pairs until there is room. */
static void drop_pairs(const struct srv_scene_memory *memory, const struct obb_scene *mine,
                       size_t bytes)
{
    for (struct obb_scene *scene = obb_store_next(memory->store, (obb_str){.length = 0});
         scene != NULL && !has_room(memory, bytes);
         scene = obb_store_next(memory->store, obb_scene_name(scene)))
        if (!is_untouchable(memory, scene, mine))
            obb_scene_drop_pairs(scene);
}

bool srv_scene_memory_shed(struct srv_scene_memory *memory, const struct obb_scene *mine,
                           size_t bytes)
{
    if (has_room(memory, bytes))
        return true;
    const size_t target = bytes < memory->limit ? bytes + memory->limit / SLACK : bytes;
    size_t next = 0;
    struct obb_scene *scene;
    drop_pairs(memory, mine, target);
    while (!has_room(memory, target) && (scene = largest(memory, mine, &next)) != NULL) {
        bool more = true;
        while (more && !has_room(memory, target) && obb_scene_history_bytes(scene) >= next)
            more = obb_scene_forget(scene);
    }
    return has_room(memory, bytes);
}
