#include "core/query/cost.h"

#include "core/scene/motion.h"

#include <math.h>

/* Nanoseconds of one thread, measured by tests/bench/costs.c (make bench-costs). Their use forgives
 * a factor of two. */
#define NS_PLAN          150.0 /* to make a plan and take it down */
#define NS_PAIR          140.0 /* two look-ups by name and the test */
#define NS_POINT         150.0 /* walks that find little: overlap, point */
#define NS_RAY           200.0
#define NS_SWEEP         2000.0
#define NS_NEAREST       400.0
#define NS_FOUND         50.0   /* each box that a walk may find and list */
#define NS_LEVEL         20.0   /* a doubling of the boxes, on a walk */
#define NS_NEAR          350.0  /* each further neighbour of a point, */
#define NS_NEAR_BOX      2500.0 /* or of a box: the distance of two boxes */
#define NS_DETAILS       400.0  /* the details of a pair, except the volume */
#define NS_VOLUME        3000.0
#define NS_PAIR_OF_ALL   15.0   /* each pair that all-pairs may find and list */
#define NS_INTERPOLATED  1000.0 /* a candidate whose pose lies between two commits */
#define NS_MOTION        400.0  /* a box of the index of motion, if that must be built */
#define NS_STEP          75.0   /* a candidate that is looked at, found, and written; */
#define NS_STEP_SWEEP    1400.0 /* of a sweep, */
#define NS_STEP_NEAR_BOX 1100.0 /* of the nearest to a box, */
#define NS_STEP_APART    900.0  /* of an overlap with a margin, or with a frustum, */
#define NS_STEP_FRUSTUM  1800.0 /* or with both */
#define NS_STEP_POSE     500.0  /* more if its pose is written, too */
#define NS_EXCLUDE       150.0  /* a name or an entity that the filter excludes, */
#define NS_EXCLUDE_ID    20.0   /* or an id: to look it up and to sort it */
#define NS_EXPLAIN       900.0  /* a box that is explained: a look-up and a distance */
#define NS_EXPLAIN_SWEEP 6000.0
#define NS_WITH          15000.0 /* to lay an overlay, */
#define NS_WITH_ENTRY    700.0   /* and for each entry of its edit, */
#define NS_WITH_FRAMED   2000.0  /* and, if it changes frames, for each box that may stand there */
#define USUALLY_LISTED   8.0     /* the assumed length of a list */

static double details_cost(const obb_query *query)
{
    double ns = 0.0;
    if ((query->want & OBB_WANT_OF_PAIR & ~(unsigned)OBB_WANT_VOLUME) != 0)
        ns += NS_DETAILS;
    if ((query->want & OBB_WANT_VOLUME) != 0)
        ns += NS_VOLUME;
    return ns;
}

/* Returns what an explained box costs. */
static double explain_cost(const obb_query *query)
{
    return query->kind == OBB_QUERY_SWEEP ? NS_EXPLAIN_SWEEP : NS_EXPLAIN;
}

static double with_cost(const struct obb_view *view, const obb_query *query)
{
    const obb_edit *with = query->with;
    if (with == NULL)
        return 0.0;
    const bool moves = view->info.frames > 0 && with->remove_frame_count + with->frame_count > 0;
    return (double)obb_query_views(query) *
           (NS_WITH + NS_WITH_ENTRY * (double)obb_edit_entries(with) +
            (moves ? NS_WITH_FRAMED * (double)view->info.boxes : 0.0));
}

/* Returns what the lists of the filter cost. If the query has changes of its own, the filter is
 * compiled for each state. */
static double filter_cost(const obb_query *query)
{
    const obb_filter *filter = &query->filter;
    const size_t compiled = query->with != NULL ? obb_query_views(query) : 1;
    return (double)compiled *
           (NS_EXCLUDE * ((double)filter->exclude_count + (double)filter->exclude_entity_count) +
            NS_EXCLUDE_ID * (double)filter->exclude_id_count);
}

bool obb_query_walks(const obb_query *query)
{
    return query->kind == OBB_QUERY_ALL_PAIRS ||
           (query->kind != OBB_QUERY_PAIRS && query->count > 0);
}

