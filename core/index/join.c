/* The join of all pairs of a state, or of the pairs that a commit can have changed, in phases of
 * independent chunks:
 *
 *   mark    marks the ids of each index but the base, and of the moved, in a set of bits
 *   ready   finds which entries of each index are alive, and quantises the smaller of two indexes
 *           on the grid of the larger
 *   again   finds which entries are alive by their versions, if the marks have missed some
 *   find    joins each index with itself and with each other index (obb_kernels.join), a few groups
 *           of boxes a chunk, or reads what an earlier join has recorded (pair_cache.h); asks the
 *           judge; parts the pairs of the chunk by ranges of ids
 *   order   orders the pairs of each range by (id, id), from the lists of all chunks
 *
 * A join that only counts has no phase order.
 *
 * Fresh memory costs more than the work on it: a fault of a page takes as long as 200 pairs. So a
 * pair is held twice, by its chunk and in the result, and as two ranks if nobody asks for its
 * boxes.
 *
 * The result of a phase depends only on its input, not on the threads or the order of its
 * chunks. */
#include "core/index/join.h"

#include "core/base/alloc.h"
#include "core/base/least.h"
#include "core/base/sort.h"
#include "core/index/joining.h"
#include "core/index/packed.h"
#include "core/index/tree.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MARK_BYTES    4    /* of marks for each entry, at most: ids with gaps take more */
#define MOVED_SHARE   64   /* marks pay for a join of the moved if they are one entry in so many */
#define FIND_GROUPS   8    /* groups of 256 boxes joined in a chunk: 50 us and more */
#define FIND_CHUNKS   256  /* chunks at most, about; a larger index has more groups in each */
#define RANGE_BOXES   4096 /* ids in a range, about; fewer where that makes less than... */
#define SHARED_RANGES 8    /* ...so many ranges, for the sake of many threads */
#define LEAST_BOXES   256  /* ids in a range, at least */
#define RANGES        1024 /* at most */

/* Most bytes of the pairs that are recorded of an index: for each entry, about as many as the index
 * takes; and in all, since nothing counts them until they are done. */
#define CACHE_BYTES 96
#define CACHE_MOST  ((size_t)32 << 20)

/* Ends the recording of pairs. found: all chunks of the phase find have ended. */
static void end_recording(struct obb_join *join, bool found)
{
    for (size_t i = 0; i < join->match_count; i++) {
        struct obb_join_match *match = &join->matches[i];
        if (match->recorded != NULL)
            obb_pair_cache_release(match->a->index->pair_cache, match->recorded,
                                   found && !obb_join_is_empty(join, match->a));
        match->recorded = NULL;
    }
}

/* ---- Making one ------------------------------------------------------------------------------ */

/* Finds the least and the greatest id of the levels, which have those of the moved, too. Returns
 * the number of their entries. */
static size_t span_ids(const struct obb_join *join, uint64_t *out_least, uint64_t *out_most)
{
    size_t entries = 0;
    *out_least = UINT64_MAX;
    *out_most = 0;
    for (size_t i = 0; i < obb_layers_levels(join->layers); i++) {
        const struct obb_index *index = obb_layers_level(join->layers, i);
        *out_least = index->least_id < *out_least ? index->least_id : *out_least;
        *out_most = index->most_id > *out_most ? index->most_id : *out_most;
        entries += index->count;
    }
    return entries;
}

/* Chooses whether entries are found alive by marks. */
static void choose_marks(struct obb_join *join)
{
    uint64_t most;
    const size_t levels = obb_layers_levels(join->layers),
                 entries = span_ids(join, &join->first_mark, &most);
    if (entries == 0 || !obb_layers_supersede(join->layers, join->revision) ||
        (join->moved != NULL ? join->moved->count < entries / MOVED_SHARE : levels == 1))
        return;
    const uint64_t words = (most - join->first_mark) / 64 + 1;
    /* a kernel takes places of 32 bits */
    join->by_marks =
        words <= entries * MARK_BYTES / sizeof(uint64_t) / (levels + 1) && words <= UINT32_MAX / 64;
    join->mark_words = (size_t)words;
}

