/* What a join is to find, and how much it has found. Internal to core. */
#ifndef OBB_JOIN_WISH_H
#define OBB_JOIN_WISH_H

#include "core/index/index.h"

/* Decides whether two versions are a pair. The join asks for each pair that its float test does not
 * rule out, except sure pairs of plain boxes if `plain_pass` is set.
 *
 * verdict     SURE: the two overlap for certain; at a negative margin, deeper than that.
 * *doubts     to be increased if the double test was needed.
 * Any thread, several at a time. */
typedef bool obb_join_judge(void *context, const struct obb_version *a, const struct obb_version *b,
                            obb_verdict verdict, size_t *doubts);

typedef enum obb_join_list {
    OBB_JOIN_COUNT, /* the pairs are only counted, which takes hardly any memory */
    OBB_JOIN_RANKS, /* obb_join_take_ranks; 16 bytes a pair while the join runs, then 8 */
    OBB_JOIN_BOXES, /* obb_join_take_boxes; 32 bytes a pair while the join runs, then 16 */
    OBB_JOIN_IDS    /* obb_join_take_ids; 48 bytes a pair while the join runs, then 32 */
} obb_join_list;

/* What a join is to find. */
typedef struct obb_join_wish {
    double margin; /* scene units */
    obb_join_list list;
    size_t limit;    /* at most so many pairs are listed, the first by (id, id); all are counted */
    bool plain_pass; /* sure pairs of plain boxes (obb_version_plain) are pairs */
    size_t cache_room; /* bytes of pairs that may be recorded for later joins (pair_cache.h) */
    obb_join_judge *judge;
    void *context; /* of the judge; must outlive the join */
} obb_join_wish;

/* How many pairs a join has found. */
typedef struct obb_join_counts {
    size_t candidates; /* that the float test did not rule out */
    size_t doubts;     /* counted by the judge */
    size_t pairs, listed;
} obb_join_counts;

#endif