static double walk_cost(const struct obb_view *view)
{
    double ns = 0.0;
    for (size_t boxes = view->info.boxes; boxes > 0; boxes /= 2)
        ns += NS_LEVEL;
    return ns;
}

/* With times of their own, most items see a state between two commits. */
static bool may_interpolate(const struct obb_view *view, const obb_query *query)
{
    return view->alpha != 0.0 || query->times != NULL;
}

double obb_query_item_cost(const struct obb_view *view, const obb_query *query)
{
    const double walk = walk_cost(view);
    const double listed = fmin(USUALLY_LISTED, (double)view->info.boxes);
    double ns = 0.0;
    switch (query->kind) {
    case OBB_QUERY_PAIRS:
        return NS_PAIR + details_cost(query);
    case OBB_QUERY_ALL_PAIRS:
        return 0.0;
    case OBB_QUERY_OVERLAP:
        ns = NS_POINT + walk + listed * (NS_FOUND + details_cost(query));
        break;
    case OBB_QUERY_POINT:
        ns = NS_POINT + walk;
        break;
    case OBB_QUERY_RAY:
        ns = NS_RAY + walk + (query->mode == OBB_CLOSEST ? 0.0 : listed * NS_FOUND);
        break;
    case OBB_QUERY_SWEEP:
        ns = NS_SWEEP + walk + (query->mode == OBB_CLOSEST ? 0.0 : listed * NS_SWEEP);
        break;
    case OBB_QUERY_NEAREST:
        ns = NS_NEAREST + walk +
             fmin((double)query->k, (double)view->info.boxes) *
                 (query->of_boxes ? NS_NEAR_BOX : NS_NEAR);
        break;
    }
    ns += (double)query->explain_count * explain_cost(query);
    return may_interpolate(view, query) ? ns + NS_INTERPOLATED : ns;
}

double obb_query_motion_cost(const struct obb_view *view, const obb_query *query)
{
    return obb_query_walks(query) ? (double)obb_motion_left(view) * NS_MOTION : 0.0;
}

double obb_query_cost(const struct obb_view *view, const obb_query *query)
{
    const double motion = obb_query_motion_cost(view, query);
    const double made = NS_PLAN + with_cost(view, query) + filter_cost(query);
    if (query->kind == OBB_QUERY_ALL_PAIRS) {
        const double boxes = (double)view->info.boxes;
        const double pairs = fmin(boxes * boxes / 2, OBB_MAX_WHOLE);
        return made + pairs * (NS_PAIR_OF_ALL + details_cost(query)) +
               (double)obb_motion_boxes(view) * NS_INTERPOLATED + motion;
    }
    return made + (double)query->count * obb_query_item_cost(view, query) + motion;
}

static bool has_frustum(const obb_query *query)
{
    for (size_t i = 0; i < query->count; i++) {
        const obb_query_shape *item = &query->items.shapes[i];
        if (!item->is_ref && item->shape->kind == OBB_SHAPE_FRUSTUM)
            return true;
    }
    return false;
}

/* Returns the cost of a candidate of the kind. */
static double kind_step_cost(const obb_query *query)
{
    if (query->kind == OBB_QUERY_SWEEP)
        return NS_STEP_SWEEP;
    if (query->kind == OBB_QUERY_NEAREST && query->of_boxes)
        return NS_STEP_NEAR_BOX;
    if (query->kind != OBB_QUERY_OVERLAP)
        return NS_STEP;
    const bool margin = query->margin > 0.0, frustum = has_frustum(query);
    return margin && frustum ? NS_STEP_FRUSTUM : margin || frustum ? NS_STEP_APART : NS_STEP;
}

double obb_query_step_cost(const struct obb_view *view, const obb_query *query)
{
    return kind_step_cost(query) + ((query->want & OBB_WANT_POSE) != 0 ? NS_STEP_POSE : 0.0) +
           (query->kind == OBB_QUERY_OVERLAP ? details_cost(query) : 0.0) +
           (may_interpolate(view, query) ? NS_INTERPOLATED : 0.0);
}
