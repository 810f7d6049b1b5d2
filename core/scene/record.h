/* Records of boxes (struct obb_record of core/versions/version.h): how a scene makes and finds
 * them. Internal to core. */
#ifndef OBB_RECORD_H
#define OBB_RECORD_H

#include "core/base/str.h"
#include "core/versions/version.h"

#include <stdint.h>

struct obb_scene;

/* Returns a record of that name with the scene's next id, in neither the hash table nor the id tree
 * yet, or NULL if there is no memory. */
struct obb_record *obb_record_create(struct obb_scene *scene, obb_str name);

/* Lets the records that are made from now on lie in common blocks, or with false in blocks of the
 * heap of their own, as in a new scene. Common blocks are faster and smaller for many records, but
 * such a block is freed with its last record only. The writer's. */
void obb_records_gather(struct obb_scene *scene, bool on);

/* Returns the bytes of a record on the heap, in a block of its own. */
size_t obb_record_bytes(size_t name_length);

/* Frees a record that is in no table and that no reader sees. Takes it from the scene's count of
 * bytes. */
void obb_record_destroy(struct obb_scene *scene, struct obb_record *record);

/* Returns the scene's hash of a name. Any thread. */
uint32_t obb_record_hash(const struct obb_scene *scene, obb_str name);

/* Returns the latest record of that name, also of a removed box, or NULL. Any thread. */
struct obb_record *obb_record_find(const struct obb_scene *scene, obb_str name, uint32_t hash);

#endif
