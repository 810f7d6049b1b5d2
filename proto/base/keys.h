/* Whether all keys of an object are different, for any number of them, hostile ones included. */
#ifndef WIRE_KEYS_H
#define WIRE_KEYS_H

#include "core/obb.h"

#include <stdint.h>

typedef enum wire_key_status {
    WIRE_KEYS_DIFFER,
    WIRE_KEYS_REPEAT,
    WIRE_KEYS_NO_MEMORY
} wire_key_status;

/* The strings lie `stride` bytes apart, the first at `first`, so that they may be members of larger things. Working memory
 * (12 to 24 bytes a key) comes from the arena. About 15 ns a key; where keys were made to collide in the table they are
 * sorted instead, so no input costs more than O(n log n) comparisons. */
wire_key_status wire_keys_check(const obb_str *first, size_t count, size_t stride,
                                struct obb_arena *arena);

uint32_t wire_key_hash(obb_str key);

#endif
