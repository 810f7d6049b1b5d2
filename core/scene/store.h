/* All scenes of a service, by name. The writer's. */
#ifndef OBB_STORE_H
#define OBB_STORE_H

#include "core/scene/scene.h"

struct obb_store;

/* kernels: of every index of its scenes; NULL chooses. */
obb_status obb_store_create(size_t scene_limit, size_t box_limit, const struct obb_kernels *kernels,
                            struct obb_store **out);
void obb_store_destroy(
    struct obb_store *store); /* with its scenes, but for those with open views */

struct obb_scene *obb_store_find(const struct obb_store *store, obb_str name); /* NULL: none */

/* OBB_BAD_NAME, OBB_LIMIT, OBB_NO_MEMORY; OBB_BAD_VALUE when the name is taken. */
obb_status obb_store_add(struct obb_store *store, obb_str name, const obb_settings *settings,
                         double now_ms, struct obb_scene **out);

/* Unlinks the scene at once. *out_dead is the scene, the caller's to destroy (on any thread: for a large one that takes its
 * time); NULL while views are open, of which the last to be closed gives it out. OBB_NO_SCENE. */
obb_status obb_store_remove(struct obb_store *store, obb_str name, struct obb_scene **out_dead);

/* The scene after `after` in byte order of names (length 0: the first), or NULL. O(log n). */
struct obb_scene *obb_store_next(const struct obb_store *store, obb_str after);

size_t obb_store_scenes(const struct obb_store *store);
size_t obb_store_boxes(const struct obb_store *store);    /* in all scenes */
size_t obb_store_box_room(const struct obb_store *store); /* how many more may be added */

#endif
