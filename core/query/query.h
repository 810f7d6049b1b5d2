/* Queries and their results, as plain data. */
#ifndef OBB_QUERY_H
#define OBB_QUERY_H

#include "core/base/arena.h"
#include "core/geometry/closest.h"
#include "core/geometry/ray.h"
#include "core/geometry/sat.h"
#include "core/geometry/shape.h"
#include "core/geometry/sweep.h"
#include "core/query/filter.h"
#include "core/scene/view.h"
#include "core/versions/box_pair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum obb_query_kind {
    OBB_QUERY_PAIRS,
    OBB_QUERY_ALL_PAIRS,
    OBB_QUERY_OVERLAP,
    OBB_QUERY_POINT,
    OBB_QUERY_RAY,
    OBB_QUERY_SWEEP,
    OBB_QUERY_NEAREST
} obb_query_kind;
enum { OBB_QUERY_KINDS = 7 };

typedef enum obb_mode { OBB_CLOSEST, OBB_ANY, OBB_ALL, OBB_CLOSEST_PER_ENTITY } obb_mode;

enum { /* obb_query.want */
       OBB_WANT_RELATION = 1,
       OBB_WANT_MTV = 2,
       OBB_WANT_DISTANCE = 4,
       OBB_WANT_AXIS = 8,
       OBB_WANT_VOLUME = 16,
       OBB_WANT_DATA = 32,
       OBB_WANT_ENTITY = 64,
       OBB_WANT_POSE = 128
};
#define OBB_WANT_OF_PAIR 31u

/* A stored box by name or id, or a box written in its place. */
typedef enum obb_ref_kind {
    OBB_REF_NAME,
    OBB_REF_ID,
    OBB_REF_INLINE,
    OBB_REF_FRAMED /* written in place, in a frame of the state that is asked */
} obb_ref_kind;
typedef struct obb_framed_box {
    obb_str frame;
    obb_box local;
} obb_framed_box;
typedef struct obb_ref { /* small: a request may hold millions */
    obb_ref_kind kind;
    union {
        obb_str name;
        uint64_t id;
        const obb_box *box; /* OBB_REF_INLINE */
        const obb_framed_box *framed;
    };
} obb_ref;

typedef struct obb_query_shape {
    bool is_ref; /* true: a box, by `ref`; false: `shape` */
    obb_ref ref;
    const obb_shape *shape;
} obb_query_shape;

typedef struct obb_query_sweep {
    obb_ref ref;     /* the box that moves; a stored one is left out of its own answer */
    obb_vec3 motion; /* scene units */
} obb_query_sweep;

typedef struct obb_query { /* small: a commit may hold 100,000 */
    obb_query_kind kind;
    int dimensions; /* for which it was decoded */
    size_t count;   /* of items; 0 for all-pairs */
    union {
        const obb_ref (*pairs)[2];
        const obb_query_shape *shapes;
        const obb_vec3 *points;
        const obb_ray *rays;
        const obb_query_sweep *sweeps;
        const obb_ref *boxes; /* nearest with of_boxes */
    } items;
    /* Rays: the time of each, or NULL. `at` is then an OBB_AT_TIME whose own time means nothing. */
    const double *times;
    obb_mode mode;
    obb_inside inside;
    unsigned want;
    bool of_boxes; /* nearest: boxes instead of points */
    bool by_id, count_only;
    bool has_limit;      /* the limit was stated and is not the default */
    size_t k;            /* nearest */
    double max_distance; /* nearest; infinite if none was stated */
    obb_filter filter;
    double margin;
    size_t limit;

    /* A page of all-pairs, for streams of any length. `after` holds the ids of the last pair of the
     * page before, {0, 0} for the first page. At most `limit` of the following pairs are listed,
     * and none counted beyond; with count_only all are counted. */
    bool paged;
    bool columns; /* the answer is in columns: the first hit of each item, by id */
    bool narrow;  /* in CBOR the computed numbers of the columns are float32 */
    bool has_at, has_explain, has_tag;
    uint16_t explain_count;
    uint64_t after[2];
    obb_at at;
    /* With has_explain: boxes of which each answer says why it names them or not, by name or id. */
    const obb_ref *explain;
    /* Changes that hold for this query alone: groups of boxes, without time and condition. Of a
     * query with times they are laid over the state of each. The state that is asked is the one
     * after them. NULL: none. */
    const obb_edit *with;
    obb_str tag;     /* with has_tag: the client's; no part of the question */
    bool unrecorded; /* nor is this: a scene that records queries leaves it out */
    bool fresh;      /* nor this: the caller opens the newest state of all processes over one log */
} obb_query;

