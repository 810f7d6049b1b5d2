/* Duplicate keys: finding them among any number of keys, also keys that were made to collide. */
#ifndef WIRE_KEYS_H
#define WIRE_KEYS_H

#include "core/obb.h"

#include <stdint.h>

typedef enum wire_key_status {
    WIRE_KEYS_DIFFER,
    WIRE_KEYS_REPEAT,
    WIRE_KEYS_NO_MEMORY,
    WIRE_KEYS_CANCELLED
} wire_key_status;

/* Tells whether all keys differ. The keys lie `stride` bytes apart, the first at `first`, so they
 * may be members of larger structs.
 *
 * cancel      may be NULL; polled about every 4,096 keys, or after a long key.
 * out_second  with WIRE_KEYS_REPEAT the index of the first key that an earlier one equals; may be
 *             NULL.
 * returns     WIRE_KEYS_NO_MEMORY if the arena has no memory, or for about 2^30 keys or more;
 *             WIRE_KEYS_CANCELLED soon after *cancel is true.
 * Memory      12 to 24 bytes a key, and 48 more if the keys are sorted, in the arena; none if they
 *             are in order.
 * Cost        about 15 ns a key, and 5 ns if the keys are in order. If too many keys collide in the
 *             hash table, the keys are sorted instead, so no input costs more than O(n log n)
 *             comparisons. */
wire_key_status wire_keys_check(const obb_str *first, size_t count, size_t stride,
                                const atomic_bool *cancel, struct obb_arena *arena,
                                size_t *out_second);

/* Returns the hash that the table uses. Tests make keys collide with it. */
uint32_t wire_key_hash(obb_str key);

#endif
