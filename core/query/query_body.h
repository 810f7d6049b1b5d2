/* What the query kinds share: the task of a chunk, candidates from a view, and lists of what was found. Internal to core.
 *
 * A kind answers one item at a time (all-pairs, which has none, has phases of its own). It asks the view for candidates,
 * lets the filter drop some, tests the rest in doubles, and leaves its answer in memory of the chunk. Answers never
 * depend on the order in which candidates come, since that is the index's own affair: where several would do, the one by
 * (distance, id) is taken. */
#ifndef OBB_QUERY_BODY_H
#define OBB_QUERY_BODY_H

#include "core/base/sort.h"
#include "core/index/layers.h"
#include "core/query/query.h"
#include "core/scene/view_inside.h"

/* One chunk's surroundings: its own memory, so that chunks run on any threads. */
struct obb_task {
    const struct obb_view *view;
    const obb_query *query;
    const struct obb_compiled_filter *filter;
    const atomic_bool *cancel; /* may be NULL */
    struct obb_arena keep;     /* what the result is made of; lives as long as the plan */
    struct obb_arena scratch;  /* forgotten after each item */
    obb_status status;         /* first failure, from visitors too */
    uint32_t steps;            /* since the start: now and then *cancel is looked at */
    uint32_t most_steps;       /* unless 0: more are OBB_CANCELLED */
};

/* Counts a step of up to a microsecond or so; false once the task has failed or is cancelled. */
bool obb_task_goes_on(struct obb_task *task);
obb_status obb_task_fail(struct obb_task *task, obb_status status); /* keeps the first */

void obb_task_end(struct obb_task *task); /* gives its memory back */

/* A block of the result, or NULL with the task failed. */
void *obb_task_keep(struct obb_task *task, size_t count, size_t size);

/* ---- Candidates: as in layers.h, of the view's state, with bounds that hold the pose between two commits --------- */

bool obb_candidates_query(const struct obb_view *view, const obb_bounds *bounds, void *context,
                          obb_index_visit *visit);
bool obb_candidates_overlap(const struct obb_view *view, const obb_solid *box, double margin,
                            void *context, obb_index_visit *visit);
double obb_candidates_ray(const struct obb_view *view, const obb_ray *ray, obb_vec3 grow,
                          void *context, obb_index_reach *visit);
double obb_candidates_nearest(const struct obb_view *view, const obb_bounds *bounds,
                              double max_distance, void *context, obb_index_reach *visit);

/* ---- Boxes that items name --------------------------------------------------------------------------------- */

struct obb_named {
    const struct obb_version *box; /* NULL for an inline one */
    obb_solid solid;
};

/* False: there is none, and the answer says so. */
bool obb_task_resolve(const struct obb_task *task, const obb_ref *ref, struct obb_named *out,
                      obb_answer *answer);

/* ---- What was found ------------------------------------------------------------------------------------------ */

/* Boxes in the order they came, in scratch memory. */
struct obb_hits {
    struct obb_ranked *list; /* item: the obb_hit of a cast, else the obb_version itself */
    size_t count, capacity;
};

/* False once the task has failed. */
bool obb_hits_add(struct obb_task *task, struct obb_hits *hits, uint64_t rank,
                  const struct obb_version *box, const void *item);

/* By (rank, id). */
bool obb_hits_sort(struct obb_task *task, struct obb_hits *hits);

/* Writes hits, hit_count, count and truncated of the answer from `hits` in order: of versions, or, if is_cast, of
 * obb_hit. Returns the list, to be completed. */
obb_hit *obb_hits_answer(struct obb_task *task, const struct obb_hits *hits, bool is_cast,
                         obb_answer *answer);

/* ---- What `want` adds about a pair -------------------------------------------------------------------------- */

obb_details obb_details_of(unsigned want, const obb_solid *a, const obb_solid *b);

/* ---- The kinds: each writes the answer of one item, or leaves the task failed ------------------------------- */

void obb_answer_pair(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_overlap(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_point(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_ray(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_sweep(struct obb_task *task, size_t item, obb_answer *answer);
void obb_answer_nearest(struct obb_task *task, size_t item, obb_answer *answer);

/* ---- All pairs, in phases like a plan's --------------------------------------------------------------------- */

/* A growing list in a task's memory. */
struct obb_pairs {
    obb_box_pair *list;
    size_t count, capacity;
    bool just_count;
};

/* Adds a pair in either order; false once the task has failed. */
bool obb_pairs_add(struct obb_task *task, struct obb_pairs *pairs, const struct obb_version *a,
                   const struct obb_version *b);

/* Orders by (id of a, id of b), in the task's scratch memory. */
void obb_pairs_sort(struct obb_task *task, obb_box_pair *list, size_t count);

/* May the two be a pair, by their own filters and the query's? */
bool obb_pairs_admit(const struct obb_compiled_filter *compiled, const struct obb_version *a,
                     const struct obb_version *b);

/* Writes details[i] for the pairs from..to-1, unless the task fails. */
void obb_pairs_details(struct obb_task *task, const obb_box_pair *pairs, obb_details *details,
                       size_t from, size_t to);

/* By a join of the layers with themselves. OBB_LIMIT, from a chunk: there are more candidates than should be held at
 * once; obb_pages must do it. task: what the tasks of chunks begin as. */
struct obb_all_pairs;
obb_status obb_all_pairs_create(const struct obb_task *task, struct obb_all_pairs **out);
size_t obb_all_pairs_advance(struct obb_all_pairs *all, obb_status *out_status, obb_result *result);
obb_status obb_all_pairs_chunk(struct obb_all_pairs *all, size_t chunk);
void obb_all_pairs_destroy(struct obb_all_pairs *all); /* NULL is fine */

/* Box by box: pages, and whatever is too much for the join. */
struct obb_pages;
obb_status obb_pages_create(const struct obb_task *task, struct obb_pages **out);
size_t obb_pages_advance(struct obb_pages *pages, obb_status *out_status, obb_result *result);
obb_status obb_pages_chunk(struct obb_pages *pages, size_t chunk);
void obb_pages_destroy(struct obb_pages *pages); /* NULL is fine */

#endif
