/* The structure check of a scene, for tests and fuzzers. */
#ifndef OBB_SCENE_CHECK_H
#define OBB_SCENE_CHECK_H

#include <stdbool.h>

struct obb_scene;

/* Returns true if everything that a scene holds agrees with everything else: walks all versions,
 * records, states, views, retired objects and the broad phase. No edit may be prepared. Without
 * memory for the counts, false. */
bool obb_scene_validate(struct obb_scene *scene);

#endif
