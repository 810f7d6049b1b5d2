/* A join while it runs, for the files of its phases. Internal to core/index.
 *
 *   join.c        makes it, and leads it from phase to phase
 *   join_alive.c  mark, ready and again: which entries are alive
 *   join_find.c   find: the pairs of each chunk, by ranges of ids
 *   join_order.c  order: the pairs of each range, from the lists of all chunks */
#ifndef OBB_JOINING_H
#define OBB_JOINING_H

#include "core/index/index_body.h"
#include "core/index/join_wish.h"
#include "core/index/layers.h"
#include "core/versions/box_pair.h"

enum obb_join_phase {
    OBB_JOIN_START,
    OBB_JOIN_MARK,
    OBB_JOIN_READY,
    OBB_JOIN_AGAIN,
    OBB_JOIN_FIND,
    OBB_JOIN_ORDER,
    OBB_JOIN_DONE
};

/* Entries checked in a chunk: 10 us by marks, 50 us by versions. */
#define OBB_JOIN_READY_ENTRIES 8192

/* A side: an index of the layers, or one of the moved. */
struct obb_join_side {
    const struct obb_index *index;
    size_t level;    /* of the layers, or their number */
    uint32_t base;   /* number of its first entry among the entries of all sides */
    bool whole;      /* `alive` is right from the start */
    uint16_t *alive; /* per node of level 0; of a join of the moved, in the levels: and not moved */
    size_t first_chunk; /* of the phases ready and again, unless whole */
    uint64_t *marks;    /* bits of its ids; NULL: none */
    atomic_size_t kept; /* entries that the marks leave in `alive`, if they are asked */
    struct obb_side as_is;
};

/* A match: two sides to be joined, on the grid of b, the larger one. A positive margin grows
 * bounds: those of a by all of the margin, or, if a side is joined with itself, all bounds by half
 * of it. */
struct obb_join_match {
    const struct obb_join_side *a, *b; /* a is the smaller one; equal: a side with itself */
    struct obb_tree tree;              /* of a, if the sides differ or the margin is positive */
    void *block;                       /* of the tree; NULL: side a as it is */
    struct obb_side recoded;
    size_t first_chunk, chunk_groups; /* of the phase find */
    bool plain;                       /* all boxes of both sides are */
    /* Of a side with itself, its pairs whether they are alive or not: */
    const struct obb_pair_lists *cached; /* NULL: not known yet */
    struct obb_pair_lists *recorded;     /* by this join; NULL: not */
    uint16_t *everyone;                  /* all entries, in the form of `alive`; if recorded */
};

/* The pairs of a chunk. A pair is the ranks of its ids, that of the smaller one in the high half;
 * and, if boxes are to be listed, its entries among those of all sides, in the same order. */
struct obb_join_found {
    uint64_t *ranks, *entries; /* by range; NULL: none, or not wanted */
    uint32_t *starts;          /* ranges + 1: where the pairs of each range begin */
    obb_join_counts counts;
};

struct obb_join {
    const struct obb_layers *layers;
    uint64_t revision;
    obb_join_wish wish;
    double grow; /* the margin, or 0 if it is negative */
    struct obb_limits limits;
    const struct obb_kernels *kernels;
    const atomic_bool *cancel;
    struct obb_budget *budget; /* all of it draws from it */
    enum obb_join_phase phase;
    const struct obb_index *moved; /* index of the last side; NULL: all pairs */
    struct obb_index *built;       /* the same, owned, unless it is that of the newest level */
    size_t side_count, match_count;
    struct obb_join_side *sides;
    struct obb_join_match *matches;
    bool by_marks;                /* the marks tell which entries are alive */
    uint64_t first_mark;          /* id of the first bit of marks */
    size_t mark_words;            /* of each set of marks */
    bool moved_newest;            /* the newest level has all ids of the moved */
    atomic_size_t unmarked;       /* entries of levels that the marks leave alive */
    size_t ready_chunks;          /* for the sides; one chunk a match follows */
    size_t chunks;                /* of the phase find */
    struct obb_join_found *lists; /* one for each of these chunks */
    uint64_t least_id;
    uint64_t *sorted; /* all ids, if they are too far apart for ranks of 32 bits; else NULL */
    size_t sorted_count;
    unsigned range_shift;
    size_t ranges;
    atomic_size_t found;
    obb_join_counts counts; /* of all chunks */
    uint32_t *starts;       /* ranges + 1 */
    size_t *order_first;    /* order_chunks + 1 ranges */
    size_t order_chunks;
    uint64_t *ranks;     /* the listed pairs, and those after them in the same range... */
    obb_box_pair *boxes; /* ...or these... */
    obb_id_pair *ids;    /* ...or these */
};

static inline bool obb_join_cancelled(const struct obb_join *join)
{
    return join->cancel != NULL && atomic_load_explicit(join->cancel, memory_order_relaxed);
}

/* Returns whether the marks have left no entry of a side. */
static inline bool obb_join_is_empty(const struct obb_join *join, const struct obb_join_side *side)
{
    return join->by_marks && !side->whole &&
           atomic_load_explicit(&side->kept, memory_order_relaxed) == 0;
}

/* Pairs in lists; entries NULL: none. */
struct obb_join_pairs {
    uint64_t *ranks, *entries;
};

/* Either both have entries, or neither has. */
static inline void obb_join_move(const struct obb_join_pairs *from, size_t i,
                                 const struct obb_join_pairs *to, size_t k)
{
    to->ranks[k] = from->ranks[i];
    if (to->entries != NULL) /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        to->entries[k] = from->entries[i];
}

/* Fetches the lines of ranks that are about to be written in no order of memory. Inlined: gcc drops
 * the call of a function that does nothing but fetch. */
static inline __attribute__((always_inline)) void obb_join_fetch(const uint64_t *ranks,
                                                                 size_t count)
{
    for (size_t i = 0; i < count; i += OBB_LINE / sizeof *ranks)
        __builtin_prefetch(ranks + i, 1);
}

/* Sets all entries of an index alive; `alive` has a word for each node of its level 0. */
void obb_join_fill_alive(const struct obb_index *index, uint16_t *alive);

/* Run a chunk of the phases mark and ready, and of the phase again. OBB_CANCELLED. */
obb_status obb_join_mark(const struct obb_join *join, size_t chunk);
obb_status obb_join_ready(struct obb_join *join, size_t chunk);
obb_status obb_join_look_again(struct obb_join *join, size_t chunk);

/* Returns whether the newest level has all ids of the moved, beside others. Then its marks take the
 * moved out of all levels before it. Between the phases mark and ready. */
bool obb_join_newest_has_moved(const struct obb_join *join);

/* Goes on without marks if they do not tell which entries are alive. Returns whether the phase
 * again has work. Between the phases ready and again. */
bool obb_join_doubt_marks(struct obb_join *join);

/* Runs a chunk of the phase find. OBB_NO_MEMORY, OBB_CANCELLED, OBB_LIMIT. */
obb_status obb_join_find(struct obb_join *join, size_t chunk);

/* Finds where each range begins in the result, and gives the ranges that are to be listed to the
 * chunks of the phase order. Between the phases find and order. OBB_NO_MEMORY. */
obb_status obb_join_start_ordering(struct obb_join *join);

/* Runs a chunk of the phase order. OBB_NO_MEMORY, OBB_CANCELLED. */
obb_status obb_join_order(struct obb_join *join, size_t chunk);

#endif
