#include "core/query/filter.h"

#include "core/base/cancel.h"
#include "core/base/sort.h"
#include "core/scene/view_inside.h"
#include "core/versions/version.h"

struct id_list {
    struct obb_arena *arena;
    uint64_t *ids;
    size_t count, room;
};

/* Makes room for `more` further ids. Returns false if there is no memory. */
static bool reserve(struct id_list *list, size_t more)
{
    if (list->room - list->count >= more)
        return true;
    const size_t room = 2 * list->room + more;
    uint64_t *ids = obb_arena_grow(list->arena, list->ids, list->count, room, sizeof *ids);
    if (ids == NULL)
        return false;
    list->ids = ids;
    list->room = room;
    return true;
}

/* Adds the ids of all boxes that have the name in some state. */
static bool add_all_of_name(struct id_list *list, const struct obb_view *view, obb_str name)
{
    for (;;) {
        const size_t room = list->room - list->count;
        const size_t found = obb_view_ids_of_name(view, name, list->ids + list->count, room);
        if (found <= room) {
            list->count += found;
            return true;
        }
        if (!reserve(list, found)) /* then look again: meanwhile there may be another */
            return false;
    }
}

/* Returns true if the work is cancelled. Polls before entry i of a list at intervals of some us. */
static bool gives_up(const atomic_bool *cancel, size_t i)
{
    enum { POLL = 64 };
    return i % POLL == 0 && obb_cancelled(cancel);
}

/* Sorts values in ascending order. A client may send millions: then the sort can be cancelled, but
 * takes twice the time. OBB_NO_MEMORY, OBB_CANCELLED. */
static obb_status sort(uint64_t *values, size_t count, const atomic_bool *cancel,
                       struct obb_arena *arena)
{
    enum { MANY = 16384 }; /* fewer take about a millisecond */
    if (count < MANY) {
        obb_sort_u64(values, count);
        return OBB_OK;
    }
    uint64_t *spare = obb_arena_alloc(arena, count, sizeof *spare);
    if (spare == NULL)
        return OBB_NO_MEMORY;
    return obb_sort_by(values, count, sizeof *values, obb_compare_u64, spare, cancel)
               ? OBB_OK
               : OBB_CANCELLED;
}

/* Gathers the excluded ids: given as ids, or as names of boxes in this view or in all states. */
static obb_status gather_ids(const struct obb_view *view, const obb_filter *filter, bool all_states,
                             const atomic_bool *cancel, struct obb_arena *arena,
                             struct obb_compiled_filter *compiled)
{
    struct id_list list = {.arena = arena};
    const size_t most = filter->exclude_count + filter->exclude_id_count;
    if (most == 0)
        return OBB_OK;
    if (!reserve(&list, most))
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < filter->exclude_id_count; i++)
        list.ids[list.count++] = filter->exclude_ids[i];
    for (size_t i = 0; i < filter->exclude_count; i++) {
        if (gives_up(cancel, i))
            return OBB_CANCELLED;
        if (all_states) {
            if (!add_all_of_name(&list, view, filter->exclude[i]))
                return OBB_NO_MEMORY;
            continue;
        }
        const struct obb_version *box = obb_view_find(view, filter->exclude[i]);
        if (box != NULL)
            list.ids[list.count++] = box->id;
    }
    compiled->ids = list.ids;
    compiled->id_count = list.count;
    return sort(list.ids, list.count, cancel, arena);
}

static obb_status gather_entities(const struct obb_view *view, const obb_filter *filter,
                                  const atomic_bool *cancel, struct obb_arena *arena,
                                  struct obb_compiled_filter *compiled)
{
    if (filter->exclude_entity_count == 0)
        return OBB_OK;
    uint64_t *entities = obb_arena_alloc(arena, filter->exclude_entity_count, sizeof *entities);
    if (entities == NULL)
        return OBB_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < filter->exclude_entity_count; i++) {
        if (gives_up(cancel, i))
            return OBB_CANCELLED;
        const struct obb_interned *entity = obb_view_entity(view, filter->exclude_entities[i]);
        if (entity != NULL)
            entities[count++] = (uint64_t)(uintptr_t)entity;
    }
    compiled->entities = entities;
    compiled->entity_count = count;
    return sort(entities, count, cancel, arena);
}

obb_status obb_filter_compile(const struct obb_view *view, const obb_filter *filter,
                              bool all_states, const atomic_bool *cancel, struct obb_arena *arena,
                              struct obb_compiled_filter *out)
{
    struct obb_compiled_filter compiled = {.category = filter->category,
                                           .mask = filter->mask,
                                           .has_category = filter->has_category,
                                           .has_mask = filter->has_mask,
                                           .prefix = filter->prefix};
    obb_status st = gather_ids(view, filter, all_states, cancel, arena, &compiled);
    if (st == OBB_OK)
        st = gather_entities(view, filter, cancel, arena, &compiled);
    if (st != OBB_OK)
        return st;
    compiled.open = !compiled.has_category && !compiled.has_mask && compiled.prefix.length == 0 &&
                    compiled.id_count == 0 && compiled.entity_count == 0;
    *out = compiled;
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

obb_filtered obb_filter_reason(const struct obb_compiled_filter *compiled,
                               const struct obb_version *box)
{
    if (compiled->has_mask && (compiled->mask & box->category) == 0)
        return OBB_FILTERED_BY_MASK;
    if (compiled->has_category && (compiled->category & box->mask) == 0)
        return OBB_FILTERED_BY_CATEGORY;
    if (compiled->prefix.length > 0 &&
        !obb_str_starts_with(obb_record_name(obb_version_record(box)), compiled->prefix))
        return OBB_FILTERED_BY_PREFIX;
    if (holds(compiled->ids, compiled->id_count, box->id))
        return OBB_FILTERED_BY_EXCLUDE;
    if (compiled->entity_count == 0)
        return OBB_FILTERED_NOT;
    const struct obb_interned *entity = obb_version_extras(box)->entity;
    return entity != NULL &&
                   holds(compiled->entities, compiled->entity_count, (uint64_t)(uintptr_t)entity)
               ? OBB_FILTERED_BY_ENTITY
               : OBB_FILTERED_NOT;
}

bool obb_filter_pair(const struct obb_version *a, const struct obb_version *b)
{
    if (a->group == b->group && a->group != 0)
        return a->group > 0;
    return (a->category & b->mask) != 0 && (b->category & a->mask) != 0;
}
