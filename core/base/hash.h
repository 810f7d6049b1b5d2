/* The keyed hash of names, interned strings and the state of a scene. Internal to core.
 *
 * A client that does not know the key cannot choose names that collide.
 *
 * Source   Aumasson, Bernstein, "SipHash: a fast short-input PRF", Indocrypt 2012, with one
 *          round a word and three at the end. */
#ifndef OBB_HASH_H
#define OBB_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct obb_hash_key {
    uint64_t k0, k1;
} obb_hash_key;

/* Returns the hash of `length` bytes: the same value on every CPU. About 10 ns for a short name. */
uint64_t obb_hash(obb_hash_key key, const void *bytes, size_t length);

/* Returns a key made of an address: it differs between places in memory, and between runs if the
 * system randomises addresses. Only the order within hash tables depends on the key, and no
 * answer depends on that order. */
obb_hash_key obb_hash_key_of_place(const void *place);

#endif
