/* The footprint of an edit: the bytes that its commit adds to a scene, and how the history of a
 * scene gives bytes back. */
#ifndef OBB_FOOTPRINT_H
#define OBB_FOOTPRINT_H

#include "core/scene/edit.h"
#include "core/scene/scene.h"

struct obb_version;

/* Returns about how many bytes the scene holds beside its published state and its tail. O(1). The
 * writer's. */
size_t obb_scene_history_bytes(const struct obb_scene *scene);

/* Returns how many bytes obb_scene_forget gives back at most, over all states that it can put out
 * of reach: 0 if there is none. The names and data of the boxes of the published state count, too,
 * as nobody knows how many of these only the history holds. O(1). The writer's. */
size_t obb_scene_forgettable_bytes(const struct obb_scene *scene);

/* Returns about how many bytes an empty scene of that name takes. */
size_t obb_scene_empty_bytes(obb_str name);

/* Returns how many boxes stand in the frames that the edit moves or removes. For an estimate of the
 * cost before obb_edit_prepare. O(log frames) a frame. The writer's. */
size_t obb_edit_framed(const struct obb_scene *scene, const obb_edit *edit);

/* Returns how many boxes the edit lets expire, or some number of at least `limit` of them; of a
 * restart, how many boxes have a ttl. For an estimate of the cost before obb_edit_prepare.
 *
 * now_ms  the server's clock, as in obb_scene_create.
 * Cost    O(result). The writer's. */
size_t obb_edit_expiring(const struct obb_scene *scene, const obb_edit *edit, double now_ms,
                         size_t limit);

/* Returns about how many bytes the commit of an edit adds to its scene, 0 if the edit has no
 * entries. It counts a version for each entry and for each box of a frame that is moved, a new box
 * for each put, and a new frame for each frame that is not there. O(entries). The writer's. */
size_t obb_edit_bytes(const struct obb_scene *scene, const obb_edit *edit);

/* Returns about how many bytes copies of these boxes, which stand in no frame, add to another
 * scene. O(boxes). */
size_t obb_copies_bytes(const struct obb_version *const *boxes, size_t count);

/* Sets how many bytes the next edit may add (SIZE_MAX, as in a new scene: any number). See
 * OBB_SCENE_MEMORY of obb_edit_prepare. The writer's. */
void obb_scene_set_room(struct obb_scene *scene, size_t bytes);

/* Puts the oldest state out of reach of `at`, and releases the state if no view needs it. Views of
 * the state stay as they are. Returns false, and does nothing, if only the published state is
 * within reach. O(1), except that broad phases of the state alone are freed. The writer's. */
bool obb_scene_forget(struct obb_scene *scene);

#endif
