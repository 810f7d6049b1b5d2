#include "core/index.h"

#include "core/alloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct entry {
    obb_bounds bounds;
    const struct obb_version *version;
};

/* Entries by the least x of their bounds: a query looks at those that begin no further left than the widest is wide. */
struct obb_index {
    size_t references, count;
    int dimensions;
    double widest;
    struct entry *entries;
    const struct obb_version **versions;
};

/* The double tests that follow may find contact where bounds are apart by their rounding: bounds grow by this share of
 * the coordinates and the size. */
#define SLACK 1e-12

static obb_bounds grown(obb_bounds b, obb_vec3 by)
{
    const obb_vec3 size = obb_sub(b.max, b.min);
    const double slack = SLACK * (size.x + size.y + size.z);
    const obb_vec3 far = {fmax(fabs(b.min.x), fabs(b.max.x)), fmax(fabs(b.min.y), fabs(b.max.y)),
                          fmax(fabs(b.min.z), fabs(b.max.z))};
    by = obb_add(by, obb_add((obb_vec3){slack, slack, slack}, obb_scale(far, 1e-15)));
    return (obb_bounds){obb_sub(b.min, by), obb_add(b.max, by)};
}

static bool meet(const obb_bounds *a, const obb_bounds *b)
{
    return a->min.x <= b->max.x && b->min.x <= a->max.x && a->min.y <= b->max.y &&
           b->min.y <= a->max.y && a->min.z <= b->max.z && b->min.z <= a->max.z;
}

static obb_bounds bounds_of(const obb_box *box, int dimensions)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    return grown(obb_solid_bounds(&solid), (obb_vec3){0});
}

/* A turning box stays within the sphere about its centre. */
static obb_bounds bounds_of_way(const obb_box *a, const obb_box *b, int dimensions)
{
    const double radius = fmax(obb_length(a->half_extents), obb_length(b->half_extents));
    obb_vec3 reach = {radius, radius, dimensions == 3 ? radius : 0};
    return grown((obb_bounds){obb_sub(obb_min(a->center, b->center), reach),
                              obb_add(obb_max(a->center, b->center), reach)},
                 (obb_vec3){0});
}

static int by_least_x(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;
    const double x = p->bounds.min.x, y = q->bounds.min.x;
    return (x > y) - (x < y);
}

obb_status obb_index_build(const struct obb_version *const *versions,
                           const struct obb_version *const *to, size_t count, int dimensions,
                           const struct obb_kernels *kernels, const atomic_bool *cancel,
                           struct obb_index **out)
{
    (void)kernels;
    struct obb_index *index = obb_calloc(1, sizeof *index);
    if (index == NULL)
        return OBB_NO_MEMORY;
    *index = (struct obb_index){.references = 1, .count = count, .dimensions = dimensions};
    index->entries = obb_malloc(count, sizeof *index->entries);
    index->versions = obb_malloc(count, sizeof *index->versions);
    if (index->entries == NULL || index->versions == NULL) {
        obb_index_unref(index);
        return OBB_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        if (i % 1024 == 0 && cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) {
            obb_index_unref(index);
            return OBB_CANCELLED;
        }
        index->entries[i] = (struct entry){
            .bounds = to != NULL ? bounds_of_way(&versions[i]->box, &to[i]->box, dimensions)
                                 : bounds_of(&versions[i]->box, dimensions),
            .version = versions[i]};
        const obb_bounds *b = &index->entries[i].bounds;
        index->widest = fmax(index->widest, b->max.x - b->min.x);
    }
    qsort(index->entries, count, sizeof *index->entries, by_least_x);
    for (size_t i = 0; i < count; i++)
        index->versions[i] = index->entries[i].version;
    *out = index;
    return OBB_OK;
}

void obb_index_ref(struct obb_index *index) { index->references++; }

void obb_index_unref(struct obb_index *index)
{
    if (index == NULL || --index->references > 0)
        return;
    obb_free(index->entries);
    obb_free(index->versions);
    obb_free(index);
}

