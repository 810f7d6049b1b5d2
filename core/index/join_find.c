/* The phase find of a join (join.c): the pairs of each chunk, by ranges of ids. */
#include "core/index/joining.h"

#include "core/base/alloc.h"
#include "core/base/least.h"

#include <string.h>

#define FIND_SHARE   2   /* pairs that a chunk has room for at first, for each of its boxes */
#define READ_AT_ONCE 512 /* cached pairs that are looked at before they are taken */
#define JUDGED       32  /* pairs whose boxes are fetched before the first is judged */
#define MOST_PAIRS   ((size_t)1 << 23) /* held at most; beyond: OBB_LIMIT */

/* A chunk of the phase find. The pairs that it has found so far stand in the order in which they
 * were found. */
struct finding {
    struct obb_join *join;
    const struct obb_join_match *match;
    bool passes; /* a sure pair is taken without the judge */
    obb_join_counts counts;
    size_t capacity;
    uint64_t *ranks, *entries;
    uint32_t *sizes; /* pairs in each range */
    obb_status status;
};

/* Returns whether of_moved decides about the pairs of a match. */
static bool looks_moved(const struct obb_join *join, const struct obb_join_match *match)
{
    return join->moved != NULL && !join->by_marks && match->a != match->b;
}

/* Returns whether the other box of a pair is alive and not among the moved. A pair of two moved
 * boxes is found by the match of the moved with themselves, so it is not taken a second time. */
static bool of_moved(const struct obb_join *join, const struct obb_join_match *match, uint32_t a,
                     uint32_t b)
{
    const bool first = match->a->index == join->moved;
    const struct obb_join_side *side = first ? match->b : match->a;
    const struct obb_version *other = side->index->versions[first ? b : a];
    return obb_layers_shows(join->layers, side->level, other, join->revision) &&
           atomic_load_explicit(&other->born, memory_order_relaxed) != join->revision;
}

/* Returns false, and notes it, if the join was cancelled. */
static bool goes_on(struct finding *f)
{
    if (obb_join_cancelled(f->join))
        f->status = OBB_CANCELLED;
    return f->status == OBB_OK;
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
    const struct obb_join_match *match = f->match;
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

/* Adds up to JUDGED pairs to those of the chunk. Free of branches that depend on the ids, as those
 * would be guessed wrong half of the time. Inlined, so that what its callers know of the last two
 * parameters leaves the loop. */
static inline __attribute__((always_inline)) void add_pairs(struct finding *f, const uint32_t *a,
                                                            const uint32_t *b, uint32_t count,
                                                            bool far_apart, bool with_entries)
{
    const struct obb_join *join = f->join;
    const struct obb_join_match *match = f->match;
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
        /* The analyser thinks that take_listed leaves some out:
         * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
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

/* Moves the found pairs to the list of the chunk, each range in one place. */
static obb_status part(struct finding *f, struct obb_join_found *list)
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
    const struct obb_join_pairs from = {f->ranks, f->entries}, to = {list->ranks, list->entries};
    const unsigned shift = join->range_shift;
    uint32_t *starts = list->starts;
    obb_join_fetch(list->ranks, count);
    for (size_t i = 0; i < count; i++) /* to where it ends */
        obb_join_move(&from, i, &to, starts[from.ranks[i] >> 32 >> shift]++);
    memmove(list->starts + 1, list->starts, join->ranges * sizeof *list->starts);
    list->starts[0] = 0;
    return OBB_OK;
}

/* Joins the groups of a chunk of a match. Returns false if emit did, or the join was cancelled. */
static bool walk(struct finding *f, const struct obb_side *a, const struct obb_side *b,
                 size_t chunk, void *context, obb_emit *emit)
{
    const struct obb_join_match *match = f->match;
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
    const struct obb_join_match *match = f->match;
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
    const struct obb_join_match *match = f->match;
    const struct obb_join *join = f->join;
    if (obb_join_is_empty(join, match->a) || obb_join_is_empty(join, match->b))
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

obb_status obb_join_find(struct obb_join *join, size_t chunk)
{
    size_t m = join->match_count - 1;
    while (join->matches[m].first_chunk > chunk)
        m--;
    const struct obb_join_match *match = &join->matches[m];
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
