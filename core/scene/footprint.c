#include "core/scene/footprint.h"

#include "core/base/alloc.h"
#include "core/index/layers.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"

/* Bytes of an entry of an index, of the entry in the list of ended versions, of a place in the id
 * tree, and of a bucket of the hash table. */
#define ENTRY_BYTES 93
#define ENDED_BYTES sizeof(uint32_t)
#define PLACE_BYTES 9
#define LINK_BYTES  sizeof(struct obb_link)

/* Bytes of a commit that do not depend on its entries: a state, layers, and the head of an index. */
#define COMMIT_BYTES 2048

size_t obb_scene_history_bytes(const struct obb_scene *scene)
{
    const struct obb_versions *versions = &scene->versions;
    const size_t kept = versions->count - versions->free_count - scene->garbage.count;
    const struct obb_state *newest = obb_history_newest(&scene->history);
    const size_t present = obb_layers_bytes(newest->layers);
    return (kept - newest->boxes) * sizeof(struct obb_version) + scene->ended_bytes +
           obb_history_bytes(&scene->history) +
           (scene->layer_bytes > present ? scene->layer_bytes - present : 0);
}

size_t obb_scene_empty_bytes(obb_str name)
{
    return obb_heap_bytes(sizeof(struct obb_scene) + name.length) + COMMIT_BYTES;
}

static size_t text_bytes(obb_str text)
{
    return text.length == 0
               ? 0
               : obb_heap_bytes(sizeof(struct obb_interned) + text.length) + LINK_BYTES;
}

size_t obb_edit_bytes(const obb_edit *edit)
{
    const size_t made =
        edit->put_count + edit->pose_count + edit->transform_count + edit->merge_count;
    if (made + edit->remove_count == 0)
        return 0;
    size_t bytes = COMMIT_BYTES + edit->remove_count * ENDED_BYTES +
                   made * (sizeof(struct obb_version) + ENTRY_BYTES + ENDED_BYTES);
    obb_str entity = {.length = 0}; /* boxes of one entity mostly follow each other */
    for (size_t i = 0; i < edit->put_count; i++) {
        const obb_put *put = &edit->puts[i];
        if (put->parts != OBB_PUT_ALL)
            continue;
        bytes += obb_record_bytes(put->target.name.length) + PLACE_BYTES + LINK_BYTES +
                 text_bytes(put->attributes.data);
        if (!obb_str_equal(put->attributes.entity, entity))
            bytes += text_bytes(put->attributes.entity);
        entity = put->attributes.entity;
    }
    return bytes;
}

void obb_scene_set_room(struct obb_scene *scene, size_t bytes) { scene->byte_room = bytes; }

bool obb_scene_forget(struct obb_scene *scene)
{
    if (!obb_history_forget(&scene->history))
        return false;
    obb_scene_reclaim(scene, 0);
    obb_scene_settle(scene);
    return true;
}
