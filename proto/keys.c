#include "proto/keys.h"

#include "proto/wide.h"

#include <stdlib.h>
#include <string.h>

/* Two words at a time through a 128-bit product, folded; the constants are digits of pi. */
uint32_t wire_key_hash(obb_str key)
{
    const char *p = key.bytes;
    size_t left = key.length;
    uint64_t state = 0x243f6a8885a308d3u ^ left;
    while (left > 0) {
        uint64_t word[2] = {0, 0};
        const size_t take = left < sizeof word ? left : sizeof word;
        memcpy(word, p, take);
        const wire_product mixed = wire_multiply(word[0] ^ state, word[1] ^ 0x13198a2e03707344u);
        state = mixed.high ^ mixed.low ^ 0xa4093822299f31d0u;
        p += take;
        left -= take;
    }
    const wire_product last = wire_multiply(state, 0x9e3779b97f4a7c15u);
    return (uint32_t)((last.high ^ last.low) >> 16);
}

static void insert(struct wire_keys *keys, uint32_t hash, size_t index)
{
    const size_t mask = keys->table_size - 1;
    size_t at = hash & mask;
    while (keys->table[at].index != 0)
        at = (at + 1) & mask;
    keys->table[at] = (struct wire_key_slot){.hash = hash, .index = (uint32_t)(index + 1)};
}

/* Room for one more key in the list, and for twice as many in the table. */
static bool grow(struct wire_keys *keys, struct obb_arena *arena)
{
    if (keys->count >= UINT32_MAX / 4)
        return false;
    if (keys->count >= keys->list_room) {
        const size_t room = keys->list_room == 0 ? 64 : keys->list_room * 2;
        obb_str *list = obb_arena_grow(arena, keys->list, keys->list_room, room, sizeof *list);
        if (list == NULL)
            return false;
        if (keys->list_room == 0)
            memcpy(list, keys->few, sizeof keys->few);
        keys->list = list;
        keys->list_room = room;
    }
    if (keys->sorting || keys->count * 2 < keys->table_size)
        return true;
    const size_t size = keys->table_size == 0 ? 256 : keys->table_size * 4;
    struct wire_key_slot *table = obb_arena_alloc(arena, size, sizeof *table);
    if (table == NULL)
        return false;
    memset(table, 0, size * sizeof *table);
    struct wire_key_slot *old = keys->table;
    const size_t old_size = keys->table_size;
    keys->table = table;
    keys->table_size = size;
    if (old == NULL) {
        for (size_t i = 0; i < keys->count; i++)
            insert(keys, wire_key_hash(keys->list[i]), i);
    } else {
        for (size_t i = 0; i < old_size; i++)
            if (old[i].index != 0)
                insert(keys, old[i].hash, old[i].index - 1);
    }
    return true;
}

wire_key_status wire_keys_add(struct wire_keys *keys, struct obb_arena *arena, obb_str key)
{
    if (keys->count < WIRE_KEYS_FEW) {
        for (size_t i = 0; i < keys->count; i++)
            if (obb_str_equal(keys->few[i], key))
                return WIRE_KEY_DUPLICATE;
        keys->few[keys->count++] = key;
        return WIRE_KEY_NEW;
    }
    if (!grow(keys, arena))
        return WIRE_KEY_NO_MEMORY;
    if (!keys->sorting) {
        const uint32_t hash = wire_key_hash(key);
        const size_t mask = keys->table_size - 1;
        size_t at = hash & mask;
        for (; keys->table[at].index != 0; at = (at + 1) & mask, keys->steps++)
            if (keys->table[at].hash == hash &&
                obb_str_equal(keys->list[keys->table[at].index - 1], key))
                return WIRE_KEY_DUPLICATE;
        keys->table[at] =
            (struct wire_key_slot){.hash = hash, .index = (uint32_t)(keys->count + 1)};
        /* an honest table at most half full needs less than one step more a search */
        keys->sorting = keys->steps > 4096 && keys->steps > 8 * keys->count;
    }
    keys->list[keys->count++] = key;
    return WIRE_KEY_NEW;
}

static int by_bytes(const void *left, const void *right)
{
    const obb_str *a = left, *b = right;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->length == 0 ? 0 : memcmp(a->bytes, b->bytes, a->length);
}

wire_key_status wire_keys_close(struct wire_keys *keys)
{
    if (!keys->sorting)
        return WIRE_KEY_NEW;
    qsort(keys->list, keys->count, sizeof *keys->list, by_bytes);
    for (size_t i = 1; i < keys->count; i++)
        if (obb_str_equal(keys->list[i - 1], keys->list[i]))
            return WIRE_KEY_DUPLICATE;
    return WIRE_KEY_NEW;
}
