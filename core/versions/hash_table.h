/* A hash table of intrusive links, keyed by hash: one writer, any number of readers that never wait. Internal to
 * core.
 *
 * Readers run beside the writer without locks; what the writer takes out must stay readable until every reader that
 * might still stand on it is gone (core/scene/scene_body.h says how a scene knows). Growing moves nothing and costs no
 * pause: all links form one list, sorted by their bit-reversed hash, and a bucket is only a place to enter it.
 *
 * Source   Shalev, Shavit, "Split-Ordered Lists: Lock-Free Extensible Hash Tables", JACM 53(3), 2006; with one
 *          writer neither compare-and-swap nor marked pointers are needed. */
#ifndef OBB_HASH_TABLE_H
#define OBB_HASH_TABLE_H

#include "core/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A member of what is found by hash; embedded at the start of its owner. */
struct obb_link {
    _Atomic(struct obb_link *) next;
    uint32_t key; /* bits of the hash in reverse; lowest bit 1, but 0 for buckets */
};

#define OBB_HASH_TABLE_FIRST    16 /* buckets of an empty table, a power of two */
#define OBB_HASH_TABLE_SEGMENTS 28 /* segment k > 0 has OBB_HASH_TABLE_FIRST << (k - 1) buckets */

/* Lives in place and must not move. */
struct obb_hash_table {
    _Atomic(struct obb_link *) segments[OBB_HASH_TABLE_SEGMENTS];
    _Atomic uint32_t mask; /* buckets - 1 */
    uint32_t ready;        /* the writer's: buckets below it are all entered in the list */
    size_t count;          /* the writer's: links without buckets */
    struct obb_link end;
    struct obb_link first[OBB_HASH_TABLE_FIRST];
};

void obb_hash_table_init(struct obb_hash_table *table);
void obb_hash_table_fini(
    struct obb_hash_table *table); /* frees the buckets; the links are their owner's */

/* Makes room for `count` links in all, so that insertions up to there take constant time on average. OBB_NO_MEMORY:
 * nothing is lost. */
obb_status obb_hash_table_reserve(struct obb_hash_table *table, size_t count);

/* Puts the link before all others of its hash. Never fails. */
void obb_hash_table_insert(struct obb_hash_table *table, struct obb_link *link, uint32_t hash);
void obb_hash_table_remove(struct obb_hash_table *table, struct obb_link *link);

/* The latest link of that hash, and the one before it; NULL: none. Hashes that differ in the top bit alone are the same here:
 * compare what the owner holds. Any thread. */
struct obb_link *obb_hash_table_find(const struct obb_hash_table *table, uint32_t hash);
struct obb_link *obb_hash_table_find_next(const struct obb_hash_table *table,
                                          const struct obb_link *link);

/* Brings what a lookup will touch into the cache, in two steps some time apart: the bucket, then its first link. Whoever
 * looks up many starts them all before the first; a wrong hash does no harm. */
void obb_hash_table_prefetch_bucket(const struct obb_hash_table *table, uint32_t hash);
void obb_hash_table_prefetch_link(const struct obb_hash_table *table, uint32_t hash);

/* Every link once: the one after `after` (NULL: the first), or NULL. The writer's. */
struct obb_link *obb_hash_table_walk(const struct obb_hash_table *table,
                                     const struct obb_link *after);

size_t obb_hash_table_bytes(const struct obb_hash_table *table); /* of the buckets */

/* Structure check for tests: order, counts, every bucket in its place. */
bool obb_hash_table_validate(const struct obb_hash_table *table);

#endif
