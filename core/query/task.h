/* What the query kinds share: the task of a chunk, candidates from a view, and lists of what was found. Internal to core.
 *
 * A kind answers one item at a time (all-pairs, which has none, has phases of its own). It asks the view for candidates,
 * lets the filter drop some, tests the rest in doubles, and leaves its answer in memory of the chunk. Answers never
 * depend on the order in which candidates come, since that is the index's own affair: where several would do, the one by
 * (distance, id) is taken. */
#ifndef OBB_TASK_H
#define OBB_TASK_H

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

/* ---- Boxes that items name --------------------------------------------------------------------------------- */

struct obb_named {
    const struct obb_version *box; /* NULL for an inline one */
    obb_solid solid;
};

/* False: there is none, and the answer says so. */
bool obb_task_resolve(const struct obb_task *task, const obb_ref *ref, struct obb_named *out,
                      obb_answer *answer);

#endif
