/* The cost of a query, estimated before it is run. */
#ifndef OBB_COST_H
#define OBB_COST_H

#include "core/query/query.h"

/* Returns a rough cost in nanoseconds of one thread, from constants that tests/bench/costs.c
 * measures. A caller decides by it where the query runs. Items are estimated at their usual cost;
 * obb_plan_try finds out when they cost more. All-pairs, which has no items, is estimated at its
 * highest cost: that all boxes overlap. */
double obb_query_cost(const struct obb_view *view, const obb_query *query);

/* ---- Internal to core ------------------------------------------------------------------------ */

/* Return the usual cost of one item, and the cost of a candidate that is looked at, found and
 * written, in nanoseconds of one thread. */
double obb_query_item_cost(const struct obb_view *view, const obb_query *query);
double obb_query_step_cost(const struct obb_view *view, const obb_query *query);

/* Returns whether the query walks candidates, and so needs the index of motion of its view. */
bool obb_query_walks(const obb_query *query);

/* Returns the cost of the index of motion: 0 if the query needs none, or the index is made. */
double obb_query_motion_cost(const struct obb_view *view, const obb_query *query);

#endif
