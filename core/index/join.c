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
 * An entry is dead if a later level has its id, because a newer version of the box stands there.
 * That takes a look at a bit for each later level, and no cache miss for the version. An entry
 * whose box was removed may have no later version. So the marks may miss a dead entry, but they
 * never take out one that is alive. If they leave as many entries as boxes are alive, they have
 * missed none. If they leave more, the phase again asks every version.
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
#include "core/index/index_body.h"
#include "core/index/packed.h"
#include "core/index/tree.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define READY_ENTRIES 8192  /* entries checked in a chunk: 10 us by marks, 50 us by versions */
#define MARK_IDS      65536 /* ids marked between two looks at the cancellation: 50 us */
#define MARK_BYTES    4     /* of marks for each entry, at most: ids with gaps take more */
#define MOVED_SHARE   64    /* marks pay for a join of the moved if they are one entry in so many */
#define FIND_GROUPS   8     /* groups of 256 boxes joined in a chunk: 50 us and more */
#define FIND_CHUNKS   256   /* chunks at most, about; a larger index has more groups in each */
#define FIND_SHARE    2     /* pairs that a chunk has room for at first, for each of its boxes */
#define READ_AT_ONCE  512   /* cached pairs that are looked at before they are taken */
#define JUDGED        32    /* pairs whose boxes are fetched before the first is judged */
#define PLACES_AHEAD  32    /* pairs whose places are fetched ahead */
#define ORDER_PAIRS   4096  /* pairs ordered in a chunk, about: 40 us */
#define RANGE_BOXES   4096  /* ids in a range, about; fewer where that makes less than... */
#define SHARED_RANGES 8     /* ...so many ranges, for the sake of many threads */
#define LEAST_BOXES   256   /* ids in a range, at least */
#define RANGES        1024  /* at most */
#define NARROW        13    /* bits; a range of up to so many ids is sorted by counting */
#define FEW           16    /* items; up to so many, insertion sorts fastest */
#define MOST_PAIRS    ((size_t)1 << 23) /* held at most; beyond: OBB_LIMIT */

/* Most bytes of the pairs that are recorded of an index: for each entry, about as many as the index
 * takes; and in all, since nothing counts them until they are done. */
#define CACHE_BYTES 96
#define CACHE_MOST  ((size_t)32 << 20)

enum phase { START, MARK, READY, AGAIN, FIND, ORDER, DONE };

/* A side: an index of the layers, or one of the moved. */
struct side {
    const struct obb_index *index;
    size_t level;    /* of the layers, or their number */
    uint32_t base;   /* number of its first entry among the entries of all sides */
    bool whole;      /* `alive` is right from the start */
    uint16_t *alive; /* per node of level 0; of a join of the moved, in the levels: and not moved */
    size_t first_chunk; /* of the phases ready and again, unless whole */
    uint64_t *marks;    /* bits of its ids; NULL: none */
    atomic_size_t kept; /* entries that the marks leave in `alive`, if they are asked */
    struct obb_side as_is;
};

/* A match: two sides to be joined, on the grid of b, the larger one. A positive margin grows
 * bounds: those of a by all of the margin, or, if a side is joined with itself, all bounds by half
 * of it. */
struct match {
    const struct side *a, *b; /* a is the smaller one; equal: a side with itself */
    struct obb_tree tree;     /* of a, if the sides differ or the margin is positive */
    void *block;              /* of the tree; NULL: side a as it is */
    struct obb_side recoded;
    size_t first_chunk, chunk_groups; /* of the phase find */
    bool plain;                       /* all boxes of both sides are */
    /* Of a side with itself, its pairs whether they are alive or not: */
    const struct obb_pair_lists *cached; /* NULL: not known yet */
    struct obb_pair_lists *recorded;     /* by this join; NULL: not */
    uint16_t *everyone;                  /* all entries, in the form of `alive`; if recorded */
};

/* The pairs of a chunk. A pair is the ranks of its ids, that of the smaller one in the high half;
 * and, if boxes are to be listed, its entries among those of all sides, in the same order. */
struct list {
    uint64_t *ranks, *entries; /* by range; NULL: none, or not wanted */
    uint32_t *starts;          /* ranges + 1: where the pairs of each range begin */
    obb_join_counts counts;
};

