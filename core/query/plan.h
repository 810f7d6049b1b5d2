/* Plans: a query bound to a view, run as phases of independent chunks. */
#ifndef OBB_PLAN_H
#define OBB_PLAN_H

#include "core/query/query.h"

#include <stdatomic.h>
#include <stddef.h>

struct obb_plan;

/* A query bound to a view. Query and view must outlive the plan. cancel may be NULL; once it is true every call
 * soon answers OBB_CANCELLED. OBB_DIMENSIONS when the view has other dimensions. */
obb_status obb_plan_create(const struct obb_view *view, const obb_query *query,
                           const atomic_bool *cancel, struct obb_plan **out);

/* How many chunks the next phase has; 0 when the result is there. Call it on one thread, after every chunk of the phase
 * before has run. */
size_t obb_plan_advance(struct obb_plan *plan, obb_status *out_status);
obb_status obb_plan_chunk(struct obb_plan *plan, size_t chunk); /* any thread, each chunk once */

/* The same bytes for every number of threads and every kernel. */
const obb_result *obb_plan_result(const struct obb_plan *plan);
void obb_plan_destroy(struct obb_plan *plan); /* NULL is fine */

/* All phases and chunks on this thread. */
obb_status obb_plan_run(struct obb_plan *plan);

/* The same, but OBB_CANCELLED when items turn out to take more than about *ns; the plan is then good for nothing but
 * obb_plan_destroy. Otherwise takes from *ns what it is thought to have cost. A box that holds half a scene is written as
 * shortly as one that holds nothing, so only trying tells. */
obb_status obb_plan_try(struct obb_plan *plan, double *ns);

#endif
