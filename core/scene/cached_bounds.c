#include "core/scene/cached_bounds.h"

#include <math.h>

static const obb_bounds nothing = {.min = {HUGE_VAL, HUGE_VAL, HUGE_VAL},
                                   .max = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};

void obb_cached_bounds_init(struct obb_cached_bounds *cached)
{
    *cached = (struct obb_cached_bounds){.known = true, .bounds = nothing};
}

/* Returns true only if the box lies strictly within `bounds`. The test takes the sphere around the
 * box, which needs no axes, so false is not certain. */
static bool clear_of(const obb_bounds *bounds, const obb_box *box, int dimensions)
{
    const obb_vec3 c = box->center;
    const double radius = obb_length(box->half_extents);
    const double reach =
        radius + 1e-14 * (radius + fabs(c.x) + fabs(c.y) + fabs(c.z)); /* rounding */
    return c.x - reach > bounds->min.x && c.x + reach < bounds->max.x &&
           c.y - reach > bounds->min.y && c.y + reach < bounds->max.y &&
           (dimensions == 2 || (c.z - reach > bounds->min.z && c.z + reach < bounds->max.z));
}

static void grow(obb_bounds *bounds, const obb_box *box, int dimensions)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    const obb_bounds b = obb_solid_bounds(&solid);
    bounds->min = obb_min(bounds->min, b.min);
    bounds->max = obb_max(bounds->max, b.max);
}

void obb_cached_bounds_add(struct obb_cached_bounds *cached, const obb_box *box, int dimensions)
{
    if (cached->known && !clear_of(&cached->bounds, box, dimensions))
        grow(&cached->bounds, box, dimensions);
}

void obb_cached_bounds_remove(struct obb_cached_bounds *cached, const obb_box *box, int dimensions)
{
    cached->known = cached->known && clear_of(&cached->bounds, box, dimensions);
}

/* Returns the first version of a box in the state of `revision` from slot *i on, or NULL, and moves
 * *i behind it. Slots come in the order of memory. */
static const struct obb_version *slot_in(const struct obb_versions *versions, uint64_t revision,
                                         uint32_t *i)
{
    while (*i < versions->count) {
        const struct obb_version *version = obb_version_at(versions, (*i)++);
        if (atomic_load_explicit(&version->died, memory_order_relaxed) > revision &&
            !obb_version_is_frame(version) &&
            atomic_load_explicit(&version->born, memory_order_relaxed) <= revision)
            return version;
    }
    return NULL;
}

/* Bounds the centres first: only boxes that may reach beyond them need axes. */
void obb_cached_bounds_measure(struct obb_cached_bounds *cached,
                               const struct obb_versions *versions, uint64_t revision,
                               int dimensions)
{
    obb_bounds centers = nothing;
    const struct obb_version *version;
    for (uint32_t i = 0; (version = slot_in(versions, revision, &i)) != NULL;) {
        centers.min = obb_min(centers.min, version->box.center);
        centers.max = obb_max(centers.max, version->box.center);
    }
    obb_cached_bounds_init(cached);
    for (uint32_t i = 0; (version = slot_in(versions, revision, &i)) != NULL;)
        if (!clear_of(&centers, &version->box, dimensions))
            obb_cached_bounds_add(cached, &version->box, dimensions);
}
