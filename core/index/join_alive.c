/* Which entries of the levels are alive: the phases mark, ready and again of a join (join.c).
 *
 * An entry is dead if a later level has its id, because a newer version of the box stands there.
 * That takes a look at a bit for each later level, and no cache miss for the version. An entry
 * whose box was removed may have no later version. So the marks may miss a dead entry, but they
 * never take out one that is alive. If they leave as many entries as boxes are alive, they have
 * missed none. If they leave more, the phase again asks every version. */
#include "core/index/joining.h"

#include "core/base/least.h"
#include "core/index/tree.h"

#include <string.h>

#define MARK_IDS 65536 /* ids marked between two looks at the cancellation: 50 us */

void obb_join_fill_alive(const struct obb_index *index, uint16_t *alive)
{
    const size_t nodes = index->tree.nodes[0];
    memset(alive, 0xff, nodes * sizeof *alive);
    if (index->count % OBB_NODE != 0 || index->count == 0)
        alive[nodes - 1] = (uint16_t)((1u << index->count % OBB_NODE) - 1);
}

/* Marks the ids of a side. */
obb_status obb_join_mark(const struct obb_join *join, size_t chunk)
{
    const struct obb_join_side *side = &join->sides[chunk + 1];
    const uint64_t *ids = side->index->ids, first = join->first_mark;
    for (size_t from = 0; from < side->index->count; from += MARK_IDS) {
        if (obb_join_cancelled(join))
            return OBB_CANCELLED;
        const size_t end = from + obb_least(side->index->count - from, MARK_IDS);
        for (size_t i = from; i < end; i++)
            side->marks[(ids[i] - first) / 64] |= (uint64_t)1 << (ids[i] - first) % 64;
    }
    return OBB_OK;
}

/* Takes the entries of a part of a side that have a mark of side `by` out of `alive`. */
static void take_out(const struct obb_join *join, struct obb_join_side *side, size_t first,
                     size_t end, const struct obb_join_side *by)
{
    enum { AT_ONCE = 4 * OBB_NODE };
    const struct obb_marks marks = {.bits = by->marks, .span = (uint32_t)join->mark_words * 64};
    uint32_t places[AT_ONCE];
    for (size_t i = first; i < end; i += AT_ONCE) {
        const size_t count = obb_least(end - i, AT_ONCE);
        for (size_t k = 0; k < count; k++)
            places[k] = (uint32_t)(side->index->ids[i + k] - join->first_mark);
        const uint64_t marked = join->kernels->marked(&marks, places, count);
        for (size_t k = 0; k < count; k += OBB_NODE)
            side->alive[(i + k) / OBB_NODE] &= (uint16_t) ~(marked >> k);
    }
}

static size_t count_alive(const struct obb_join_side *side, size_t first, size_t end)
{
    size_t alive = 0;
    for (size_t i = first; i < end; i += OBB_NODE)
        alive += (size_t)__builtin_popcount(side->alive[i / OBB_NODE]);
    return alive;
}

/* Finds by marks which entries of a part of a side are alive, and then, of a join of the moved,
 * which of them are not moved. */
static void look_at_marks(struct obb_join *join, struct obb_join_side *side, size_t first,
                          size_t end)
{
    const size_t levels = obb_layers_levels(join->layers);
    for (size_t i = side->level + 1; i < levels; i++)
        take_out(join, side, first, end, &join->sides[i]);
    size_t left = count_alive(side, first, end);
    atomic_fetch_add_explicit(&join->unmarked, left, memory_order_relaxed);
    if (join->built != NULL && (side->level == levels - 1 || !join->moved_newest)) {
        take_out(join, side, first, end, &join->sides[levels]);
        left = count_alive(side, first, end);
    }
    atomic_fetch_add_explicit(&side->kept, left, memory_order_relaxed);
}

bool obb_join_newest_has_moved(const struct obb_join *join)
{
    const size_t levels = obb_layers_levels(join->layers);
    if (join->built == NULL || levels == 1)
        return false;
    const uint64_t *newest = join->sides[levels - 1].marks, *moved = join->sides[levels].marks;
    uint64_t missing = 0;
    for (size_t i = 0; i < join->mark_words; i++)
        missing |= moved[i] & ~newest[i];
    return missing == 0;
}

/* Finds by their versions which entries of a part of a side are alive. */
static void look_at_versions(const struct obb_join *join, struct obb_join_side *side, size_t first,
                             size_t end)
{
    const struct obb_version *const *versions = side->index->versions;
    for (size_t i = first; i < end; i += OBB_NODE) {
        uint32_t alive = 0;
        for (size_t k = 0; k < OBB_NODE && i + k < end; k++) {
            if (i + k + (size_t)2 * OBB_NODE < side->index->count)
                __builtin_prefetch((const char *)versions[i + k + (size_t)2 * OBB_NODE] +
                                   offsetof(struct obb_version, died));
            alive |= (uint32_t)obb_layers_shows(join->layers, side->level, versions[i + k],
                                                join->revision)
                     << k;
        }
        side->alive[i / OBB_NODE] = (uint16_t)alive;
    }
}

/* Runs a chunk of the phases ready and again that looks at a part of a side. */
static void look_alive(struct obb_join *join, size_t chunk)
{
    size_t s = join->side_count - 1;
    while (join->sides[s].whole || join->sides[s].first_chunk > chunk)
        s--;
    struct obb_join_side *side = &join->sides[s];
    const size_t first = (chunk - side->first_chunk) * OBB_JOIN_READY_ENTRIES;
    const size_t end = first + obb_least(side->index->count - first, OBB_JOIN_READY_ENTRIES);
    if (join->by_marks)
        look_at_marks(join, side, first, end);
    else
        look_at_versions(join, side, first, end);
}

bool obb_join_doubt_marks(struct obb_join *join)
{
    if (!join->by_marks || atomic_load_explicit(&join->unmarked, memory_order_relaxed) ==
                               obb_layers_alive(join->layers))
        return false;
    join->by_marks = false;
    if (join->moved == NULL)
        return join->ready_chunks > 0;
    for (size_t s = 0; s < join->side_count; s++)
        obb_join_fill_alive(join->sides[s].index, join->sides[s].alive);
    return false;
}

obb_status obb_join_ready(struct obb_join *join, size_t chunk)
{
    if (chunk >= join->ready_chunks) {
        struct obb_join_match *match = &join->matches[chunk - join->ready_chunks];
        if (match->block != NULL)
            obb_tree_over(&match->tree, join->kernels, &match->b->index->grid,
                          match->a->index->boxes, match->a->index->count,
                          match->a == match->b ? join->grow / 2 : join->grow,
                          obb_first_line(match->block));
        return OBB_OK;
    }
    look_alive(join, chunk);
    return OBB_OK;
}

obb_status obb_join_look_again(struct obb_join *join, size_t chunk)
{
    look_alive(join, chunk);
    return OBB_OK;
}
