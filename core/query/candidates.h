/* Candidates: the boxes of a view that its broad phase cannot rule out. Internal to core.
 *
 * As in layers.h, of the view's state, with bounds that hold the pose between two commits. */
#ifndef OBB_CANDIDATES_H
#define OBB_CANDIDATES_H

#include "core/index/index.h"
#include "core/scene/view_inside.h"

bool obb_candidates_query(const struct obb_view *view, const obb_bounds *bounds, void *context,
                          obb_index_visit *visit);
bool obb_candidates_overlap(const struct obb_view *view, const obb_solid *box, double margin,
                            void *context, obb_index_visit *visit);
double obb_candidates_ray(const struct obb_view *view, const obb_ray *ray, obb_vec3 grow,
                          void *context, obb_index_reach *visit);
double obb_candidates_nearest(const struct obb_view *view, const obb_bounds *bounds,
                              double max_distance, void *context, obb_index_reach *visit);

#endif
