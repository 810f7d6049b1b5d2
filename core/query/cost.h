/* What a query is thought to cost, before it is run. */
#ifndef OBB_COST_H
#define OBB_COST_H

#include "core/query/query.h"

/* A rough cost in nanoseconds of one thread, from the constants of the benchmark (tests/bench/costs.c); decides where it
 * runs. Of items what they usually cost: obb_plan_try says when they cost more. Of all-pairs, which have no items, the
 * most: that all boxes overlap. */
double obb_query_cost(const struct obb_view *view, const obb_query *query);

/* ---- Internal to core ------------------------------------------------------------------------------------ */

/* What one item usually costs, and what a candidate that is looked at, found and written costs: nanoseconds of one thread. */
double obb_query_item_cost(const struct obb_view *view, const obb_query *query);
double obb_query_step_cost(const struct obb_view *view, const obb_query *query);

#endif