struct obb_join {
    const struct obb_layers *layers;
    uint64_t revision;
    obb_join_wish wish;
    double grow; /* the margin, or 0 if it is negative */
    struct obb_limits limits;
    const struct obb_kernels *kernels;
    const atomic_bool *cancel;
    struct obb_budget *budget; /* all of it draws from it */
    enum phase phase;
    const struct obb_index *moved; /* index of the last side; NULL: all pairs */
    struct obb_index *built;       /* the same, owned, unless it is that of the newest level */
    size_t side_count, match_count;
    struct side *sides;
    struct match *matches;
    bool by_marks;          /* the marks tell which entries are alive */
    uint64_t first_mark;    /* id of the first bit of marks */
    size_t mark_words;      /* of each set of marks */
    bool moved_newest;      /* the newest level has all ids of the moved */
    atomic_size_t unmarked; /* entries of levels that the marks leave alive */
    size_t ready_chunks;    /* for the sides; one chunk a match follows */
    size_t chunks;          /* of the phase find */
    struct list *lists;     /* one for each of these chunks */
    uint64_t least_id;
    uint64_t *sorted; /* all ids, if they are too far apart for ranks of 32 bits; else NULL */
    size_t sorted_count;
    unsigned range_shift;
    size_t ranges;
    atomic_size_t found;
    obb_join_counts counts; /* of all chunks */
    uint32_t *starts;       /* ranges + 1 */
    size_t *order_first;    /* order_chunks + 1 ranges */
    size_t order_chunks;
    uint64_t *ranks;     /* the listed pairs, and those after them in the same range... */
    obb_box_pair *boxes; /* ...or these... */
    obb_id_pair *ids;    /* ...or these */
};

static bool cancelled(const struct obb_join *join)
{
    return join->cancel != NULL && atomic_load_explicit(join->cancel, memory_order_relaxed);
}

/* Returns whether the marks have left no entry of a side. */
static bool is_empty(const struct obb_join *join, const struct side *side)
{
    return join->by_marks && !side->whole &&
           atomic_load_explicit(&side->kept, memory_order_relaxed) == 0;
}

