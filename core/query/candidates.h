/* Candidates: the boxes of a view that its broad phase cannot rule out. Internal to core.
 *
 * The four walks are those of layers.h, over the state of a view. Between two commits the bounds of
 * an interpolated box hold its whole way, and the walks visit each box once. The index of motion
 * must be made by then (obb_motion_make). */
#ifndef OBB_CANDIDATES_H
#define OBB_CANDIDATES_H

#include "core/index/index.h"
#include "core/scene/view_inside.h"

bool obb_candidates_query(const struct obb_view *view, const obb_bounds *bounds, void *context,
                          obb_index_visit *visit);
bool obb_candidates_overlap(const struct obb_view *view, const obb_solid *box, double margin,
                            void *context, obb_index_visit *visit);
void obb_candidates_rays(const struct obb_view *view, struct obb_cast *casts, size_t count,
                         obb_vec3 grow, bool closest, obb_index_reach *visit);
double obb_candidates_nearest(const struct obb_view *view, const obb_bounds *bounds,
                              double max_distance, void *context, obb_index_reach *visit);

#endif
