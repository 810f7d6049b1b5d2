/* The limit of --scene-memory on the bytes of all scenes together. Beyond it scenes give up the
 * pairs that queries have cached, and then the largest histories their oldest states. Locked scenes
 * keep theirs. Loop only, except before the service is ready: then a worker may call it. */
#ifndef SRV_SCENE_MEMORY_H
#define SRV_SCENE_MEMORY_H

#include "server/scenes/lock.h"

#include <stdint.h>

/* Zeroed except for the first group. */
struct srv_scene_memory {
    struct obb_store *store;       /* all scenes */
    const struct srv_locks *locks; /* which are locked, and the bytes promised to their edits */
    size_t limit;                  /* bytes; 0: none */

    uint64_t looks; /* at scenes by srv_scene_memory_shed, ever */
};

/* Returns how many bytes the scenes may still grow by, less the promised ones; SIZE_MAX without a
 * limit. O(1). */
size_t srv_scene_memory_room(const struct srv_scene_memory *memory);

/* Gives up cached pairs, and then the oldest states of the largest histories, until there is room
 * for `bytes`, or nothing is left to give up. Does not touch locked scenes, except `mine` (may be
 * NULL). Returns whether there is room. Nothing happens if there is room already, or if there is no
 * memory for the list of scenes. If all histories together would not make room for `bytes`, and
 * that is certain, no scene gives up a state: a commit that is refused changes nothing. Gives up
 * some states more than it must, so that it is seldom needed. O(scenes), and O(log scenes) a
 * state. */
bool srv_scene_memory_shed(struct srv_scene_memory *memory, const struct obb_scene *mine,
                           size_t bytes);

/* Returns false if srv_scene_memory_shed would return false, and that is certain. Gives up cached
 * pairs as srv_scene_memory_shed does, but no state. O(scenes). */
bool srv_scene_memory_might_shed(struct srv_scene_memory *memory, const struct obb_scene *mine,
                                 size_t bytes);

#endif