/* Ends the recording of pairs. found: all chunks of the phase find have ended. */
static void end_recording(struct obb_join *join, bool found)
{
    for (size_t i = 0; i < join->match_count; i++) {
        struct match *match = &join->matches[i];
        if (match->recorded != NULL)
            obb_pair_cache_release(match->a->index->pair_cache, match->recorded,
                                   found && !is_empty(join, match->a));
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

static uint32_t rank_of(const struct obb_join *join, uint64_t id)
{
    if (join->sorted == NULL)
        return (uint32_t)(id - join->least_id);
    size_t low = 0, high = join->sorted_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (join->sorted[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* Sets all entries of an index alive. */
static void fill_alive(const struct obb_index *index, uint16_t *alive)
{
    const size_t nodes = index->tree.nodes[0];
    memset(alive, 0xff, nodes * sizeof *alive);
    if (index->count % OBB_NODE != 0 || index->count == 0)
        alive[nodes - 1] = (uint16_t)((1u << index->count % OBB_NODE) - 1);
}

static uint64_t id_of(const struct obb_join *join, uint32_t rank)
{
    return join->sorted != NULL ? join->sorted[rank] : join->least_id + rank;
}

static obb_status add_side(struct obb_join *join, const struct obb_index *index, size_t level,
                           uint32_t base)
{
    struct side *side = &join->sides[join->side_count++];
    *side = (struct side){.index = index, .level = level, .base = base};
    side->alive = obb_budget_malloc(join->budget, index->tree.nodes[0], sizeof *side->alive);
    if (side->alive == NULL)
        return OBB_NO_MEMORY;
    fill_alive(index, side->alive);
    /* Without marks, a join of the moved checks liveness in the phase find. */
    if (join->moved != NULL)
        side->whole = !join->by_marks || index == join->moved;
    else
        side->whole = obb_layers_whole(join->layers, level, join->revision);
    side->first_chunk = join->ready_chunks;
    if (!side->whole)
        join->ready_chunks += (index->count + READY_ENTRIES - 1) / READY_ENTRIES;
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
static void look_in_cache(const struct obb_join *join, struct match *match, size_t chunks)
{
    const struct side *side = match->a;
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
        fill_alive(index, match->everyone);
    } else {
        obb_pair_cache_release(index->pair_cache, match->recorded, false);
        match->recorded = NULL;
    }
}

static obb_status add_match(struct obb_join *join, const struct side *a, const struct side *b)
{
    if (a->index->count > b->index->count) {
        const struct side *t = a;
        a = b;
        b = t;
    }
    if (a->index->count == 0)
        return OBB_OK;
    struct match *match = &join->matches[join->match_count++];
    *match = (struct match){
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

static void free_list(struct list *list)
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

/* ---- Ready ----------------------------------------------------------------------------------- */

/* Marks the ids of a side. */
static obb_status mark(const struct obb_join *join, size_t chunk)
{
    const struct side *side = &join->sides[chunk + 1];
    const uint64_t *ids = side->index->ids, first = join->first_mark;
    for (size_t from = 0; from < side->index->count; from += MARK_IDS) {
        if (cancelled(join))
            return OBB_CANCELLED;
        const size_t end = from + obb_least(side->index->count - from, MARK_IDS);
        for (size_t i = from; i < end; i++)
            side->marks[(ids[i] - first) / 64] |= (uint64_t)1 << (ids[i] - first) % 64;
    }
    return OBB_OK;
}

/* Takes the entries of a part of a side that have a mark of side `by` out of `alive`. */
static void take_out(const struct obb_join *join, struct side *side, size_t first, size_t end,
                     const struct side *by)
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

static size_t count_alive(const struct side *side, size_t first, size_t end)
{
    size_t alive = 0;
    for (size_t i = first; i < end; i += OBB_NODE)
        alive += (size_t)__builtin_popcount(side->alive[i / OBB_NODE]);
    return alive;
}

/* Finds by marks which entries of a part of a side are alive, and then, of a join of the moved,
 * which of them are not moved. */
static void look_at_marks(struct obb_join *join, struct side *side, size_t first, size_t end)
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

/* Returns whether the newest level has all ids of the moved, beside others. Then its marks take the
 * moved out of all levels before it. */
static bool newest_has_moved(const struct obb_join *join)
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
static void look_at_versions(const struct obb_join *join, struct side *side, size_t first,
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
    struct side *side = &join->sides[s];
    const size_t first = (chunk - side->first_chunk) * READY_ENTRIES;
    const size_t end = first + obb_least(side->index->count - first, READY_ENTRIES);
    if (join->by_marks)
        look_at_marks(join, side, first, end);
    else
        look_at_versions(join, side, first, end);
}

/* Goes on without marks if they do not tell which entries are alive. Returns whether the phase
 * again has work. */
static bool doubt_marks(struct obb_join *join)
{
    if (!join->by_marks || atomic_load_explicit(&join->unmarked, memory_order_relaxed) ==
                               obb_layers_alive(join->layers))
        return false;
    join->by_marks = false;
    if (join->moved == NULL)
        return join->ready_chunks > 0;
    for (size_t s = 0; s < join->side_count; s++)
        fill_alive(join->sides[s].index, join->sides[s].alive);
    return false;
}

static obb_status ready(struct obb_join *join, size_t chunk)
{
    if (chunk >= join->ready_chunks) {
        struct match *match = &join->matches[chunk - join->ready_chunks];
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

/* ---- Find ------------------------------------------------------------------------------------ */

/* A chunk of the phase find. The pairs that it has found so far stand in the order in which they
 * were found. */
struct finding {
    struct obb_join *join;
    const struct match *match;
    bool passes; /* a sure pair is taken without the judge */
    obb_join_counts counts;
    size_t capacity;
    uint64_t *ranks, *entries;
    uint32_t *sizes; /* pairs in each range */
    obb_status status;
};

/* Returns whether of_moved decides about the pairs of a match. */
static bool looks_moved(const struct obb_join *join, const struct match *match)
{
    return join->moved != NULL && !join->by_marks && match->a != match->b;
}

/* Returns whether the other box of a pair is alive and not among the moved. A pair of two moved
 * boxes is found by the match of the moved with themselves, so it is not taken a second time. */
static bool of_moved(const struct obb_join *join, const struct match *match, uint32_t a, uint32_t b)
{
    const bool first = match->a->index == join->moved;
    const struct side *side = first ? match->b : match->a;
    const struct obb_version *other = side->index->versions[first ? b : a];
    return obb_layers_shows(join->layers, side->level, other, join->revision) &&
           atomic_load_explicit(&other->born, memory_order_relaxed) != join->revision;
}

/* Returns false, and notes it, if the join was cancelled. */
static bool goes_on(struct finding *f)
{
    if (cancelled(f->join))
        f->status = OBB_CANCELLED;
    return f->status == OBB_OK;
}

/* Pairs in lists; entries NULL: none. */
struct pairs {
    uint64_t *ranks, *entries;
};

/* Either both have entries, or neither has. */
static void move(const struct pairs *from, size_t i, const struct pairs *to, size_t k)
{
    to->ranks[k] = from->ranks[i];
    if (to->entries != NULL) /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        to->entries[k] = from->entries[i];
}

static bool lists_boxes(const struct obb_join *join)
{
    return join->wish.list == OBB_JOIN_BOXES || join->wish.list == OBB_JOIN_IDS;
}

/* Makes room for further pairs of the chunk. Returns false after an error. */
static bool make_room(struct finding *f, size_t count)
{
    struct obb_join *join = f->join;
    if (atomic_fetch_add_explicit(&join->found, count, memory_order_relaxed) + count > MOST_PAIRS) {
        f->status = OBB_LIMIT;
        return false;
    }
    if (f->capacity - f->counts.pairs >= count)
        return true;
    size_t capacity =
        f->capacity == 0 ? f->match->chunk_groups * OBB_GROUP * FIND_SHARE : f->capacity * 2;
    capacity = capacity < f->counts.pairs + count ? f->counts.pairs + count : capacity;
    uint64_t *ranks = obb_budget_realloc(join->budget, f->ranks, capacity, sizeof *ranks);
    f->ranks = ranks != NULL ? ranks : f->ranks;
    uint64_t *entries = NULL;
    if (ranks != NULL && lists_boxes(join)) {
        entries = obb_budget_realloc(join->budget, f->entries, capacity, sizeof *entries);
        f->entries = entries != NULL ? entries : f->entries;
    }
    if (ranks == NULL || (lists_boxes(join) && entries == NULL)) {
        f->status = OBB_NO_MEMORY;
        return false;
    }
    f->capacity = capacity;
    return true;
}

/* Returns which of up to JUDGED pairs are none, as bits: those that the judge refuses, and of a
 * join of the moved those that are not of the moved. */
static uint32_t refused(struct finding *f, const uint32_t *a, const uint32_t *b, uint32_t asked)
{
    const struct match *match = f->match;
    const struct obb_version *const *versions_a = match->a->index->versions;
    const struct obb_version *const *versions_b = match->b->index->versions;
    const bool moved = looks_moved(f->join, match);
    uint32_t refused = 0;
    for (uint32_t m = asked; m != 0; m &= m - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(m);
        obb_version_prefetch(versions_a[a[i]]);
        obb_version_prefetch(versions_b[b[i] & ~OBB_PACKED_SURE]);
    }
    for (uint32_t m = asked; m != 0; m &= m - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(m);
        const uint32_t at = b[i] & ~OBB_PACKED_SURE, sure = b[i] & OBB_PACKED_SURE;
        if (moved && !of_moved(f->join, match, a[i], at)) {
            refused |= 1u << i;
            f->counts.candidates--;
        } else if (!(f->passes && sure != 0) &&
                   !f->join->wish.judge(f->join->wish.context, versions_a[a[i]], versions_b[at],
                                        sure != 0 ? OBB_SURE : OBB_DOUBT, &f->counts.doubts)) {
            refused |= 1u << i;
        }
    }
    return refused;
}

static uint64_t either(uint64_t mask, uint64_t if_set, uint64_t if_clear)
{
    return if_clear ^ ((if_set ^ if_clear) & mask);
}

/* Adds up to JUDGED pairs to those of the chunk. Free of branches that depend on the ids, as those
 * would be guessed wrong half of the time. Inlined, so that what its callers know of the last two
 * parameters leaves the loop. */
static inline __attribute__((always_inline)) void add_pairs(struct finding *f, const uint32_t *a,
                                                            const uint32_t *b, uint32_t count,
                                                            bool far_apart, bool with_entries)
{
    const struct obb_join *join = f->join;
    const struct match *match = f->match;
    const uint64_t *ids_a = match->a->index->ids, *ids_b = match->b->index->ids;
    const uint64_t least_id = join->least_id, base_a = match->a->base, base_b = match->b->base;
    const unsigned shift = join->range_shift;
    uint64_t *ranks = f->ranks + f->counts.pairs;
    uint64_t *entries = with_entries ? f->entries + f->counts.pairs : NULL;
    uint32_t *sizes = f->sizes;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = b[i] & ~OBB_PACKED_SURE;
        const uint64_t id_a = ids_a[a[i]], id_b = ids_b[at];
        const uint64_t x = far_apart ? rank_of(join, id_a) : id_a - least_id;
        const uint64_t y = far_apart ? rank_of(join, id_b) : id_b - least_id;
        const uint64_t turned = 0 - (uint64_t)(y < x);
        const uint64_t least = either(turned, y, x), most = either(turned, x, y);
        ranks[i] = least << 32 | most;
        sizes[least >> shift]++;
        if (with_entries) {
            const uint64_t entry_a = base_a + a[i], entry_b = base_b + at;
            entries[i] = either(turned, entry_b, entry_a) << 32 | either(turned, entry_a, entry_b);
        }
    }
    f->counts.pairs += count;
}

static void add(struct finding *f, const uint32_t *a, const uint32_t *b, uint32_t count)
{
    if (f->join->sorted != NULL)
        add_pairs(f, a, b, count, true, f->entries != NULL);
    else if (f->entries != NULL)
        add_pairs(f, a, b, count, false, true);
    else
        add_pairs(f, a, b, count, false, false);
}

/* Returns which of up to JUDGED pairs the kernel is sure of, as bits. */
static uint32_t surely(const uint32_t *b, uint32_t count)
{
    uint32_t all = OBB_PACKED_SURE, sure = 0;
    for (uint32_t i = 0; i < count; i++)
        all &= b[i];
    if (all != 0) /* as most of the time */
        return (uint32_t)(((uint64_t)1 << count) - 1);
    for (uint32_t i = 0; i < count; i++)
        sure |= (b[i] >> 31) << i;
    return sure;
}

static bool take(void *context, const uint32_t *a, const uint32_t *b, size_t count)
{
    struct finding *f = context;
    const bool lists = f->join->wish.list != OBB_JOIN_COUNT;
    const bool all = !f->passes || looks_moved(f->join, f->match);
    if (!goes_on(f) || (lists && !make_room(f, count)))
        return false;
    f->counts.candidates += count;
    for (size_t from = 0; from < count; from += JUDGED) {
        const uint32_t n = (uint32_t)obb_least(count - from, JUDGED);
        const uint32_t every = UINT32_MAX >> (JUDGED - n);
        const uint32_t sure = surely(b + from, n);
        const uint32_t asked = all ? every : every & ~sure;
        const uint32_t no = asked != 0 ? refused(f, a + from, b + from, asked) : 0;
        if (!lists) {
            f->counts.pairs += (size_t)__builtin_popcount(every & ~no);
        } else if (no == 0) {
            add(f, a + from, b + from, n);
        } else {
            uint32_t left_a[JUDGED], left_b[JUDGED], left = 0;
            for (uint32_t m = every & ~no; m != 0; m &= m - 1, left++) {
                const uint32_t i = (uint32_t)__builtin_ctz(m);
                left_a[left] = a[from + i];
                left_b[left] = b[from + i];
            }
            add(f, left_a, left_b, left);
        }
    }
    return true;
}

/* Fetches the lines of ranks that are about to be written in no order of memory. Inlined: gcc drops
 * the call of a function that does nothing but fetch. */
static inline __attribute__((always_inline)) void fetch_ranks(const uint64_t *ranks, size_t count)
{
    for (size_t i = 0; i < count; i += OBB_LINE / sizeof *ranks)
        __builtin_prefetch(ranks + i, 1);
}

/* Moves the found pairs to the list of the chunk, each range in one place. */
static obb_status part(struct finding *f, struct list *list)
{
    const struct obb_join *join = f->join;
    const size_t count = f->counts.pairs;
    list->starts = f->sizes;
    f->sizes = NULL;
    list->ranks = obb_budget_malloc(join->budget, count, sizeof *list->ranks);
    if (list->ranks == NULL)
        return OBB_NO_MEMORY;
    if (f->entries != NULL) {
        list->entries = obb_budget_malloc(join->budget, count, sizeof *list->entries);
        if (list->entries == NULL)
            return OBB_NO_MEMORY;
    }
    uint32_t sum = 0;
    for (size_t r = 0; r <= join->ranges; r++) { /* to where each range begins */
        const uint32_t n = list->starts[r];
        list->starts[r] = sum;
        sum += n;
    }
    const struct pairs from = {f->ranks, f->entries}, to = {list->ranks, list->entries};
    const unsigned shift = join->range_shift;
    uint32_t *starts = list->starts;
    fetch_ranks(list->ranks, count);
    for (size_t i = 0; i < count; i++) /* to where it ends */
        move(&from, i, &to, starts[from.ranks[i] >> 32 >> shift]++);
    memmove(list->starts + 1, list->starts, join->ranges * sizeof *list->starts);
    list->starts[0] = 0;
    return OBB_OK;
}

/* Joins the groups of a chunk of a match. Returns false if emit did, or the join was cancelled. */
static bool walk(struct finding *f, const struct obb_side *a, const struct obb_side *b,
                 size_t chunk, void *context, obb_emit *emit)
{
    const struct match *match = f->match;
    const struct obb_join *join = f->join;
    const size_t first = chunk * match->chunk_groups, groups = match->a->index->tree.nodes[1];
    for (size_t g = first; g < groups && g < first + match->chunk_groups; g++)
        if (!goes_on(f) || !join->kernels->join(a, b, (uint32_t)g, &join->limits, context, emit))
            return false;
    return true;
}

/* A chunk whose pairs are recorded. */
struct recording {
    struct finding *finding;
    struct obb_pair_lists *lists;
    size_t chunk;
};

static bool record(void *context, const uint32_t *a, const uint32_t *b, size_t count)
{
    const struct recording *recording = context;
    return goes_on(recording->finding) &&
           obb_pair_lists_add(recording->lists, recording->chunk, a, b, count);
}

/* Records all pairs of a chunk of a side with itself. Returns the list, or NULL if they cannot be
 * recorded. */
static const struct obb_pair_list *record_all(struct finding *f, size_t chunk)
{
    const struct match *match = f->match;
    struct obb_side all = match->a->as_is;
    struct recording recording = {f, match->recorded, chunk};
    all.alive = match->everyone;
    if (!walk(f, &all, &all, chunk, &recording, record))
        return NULL;
    obb_pair_lists_end(match->recorded, chunk);
    return &match->recorded->lists[chunk];
}

static uint32_t is_alive(const uint16_t *alive, uint32_t entry)
{
    return (uint32_t)alive[entry / OBB_NODE] >> entry % OBB_NODE & 1;
}

/* Takes those pairs of a list of which both boxes are alive. Free of branches that depend on it. */
static void take_listed(struct finding *f, const struct obb_pair_list *list)
{
    const uint16_t *alive = f->match->a->alive;
    uint32_t a[READ_AT_ONCE], b[READ_AT_ONCE];
    for (size_t from = 0; from < list->count; from += READ_AT_ONCE) {
        const struct obb_entry_pair *pairs = list->pairs + from;
        const size_t count = obb_least(list->count - from, READ_AT_ONCE);
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            a[n] = pairs[i].a;
            b[n] = pairs[i].b;
            n += is_alive(alive, pairs[i].a) & is_alive(alive, pairs[i].b & ~OBB_PACKED_SURE);
        }
        if (n > 0 && !take(f, a, b, n))
            return;
    }
}

static obb_status join_groups(struct finding *f, size_t chunk)
{
    const struct match *match = f->match;
    const struct obb_join *join = f->join;
    if (is_empty(join, match->a) || is_empty(join, match->b))
        return OBB_OK;
    const struct obb_pair_list *list = NULL;
    const size_t own = chunk - match->first_chunk;
    if (match->cached != NULL)
        list = &match->cached->lists[own];
    else if (match->recorded != NULL)
        list = record_all(f, own);
    if (list != NULL) {
        take_listed(f, list);
    } else {
        const struct obb_side *a = match->block != NULL ? &match->recoded : &match->a->as_is;
        (void)walk(f, a, match->a == match->b ? a : &match->b->as_is, own, f, take);
    }
    return f->status;
}

static obb_status find(struct obb_join *join, size_t chunk)
{
    size_t m = join->match_count - 1;
    while (join->matches[m].first_chunk > chunk)
        m--;
    const struct match *match = &join->matches[m];
    struct finding f = {
        .join = join, .match = match, .passes = match->plain && join->wish.plain_pass};
    const bool lists = join->wish.list != OBB_JOIN_COUNT;
    if (lists) {
        f.sizes = obb_budget_calloc(join->budget, join->ranges + 1, sizeof *f.sizes);
        if (f.sizes == NULL)
            return OBB_NO_MEMORY;
    }
    obb_status status = join_groups(&f, chunk);
    if (status == OBB_OK && f.counts.pairs > 0 && lists)
        status = part(&f, &join->lists[chunk]);
    join->lists[chunk].counts = f.counts;
    obb_budget_free(f.ranks);
    obb_budget_free(f.entries);
    obb_budget_free(f.sizes);
    return status;
}

/* ---- Order ----------------------------------------------------------------------------------- */

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

/* Finds where each range begins in the result, and gives the ranges that are to be listed to the
 * chunks of the phase order. */
static obb_status start_ordering(struct obb_join *join)
{
    const size_t listed = join->counts.listed;
    join->starts = obb_budget_malloc(join->budget, join->ranges + 1, sizeof *join->starts);
    join->order_first =
        obb_budget_malloc(join->budget, listed / ORDER_PAIRS + 2, sizeof *join->order_first);
    if (join->starts == NULL || join->order_first == NULL)
        return OBB_NO_MEMORY;
    uint32_t sum = 0;
    size_t limit = 0, range = 0;
    for (; range < join->ranges && sum < listed; range++) {
        join->starts[range] = sum;
        if (sum >= limit) {
            join->order_first[join->order_chunks++] = range;
            limit = sum + ORDER_PAIRS;
        }
        for (size_t c = 0; c < join->chunks; c++)
            if (join->lists[c].starts != NULL)
                sum += join->lists[c].starts[range + 1] - join->lists[c].starts[range];
    }
    join->starts[range] = sum;
    join->order_first[join->order_chunks] = range;
    if (join->wish.list == OBB_JOIN_RANKS)
        join->ranks = obb_budget_malloc(join->budget, sum, sizeof *join->ranks);
    else if (join->wish.list == OBB_JOIN_IDS)
        join->ids = obb_budget_malloc(join->budget, sum, sizeof *join->ids);
    else
        join->boxes = obb_budget_malloc(join->budget, sum, sizeof *join->boxes);
    return join->ranks != NULL || join->ids != NULL || join->boxes != NULL ? OBB_OK : OBB_NO_MEMORY;
}

static struct pairs pairs_at(const struct pairs *pairs, size_t i)
{
    return (struct pairs){pairs->ranks + i, pairs->entries != NULL ? pairs->entries + i : NULL};
}

static void insertion_sort(const struct pairs *pairs, size_t count)
{
    uint64_t *ranks = pairs->ranks, *entries = pairs->entries;
    for (size_t i = 1; i < count; i++) {
        const uint64_t key = ranks[i], entry = entries != NULL ? entries[i] : 0;
        size_t k = i;
        for (; k > 0 && ranks[k - 1] > key; k--)
            move(pairs, k - 1, pairs, k);
        if (k == i)
            continue;
        ranks[k] = key;
        if (entries != NULL)
            entries[k] = entry;
    }
}

/* A list of ranks that is being settled. Of those taken in so far the two largest are carried
 * along, and the others are in order. */
struct settling {
    uint64_t *ranks;
    uint64_t low, high, last;
};

static inline struct settling begin_settling(uint64_t *ranks, size_t count)
{
    if (count < 2)
        return (struct settling){0};
    const bool turned = ranks[0] > ranks[1];
    return (struct settling){.ranks = ranks, .low = ranks[turned], .high = ranks[!turned]};
}

/* Takes in rank i, the next one. No branch depends on it, unless it stands behind more than two
 * larger ones. */
static inline void settle_next(struct settling *s, size_t i)
{
    const uint64_t key = s->ranks[i], middle = key < s->low ? s->low : key,
                   least = key < s->low ? key : s->low;
    s->low = middle < s->high ? middle : s->high;
    s->high = middle < s->high ? s->high : middle;
    size_t k = i - 2;
    if (__builtin_expect(least < s->last, 0)) {
        for (; k > 0 && s->ranks[k - 1] > least; k--)
            s->ranks[k] = s->ranks[k - 1];
    } else {
        s->last = least;
    }
    s->ranks[k] = least;
}

static inline void end_settling(const struct settling *s, size_t count)
{
    if (count < 2)
        return;
    s->ranks[count - 2] = s->low;
    s->ranks[count - 1] = s->high;
}

/* Sorts two lists of ranks of which hardly one stands behind more than two larger ones. A step
 * waits for the step before it in its list, so the lists take their steps by turns. */
static void settle(uint64_t *a, size_t count_a, uint64_t *b, size_t count_b)
{
    struct settling first = begin_settling(a, count_a), second = begin_settling(b, count_b);
    const size_t both = obb_least(count_a, count_b);
    for (size_t i = 2; i < both; i++) {
        settle_next(&first, i);
        settle_next(&second, i);
    }
    for (size_t i = both > 2 ? both : 2; i < count_a; i++)
        settle_next(&first, i);
    for (size_t i = both > 2 ? both : 2; i < count_b; i++)
        settle_next(&second, i);
    end_settling(&first, count_a);
    end_settling(&second, count_b);
}

/* Sorts by those bytes of the ranks in which any two pairs differ, the lowest byte first. `spare`
 * has room for `count` pairs. */
static void radix_sort(const struct pairs *pairs, size_t count, const struct pairs *spare)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++)
        differing |= pairs->ranks[i] ^ pairs->ranks[0];
    const struct pairs *from = pairs, *to = spare;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differing >> shift & 0xff) == 0)
            continue;
        uint32_t starts[256] = {0}, sum = 0;
        for (size_t i = 0; i < count; i++)
            starts[from->ranks[i] >> shift & 0xff]++;
        for (int i = 0; i < 256; i++) {
            const uint32_t n = starts[i];
            starts[i] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            move(from, i, to, starts[from->ranks[i] >> shift & 0xff]++);
        const struct pairs *t = from;
        from = to;
        to = t;
    }
    for (size_t i = 0; from != pairs && i < count; i++)
        move(from, i, pairs, i);
}

/* Sorts a few pairs by insertion, many by radix. */
static void sort_any(const struct pairs *pairs, size_t count, const struct pairs *spare)
{
    if (count > FEW)
        radix_sort(pairs, count, spare);
    else
        insertion_sort(pairs, count);
}

/* Returns the pairs of a range that a chunk of the phase find has found. */
static struct pairs found_in(const struct list *list, size_t range, size_t *out_count)
{
    *out_count = 0;
    if (list->starts == NULL)
        return (struct pairs){0};
    *out_count = list->starts[range + 1] - list->starts[range];
    const struct pairs all = {list->ranks, list->entries};
    return pairs_at(&all, list->starts[range]);
}

/* Gathers the pairs of a range of `width` ids by the rank of a, and then sorts those of each a: by
 * one run of insertion sort if every a has only a few. */
static void gather_narrow(const struct obb_join *join, size_t range, size_t total,
                          const struct pairs *out, const struct pairs *spare)
{
    uint32_t starts[1 << NARROW], sum = 0, bits = 0;
    const uint32_t width = 1u << join->range_shift, low = width - 1;
    size_t count, done = 0;
    memset(starts, 0, width * sizeof starts[0]);
    for (size_t c = 0; c < join->chunks; c++) {
        const struct pairs found = found_in(&join->lists[c], range, &count);
        for (size_t i = 0; i < count; i++)
            starts[found.ranks[i] >> 32 & low]++;
        fetch_ranks(out->ranks + done, count);
        done += count;
    }
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t n = starts[i];
        starts[i] = sum;
        sum += n;
        bits |= n;
    }
    for (size_t c = 0; c < join->chunks; c++) {
        const struct pairs found = found_in(&join->lists[c], range, &count);
        for (size_t i = 0; i < count; i++)
            move(&found, i, out, starts[found.ranks[i] >> 32 & low]++);
    }
    if (bits < FEW) { /* so is each n */
        /* Where the pairs of a rank in the middle end, so that no rank has pairs in both halves. */
        const size_t half = starts[width / 2];
        if (out->entries == NULL)
            settle(out->ranks, half, out->ranks + half, total - half);
        else
            insertion_sort(out, total);
        return;
    }
    uint32_t from = 0;
    for (uint32_t i = 0; i < width; i++) { /* starts[i] is now the end of i */
        const struct pairs of_one = pairs_at(out, from);
        if (starts[i] - from > 1)
            sort_any(&of_one, starts[i] - from, spare);
        from = starts[i];
    }
}

/* Gathers the pairs of a range, and sorts them. */
static void gather(const struct obb_join *join, size_t range, size_t total, const struct pairs *out,
                   const struct pairs *spare)
{
    if (total > FEW && join->range_shift <= NARROW) {
        gather_narrow(join, range, total, out, spare);
        return;
    }
    size_t count, sum = 0;
    for (size_t c = 0; c < join->chunks; c++) {
        const struct pairs found = found_in(&join->lists[c], range, &count);
        for (size_t i = 0; i < count; i++)
            move(&found, i, out, sum++);
    }
    sort_any(out, total, spare);
}

/* Returns where the pointer to the version of an entry stands. Free of branches that depend on the
 * entry. */
static const struct obb_version *const *place_of(const struct obb_join *join, uint64_t entry)
{
    size_t s = 0;
    for (size_t i = 1; i < join->side_count; i++)
        s += join->sides[i].base <= entry;
    return join->sides[s].index->versions + (entry - join->sides[s].base);
}

/* Where the pointers to the versions of a pair stand. */
struct places {
    const struct obb_version *const *a, *const *b;
};

/* Finds the places of a pair, and fetches them: pairs by id meet them in no order of memory. */
static struct places places_of(const struct obb_join *join, uint64_t entries)
{
    const struct places places = {place_of(join, entries >> 32), place_of(join, (uint32_t)entries)};
    __builtin_prefetch((const void *)places.a);
    __builtin_prefetch((const void *)places.b);
    return places;
}

/* Lists the boxes of a sorted pair. */
static void put_boxes(const struct obb_join *join, size_t at, uint64_t rank,
                      const struct places *places)
{
    const obb_box_pair boxes = {.a = *places->a, .b = *places->b};
    if (join->ids == NULL) {
        join->boxes[at] = boxes;
        return;
    }
    join->ids[at] = (obb_id_pair){
        .id = {id_of(join, (uint32_t)(rank >> 32)), id_of(join, (uint32_t)rank)}, .boxes = boxes};
}

/* Lists the boxes of sorted pairs. */
static void put_all_boxes(const struct obb_join *join, size_t first, const struct pairs *sorted,
                          size_t count)
{
    struct places places[PLACES_AHEAD]; /* of the pairs that come next, from one on in a circle */
    for (size_t i = 0; i < count && i < PLACES_AHEAD; i++)
        places[i] = places_of(join, sorted->entries[i]);
    for (size_t i = 0; i < count; i++) {
        struct places *own = &places[i % PLACES_AHEAD];
        put_boxes(join, first + i, sorted->ranks[i], own);
        if (i + PLACES_AHEAD < count)
            *own = places_of(join, sorted->entries[i + PLACES_AHEAD]);
    }
}

static obb_status order(struct obb_join *join, size_t chunk)
{
    const size_t first = join->order_first[chunk], end = join->order_first[chunk + 1];
    size_t most = 0;
    for (size_t r = first; r < end; r++) {
        const size_t count = join->starts[r + 1] - join->starts[r];
        most = count > most ? count : most;
    }
    const bool boxes = join->ranks == NULL;
    uint64_t *room = obb_budget_malloc(join->budget, most, (boxes ? 4 : 1) * sizeof *room);
    if (room == NULL)
        return OBB_NO_MEMORY;
    const struct pairs spare = {room, boxes ? room + most : NULL};
    for (size_t r = first; r < end && !cancelled(join); r++) {
        const size_t start = join->starts[r], count = join->starts[r + 1] - start;
        const struct pairs out = {boxes ? room + 2 * most : join->ranks + start,
                                  boxes ? room + 3 * most : NULL};
        gather(join, r, count, &out, &spare);
        if (boxes)
            put_all_boxes(join, start, &out, count);
    }
    obb_budget_free(room);
    return cancelled(join) ? OBB_CANCELLED : OBB_OK;
}

/* ---- From phase to phase --------------------------------------------------------------------- */

size_t obb_join_advance(struct obb_join *join, obb_status *out_status)
{
    *out_status = OBB_OK;
    size_t chunks = 0;
    while (chunks == 0 && join->phase != DONE && *out_status == OBB_OK) {
        switch (join->phase) {
        case START:
            join->phase = MARK;
            chunks = join->by_marks ? join->side_count - 1 : 0;
            break;
        case MARK:
            join->phase = READY;
            join->moved_newest = join->by_marks && newest_has_moved(join);
            chunks = join->ready_chunks + join->match_count;
            if (join->ready_chunks == 0 && join->match_count <= 1 && join->grow == 0)
                chunks = 0; /* one index, all alive: no work */
            break;
        case READY:
            join->phase = AGAIN;
            chunks = doubt_marks(join) ? join->ready_chunks : 0;
            break;
        case AGAIN:
            join->phase = FIND;
            chunks = join->chunks;
            break;
        case FIND:
            join->phase = ORDER;
            end_recording(join, true);
            add_counts(join);
            if (join->counts.listed > 0)
                *out_status = start_ordering(join);
            chunks = join->order_chunks;
            break;
        case ORDER:
        case DONE:
            join->phase = DONE;
            for (size_t c = 0; c < join->chunks; c++)
                free_list(&join->lists[c]);
            break;
        }
    }
    return *out_status == OBB_OK ? chunks : 0;
}

obb_status obb_join_chunk(struct obb_join *join, size_t chunk)
{
    if (cancelled(join))
        return OBB_CANCELLED;
    switch (join->phase) {
    case MARK:
        return mark(join, chunk);
    case READY:
        return ready(join, chunk);
    case AGAIN:
        look_alive(join, chunk);
        return OBB_OK;
    case FIND:
        return find(join, chunk);
    case ORDER:
        return order(join, chunk);
    case START:
    case DONE:
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
