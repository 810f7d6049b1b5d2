/* The keys of one object, to find duplicates among any number of them, hostile ones included. */
#ifndef WIRE_KEYS_H
#define WIRE_KEYS_H

#include "core/obb.h"

#include <stdbool.h>
#include <stdint.h>

enum { WIRE_KEYS_FEW = 8 }; /* compared one by one, without a table */

struct wire_key_slot {
    uint32_t hash, index; /* into the list, plus 1; 0: free */
};

/* {0} is empty. Beyond a few keys list and table lie in the arena; the bytes of the keys stay where they are. */
struct wire_keys {
    obb_str few[WIRE_KEYS_FEW];
    obb_str *list;
    struct wire_key_slot *table;
    size_t count, list_room, table_size; /* table_size: a power of 2 */
    size_t steps;                        /* in the table, beyond the first of each search */
    bool sorting;                        /* the table was left for a sort at the end */
};

typedef enum wire_key_status {
    WIRE_KEY_NEW,
    WIRE_KEY_DUPLICATE,
    WIRE_KEY_NO_MEMORY
} wire_key_status;

/* Amortised O(1). Where keys were made to collide in the table, the search is left to wire_keys_close, so that no
 * input costs more than O(n log n) comparisons. */
wire_key_status wire_keys_add(struct wire_keys *keys, struct obb_arena *arena, obb_str key);

/* To be called when the object ends: WIRE_KEY_NEW when no two keys were equal, else WIRE_KEY_DUPLICATE. */
wire_key_status wire_keys_close(struct wire_keys *keys);

uint32_t wire_key_hash(obb_str key);

#endif
