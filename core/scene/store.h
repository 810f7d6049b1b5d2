/* The store: all scenes of a service, by name. The writer's. */
#ifndef OBB_STORE_H
#define OBB_STORE_H

#include "core/scene/scene.h"

struct obb_store;

/* Creates an empty store. kernels: of every index of its scenes; NULL chooses. OBB_NO_MEMORY. */
obb_status obb_store_create(size_t scene_limit, size_t box_limit, const struct obb_kernels *kernels,
                            struct obb_store **out);

/* Destroys the store and its scenes, except scenes with open views: obb_view_close returns these
 * with their last view. NULL is fine. */
void obb_store_destroy(struct obb_store *store);

/* Returns the scene of that name, or NULL. O(log n). */
struct obb_scene *obb_store_find(const struct obb_store *store, obb_str name);

/* Creates a scene, which the store owns (see obb_scene_create). epoch: a number that no other
 * making of a scene has; the caller draws it. OBB_BAD_NAME; OBB_LIMIT if there
 * are scene_limit scenes; OBB_BAD_VALUE if the name is taken or the settings are out of range;
 * OBB_NO_MEMORY. O(n). */
obb_status obb_store_add(struct obb_store *store, obb_str name, const obb_settings *settings,
                         uint64_t epoch, double now_ms, struct obb_scene **out);

/* Lets queries cache the pairs of a scene (core/index/pair_cache.h) only while all scenes together,
 * with the cache, hold at most `bytes`. In the beginning there is no such limit. */
void obb_store_cache(struct obb_store *store, size_t bytes);

/* Returns the kernels that the store was created with. */
const struct obb_kernels *obb_store_kernels(const struct obb_store *store);

/* Returns whether there are scene_limit scenes, or more. */
bool obb_store_full(const struct obb_store *store);

/* Takes a scene over that is in no store, under its name, also if the store is full.
 * OBB_BAD_VALUE if the name is taken; OBB_NO_MEMORY. The caller then keeps the scene. O(n). */
obb_status obb_store_adopt(struct obb_store *store, struct obb_scene *scene, uint64_t epoch);

/* Removes the scene from the store at once. *out_dead is the scene, which the caller destroys, on
 * any thread: a large scene takes long. If views are open, *out_dead is NULL and obb_view_close
 * returns the scene with its last view. OBB_NO_SCENE. */
obb_status obb_store_remove(struct obb_store *store, obb_str name, struct obb_scene **out_dead);

/* Returns the first scene after the name `after` in byte order (length 0: the first scene), or
 * NULL. O(log n). */
struct obb_scene *obb_store_next(const struct obb_store *store, obb_str after);

/* Return how many scenes the store has, and how many boxes and frames all of them have. O(1). */
size_t obb_store_scenes(const struct obb_store *store);
size_t obb_store_boxes(const struct obb_store *store);

/* Returns the scene with that number in byte order of the names; i < obb_store_scenes. O(1). */
struct obb_scene *obb_store_at(const struct obb_store *store, size_t i);

/* Returns the bytes that all scenes hold: the sum of obb_scene_bytes as of the last change of each
 * scene. Removed scenes count until their last views are closed. O(1). */
size_t obb_store_bytes(const struct obb_store *store);

/* Returns how many more boxes and frames may be added. */
size_t obb_store_box_room(const struct obb_store *store);

#endif