/* Chooses how ids become ranks of 32 bits in the same order, and how ranks become ranges. */
static obb_status choose_ranks(struct obb_join *join, size_t entries)
{
    uint64_t least, most;
    (void)span_ids(join, &least, &most);
    join->least_id = least;
    uint64_t span = entries > 0 ? most - least : 0;
    if (span > UINT32_MAX) {
        join->sorted = obb_budget_malloc(join->budget, entries, sizeof *join->sorted);
        if (join->sorted == NULL)
            return OBB_NO_MEMORY;
        for (size_t s = 0; s < join->side_count; s++) {
            const struct obb_index *index = join->sides[s].index;
            memcpy(join->sorted + join->sorted_count, index->ids,
                   index->count * sizeof *index->ids);
            join->sorted_count += index->count;
        }
        uint64_t *spare = obb_budget_malloc(join->budget, entries, sizeof *spare);
        if (spare == NULL)
            return OBB_NO_MEMORY;
        const bool sorted = obb_sort_by(join->sorted, join->sorted_count, sizeof *join->sorted,
                                        obb_compare_u64, spare, join->cancel);
        obb_budget_free(spare);
        if (!sorted)
            return OBB_CANCELLED;
        span = join->sorted_count;
        if (join->wish.list == OBB_JOIN_RANKS)
            join->wish.list = OBB_JOIN_BOXES;
    }
    size_t ranges = 1;
    while (ranges < RANGES &&
           ranges * (ranges < SHARED_RANGES ? LEAST_BOXES : RANGE_BOXES) < entries)
        ranges *= 2;
    while (span >> join->range_shift >= ranges)
        join->range_shift++;
    join->ranges = (size_t)(span >> join->range_shift) + 1;
    return OBB_OK;
}

static obb_status add_side(struct obb_join *join, const struct obb_index *index, size_t level,
                           uint32_t base)
{
    struct obb_join_side *side = &join->sides[join->side_count++];
    *side = (struct obb_join_side){.index = index, .level = level, .base = base};
    side->alive = obb_budget_malloc(join->budget, index->tree.nodes[0], sizeof *side->alive);
    if (side->alive == NULL)
        return OBB_NO_MEMORY;
    obb_join_fill_alive(index, side->alive);
    /* Without marks, a join of the moved checks liveness in the phase find. */
    if (join->moved != NULL)
        side->whole = !join->by_marks || index == join->moved;
    else
        side->whole = obb_layers_whole(join->layers, level, join->revision);
    side->first_chunk = join->ready_chunks;
    if (!side->whole)
        join->ready_chunks += (index->count + OBB_JOIN_READY_ENTRIES - 1) / OBB_JOIN_READY_ENTRIES;
    else if (level < obb_layers_levels(join->layers))
        atomic_fetch_add_explicit(&join->unmarked, index->count, memory_order_relaxed);
    if (join->by_marks && level > 0) {
        side->marks = obb_budget_calloc(join->budget, join->mark_words, sizeof *side->marks);
        if (side->marks == NULL)
            return OBB_NO_MEMORY;
    }
    side->as_is =
        (struct obb_side){.tree = &index->tree, .boxes = index->boxes, .alive = side->alive};
    return OBB_OK;
}

/* Looks for the pairs of a side with itself in the cache of its index, and begins to record them
 * where that is worth it. */
static void look_in_cache(const struct obb_join *join, struct obb_join_match *match, size_t chunks)
{
    const struct obb_join_side *side = match->a;
    const struct obb_index *index = side->index;
    if (join->wish.margin != 0 || index->pair_cache == NULL)
        return;
    match->cached = obb_pair_cache_read(index->pair_cache);
    if (match->cached != NULL || join->wish.cache_room == 0 || obb_layers_decayed(join->layers))
        return;
    const size_t most =
        obb_least(obb_least(index->count * CACHE_BYTES, CACHE_MOST), join->wish.cache_room);
    match->recorded = obb_pair_cache_claim(index->pair_cache, !side->whole, chunks, most);
    if (match->recorded == NULL)
        return;
    match->everyone = obb_malloc(index->tree.nodes[0], sizeof *match->everyone);
    if (match->everyone != NULL) {
        obb_join_fill_alive(index, match->everyone);
    } else {
        obb_pair_cache_release(index->pair_cache, match->recorded, false);
        match->recorded = NULL;
    }
}

static obb_status add_match(struct obb_join *join, const struct obb_join_side *a,
                            const struct obb_join_side *b)
{
    if (a->index->count > b->index->count) {
        const struct obb_join_side *t = a;
        a = b;
        b = t;
    }
    if (a->index->count == 0)
        return OBB_OK;
    struct obb_join_match *match = &join->matches[join->match_count++];
    *match = (struct obb_join_match){
        .a = a, .b = b, .first_chunk = join->chunks, .plain = a->index->plain && b->index->plain};
    if (a != b || join->grow > 0) {
        const size_t nodes = obb_tree_shape(a->index->count, &match->tree);
        match->block = obb_budget_malloc(join->budget, nodes + 1, sizeof(struct obb_node));
        if (match->block == NULL)
            return OBB_NO_MEMORY;
        match->recoded =
            (struct obb_side){.tree = &match->tree, .boxes = a->index->boxes, .alive = a->alive};
    }
    const size_t groups = a->index->tree.nodes[1];
    match->chunk_groups = FIND_GROUPS;
    while (groups / match->chunk_groups > FIND_CHUNKS)
        match->chunk_groups *= 2;
    const size_t chunks = (groups + match->chunk_groups - 1) / match->chunk_groups;
    join->chunks += chunks;
    if (a == b)
        look_in_cache(join, match, chunks);
    return OBB_OK;
}

