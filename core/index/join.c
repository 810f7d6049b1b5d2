/* The join of all pairs of a state, or of the pairs that a commit can have changed, in phases of
 * independent chunks:
 *
 *   ready   finds which entries of each index are alive, and quantises the smaller of two indexes
 *           on the grid of the larger
 *   find    joins each index with itself and with each other index (obb_kernels.join), a few groups
 *           of boxes a chunk
 *   part    moves the pairs of each chunk to ranges of ids, to positions counted before
 *   order   orders each range by (id, id)
 *
 * A counting join has no phase order, and its phase part only puts the lists of the chunks one
 * behind the other.
 *
 * The result of a phase depends only on its input, not on the threads or the order of its
 * chunks. */
#include "core/index/join.h"

#include "core/base/least.h"
#include "core/base/sort.h"
#include "core/index/index_body.h"
#include "core/index/packed.h"
#include "core/index/tree.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define READY_ENTRIES 8192 /* entries checked in a chunk: 50 us */
#define FIND_GROUPS   8    /* groups of 256 boxes joined in a chunk: 50 us and more */
#define FIND_CHUNKS   512  /* chunks at most, about; a larger index has more groups in each */
#define ORDER_PAIRS   8192 /* pairs ordered in a chunk: 80 us */
#define RANGE_BOXES   2048 /* ids in a range, about */
#define RANGES        4096 /* at most */
#define NARROW        13   /* bits; a range of up to so many ids is sorted by counting */
#define FEW           16   /* items; up to so many, insertion sorts fastest */
#define MOST_PAIRS    ((size_t)1 << 23) /* candidates held at most; beyond: OBB_LIMIT */

enum phase { START, READY, FIND, PART, ORDER, DONE };

/* A side: an index of the layers, or the index of the moved. */
struct side {
    const struct obb_index *index;
    size_t level;       /* of the layers */
    uint32_t base;      /* number of its first entry among the entries of all sides */
    bool whole;         /* all entries are alive */
    uint16_t *alive;    /* per node of level 0 */
    size_t first_chunk; /* of the phase ready, unless whole */
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
};

/* A found pair: the ranks of its ids, and its entries. */
struct item {
    uint32_t rank_a, rank_b;
    uint32_t a, b; /* entries of all sides; a is marked by PLAIN, b by OBB_PACKED_SURE */
};
#define PLAIN OBB_PACKED_SURE

struct list {
    struct item *items;
    size_t count, capacity;
    size_t start;     /* of a counting join: its place among the pairs */
    size_t counted;   /* sure pairs of plain boxes that a counting join does not keep */
    uint32_t *counts; /* per range; later, where the items of this chunk begin in each. Of a
                       * counting join NULL */
};

struct obb_join {
    const struct obb_layers *layers;
    uint64_t revision;
    bool counting;
    double grow; /* the margin, or 0 if it is negative */
    struct obb_limits limits;
    const struct obb_kernels *kernels;
    const atomic_bool *cancel;
    struct obb_budget *budget; /* all of it draws from it */
    enum phase phase;
    struct obb_index *moved;        /* NULL: all pairs */
    const struct obb_version **set; /* the moved: a hash set, open addressing, NULL is free */
    size_t set_mask;
    size_t side_count, match_count;
    struct side *sides;
    struct match *matches;
    size_t ready_chunks; /* for the sides; one chunk a match follows */
    size_t chunks;       /* of the phase find */
    struct list *lists;  /* one for each of these chunks */
    uint64_t least_id;
    uint64_t *sorted; /* all ids, if they are too far apart for ranks of 32 bits; else NULL */
    size_t sorted_count;
    unsigned range_shift;
    size_t ranges;
    atomic_size_t found;
    struct item *items;  /* by range */
    uint32_t *starts;    /* ranges + 1 */
    size_t *order_first; /* order_chunks + 1 ranges */
    size_t order_chunks;
    obb_join_pair *pairs;
    size_t pair_count, counted;
};

static bool cancelled(const struct obb_join *join)
{
    return join->cancel != NULL && atomic_load_explicit(join->cancel, memory_order_relaxed);
}

/* ---- Making one ------------------------------------------------------------------------------ */

static size_t hash_of(const struct obb_version *version)
{
    return (size_t)(((uintptr_t)version >> 4) * 0x9e3779b97f4a7c15u >> 20);
}

