/* The phase order of a join (join.c): the pairs of each range by (id, id), from the lists of all
 * chunks. */
#include "core/index/joining.h"

#include "core/base/least.h"

#include <string.h>

#define PLACES_AHEAD 32   /* pairs whose places are fetched ahead */
#define ORDER_PAIRS  4096 /* pairs ordered in a chunk, about: 40 us */
#define NARROW       13   /* bits; a range of up to so many ids is sorted by counting */
#define FEW          16   /* items; up to so many, insertion sorts fastest */

obb_status obb_join_start_ordering(struct obb_join *join)
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

static struct obb_join_pairs pairs_at(const struct obb_join_pairs *pairs, size_t i)
{
    return (struct obb_join_pairs){pairs->ranks + i,
                                   pairs->entries != NULL ? pairs->entries + i : NULL};
}

static void insertion_sort(const struct obb_join_pairs *pairs, size_t count)
{
    uint64_t *ranks = pairs->ranks, *entries = pairs->entries;
    for (size_t i = 1; i < count; i++) {
        const uint64_t key = ranks[i], entry = entries != NULL ? entries[i] : 0;
        size_t k = i;
        for (; k > 0 && ranks[k - 1] > key; k--)
            obb_join_move(pairs, k - 1, pairs, k);
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
static void radix_sort(const struct obb_join_pairs *pairs, size_t count,
                       const struct obb_join_pairs *spare)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++)
        differing |= pairs->ranks[i] ^ pairs->ranks[0];
    const struct obb_join_pairs *from = pairs, *to = spare;
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
            obb_join_move(from, i, to, starts[from->ranks[i] >> shift & 0xff]++);
        const struct obb_join_pairs *t = from;
        from = to;
        to = t;
    }
    for (size_t i = 0; from != pairs && i < count; i++)
        obb_join_move(from, i, pairs, i);
}

/* Sorts a few pairs by insertion, many by radix. */
static void sort_any(const struct obb_join_pairs *pairs, size_t count,
                     const struct obb_join_pairs *spare)
{
    if (count > FEW)
        radix_sort(pairs, count, spare);
    else
        insertion_sort(pairs, count);
}

/* Returns the pairs of a range that a chunk of the phase find has found. */
static struct obb_join_pairs found_in(const struct obb_join_found *list, size_t range,
                                      size_t *out_count)
{
    *out_count = 0;
    if (list->starts == NULL)
        return (struct obb_join_pairs){0};
    *out_count = list->starts[range + 1] - list->starts[range];
    const struct obb_join_pairs all = {list->ranks, list->entries};
    return pairs_at(&all, list->starts[range]);
}

/* Gathers the pairs of a range of `width` ids by the rank of a, and then sorts those of each a: by
 * one run of insertion sort if every a has only a few. */
static void gather_narrow(const struct obb_join *join, size_t range, size_t total,
                          const struct obb_join_pairs *out, const struct obb_join_pairs *spare)
{
    uint32_t starts[1 << NARROW], sum = 0, bits = 0;
    const uint32_t width = 1u << join->range_shift, low = width - 1;
    size_t count, done = 0;
    memset(starts, 0, width * sizeof starts[0]);
    for (size_t c = 0; c < join->chunks; c++) {
        const struct obb_join_pairs found = found_in(&join->lists[c], range, &count);
        for (size_t i = 0; i < count; i++)
            starts[found.ranks[i] >> 32 & low]++;
        obb_join_fetch(out->ranks + done, count);
        done += count;
    }
    for (uint32_t i = 0; i < width; i++) {
        const uint32_t n = starts[i];
        starts[i] = sum;
        sum += n;
        bits |= n;
    }
    for (size_t c = 0; c < join->chunks; c++) {
        const struct obb_join_pairs found = found_in(&join->lists[c], range, &count);
        for (size_t i = 0; i < count; i++)
            obb_join_move(&found, i, out, starts[found.ranks[i] >> 32 & low]++);
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
        const struct obb_join_pairs of_one = pairs_at(out, from);
        if (starts[i] - from > 1)
            sort_any(&of_one, starts[i] - from, spare);
        from = starts[i];
    }
}

/* Gathers the pairs of a range, and sorts them. */
static void gather(const struct obb_join *join, size_t range, size_t total,
                   const struct obb_join_pairs *out, const struct obb_join_pairs *spare)
{
    if (total > FEW && join->range_shift <= NARROW) {
        gather_narrow(join, range, total, out, spare);
        return;
    }
    size_t count, sum = 0;
    for (size_t c = 0; c < join->chunks; c++) {
        const struct obb_join_pairs found = found_in(&join->lists[c], range, &count);
        for (size_t i = 0; i < count; i++)
            obb_join_move(&found, i, out, sum++);
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

static uint64_t id_of(const struct obb_join *join, uint32_t rank)
{
    return join->sorted != NULL ? join->sorted[rank] : join->least_id + rank;
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
static void put_all_boxes(const struct obb_join *join, size_t first,
                          const struct obb_join_pairs *sorted, size_t count)
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

obb_status obb_join_order(struct obb_join *join, size_t chunk)
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
    const struct obb_join_pairs spare = {room, boxes ? room + most : NULL};
    for (size_t r = first; r < end && !obb_join_cancelled(join); r++) {
        const size_t start = join->starts[r], count = join->starts[r + 1] - start;
        const struct obb_join_pairs out = {boxes ? room + 2 * most : join->ranks + start,
                                           boxes ? room + 3 * most : NULL};
        gather(join, r, count, &out, &spare);
        if (boxes)
            put_all_boxes(join, start, &out, count);
    }
    obb_budget_free(room);
    return obb_join_cancelled(join) ? OBB_CANCELLED : OBB_OK;
}