static obb_status make_ready(struct obb_join *join)
{
    const size_t levels = obb_layers_levels(join->layers), sides = levels + 1;
    join->sides = obb_budget_calloc(join->budget, sides, sizeof *join->sides);
    join->matches = obb_budget_calloc(join->budget, sides * sides, sizeof *join->matches);
    if (join->sides == NULL || join->matches == NULL)
        return OBB_NO_MEMORY;
    choose_marks(join);
    obb_status status = OBB_OK;
    size_t entries = 0;
    for (size_t i = 0; i < levels && status == OBB_OK; i++) {
        const struct obb_index *index = obb_layers_level(join->layers, i);
        status = add_side(join, index, i, (uint32_t)entries);
        entries += index->count;
    }
    if (join->built != NULL && status == OBB_OK) {
        status = add_side(join, join->built, levels, (uint32_t)entries);
        entries += join->built->count;
    }
    if (entries >= OBB_PACKED_SURE)
        return OBB_LIMIT;
    for (size_t i = 0; i < join->side_count && status == OBB_OK; i++)
        for (size_t k = join->moved != NULL ? join->side_count - 1 : i;
             k < join->side_count && status == OBB_OK; k++)
            status = add_match(join, &join->sides[i], &join->sides[k]);
    if (status == OBB_OK && join->wish.list != OBB_JOIN_COUNT)
        status = choose_ranks(join, entries);
    join->lists = obb_budget_calloc(join->budget, join->chunks, sizeof *join->lists);
    return status == OBB_OK && join->lists == NULL ? OBB_NO_MEMORY : status;
}

static obb_status create(const struct obb_layers *layers, uint64_t revision,
                         const obb_join_wish *wish, const struct obb_version *const *moved,
                         size_t count, const atomic_bool *cancel, struct obb_budget *budget,
                         struct obb_join **out)
{
    struct obb_join *join = obb_budget_calloc(budget, 1, sizeof *join);
    if (join == NULL)
        return OBB_NO_MEMORY;
    join->layers = layers;
    join->revision = revision;
    join->wish = *wish;
    join->grow = fmax(wish->margin, 0);
    join->limits = obb_limits_of(wish->margin);
    join->kernels = obb_layers_kernels(layers);
    join->cancel = cancel;
    join->budget = budget;
    atomic_init(&join->found, 0);
    atomic_init(&join->unmarked, 0);
    obb_status status = OBB_OK;
    if (moved != NULL)
        join->moved = obb_layers_made(layers, revision, count);
    if (moved != NULL && join->moved == NULL) {
        status = obb_index_build(moved, NULL, count, obb_layers_dimensions(layers), join->kernels,
                                 cancel, budget, &join->built);
        join->moved = join->built;
    }
    if (status == OBB_OK)
        status = make_ready(join);
    if (status == OBB_OK)
        *out = join;
    else
        obb_join_destroy(join);
    return status;
}

obb_status obb_join_create(const struct obb_layers *layers, uint64_t revision,
                           const obb_join_wish *wish, const atomic_bool *cancel,
                           struct obb_budget *budget, struct obb_join **out)
{
    return create(layers, revision, wish, NULL, 0, cancel, budget, out);
}

obb_status obb_join_create_moved(const struct obb_layers *layers, uint64_t revision,
                                 const obb_join_wish *wish, const struct obb_version *const *moved,
                                 size_t moved_count, const atomic_bool *cancel,
                                 struct obb_budget *budget, struct obb_join **out)
{
    static const struct obb_version *const none[1];
    return create(layers, revision, wish, moved_count > 0 ? moved : none, moved_count, cancel,
                  budget, out);
}

static void free_list(struct obb_join_found *list)
{
    obb_budget_free(list->ranks);
    obb_budget_free(list->entries);
    obb_budget_free(list->starts);
    list->ranks = list->entries = NULL;
    list->starts = NULL;
}

