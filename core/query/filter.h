/* Which boxes take part in a query. */
#ifndef OBB_FILTER_H
#define OBB_FILTER_H

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/scene/scene.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As it is sent; zeroed, every box takes part. Names, ids and entities that no box has exclude nothing. */
typedef struct obb_filter {
    bool has_category, has_mask;
    uint32_t category; /* takes part: box.mask & category */
    uint32_t mask;     /* takes part: mask & box.category */
    const obb_str *exclude;
    size_t exclude_count;
    const uint64_t *exclude_ids;
    size_t exclude_id_count;
    const obb_str *exclude_entities;
    size_t exclude_entity_count;
    obb_str prefix; /* of the name; length 0: any */
} obb_filter;

/* ---- Internal to core ------------------------------------------------------------------------------------ */

/* A filter made ready for one view: names looked up, lists sorted. Read by any number of threads. */
struct obb_sieve {
    bool open; /* every box takes part */
    uint32_t category, mask;
    bool has_category, has_mask;
    obb_str prefix;
    const uint64_t *ids; /* excluded, ascending */
    size_t id_count;
    const uint64_t *entities; /* excluded: addresses of interned strings, ascending */
    size_t entity_count;
};

/* The filter's strings must outlive the sieve, whose lists are the arena's. O(n log n) in the lists. OBB_NO_MEMORY. */
obb_status obb_sieve_make(const struct obb_view *view, const obb_filter *filter,
                          struct obb_arena *arena, struct obb_sieve *out);

/* Does the box take part? O(log n) in the lists. */
bool obb_sieve_passes(const struct obb_sieve *sieve, const struct obb_version *box);

/* Do the filters of the boxes themselves allow the pair? Equal non-zero groups decide: positive yes, negative no; else
 * each one's category must meet the other's mask. Symmetric. */
bool obb_filter_pair(const struct obb_version *a, const struct obb_version *b);

#endif
