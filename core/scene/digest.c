#include "core/scene/digest.h"

#include "core/base/hash.h"
#include "core/scene/scene_data.h"

#include <assert.h>
#include <string.h>

/* Numbers of 8 little-endian bytes each, so that the hash is the same on every CPU. */
struct numbers {
    unsigned char bytes[8 * 20];
    size_t length;
};

static void add_whole(struct numbers *numbers, uint64_t value)
{
    assert(numbers->length + 8 <= sizeof numbers->bytes);
    for (int i = 0; i < 8; i++)
        numbers->bytes[numbers->length++] = (unsigned char)(value >> (8 * i));
}

static void add_double(struct numbers *numbers, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_whole(numbers, bits);
}

static uint64_t with_bytes(uint64_t hash, const void *bytes, size_t length)
{
    return obb_hash((obb_hash_key){.k0 = hash, .k1 = length}, bytes, length);
}

static uint64_t with_text(uint64_t hash, obb_str text)
{
    return with_bytes(hash, text.bytes, text.length);
}

static uint64_t with_version(uint64_t hash, const struct obb_version *v)
{
    const obb_box *box = &v->box;
    const double parts[] = {box->center.x,       box->center.y,       box->center.z,
                            box->half_extents.x, box->half_extents.y, box->half_extents.z,
                            box->rotation.x,     box->rotation.y,     box->rotation.z,
                            box->rotation.w,     box->angle};
    struct numbers numbers = {.length = 0};
    add_whole(&numbers, v->record->id);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        add_double(&numbers, parts[i]);
    add_whole(&numbers, v->category);
    add_whole(&numbers, v->mask);
    add_whole(&numbers, (uint64_t)(int64_t)v->group);
    hash = with_bytes(hash, numbers.bytes, numbers.length);
    hash = with_text(hash, obb_record_name(v->record));
    hash = with_text(hash, obb_interned_text(v->entity));
    return with_text(hash, obb_interned_text(v->data));
}

/* Returns the current version of the first box with an id of at least `from`, or NULL. */
static struct obb_version *current_from(struct obb_scene *scene, uint64_t from)
{
    for (struct obb_record *record = obb_id_tree_seek(&scene->ids, from); record != NULL;
         record = obb_id_tree_seek(&scene->ids, record->id + 1)) {
        struct obb_version *version = obb_scene_current(scene, record);
        if (version != NULL)
            return version;
    }
    return NULL;
}

uint64_t obb_scene_hash(struct obb_scene *scene)
{
    const obb_moment now = obb_history_now(&scene->history);
    struct numbers numbers = {.length = 0};
    add_whole(&numbers, (uint64_t)scene->settings.dimensions);
    add_double(&numbers, scene->settings.history_span);
    add_whole(&numbers, scene->settings.history_commits);
    add_whole(&numbers, now.revision);
    add_double(&numbers, now.time);
    uint64_t hash = with_bytes(0, numbers.bytes, numbers.length);
    for (const struct obb_version *v = current_from(scene, 1); v != NULL;
         v = current_from(scene, v->record->id + 1))
        hash = with_version(hash, v);
    return hash;
}
