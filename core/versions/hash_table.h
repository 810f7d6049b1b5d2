/* A hash table of intrusive links, for one writer and any number of readers that never wait.
 * Internal to core.
 *
 * Readers walk the table beside the writer without locks. A link that the writer has removed must
 * stay readable until no reader can still stand on it (core/scene/scene_data.h says how a scene
 * knows). Growing moves no link and costs no pause: all links form one list, sorted by their
 * bit-reversed hash, and a bucket is only a place to enter the list.
 *
 * Source   Shalev, Shavit, "Split-Ordered Lists: Lock-Free Extensible Hash Tables", JACM 53(3),
 *          2006; with one writer neither compare-and-swap nor marked pointers are needed. */
#ifndef OBB_HASH_TABLE_H
#define OBB_HASH_TABLE_H

#include "core/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A member of a table. The link is the first member of the struct that owns it. */
struct obb_link {
    _Atomic(struct obb_link *) next;
    uint32_t key; /* the bits of the hash in reverse; the lowest is 1, or 0 for a bucket */
};

#define OBB_HASH_TABLE_FIRST    16 /* buckets of an empty table, a power of two */
#define OBB_HASH_TABLE_SEGMENTS 28 /* segment k > 0 has OBB_HASH_TABLE_FIRST << (k - 1) buckets */

/* Lives in the caller's memory and must not move. */
struct obb_hash_table {
    _Atomic(struct obb_link *) segments[OBB_HASH_TABLE_SEGMENTS];
    _Atomic uint32_t mask; /* buckets - 1 */
    uint32_t ready;        /* the writer's: buckets below it are all entered in the list */
    size_t count;          /* the writer's: links, not counting buckets */
    struct obb_link end;
    struct obb_link first[OBB_HASH_TABLE_FIRST];
};

/* Makes an empty table. Allocates nothing. */
void obb_hash_table_init(struct obb_hash_table *table);

/* Frees the buckets. The links belong to their owners. */
void obb_hash_table_fini(struct obb_hash_table *table);

/* Makes room for `count` links in all, so that an insertion up to that count takes constant time on
 * average. After OBB_NO_MEMORY the table holds all its links and may have grown less than asked.
 * O(count) if the table grows for at least as many links as it has, else O(1) besides the memory.
 * The writer's. */
obb_status obb_hash_table_reserve(struct obb_hash_table *table, size_t count);

/* Puts the link before all others of its hash. Never fails. The writer's. */
void obb_hash_table_insert(struct obb_hash_table *table, struct obb_link *link, uint32_t hash);

/* Takes a link out. Readers that stand on the link still find their way. The writer's. */
void obb_hash_table_remove(struct obb_hash_table *table, struct obb_link *link);

/* Returns the hash of a link that is in a table, without the top bit, which the table ignores. Any
 * thread. */
uint32_t obb_hash_table_hash(const struct obb_link *link);

/* Returns the latest link of that hash, or NULL. The table ignores the top bit of the hash, so a
 * link can belong to another name: the caller must compare the names. Any thread. */
struct obb_link *obb_hash_table_find(const struct obb_hash_table *table, uint32_t hash);

/* Returns the link of the same hash that was inserted before `link`, or NULL. Any thread. */
struct obb_link *obb_hash_table_find_next(const struct obb_hash_table *table,
                                          const struct obb_link *link);

/* Prefetch the memory of a later lookup or insertion: first the bucket, then, some time later, its
 * first link, and then the link after that one, where an insertion ends as often as at the first.
 * A caller with many lookups starts all of them before it finishes the first. A hash that the table
 * does not hold does no harm. The writer's. */
void obb_hash_table_prefetch_bucket(const struct obb_hash_table *table, uint32_t hash);
void obb_hash_table_prefetch_link(const struct obb_hash_table *table, uint32_t hash);
void obb_hash_table_prefetch_second(const struct obb_hash_table *table, uint32_t hash);

/* Walks over all links, each once: returns the link after `after` (NULL: the first), or NULL at the
 * end. The writer's. */
struct obb_link *obb_hash_table_walk(const struct obb_hash_table *table,
                                     const struct obb_link *after);

/* Returns the bytes of the buckets on the heap. The writer's. */
size_t obb_hash_table_bytes(const struct obb_hash_table *table);

/* Checks the structure, for tests: order, counts, and that every bucket is in its place. */
bool obb_hash_table_validate(const struct obb_hash_table *table);

#endif
