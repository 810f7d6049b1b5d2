/* A hash of a scene's newest state, to compare scenes in tests, replays and benchmarks. */
#ifndef OBB_DIGEST_H
#define OBB_DIGEST_H

#include "core/scene/scene.h"

/* Hashes settings, moment, ids, names, poses and attributes of the newest state; the same bits on
 * every CPU. Two scenes that hold the same have the same hash, however they came about, except that
 * ids and revisions count. O(boxes). The writer's. */
uint64_t obb_scene_hash(struct obb_scene *scene);

#endif