static bool is_moved(const struct obb_join *join, const struct obb_version *version)
{
    for (size_t i = hash_of(version) & join->set_mask;; i = (i + 1) & join->set_mask)
        if (join->set[i] == NULL || join->set[i] == version)
            return join->set[i] != NULL;
}

static obb_status remember_moved(struct obb_join *join, const struct obb_version *const *moved,
                                 size_t count)
{
    size_t room = 16;
    while (room < count * 2)
        room *= 2;
    join->set = obb_budget_calloc(join->budget, room, sizeof *join->set);
    if (join->set == NULL)
        return OBB_NO_MEMORY;
    join->set_mask = room - 1;
    for (size_t k = 0; k < count; k++) {
        size_t i = hash_of(moved[k]) & join->set_mask;
        while (join->set[i] != NULL)
            i = (i + 1) & join->set_mask;
        join->set[i] = moved[k];
    }
    return OBB_OK;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Chooses how ids become ranks of 32 bits in the same order, and how ranks become ranges. */
static obb_status choose_ranks(struct obb_join *join, size_t entries)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t s = 0; s < join->side_count; s++) {
        const struct obb_index *index = join->sides[s].index;
        least = index->least_id < least ? index->least_id : least;
        most = index->most_id > most ? index->most_id : most;
    }
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
                                        by_value, spare, join->cancel);
        obb_budget_free(spare);
        if (!sorted)
            return OBB_CANCELLED;
        span = join->sorted_count;
    }
    size_t ranges = 1;
    while (ranges < RANGES && ranges * RANGE_BOXES < entries)
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

static obb_status add_side(struct obb_join *join, const struct obb_index *index, size_t level,
                           uint32_t base)
{
    struct side *side = &join->sides[join->side_count++];
    const size_t nodes = index->tree.nodes[0];
    *side = (struct side){.index = index, .level = level, .base = base};
    side->alive = obb_budget_malloc(join->budget, nodes, sizeof *side->alive);
    if (side->alive == NULL)
        return OBB_NO_MEMORY;
    memset(side->alive, 0xff, nodes * sizeof *side->alive);
    if (index->count % OBB_NODE != 0 || index->count == 0)
        side->alive[nodes - 1] = (uint16_t)((1u << index->count % OBB_NODE) - 1);
    /* A join of the moved checks liveness in the phase find. */
    side->whole = join->moved != NULL || obb_layers_whole(join->layers, level, join->revision);
    side->first_chunk = join->ready_chunks;
    if (!side->whole)
        join->ready_chunks += (index->count + READY_ENTRIES - 1) / READY_ENTRIES;
    side->as_is =
        (struct obb_side){.tree = &index->tree, .boxes = index->boxes, .alive = side->alive};
    return OBB_OK;
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
    join->chunks += (groups + match->chunk_groups - 1) / match->chunk_groups;
    return OBB_OK;
}

static obb_status make_ready(struct obb_join *join)
{
    const size_t levels = obb_layers_levels(join->layers), sides = levels + 1;
    join->sides = obb_budget_calloc(join->budget, sides, sizeof *join->sides);
    join->matches = obb_budget_calloc(join->budget, sides * sides, sizeof *join->matches);
    if (join->sides == NULL || join->matches == NULL)
        return OBB_NO_MEMORY;
    obb_status status = OBB_OK;
    size_t entries = 0;
    for (size_t i = 0; i < levels && status == OBB_OK; i++) {
        const struct obb_index *index = obb_layers_level(join->layers, i);
        status = add_side(join, index, i, (uint32_t)entries);
        entries += index->count;
    }
    if (join->moved != NULL && status == OBB_OK) {
        status = add_side(join, join->moved, levels, (uint32_t)entries);
        entries += join->moved->count;
    }
    if (entries >= OBB_PACKED_SURE)
        return OBB_LIMIT;
    for (size_t i = 0; i < join->side_count && status == OBB_OK; i++)
        for (size_t k = join->moved != NULL ? levels : i; k < join->side_count && status == OBB_OK;
             k++)
            status = add_match(join, &join->sides[i], &join->sides[k]);
    if (status == OBB_OK && !join->counting)
        status = choose_ranks(join, entries);
    join->lists = obb_budget_calloc(join->budget, join->chunks, sizeof *join->lists);
    return status == OBB_OK && join->lists == NULL ? OBB_NO_MEMORY : status;
}

enum kind { ALL, MOVED, COUNTING };

