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

/* A block of records. A record of a block has its place there, in units of UNIT bytes; a record
 * with a block of the heap of its own has the place 0. */
#define UNIT        16
#define BLOCK_BYTES ((size_t)4080) /* so that a block of the heap is a page */
#define MOST_READY  64             /* blocks that are made ready at a time */
struct obb_record_block {
    union {
        size_t used;                   /* bytes */
        struct obb_record_block *next; /* of blocks that are ready */
    };
    size_t live; /* records that are not destroyed */
    char records[BLOCK_BYTES - 2 * sizeof(size_t)];
};

/* The bytes of a record, without the padding that would follow the struct. */
static size_t record_size(size_t name_length)
{
    return offsetof(struct obb_record, name) + name_length;
}

size_t obb_record_bytes(size_t name_length) { return obb_heap_bytes(record_size(name_length)); }

static void free_block(struct obb_scene *scene, struct obb_record_block *block)
{
    scene->record_bytes -= obb_heap_bytes(sizeof *block);
    obb_free(block);
}

/* Makes blocks ready for the records that come, each time twice as many. The heap gets the pages of
 * all of them at once, in one block that it then splits: it writes beside each block that it gives,
 * so later they would come one by one. Returns false if there is no memory. */
static bool make_ready(struct obb_scene *scene)
{
    struct obb_record_block **end = &scene->ready_blocks;
    struct obb_record_block *all = obb_malloc(scene->ready_next, sizeof *all);
    if (all != NULL)
        obb_fill_pages(all, scene->ready_next * sizeof *all);
    obb_free(all);
    for (uint32_t i = 0; i < scene->ready_next; i++) {
        struct obb_record_block *block = obb_malloc(1, sizeof *block);
        if (block == NULL)
            break;
        *end = block;
        end = &block->next;
    }
    *end = NULL;
    scene->ready_next = scene->ready_next < MOST_READY ? 2 * scene->ready_next : MOST_READY;
    return scene->ready_blocks != NULL;
}

/* Returns the first of the blocks that are ready, or NULL if there is no memory. */
static struct obb_record_block *take_ready(struct obb_scene *scene)
{
    if (scene->ready_blocks == NULL && !make_ready(scene))
        return NULL;
    struct obb_record_block *block = scene->ready_blocks;
    scene->ready_blocks = block->next;
    return block;
}

void obb_records_gather(struct obb_scene *scene, bool on)
{
    scene->gathers = on;
    scene->ready_next = 1;
    while (!on && scene->ready_blocks != NULL)
        obb_free(take_ready(scene));
    if (!on && scene->record_block != NULL && scene->record_block->live == 0)
        free_block(scene, scene->record_block);
    if (!on)
        scene->record_block = NULL;
}

/* Returns memory for a record in a block, and writes its place. NULL: there is no memory. */
static struct obb_record *take_from_block(struct obb_scene *scene, size_t bytes, uint8_t *out_place)
{
    struct obb_record_block *block = scene->record_block;
    const size_t taken = (bytes + UNIT - 1) / UNIT * UNIT;
    if (block == NULL || taken > sizeof *block - block->used) {
        struct obb_record_block *next = take_ready(scene);
        if (next == NULL)
            return NULL;
        scene->record_bytes += obb_heap_bytes(sizeof *next);
        next->used = offsetof(struct obb_record_block, records);
        next->live = 0;
        if (block != NULL && block->live == 0)
            free_block(scene, block);
        scene->record_block = block = next;
    }
    *out_place = (uint8_t)(block->used / UNIT);
    struct obb_record *record = (void *)((char *)block + block->used);
    block->used += taken;
    block->live++;
    return record;
}

struct obb_record *obb_record_create(struct obb_scene *scene, obb_str name)
{
    uint8_t place = 0;
    const size_t bytes = record_size(name.length);
    struct obb_record *record =
        scene->gathers ? take_from_block(scene, bytes, &place) : obb_malloc(1, bytes);
    if (record == NULL)
        return NULL;
    record->id = scene->next_id;
    record->length = (uint8_t)name.length;
    record->place = place;
    memcpy(record->name, name.bytes, name.length);
    atomic_init(&record->newest, OBB_NO_VERSION);
    record->expiry = OBB_NO_PLACE;
    if (place == 0)
        scene->record_bytes += obb_record_bytes(name.length);
    return record;
}

void obb_record_destroy(struct obb_scene *scene, struct obb_record *record)
{
    if (record->place == 0) {
        scene->record_bytes -= obb_record_bytes(record->length);
        obb_free(record);
        return;
    }
    struct obb_record_block *block = (void *)((char *)record - (size_t)record->place * UNIT);
    if (--block->live == 0 && block != scene->record_block)
        free_block(scene, block);
}
