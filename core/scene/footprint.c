#include "core/scene/footprint.h"

#include "core/base/alloc.h"
#include "core/index/layers.h"
#include "core/scene/reclaim.h"
#include "core/scene/record.h"
#include "core/scene/scene_data.h"

/* Bytes of a version with its links. */
#define VERSION_BYTES (sizeof(struct obb_version) + sizeof(struct obb_version_links))

/* Bytes of an entry of an index, of the entry in the list of ended versions, of a place in the id
 * tree, and of a bucket of the hash table. */
#define ENTRY_BYTES 93
#define ENDED_BYTES sizeof(uint32_t)
#define PLACE_BYTES 9
#define LINK_BYTES  sizeof(struct obb_link)

/* Bytes of the mount of a box with its seat, and of a rig. */
#define MOUNT_BYTES (obb_heap_bytes(sizeof(struct obb_mount)) + sizeof(struct obb_record *))
#define RIG_BYTES   obb_heap_bytes(sizeof(struct obb_rig) + 2 * sizeof(struct obb_rig *))

/* Bytes of an entry of the expiry, which grows to twice its size. */
#define EXPIRY_BYTES (2 * sizeof(struct obb_expiry_entry))

/* Bytes of a commit that do not depend on its entries: a state, layers, and the head of an
 * index. */
#define COMMIT_BYTES 2048

size_t obb_scene_history_bytes(const struct obb_scene *scene)
{
    const struct obb_versions *versions = &scene->versions;
    const size_t kept = versions->count - versions->free_count - scene->garbage.count;
    const struct obb_state *newest = obb_history_newest(&scene->history);
    const size_t ended = obb_scene_has_tail(scene) ? scene->history.tail.ended : 0;
    const size_t present = obb_layers_bytes(newest->layers);
    return obb_versions_share(versions, kept - newest->boxes - newest->frames - ended) +
           scene->ended_bytes + obb_history_bytes(&scene->history) +
           (scene->layer_bytes > present ? scene->layer_bytes - present : 0);
}

size_t obb_scene_forgettable_bytes(const struct obb_scene *scene)
{
    if (!obb_history_can_forget(&scene->history))
        return 0;
    const struct obb_state *newest = obb_history_newest(&scene->history);
    const size_t stays = (newest->boxes + newest->frames) * VERSION_BYTES +
                         newest->boxes * offsetof(struct obb_record, name) +
                         obb_layers_bytes(newest->layers);
    const size_t bytes = obb_scene_bytes(scene);
    return bytes > stays ? bytes - stays : 0;
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

size_t obb_edit_framed(const struct obb_scene *scene, const obb_edit *edit)
{
    size_t boxes = 0;
    for (size_t i = 0; i < edit->remove_frame_count; i++)
        boxes += obb_rigs_boxes(&scene->rigs, edit->remove_frames[i]);
    for (size_t i = 0; i < edit->frame_count; i++)
        boxes += obb_rigs_boxes(&scene->rigs, edit->frames[i].target.name);
    return boxes;
}

size_t obb_edit_expiring(const struct obb_scene *scene, const obb_edit *edit, double now_ms,
                         size_t limit)
{
    const double since_created = now_ms - scene->created_ms;
    const double last = obb_history_tail_now(&scene->history).time;
    const double clock = scene->time_stated || since_created < last ? last : since_created;
    if (edit->replace_all)
        return 0;
    if (edit->restart)
        return scene->expiry.count;
    return obb_expiry_due(&scene->expiry, edit->has_time ? edit->time : clock, limit);
}

/* Returns the bytes of the frames of an edit: a version for each, and a rig for each new one. */
static size_t frame_bytes(const struct obb_scene *scene, const obb_edit *edit)
{
    size_t bytes = edit->frame_count * (VERSION_BYTES + ENDED_BYTES);
    for (size_t i = 0; i < edit->frame_count; i++) {
        const obb_str name = edit->frames[i].target.name;
        const struct obb_rig *rig = obb_rigs_seek(&scene->rigs, name, false);
        if (rig == NULL || !obb_str_equal(obb_record_name(rig->record), name))
            bytes += sizeof(struct obb_extras) + obb_record_bytes(name.length) + RIG_BYTES;
    }
    return bytes;
}

/* Returns whether a put may give its box extras that it does not share with its version before. */
static bool makes_extras(const struct obb_scene *scene, const obb_put *put)
{
    const obb_attributes *attributes = &put->attributes;
    return (put->parts != OBB_PUT_ALL && scene->versions.extras_count > 0) ||
           put->frame.length > 0 ||
           ((put->parts & OBB_PUT_ENTITY) != 0 && attributes->entity.length > 0) ||
           ((put->parts & OBB_PUT_DATA) != 0 && attributes->data.length > 0) ||
           ((put->parts & OBB_PUT_TTL) != 0 && attributes->has_ttl);
}

/* Returns the bytes of the extras that an edit may make in other ways than by puts and frames: a
 * posed box has a new mount if it stands in a frame, and each version of a box with a ttl has
 * extras of its own. */
static size_t extras_bytes(const struct obb_scene *scene, const obb_edit *edit, size_t framed)
{
    const size_t posed = scene->rigs.bytes > 0 ? edit->pose_count : 0;
    const size_t merged = scene->versions.extras_count > 0 ? edit->merge_count : 0;
    const size_t others = framed + edit->pose_count - posed + edit->transform_count;
    const size_t timed = others < scene->expiry.count ? others : scene->expiry.count;
    return (posed + merged + timed) * sizeof(struct obb_extras);
}

size_t obb_edit_bytes(const struct obb_scene *scene, const obb_edit *edit)
{
    const size_t framed = obb_edit_framed(scene, edit);
    const size_t made =
        edit->put_count + edit->pose_count + edit->transform_count + edit->merge_count + framed;
    const size_t removed = edit->remove_count + edit->remove_frame_count;
    if (made + removed + edit->frame_count == 0)
        return 0;
    size_t bytes = COMMIT_BYTES + removed * ENDED_BYTES +
                   made * (VERSION_BYTES + ENTRY_BYTES + ENDED_BYTES) +
                   extras_bytes(scene, edit, framed) + frame_bytes(scene, edit);
    obb_str entity = {.length = 0}; /* boxes of one entity mostly follow each other */
    for (size_t i = 0; i < edit->put_count; i++) {
        obb_put scratch;
        const obb_put *put = obb_edit_put_without_box(edit, i, &scratch);
        if (put->frame.length > 0)
            bytes += MOUNT_BYTES;
        if ((put->parts & OBB_PUT_TTL) != 0 && put->attributes.has_ttl)
            bytes += EXPIRY_BYTES;
        if (makes_extras(scene, put))
            bytes += sizeof(struct obb_extras);
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

size_t obb_copies_bytes(const struct obb_version *const *boxes, size_t count)
{
    size_t bytes = COMMIT_BYTES + count * (VERSION_BYTES + ENTRY_BYTES + PLACE_BYTES + LINK_BYTES);
    for (size_t i = 0; i < count; i++)
        bytes += obb_record_bytes(obb_version_record(boxes[i])->length) +
                 (boxes[i]->has_extras ? sizeof(struct obb_extras) : 0) +
                 text_bytes(obb_interned_text(obb_version_extras(boxes[i])->entity)) +
                 text_bytes(obb_interned_text(obb_version_extras(boxes[i])->data));
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