static obb_status create(enum kind kind, const struct obb_layers *layers, uint64_t revision,
                         double margin, const struct obb_version *const *moved, size_t count,
                         const atomic_bool *cancel, struct obb_budget *budget,
                         struct obb_join **out)
{
    struct obb_join *join = obb_budget_calloc(budget, 1, sizeof *join);
    if (join == NULL)
        return OBB_NO_MEMORY;
    join->layers = layers;
    join->revision = revision;
    join->counting = kind == COUNTING;
    join->grow = fmax(margin, 0);
    join->limits = obb_limits_of(margin);
    join->kernels = obb_layers_kernels(layers);
    join->cancel = cancel;
    join->budget = budget;
    atomic_init(&join->found, 0);
    obb_status status = OBB_OK;
    if (kind == MOVED) {
        status = remember_moved(join, moved, count);
        if (status == OBB_OK)
            status = obb_index_build(moved, NULL, count, obb_layers_dimensions(layers),
                                     join->kernels, cancel, budget, &join->moved);
    }
    if (status == OBB_OK)
        status = make_ready(join);
    if (status == OBB_OK)
        *out = join;
    else
        obb_join_destroy(join);
    return status;
}

obb_status obb_join_create(const struct obb_layers *layers, uint64_t revision, double margin,
                           const atomic_bool *cancel, struct obb_budget *budget,
                           struct obb_join **out)
{
    return create(ALL, layers, revision, margin, NULL, 0, cancel, budget, out);
}

obb_status obb_join_create_counting(const struct obb_layers *layers, uint64_t revision,
                                    double margin, const atomic_bool *cancel,
                                    struct obb_budget *budget, struct obb_join **out)
{
    return create(COUNTING, layers, revision, margin, NULL, 0, cancel, budget, out);
}

obb_status obb_join_create_moved(const struct obb_layers *layers, uint64_t revision, double margin,
                                 const struct obb_version *const *moved, size_t moved_count,
                                 const atomic_bool *cancel, struct obb_budget *budget,
                                 struct obb_join **out)
{
    return create(MOVED, layers, revision, margin, moved, moved_count, cancel, budget, out);
}

void obb_join_destroy(struct obb_join *join)
{
    if (join == NULL)
        return;
    for (size_t i = 0; i < join->side_count; i++)
        obb_budget_free(join->sides[i].alive);
    for (size_t i = 0; i < join->match_count; i++)
        obb_budget_free(join->matches[i].block);
    for (size_t i = 0; join->lists != NULL && i < join->chunks; i++) {
        obb_budget_free(join->lists[i].items);
        obb_budget_free(join->lists[i].counts);
    }
    obb_index_unref(join->moved);
    obb_budget_free(join->set);
    obb_budget_free(join->sides);
    obb_budget_free(join->matches);
    obb_budget_free(join->lists);
    obb_budget_free(join->sorted);
    obb_budget_free(join->items);
    obb_budget_free(join->starts);
    obb_budget_free(join->order_first);
    obb_budget_free(join->pairs);
    obb_budget_free(join);
}

/* ---- Ready ----------------------------------------------------------------------------------- */

/* Finds which entries of a part of a side are alive. */
static void look_alive(const struct obb_join *join, struct side *side, size_t first)
{
    const size_t rest = side->index->count - first;
    const size_t end = first + obb_least(rest, READY_ENTRIES);
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
    size_t s = join->side_count - 1;
    while (join->sides[s].whole || join->sides[s].first_chunk > chunk)
        s--;
    look_alive(join, &join->sides[s], (chunk - join->sides[s].first_chunk) * READY_ENTRIES);
    return OBB_OK;
}

/* ---- Find ------------------------------------------------------------------------------------ */

struct finding {
    struct obb_join *join;
    const struct match *match;
    struct list *list;
    obb_status status;
};

/* Returns whether the other box of a pair is alive and not among the moved. A pair of two moved
 * boxes is found by the match of the moved with themselves, so it is not taken a second time. */
static bool of_moved(const struct obb_join *join, const struct match *match, uint32_t a, uint32_t b)
{
    const bool first = match->a->index == join->moved;
    const struct side *side = first ? match->b : match->a;
    const struct obb_version *other = side->index->versions[first ? b : a];
    return obb_layers_shows(join->layers, side->level, other, join->revision) &&
           !is_moved(join, other);
}

