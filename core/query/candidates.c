#include "core/query/candidates.h"

#include "core/index/layers.h"
#include "core/scene/motion.h"

/* Between two commits the layers show an interpolated box where it stood before, and under an
 * overlay a box that the overlay hides. These visitors leave such boxes out; the index of
 * interpolated boxes and the overlay yield them. */
struct standing {
    const struct obb_view *view;
    void *context;
    obb_index_visit *visit;
    obb_index_reach *reach;
};

/* Returns whether any box stands between the two commits of a view. `moving` has those that move.
 * O(1). */
static bool some_stand(const struct obb_view *view, const struct obb_index *moving)
{
    return obb_index_count(moving) < obb_layers_alive(view->layers);
}

static bool visit_standing(void *context, const struct obb_version *version, obb_verdict verdict)
{
    const struct standing *s = context;
    return obb_view_interpolates_to(s->view, version) != NULL ||
           s->visit(s->context, version, verdict);
}

static double reach_standing(void *context, const struct obb_version *version, double max_distance)
{
    const struct standing *s = context;
    return obb_view_interpolates_to(s->view, version) != NULL
               ? max_distance
               : s->reach(s->context, version, max_distance);
}

static bool visit_shown(void *context, const struct obb_version *version, obb_verdict verdict)
{
    const struct standing *s = context;
    return obb_view_hides(s->view->overlay, version->id) || s->visit(s->context, version, verdict);
}

static double reach_shown(void *context, const struct obb_version *version, double max_distance)
{
    const struct standing *s = context;
    return obb_view_hides(s->view->overlay, version->id)
               ? max_distance
               : s->reach(s->context, version, max_distance);
}

bool obb_candidates_query(const struct obb_view *view, const obb_bounds *bounds, void *context,
                          obb_index_visit *visit)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay != NULL) {
        struct standing shown = {.view = view, .context = context, .visit = visit};
        return obb_candidates_query(overlay->below, bounds, &shown, visit_shown) &&
               obb_candidates_query(overlay->over, bounds, context, visit);
    }
    const struct obb_index *moving = obb_motion_index(view);
    if (moving == NULL)
        return obb_layers_query(view->layers, view->revision, bounds, context, visit);
    struct standing s = {.view = view, .context = context, .visit = visit};
    return (!some_stand(view, moving) ||
            obb_layers_query(view->layers, view->revision, bounds, &s, visit_standing)) &&
           obb_index_query(moving, bounds, context, visit);
}

bool obb_candidates_overlap(const struct obb_view *view, const obb_solid *box, double margin,
                            void *context, obb_index_visit *visit)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay != NULL) {
        struct standing shown = {.view = view, .context = context, .visit = visit};
        return obb_candidates_overlap(overlay->below, box, margin, &shown, visit_shown) &&
               obb_candidates_overlap(overlay->over, box, margin, context, visit);
    }
    const struct obb_index *moving = obb_motion_index(view);
    if (moving == NULL)
        return obb_layers_overlap(view->layers, view->revision, box, margin, context, visit);
    struct standing s = {.view = view, .context = context, .visit = visit};
    return (!some_stand(view, moving) ||
            obb_layers_overlap(view->layers, view->revision, box, margin, &s, visit_standing)) &&
           obb_index_overlap(moving, box, margin, context, visit);
}

void obb_candidates_rays(const struct obb_view *view, struct obb_cast *casts, size_t count,
                         obb_vec3 grow, bool closest, obb_index_reach *visit)
{
    const struct obb_view_overlay *overlay = view->overlay;
    const struct obb_index *moving = overlay == NULL ? obb_motion_index(view) : NULL;
    if (overlay == NULL && moving == NULL) {
        obb_layers_rays(view->layers, view->revision, casts, count, grow, closest, visit);
        return;
    }
    if (overlay == NULL && !some_stand(view, moving)) {
        obb_index_rays(moving, casts, count, grow, false, visit);
        return;
    }
    struct standing standing[OBB_CASTS];
    struct obb_cast below[OBB_CASTS];
    for (size_t i = 0; i < count; i++) {
        standing[i] = (struct standing){.view = view, .context = casts[i].context, .reach = visit};
        below[i] = (struct obb_cast){.ray = casts[i].ray, .context = &standing[i]};
    }
    if (overlay != NULL)
        obb_candidates_rays(overlay->below, below, count, grow, false, reach_shown);
    else
        obb_layers_rays(view->layers, view->revision, below, count, grow, false, reach_standing);
    for (size_t i = 0; i < count; i++)
        casts[i].ray.max_distance = below[i].ray.max_distance;
    if (overlay != NULL)
        obb_candidates_rays(overlay->over, casts, count, grow, closest, visit);
    else
        obb_index_rays(moving, casts, count, grow, false, visit);
}

double obb_candidates_nearest(const struct obb_view *view, const obb_bounds *bounds,
                              double max_distance, void *context, obb_index_reach *visit)
{
    const struct obb_view_overlay *overlay = view->overlay;
    if (overlay != NULL) {
        struct standing shown = {.view = view, .context = context, .reach = visit};
        const double rest =
            obb_candidates_nearest(overlay->below, bounds, max_distance, &shown, reach_shown);
        return rest < 0.0 ? rest
                          : obb_candidates_nearest(overlay->over, bounds, rest, context, visit);
    }
    const struct obb_index *moving = obb_motion_index(view);
    if (moving == NULL)
        return obb_layers_nearest(view->layers, view->revision, bounds, max_distance, context,
                                  visit);
    struct standing s = {.view = view, .context = context, .reach = visit};
    const double rest = some_stand(view, moving)
                            ? obb_layers_nearest(view->layers, view->revision, bounds, max_distance,
                                                 &s, reach_standing)
                            : max_distance;
    return rest < 0.0 ? rest : obb_index_nearest(moving, bounds, rest, context, visit);
}
