#include "core/query/filter.h"

#include "core/base/sort.h"
#include "core/scene/view.h"
#include "core/versions/version.h"

/* The ids that are excluded one by one or by their names in this view. */
static obb_status gather_ids(const struct obb_view *view, const obb_filter *filter,
                             struct obb_arena *arena, struct obb_sieve *sieve)
{
    const size_t room = filter->exclude_count + filter->exclude_id_count;
    if (room == 0)
        return OBB_OK;
    uint64_t *ids = obb_arena_alloc(arena, room, sizeof *ids);
    if (ids == NULL)
        return OBB_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < filter->exclude_id_count; i++)
        ids[count++] = filter->exclude_ids[i];
    for (size_t i = 0; i < filter->exclude_count; i++) {
        const struct obb_version *box = obb_view_find(view, filter->exclude[i]);
        if (box != NULL)
            ids[count++] = box->id;
    }
    obb_sort_u64(ids, count);
    sieve->ids = ids;
    sieve->id_count = count;
    return OBB_OK;
}

static obb_status gather_entities(const struct obb_view *view, const obb_filter *filter,
                                  struct obb_arena *arena, struct obb_sieve *sieve)
{
    if (filter->exclude_entity_count == 0)
        return OBB_OK;
    uint64_t *entities = obb_arena_alloc(arena, filter->exclude_entity_count, sizeof *entities);
    if (entities == NULL)
        return OBB_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < filter->exclude_entity_count; i++) {
        const struct obb_interned *entity = obb_view_entity(view, filter->exclude_entities[i]);
        if (entity != NULL)
            entities[count++] = (uint64_t)(uintptr_t)entity;
    }
    obb_sort_u64(entities, count);
    sieve->entities = entities;
    sieve->entity_count = count;
    return OBB_OK;
}

obb_status obb_sieve_make(const struct obb_view *view, const obb_filter *filter,
                          struct obb_arena *arena, struct obb_sieve *out)
{
    struct obb_sieve sieve = {.category = filter->category,
                              .mask = filter->mask,
                              .has_category = filter->has_category,
                              .has_mask = filter->has_mask,
                              .prefix = filter->prefix};
    obb_status st = gather_ids(view, filter, arena, &sieve);
    if (st == OBB_OK)
        st = gather_entities(view, filter, arena, &sieve);
    if (st != OBB_OK)
        return st;
    sieve.open = !sieve.has_category && !sieve.has_mask && sieve.prefix.length == 0 &&
                 sieve.id_count == 0 && sieve.entity_count == 0;
    *out = sieve;
    return OBB_OK;
}

static bool holds(const uint64_t *sorted, size_t count, uint64_t value)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && sorted[low] == value;
}

bool obb_sieve_passes(const struct obb_sieve *sieve, const struct obb_version *box)
{
    if (sieve->open)
        return true;
    if ((sieve->has_mask && (sieve->mask & box->category) == 0) ||
        (sieve->has_category && (sieve->category & box->mask) == 0))
        return false;
    if (sieve->prefix.length > 0) {
        const obb_str name = obb_record_name(box->record);
        if (name.length < sieve->prefix.length ||
            memcmp(name.bytes, sieve->prefix.bytes, sieve->prefix.length) != 0)
            return false;
    }
    if (sieve->entity_count > 0 && box->entity != NULL &&
        holds(sieve->entities, sieve->entity_count, (uint64_t)(uintptr_t)box->entity))
        return false;
    return !holds(sieve->ids, sieve->id_count, box->id);
}

bool obb_filter_pair(const struct obb_version *a, const struct obb_version *b)
{
    if (a->group == b->group && a->group != 0)
        return a->group > 0;
    return (a->category & b->mask) != 0 && (b->category & a->mask) != 0;
}