/* Returns false, and notes it, if the join was cancelled. */
static bool goes_on(struct finding *f)
{
    if (cancelled(f->join))
        f->status = OBB_CANCELLED;
    return f->status == OBB_OK;
}

/* Makes room for further items in the list of the chunk. Returns false after an error. */
static bool make_room(struct finding *f, size_t count)
{
    struct obb_join *join = f->join;
    struct list *list = f->list;
    if (atomic_fetch_add_explicit(&join->found, count, memory_order_relaxed) + count > MOST_PAIRS) {
        f->status = OBB_LIMIT;
        return false;
    }
    if (list->capacity - list->count < count) {
        size_t capacity = list->capacity * 2;
        capacity = capacity < list->count + count ? list->count + count : capacity;
        struct item *items = obb_budget_realloc(join->budget, list->items, capacity, sizeof *items);
        if (items == NULL) {
            f->status = OBB_NO_MEMORY;
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    return true;
}

/* Counts the sure pairs of a counting join if all boxes are plain, and keeps the others. */
static bool tally(void *context, const uint32_t *a, const uint32_t *b, size_t count)
{
    struct finding *f = context;
    const struct match *match = f->match;
    const uint32_t counted = match->plain ? OBB_PACKED_SURE : 0;
    size_t kept = 0;
    if (!goes_on(f))
        return false;
    for (size_t i = 0; i < count; i++)
        kept += (b[i] & counted) == 0;
    f->list->counted += count - kept;
    if (kept == 0)
        return true;
    if (!make_room(f, kept))
        return false;
    struct item *out = f->list->items + f->list->count;
    for (size_t i = 0; i < count; i++)
        if ((b[i] & counted) == 0)
            *out++ = (struct item){.a = (match->a->base + a[i]) | (match->plain ? PLAIN : 0),
                                   .b = match->b->base + b[i]};
    f->list->count += kept;
    return true;
}

static bool take(void *context, const uint32_t *a, const uint32_t *b, size_t count)
{
    struct finding *f = context;
    struct obb_join *join = f->join;
    const struct match *match = f->match;
    struct list *list = f->list;
    if (!goes_on(f) || !make_room(f, count))
        return false;
    const uint32_t plain = match->plain ? PLAIN : 0;
    const uint64_t *ids_a = match->a->index->ids, *ids_b = match->b->index->ids;
    const uint32_t base_a = match->a->base, base_b = match->b->base;
    const bool moved = join->moved != NULL && match->a != match->b;
    struct item *out = list->items + list->count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t k = a[i], n = b[i] & ~OBB_PACKED_SURE, sure = b[i] & OBB_PACKED_SURE;
        if (moved && !of_moved(join, match, k, n))
            continue;
        const uint32_t rank_a = rank_of(join, ids_a[k]), rank_b = rank_of(join, ids_b[n]);
        const bool turned = rank_b < rank_a;
        const uint32_t least = turned ? rank_b : rank_a;
        *out++ = (struct item){.rank_a = least,
                               .rank_b = turned ? rank_a : rank_b,
                               .a = (turned ? base_b + n : base_a + k) | plain,
                               .b = (turned ? base_a + k : base_b + n) | sure};
        list->counts[least >> join->range_shift]++;
    }
    list->count = (size_t)(out - list->items);
    return true;
}

static obb_status find(struct obb_join *join, size_t chunk)
{
    size_t m = join->match_count - 1;
    while (join->matches[m].first_chunk > chunk)
        m--;
    const struct match *match = &join->matches[m];
    struct finding f = {.join = join, .match = match, .list = &join->lists[chunk]};
    if (!join->counting) {
        f.list->counts = obb_budget_calloc(join->budget, join->ranges, sizeof *f.list->counts);
        if (f.list->counts == NULL)
            return OBB_NO_MEMORY;
    }
    const struct obb_side *a = match->block != NULL ? &match->recoded : &match->a->as_is;
    const struct obb_side *b = match->a == match->b ? a : &match->b->as_is;
    const size_t first = (chunk - match->first_chunk) * match->chunk_groups;
    const size_t groups = match->a->index->tree.nodes[1];
    for (size_t g = first; g < groups && g < first + match->chunk_groups; g++) {
        if (cancelled(join))
            return OBB_CANCELLED;
        if (!join->kernels->join(a, b, (uint32_t)g, &join->limits, &f,
                                 join->counting ? tally : take))
            return f.status;
    }
    return OBB_OK;
}

/* ---- Part and order -------------------------------------------------------------------------- */

/* Gives the kept pairs of each chunk of a counting join their place. */
static obb_status start_placing(struct obb_join *join)
{
    for (size_t c = 0; c < join->chunks; c++) {
        join->lists[c].start = join->pair_count;
        join->pair_count += join->lists[c].count;
        join->counted += join->lists[c].counted;
    }
    join->pairs = obb_budget_malloc(join->budget, join->pair_count, sizeof *join->pairs);
    return join->pairs != NULL ? OBB_OK : OBB_NO_MEMORY;
}

/* Turns the counts per chunk and range into positions, and gives ranges to the chunks of the phase
 * order. */
static obb_status start_parting(struct obb_join *join)
{
    size_t total = 0;
    for (size_t c = 0; c < join->chunks; c++)
        total += join->lists[c].count;
    join->items = obb_budget_malloc(join->budget, total, sizeof *join->items);
    join->pairs = obb_budget_malloc(join->budget, total, sizeof *join->pairs);
    join->starts = obb_budget_malloc(join->budget, join->ranges + 1, sizeof *join->starts);
    join->order_first =
        obb_budget_malloc(join->budget, total / ORDER_PAIRS + 2, sizeof *join->order_first);
    if (join->items == NULL || join->pairs == NULL || join->starts == NULL ||
        join->order_first == NULL)
        return OBB_NO_MEMORY;
    uint32_t sum = 0;
    size_t limit = 0;
    for (size_t r = 0; r < join->ranges; r++) {
        join->starts[r] = sum;
        if (sum >= limit) {
            join->order_first[join->order_chunks++] = r;
            limit = sum + ORDER_PAIRS;
        }
        for (size_t c = 0; c < join->chunks; c++) {
            const uint32_t count = join->lists[c].counts[r];
            join->lists[c].counts[r] = sum;
            sum += count;
        }
    }
    join->starts[join->ranges] = sum;
    join->order_first[join->order_chunks] = join->ranges;
    join->pair_count = total;
    return OBB_OK;
}

static const struct obb_version *version_of(const struct obb_join *join, uint32_t entry)
{
    size_t s = join->side_count - 1;
    while (join->sides[s].base > entry)
        s--;
    return join->sides[s].index->versions[entry - join->sides[s].base];
}

static obb_join_pair pair_of(const struct obb_join *join, const struct item *item)
{
    return (obb_join_pair){.a = version_of(join, item->a & ~PLAIN),
                           .b = version_of(join, item->b & ~OBB_PACKED_SURE),
                           .verdict = (item->b & OBB_PACKED_SURE) != 0 ? OBB_SURE : OBB_DOUBT,
                           .plain = (item->a & PLAIN) != 0};
}

/* Places the kept pairs of a chunk of a counting join. */
static void place(struct obb_join *join, size_t chunk)
{
    struct list *list = &join->lists[chunk];
    for (size_t i = 0; i < list->count; i++) {
        obb_join_pair pair = pair_of(join, &list->items[i]);
        if (pair.b->id < pair.a->id) {
            const struct obb_version *t = pair.a;
            pair.a = pair.b;
            pair.b = t;
        }
        join->pairs[list->start + i] = pair;
    }
    obb_budget_free(list->items);
    list->items = NULL;
}

static void part(struct obb_join *join, size_t chunk)
{
    struct list *list = &join->lists[chunk];
    for (size_t i = 0; i < list->count; i++) {
        const struct item *item = &list->items[i];
        join->items[list->counts[item->rank_a >> join->range_shift]++] = *item;
    }
    obb_budget_free(list->items);
    list->items = NULL;
}

static uint64_t key_of(const struct item *item)
{
    return (uint64_t)item->rank_a << 32 | item->rank_b;
}

static void insertion_sort(struct item *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct item item = items[i];
        const uint64_t key = key_of(&item);
        size_t k = i;
        for (; k > 0 && key_of(&items[k - 1]) > key; k--)
            items[k] = items[k - 1];
        items[k] = item;
    }
}

