/* Plans: a query bound to a view, run as phases of independent chunks. */
#ifndef OBB_PLAN_H
#define OBB_PLAN_H

#include "core/base/budget.h"
#include "core/query/query.h"

#include <stdatomic.h>
#include <stddef.h>

struct obb_plan;

/* Binds a query to a view. The query and the view must outlive the plan, which the caller destroys.
 * cancel may be NULL; once *cancel is true, every call soon returns OBB_CANCELLED. budget: the
 * plan, its working memory and its result draw from it; if it is empty, calls return OBB_NO_MEMORY.
 * OBB_DIMENSIONS if the view has other dimensions than the query; OBB_NO_MEMORY. If query->with is
 * refused, the plan is made, the first obb_plan_advance returns the status, and obb_plan_fault says
 * which entry is at fault. */
obb_status obb_plan_create(const struct obb_view *view, const obb_query *query,
                           const atomic_bool *cancel, struct obb_budget *budget,
                           struct obb_plan **out);

/* Returns the bytes that any plan draws from its budget, at least. */
size_t obb_plan_least(void);

/* The same for a query whose rays have times of their own: views[i] is the view of ray i. All lists
 * outlive the plan. Other queries are bound to views[0]. */
obb_status obb_plan_create_timed(const struct obb_view *const *views, const obb_query *query,
                                 const atomic_bool *cancel, struct obb_budget *budget,
                                 struct obb_plan **out);

/* Ends a phase and begins the next one. The first call builds the index of the boxes that move
 * between two commits if the query needs it, or waits for another thread that is building it.
 * Returns the number of the chunks, or 0 if the result is complete or *out_status is an error. Call
 * it on one thread, after every chunk of the phase before has run. */
size_t obb_plan_advance(struct obb_plan *plan, obb_status *out_status);

/* Returns the fault of query->with after a refusal, or NULL if it was not refused. */
const obb_fault *obb_plan_fault(const struct obb_plan *plan);

/* Runs one chunk of the phase, each chunk once. Any thread. */
obb_status obb_plan_chunk(struct obb_plan *plan, size_t chunk);

/* Returns the result, once obb_plan_advance has returned 0 and OBB_OK. The plan owns the result,
 * which is the same for every number of threads and every kernel. */
const obb_result *obb_plan_result(const struct obb_plan *plan);
void obb_plan_destroy(struct obb_plan *plan); /* NULL is fine */

/* Runs all phases and chunks on this thread. */
obb_status obb_plan_run(struct obb_plan *plan);

/* Runs all phases and chunks on this thread, within a budget of *ns nanoseconds. If the items take
 * more than about *ns, returns OBB_CANCELLED, and the plan can then only be destroyed. Otherwise
 * subtracts the estimated cost of the run from *ns. Only a trial tells the cost: a box that holds
 * half a scene is written as shortly as a box that holds nothing. */
obb_status obb_plan_try(struct obb_plan *plan, double *ns);

#endif
