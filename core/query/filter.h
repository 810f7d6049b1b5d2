/* Filters: the boxes that take part in a query. */
#ifndef OBB_FILTER_H
#define OBB_FILTER_H

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/scene/view.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A filter as sent. If it is zeroed, every box takes part. Names, ids and entities that no box has
 * exclude nothing. */
typedef struct obb_filter {
    bool has_category, has_mask;
    uint32_t category; /* a box takes part if box.mask & category */
    uint32_t mask;     /* a box takes part if mask & box.category */
    const obb_str *exclude;
    size_t exclude_count;
    const uint64_t *exclude_ids;
    size_t exclude_id_count;
    const obb_str *exclude_entities;
    size_t exclude_entity_count;
    obb_str prefix; /* of the name; length 0: any */
} obb_filter;

/* Why a box takes no part in a query; of several reasons the first one. */
typedef enum obb_filtered {
    OBB_FILTERED_NOT,
    OBB_FILTERED_BY_MASK,     /* filter.mask & box.category is 0 */
    OBB_FILTERED_BY_CATEGORY, /* filter.category & box.mask is 0 */
    OBB_FILTERED_BY_PREFIX,
    OBB_FILTERED_BY_EXCLUDE,
    OBB_FILTERED_BY_ENTITY,
    OBB_FILTERED_BY_SELF /* the box is the one that asks */
} obb_filtered;

/* ---- Internal to core ------------------------------------------------------------------------ */

/* A filter compiled for one view, or for all views of a scene: names are looked up and lists
 * sorted. Any number of threads may read it. */
struct obb_compiled_filter {
    bool open; /* every box takes part */
    uint32_t category, mask;
    bool has_category, has_mask;
    obb_str prefix;
    const uint64_t *ids; /* excluded, ascending */
    size_t id_count;
    const uint64_t *entities; /* excluded: addresses of interned strings, ascending */
    size_t entity_count;
};

/* Compiles a filter. The strings of `filter` must outlive *out, whose lists are allocated in
 * `arena`. With all_states the filter is good for every view of the view's scene that is open now:
 * a name then excludes all boxes that have it in any state. Gives up once *cancel is true; it may
 * be NULL. O(n log n) in the lengths of the lists. OBB_NO_MEMORY, OBB_CANCELLED. */
obb_status obb_filter_compile(const struct obb_view *view, const obb_filter *filter,
                              bool all_states, const atomic_bool *cancel, struct obb_arena *arena,
                              struct obb_compiled_filter *out);

/* Returns why the filter excludes the box, never OBB_FILTERED_BY_SELF. O(log n) in the lengths of
 * the lists. */
obb_filtered obb_filter_reason(const struct obb_compiled_filter *compiled,
                               const struct obb_version *box);

/* Returns true if the box takes part. */
static inline bool obb_filter_passes(const struct obb_compiled_filter *compiled,
                                     const struct obb_version *box)
{
    return compiled->open || obb_filter_reason(compiled, box) == OBB_FILTERED_NOT;
}

/* Returns true if the filters of the two boxes allow the pair. Equal groups other than 0 decide: a
 * positive group allows the pair, a negative one forbids it. Otherwise the category of each box
 * must share a bit with the mask of the other. Symmetric. */
bool obb_filter_pair(const struct obb_version *a, const struct obb_version *b);

#endif
