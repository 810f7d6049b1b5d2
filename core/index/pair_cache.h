/* A pair cache: the candidates of an index joined with itself. Internal to core/index.
 *
 * The boxes of an index never change; a later state only has fewer of them alive. One join finds
 * the pairs by a walk and records them, if that is worth it (obb_pair_cache_claim). The joins of
 * other states read them from a list and leave out the dead. If 100 of 100,000 boxes moved, a join
 * takes 1.3 ms in place of 4.6. All this is for joins without a margin.
 *
 * A cache belongs to its index and is freed with it. Joins, on any thread, read it without locks;
 * the memory is counted by the writer (obb_index_charge_pairs).
 *
 * Source  physics engines keep such pairs from step to step, e.g. Bullet (btOverlappingPairCache);
 *         here the pairs of what stands still, and not of what moves. */
#ifndef OBB_PAIR_CACHE_H
#define OBB_PAIR_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An index of fewer boxes has no cache: a walk takes no longer than 10 us. */
#define OBB_PAIR_CACHE_BOXES 256

/* Two entries of an index; b is marked by OBB_PACKED_SURE if the verdict is sure. */
struct obb_entry_pair {
    uint32_t a, b;
};

/* The pairs that a chunk of the join finds. */
struct obb_pair_list {
    struct obb_entry_pair *pairs;
    size_t count, capacity;
};

/* The pairs of all chunks. The chunks of an index are the same in every join. */
struct obb_pair_lists {
    size_t chunks;
    size_t most;         /* bytes that the pairs may take */
    atomic_size_t bytes; /* that they take */
    atomic_bool failed;  /* a list is not whole: there was no memory, or they take too much */
    struct obb_pair_list lists[];
};

/* All zeroes at first. */
struct obb_pair_cache {
    _Atomic(struct obb_pair_lists *) lists; /* NULL: not recorded yet */
    atomic_bool claimed; /* a join records them, or has found that they take too much */
    atomic_bool asked;   /* a join has looked for them */
    atomic_bool read;    /* a join has read them */
    atomic_bool likely;  /* the index takes the place of one whose cache was read */
    bool counted;        /* the writer's: the account of the index holds their bytes */
};

/* Frees the recorded lists. No join may be under way. */
void obb_pair_cache_fini(struct obb_pair_cache *cache);

/* Says that the index takes the place of another one, of earlier states of the same boxes. Either
 * may be NULL. */
void obb_pair_cache_succeed(struct obb_pair_cache *cache, const struct obb_pair_cache *earlier);

/* Returns the recorded lists, which live as long as the index, or NULL. */
const struct obb_pair_lists *obb_pair_cache_read(struct obb_pair_cache *cache);

/* Returns empty lists into which the join is to record. Returns NULL if another join does, or if
 * the lists are not likely to be read. They are likely to be if the index outlived a commit and is
 * asked for the second time, or if it took the place of one whose cache was read.
 *
 * outlived  the index has dead entries.
 * chunks    of the join of the index with itself.
 * most      bytes that the pairs may take.
 *
 * The join ends with one call of obb_pair_cache_release. */
struct obb_pair_lists *obb_pair_cache_claim(struct obb_pair_cache *cache, bool outlived,
                                            size_t chunks, size_t most);

/* Adds pairs to the list of a chunk. Returns false, and then none of the lists will be read, if
 * they take too much or there is no memory. A chunk is recorded by one thread. */
bool obb_pair_lists_add(struct obb_pair_lists *lists, size_t chunk, const uint32_t *a,
                        const uint32_t *b, size_t count);

/* Says that a chunk has recorded all its pairs: their list keeps no room for more. */
void obb_pair_lists_end(struct obb_pair_lists *lists, size_t chunk);

/* Takes the lists of a claim: joins read them from now on if all chunks have ended (`complete`) and
 * none failed. Else they are freed; if they were too large, no join tries again. */
void obb_pair_cache_release(struct obb_pair_cache *cache, struct obb_pair_lists *lists,
                            bool complete);

/* Returns the bytes of the recorded lists. */
size_t obb_pair_cache_bytes(const struct obb_pair_cache *cache);

#endif
