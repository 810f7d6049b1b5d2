/* The task of a chunk: its memory, its filter and its status. Internal to core.
 *
 * A kind of query answers one item at a time; all-pairs, which has no items, has phases of its own.
 * The kind asks the view for candidates, drops those that the filter excludes, decides the rest
 * with the double-precision test, and leaves the answer in the memory of the task. The index yields
 * candidates in any order, so no answer may depend on that order: if several boxes would do, the
 * first by (distance, id) is taken. */
#ifndef OBB_TASK_H
#define OBB_TASK_H

#include "core/query/query.h"
#include "core/scene/view_inside.h"

/* Each chunk has memory of its own, so that chunks run on any threads. */
struct obb_task {
    const struct obb_view *view;
    const obb_query *query;
    const struct obb_compiled_filter *filter;
    const atomic_bool *cancel; /* may be NULL */
    struct obb_budget *budget; /* both arenas draw from it; NULL: no limit */
    struct obb_arena keep;     /* holds parts of the result; lives as long as the plan */
    struct obb_arena scratch;  /* reset after each item */
    obb_status status;         /* first failure, from visitors too */
    uint32_t steps;            /* since the start; *cancel is polled every 64 steps */
    uint32_t most_steps;       /* 0: any number; beyond it the task fails with OBB_CANCELLED */
};

/* Counts a step of at most about a microsecond. Returns false once the task has failed or is
 * cancelled. */
bool obb_task_goes_on(struct obb_task *task);

/* Counts work of so many steps. Returns as obb_task_goes_on. */
bool obb_task_spend(struct obb_task *task, uint32_t steps);

/* Records a failure. Returns the first failure of the task, which is kept. */
obb_status obb_task_fail(struct obb_task *task, obb_status status);

void obb_task_end(struct obb_task *task); /* frees its memory */

/* Returns memory for a part of the result, or NULL; the task has then failed with OBB_NO_MEMORY. */
void *obb_task_keep(struct obb_task *task, size_t count, size_t size);

/* ---- Boxes that items name ------------------------------------------------------------------- */

struct obb_named {
    const struct obb_version *box; /* NULL if the box is written inline */
    obb_solid solid;
};

/* Returns the stored box that a reference by name or id means, or NULL. */
const struct obb_version *obb_task_find(const struct obb_task *task, const obb_ref *ref);

/* Finds the box that a reference means. Returns false if there is none, and adds the reference to
 * the answer's missing ones. */
bool obb_task_resolve(const struct obb_task *task, const obb_ref *ref, struct obb_named *out,
                      obb_answer *answer);

#endif