/* Returns how many views the query is bound to: one for each time, or one. */
static inline size_t obb_query_views(const obb_query *query)
{
    return query->times != NULL && query->count > 0 ? query->count : 1;
}

/* Returns the moments of these views. */
static inline obb_needed_moment obb_query_moments(const obb_query *query)
{
    const bool timed = query->times != NULL && query->count > 0;
    return (obb_needed_moment){.at = query->has_at || timed ? query->at
                                                            : (obb_at){.kind = OBB_AT_NOW},
                               .dimensions = query->dimensions,
                               .times = timed ? query->times : NULL,
                               .count = timed ? query->count : 0,
                               .with = query->with};
}

/* Details of a pair. A member is valid only if the query wants it. */
typedef struct obb_details {
    obb_relation relation;
    obb_separation separation; /* mtv: normal and -gap if gap <= 0; axis: as it is */
    obb_witness witness;
    double volume, iou;
} obb_details;

typedef struct obb_hit {
    const struct obb_version *box;
    obb_details *details; /* NULL if none is wanted */
    double distance;      /* rays, nearest */
    double fraction;      /* rays with a max_distance, sweeps */
    obb_vec3 point, normal;
    bool started_inside; /* or overlapping */
} obb_hit;

/* What an answer says of a box that the query asks to explain. */
typedef enum obb_outcome {
    OBB_OUTCOME_HIT,      /* the answer lists it */
    OBB_OUTCOME_BEHIND,   /* another hit took its place */
    OBB_OUTCOME_MISSED,   /* it is not met */
    OBB_OUTCOME_FILTERED, /* it takes no part */
    OBB_OUTCOME_ABSENT,   /* there is no such box */
    OBB_OUTCOME_CUT       /* it is met, but the list is at its limit */
} obb_outcome;

typedef struct obb_explanation {
    const obb_ref *asked;
    const struct obb_version *box; /* NULL: absent */
    obb_outcome outcome;
    obb_filtered by;                  /* filtered */
    const struct obb_version *behind; /* behind: the hit that took its place */
    /* Missed: the Euclidean distance, without the margin; of a ray up to its end, of a sweep the
     * least on the way. 0 if the two meet all the same (a ray that ignores where it starts). */
    double gap;
    bool has_axis; /* missed, and the distance is that of two boxes that do not move */
    obb_separation axis;
} obb_explanation;

/* The answer of one item. */
typedef struct obb_answer {
    /* References to missing boxes, as sent. If there are any, no other member is valid. */
    size_t missing_count;
    const obb_ref *missing[2];
    bool overlap;                      /* pairs */
    obb_details *details;              /* pairs; NULL if none is wanted */
    const struct obb_version *pair[2]; /* pairs: stored boxes, NULL for inline ones */
    const obb_explanation *explain;    /* one per box that the query asks to explain, or NULL */
    const obb_hit *hits;
    size_t hit_count;
    size_t count; /* of all hits, also if the list is cut */
    bool truncated;
} obb_answer;

/* The result of a query. Everything in it lives as long as the plan and the view. */
typedef struct obb_result {
    const obb_answer *answers; /* one per item */
    size_t answer_count;
    const struct obb_view *const *views; /* one per item, of a query with times; else NULL */
    /* All-pairs, by (id, id). If no more than ids was asked for, they may stand in `pair_ranks`,
     * and `pairs` is then NULL (obb_result_id). */
    const obb_box_pair *pairs;
    const uint64_t *pair_ranks; /* an id is rank_base + half a number, the high half that of a */
    uint64_t rank_base;
    uint64_t ids_below;              /* all-pairs: above all ids of the state */
    const obb_details *pair_details; /* one per pair, or NULL */
    size_t pair_count, count;        /* pairs listed, and pairs in all (of a page: listed) */
    bool truncated;                  /* of a page: another page may follow */
    size_t candidates,
        doubts; /* all-pairs: candidates of the broad phase, and those that took the double test */
} obb_result;

/* Returns the id of one box of a listed pair: of a, the smaller one, or of b. */
static inline uint64_t obb_result_id(const obb_result *result, size_t pair, bool of_b)
{
    if (result->pair_ranks == NULL)
        return obb_view_id(of_b ? result->pairs[pair].b : result->pairs[pair].a);
    const uint64_t ranks = result->pair_ranks[pair];
    return result->rank_base + (of_b ? (uint32_t)ranks : ranks >> 32);
}

#endif
