#include "core/scene/record.h"

#include "core/base/alloc.h"
#include "core/scene/scene_data.h"

#include <stddef.h>
#include <string.h>

uint32_t obb_record_hash(const struct obb_scene *scene, obb_str name)
{
    return (uint32_t)obb_hash(scene->key, name.bytes, name.length);
}

static struct obb_record *record_of(struct obb_link *link)
{
    return (struct obb_record *)link; /* its first member */
}

struct obb_record *obb_record_find(const struct obb_scene *scene, obb_str name, uint32_t hash)
{
    for (struct obb_link *link = obb_hash_table_find(&scene->names, hash); link != NULL;
         link = obb_hash_table_find_next(&scene->names, link))
        if (obb_str_equal(obb_record_name(record_of(link)), name))
            return record_of(link);
    return NULL;
}

/* The bytes of a record, without the padding that would follow the struct. */
static size_t record_size(size_t name_length)
{
    return offsetof(struct obb_record, name) + name_length;
}

size_t obb_record_bytes(size_t name_length) { return obb_heap_bytes(record_size(name_length)); }

struct obb_record *obb_record_create(struct obb_scene *scene, obb_str name)
{
    struct obb_record *record = obb_malloc(1, record_size(name.length));
    if (record == NULL)
        return NULL;
    record->id = scene->next_id;
    record->length = (uint8_t)name.length;
    memcpy(record->name, name.bytes, name.length);
    atomic_init(&record->newest, OBB_NO_VERSION);
    record->expiry = OBB_NO_PLACE;
    scene->record_bytes += obb_record_bytes(name.length);
    return record;
}

void obb_record_destroy(struct obb_scene *scene, struct obb_record *record)
{
    scene->record_bytes -= obb_record_bytes(record->length);
    obb_free(record);
}