/* Sorts by those bytes of the keys in which any two keys differ, the lowest byte first. `spare` has
 * room for `count` items. */
static void radix_sort(struct item *items, size_t count, struct item *spare)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++)
        differing |= key_of(&items[i]) ^ key_of(&items[0]);
    struct item *from = items, *to = spare;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differing >> shift & 0xff) == 0)
            continue;
        uint32_t starts[256] = {0}, sum = 0;
        for (size_t i = 0; i < count; i++)
            starts[key_of(&from[i]) >> shift & 0xff]++;
        for (int i = 0; i < 256; i++) {
            const uint32_t n = starts[i];
            starts[i] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            to[starts[key_of(&from[i]) >> shift & 0xff]++] = from[i];
        struct item *t = from;
        from = to;
        to = t;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

/* Sorts a few items by insertion, many by radix. */
static void sort_any(struct item *items, size_t count, struct item *spare)
{
    if (count > FEW)
        radix_sort(items, count, spare);
    else
        insertion_sort(items, count);
}

/* Sorts one range. A narrow range is sorted by the rank of a first, and then the items of each a.
 * Returns the array with the result, items or spare. */
static struct item *sort_range(struct item *items, size_t count, unsigned shift, struct item *spare)
{
    if (count <= FEW || shift > NARROW) {
        sort_any(items, count, spare);
        return items;
    }
    uint32_t starts[1 << NARROW], sum = 0;
    const uint32_t width = 1u << shift, low = width - 1;
    memset(starts, 0, width * sizeof starts[0]);
    for (size_t i = 0; i < count; i++)
        starts[items[i].rank_a & low]++;
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t n = starts[i];
        starts[i] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        spare[starts[items[i].rank_a & low]++] = items[i];
    uint32_t from = 0;
    for (uint32_t i = 0; i < width; i++) { /* starts[i] is now the end of i */
        if (starts[i] - from > 1)
            sort_any(spare + from, starts[i] - from, items);
        from = starts[i];
    }
    return spare;
}

static obb_status order(struct obb_join *join, size_t chunk)
{
    const size_t first = join->order_first[chunk], end = join->order_first[chunk + 1];
    size_t most = 0;
    for (size_t r = first; r < end; r++) {
        const size_t count = join->starts[r + 1] - join->starts[r];
        most = count > most ? count : most;
    }
    struct item *spare = obb_budget_malloc(join->budget, most, sizeof *spare);
    if (spare == NULL)
        return OBB_NO_MEMORY;
    obb_status status = OBB_OK;
    for (size_t r = first; r < end && status == OBB_OK; r++) {
        const size_t start = join->starts[r], count = join->starts[r + 1] - start;
        const struct item *items = sort_range(join->items + start, count, join->range_shift, spare);
        for (size_t i = 0; i < count; i++)
            join->pairs[start + i] = pair_of(join, &items[i]);
        if (cancelled(join))
            status = OBB_CANCELLED;
    }
    obb_budget_free(spare);
    return status;
}

/* ---- From phase to phase --------------------------------------------------------------------- */

size_t obb_join_advance(struct obb_join *join, obb_status *out_status)
{
    *out_status = OBB_OK;
    size_t chunks = 0;
    while (chunks == 0 && join->phase != DONE && *out_status == OBB_OK) {
        switch (join->phase) {
        case START:
            join->phase = READY;
            chunks = join->ready_chunks + join->match_count;
            if (join->ready_chunks == 0 && join->match_count <= 1 && join->grow == 0)
                chunks = 0; /* one index, all alive: no work */
            break;
        case READY:
            join->phase = FIND;
            chunks = join->chunks;
            break;
        case FIND:
            join->phase = PART;
            *out_status = join->counting ? start_placing(join) : start_parting(join);
            chunks = join->counting && join->pair_count == 0 ? 0 : join->chunks;
            break;
        case PART:
            join->phase = ORDER;
            chunks = join->pair_count > 0 ? join->order_chunks : 0;
            break;
        case ORDER:
        case DONE:
            join->phase = DONE;
            obb_budget_free(join->items);
            join->items = NULL;
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
    case READY:
        return ready(join, chunk);
    case FIND:
        return find(join, chunk);
    case PART:
        (join->counting ? place : part)(join, chunk);
        return OBB_OK;
    case ORDER:
        return order(join, chunk);
    case START:
    case DONE:
        break;
    }
    assert(false);
    return OBB_OK;
}

size_t obb_join_pair_count(const struct obb_join *join) { return join->pair_count; }

const obb_join_pair *obb_join_pairs(const struct obb_join *join) { return join->pairs; }

size_t obb_join_counted(const struct obb_join *join) { return join->counted; }