size_t obb_index_count(const struct obb_index *index) { return index->count; }

size_t obb_index_bytes(const struct obb_index *index)
{
    return sizeof *index +
           index->count * (sizeof *index->entries + sizeof(const struct obb_version *));
}

const struct obb_version *const *obb_index_versions(const struct obb_index *index)
{
    return index->versions;
}

/* The first entry whose bounds may reach as far as x. */
static size_t first_from(const struct obb_index *index, double x)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (index->entries[middle].bounds.min.x < x - index->widest * (1 + SLACK))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool obb_index_query(const struct obb_index *index, const obb_bounds *bounds, void *context,
                     obb_index_visit *visit)
{
    for (size_t i = first_from(index, bounds->min.x);
         i < index->count && index->entries[i].bounds.min.x <= bounds->max.x; i++)
        if (meet(&index->entries[i].bounds, bounds) &&
            !visit(context, index->entries[i].version, OBB_DOUBT))
            return false;
    return true;
}

bool obb_index_overlap(const struct obb_index *index, const obb_solid *box, double margin,
                       void *context, obb_index_visit *visit)
{
    const double by = fmax(margin, 0);
    const obb_bounds bounds = grown(obb_solid_bounds(box), (obb_vec3){by, by, by});
    return obb_index_query(index, &bounds, context, visit);
}

/* Where the ray enters the bounds, or -1. */
static double entry_distance(const obb_ray *ray, const obb_bounds *b)
{
    double near = 0, far = ray->max_distance;
    for (int i = 0; i < 3; i++) {
        const double o = obb_component(ray->origin, i), d = obb_component(ray->direction, i);
        const double low = obb_component(b->min, i), high = obb_component(b->max, i);
        const double slack = SLACK * (fabs(o) + fabs(low) + fabs(high));
        if (fabs(d) < 1e-30) {
            if (o < low - slack || o > high + slack)
                return -1;
            continue;
        }
        const double t1 = ((d > 0 ? low - slack : high + slack) - o) / d;
        const double t2 = ((d > 0 ? high + slack : low - slack) - o) / d;
        near = fmax(near, t1);
        far = fmin(far, t2);
    }
    return near <= far ? near : -1;
}

double obb_index_ray(const struct obb_index *index, const obb_ray *ray, obb_vec3 grow,
                     void *context, obb_index_reach *visit)
{
    double reach = ray->max_distance;
    for (size_t i = 0; i < index->count && reach >= 0; i++) {
        const obb_bounds b = grown(index->entries[i].bounds, grow);
        const double distance = entry_distance(ray, &b);
        if (distance >= 0 && distance <= reach)
            reach = visit(context, index->entries[i].version, reach);
    }
    return reach;
}

static double bounds_distance(const obb_bounds *a, const obb_bounds *b)
{
    const obb_vec3 apart = obb_max(obb_sub(a->min, b->max), obb_sub(b->min, a->max));
    return obb_length(obb_max(apart, (obb_vec3){0})) * (1 - SLACK);
}

double obb_index_nearest(const struct obb_index *index, const obb_bounds *bounds,
                         double max_distance, void *context, obb_index_reach *visit)
{
    double reach = max_distance;
    const obb_bounds from = grown(*bounds, (obb_vec3){0});
    for (size_t i = 0; i < index->count && reach >= 0; i++)
        if (bounds_distance(&from, &index->entries[i].bounds) <= reach)
            reach = visit(context, index->entries[i].version, reach);
    return reach;
}

bool obb_index_validate(const struct obb_index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        const struct entry *e = &index->entries[i];
        if (e->version == NULL || index->versions[i] != e->version ||
            e->bounds.max.x - e->bounds.min.x > index->widest * (1 + SLACK) ||
            (i > 0 && e->bounds.min.x < index->entries[i - 1].bounds.min.x))
            return false;
    }
    return true;
}