void obb_join_destroy(struct obb_join *join)
{
    if (join == NULL)
        return;
    for (size_t i = 0; i < join->side_count; i++) {
        obb_budget_free(join->sides[i].alive);
        obb_budget_free(join->sides[i].marks);
    }
    end_recording(join, false);
    for (size_t i = 0; i < join->match_count; i++) {
        obb_budget_free(join->matches[i].block);
        obb_free(join->matches[i].everyone);
    }
    for (size_t i = 0; join->lists != NULL && i < join->chunks; i++)
        free_list(&join->lists[i]);
    obb_index_unref(join->built);
    obb_budget_free(join->sides);
    obb_budget_free(join->matches);
    obb_budget_free(join->lists);
    obb_budget_free(join->sorted);
    obb_budget_free(join->starts);
    obb_budget_free(join->order_first);
    obb_budget_free(join->ranks);
    obb_budget_free(join->boxes);
    obb_budget_free(join->ids);
    obb_budget_free(join);
}

/* ---- From phase to phase --------------------------------------------------------------------- */

static void add_counts(struct obb_join *join)
{
    for (size_t c = 0; c < join->chunks; c++) {
        const obb_join_counts *counts = &join->lists[c].counts;
        join->counts.candidates += counts->candidates;
        join->counts.doubts += counts->doubts;
        join->counts.pairs += counts->pairs;
    }
    if (join->wish.list != OBB_JOIN_COUNT)
        join->counts.listed = obb_least(join->counts.pairs, join->wish.limit);
}

size_t obb_join_advance(struct obb_join *join, obb_status *out_status)
{
    *out_status = OBB_OK;
    size_t chunks = 0;
    while (chunks == 0 && join->phase != OBB_JOIN_DONE && *out_status == OBB_OK) {
        switch (join->phase) {
        case OBB_JOIN_START:
            join->phase = OBB_JOIN_MARK;
            chunks = join->by_marks ? join->side_count - 1 : 0;
            break;
        case OBB_JOIN_MARK:
            join->phase = OBB_JOIN_READY;
            join->moved_newest = join->by_marks && obb_join_newest_has_moved(join);
            chunks = join->ready_chunks + join->match_count;
            if (join->ready_chunks == 0 && join->match_count <= 1 && join->grow == 0)
                chunks = 0; /* one index, all alive: no work */
            break;
        case OBB_JOIN_READY:
            join->phase = OBB_JOIN_AGAIN;
            chunks = obb_join_doubt_marks(join) ? join->ready_chunks : 0;
            break;
        case OBB_JOIN_AGAIN:
            join->phase = OBB_JOIN_FIND;
            chunks = join->chunks;
            break;
        case OBB_JOIN_FIND:
            join->phase = OBB_JOIN_ORDER;
            end_recording(join, true);
            add_counts(join);
            if (join->counts.listed > 0)
                *out_status = obb_join_start_ordering(join);
            chunks = join->order_chunks;
            break;
        case OBB_JOIN_ORDER:
        case OBB_JOIN_DONE:
            join->phase = OBB_JOIN_DONE;
            for (size_t c = 0; c < join->chunks; c++)
                free_list(&join->lists[c]);
            break;
        }
    }
    return *out_status == OBB_OK ? chunks : 0;
}

obb_status obb_join_chunk(struct obb_join *join, size_t chunk)
{
    if (obb_join_cancelled(join))
        return OBB_CANCELLED;
    switch (join->phase) {
    case OBB_JOIN_MARK:
        return obb_join_mark(join, chunk);
    case OBB_JOIN_READY:
        return obb_join_ready(join, chunk);
    case OBB_JOIN_AGAIN:
        return obb_join_look_again(join, chunk);
    case OBB_JOIN_FIND:
        return obb_join_find(join, chunk);
    case OBB_JOIN_ORDER:
        return obb_join_order(join, chunk);
    case OBB_JOIN_START:
    case OBB_JOIN_DONE:
        break;
    }
    assert(false);
    return OBB_OK;
}

size_t obb_join_cached(const struct obb_join *join)
{
    size_t entries = 0;
    for (size_t i = 0; i < join->match_count; i++)
        if (join->matches[i].cached != NULL)
            entries += join->matches[i].a->index->count;
    return entries;
}

bool obb_join_marked(const struct obb_join *join) { return join->by_marks; }

obb_join_counts obb_join_count(const struct obb_join *join) { return join->counts; }

uint64_t *obb_join_take_ranks(struct obb_join *join, uint64_t *out_base)
{
    uint64_t *ranks = join->ranks;
    join->ranks = NULL;
    *out_base = join->least_id;
    return ranks;
}

obb_box_pair *obb_join_take_boxes(struct obb_join *join)
{
    obb_box_pair *boxes = join->boxes;
    join->boxes = NULL;
    return boxes;
}

obb_id_pair *obb_join_take_ids(struct obb_join *join)
{
    obb_id_pair *ids = join->ids;
    join->ids = NULL;
    return ids;
}
