/* One hash for everything: names, labels and the state of a scene. Internal to core.
 *
 * Source   Aumasson, Bernstein, "SipHash: a fast short-input PRF", Indocrypt 2012, with one round a word and three at
 *          the end; a client that does not know the key cannot choose names that collide. */
#ifndef OBB_HASH_H
#define OBB_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct obb_hash_key {
    uint64_t k0, k1;
} obb_hash_key;

/* The same value on every CPU; about 10 ns for a short name. */
uint64_t obb_hash(obb_hash_key key, const void *bytes, size_t length);

/* A key that differs from one place in memory to another and from run to run, where addresses do. Only the order within
 * hash tables depends on it, and that shows nowhere. */
obb_hash_key obb_hash_key_of_place(const void *place);

#endif
