#include "core/query/contact_run.h"

#include "core/base/least.h"
#include "core/versions/version.h"

#include <assert.h>

#define LEAST_SLOTS_BITS 6   /* slots of a hash set, as a power of two */
#define BITS_SHARE       128 /* ids for each ended one, up to which each has a bit: 32 bytes */
#define PART_BLOCK       64  /* pairs that are passed between two looks at the room for them */
#define AHEAD            16  /* versions whose ids are fetched ahead */

/* ---- The ended boxes ------------------------------------------------------------------------- */

/* Ids are given in sequence. A product with an odd constant near 2^64 / phi spreads them (Knuth,
 * 6.4). */
static uint64_t hash_of(uint64_t id) { return id * 0x9e3779b97f4a7c15u; }

/* Returns the slot of the id, or the free slot at which it belongs. */
static size_t slot_of(const struct obb_ended *ended, uint64_t id)
{
    const size_t mask = SIZE_MAX >> ended->shift;
    size_t slot = (size_t)(hash_of(id) >> ended->shift);
    while (ended->ids[slot] != 0 && ended->ids[slot] != id)
        slot = (slot + 1) & mask;
    return slot;
}

static bool bit_of(const uint64_t *bits, uint64_t i) { return (bits[i / 64] >> i % 64 & 1) != 0; }

static void set_bit(uint64_t *bits, uint64_t i) { bits[i / 64] |= (uint64_t)1 << i % 64; }

/* Returns the bit for an id. Ids outside of the span share a bit behind it, which is not set. The
 * hash set has eight bits a slot, so three more bits of the hash choose one. */
static uint64_t bit_for(const struct obb_ended *ended, uint64_t id)
{
    const uint64_t place = id - ended->first;
    if (ended->span > 0)
        return place < ended->span ? place : ended->span;
    return hash_of(id) >> (ended->shift - 3);
}

/* Returns false if the id is certainly none of the set. Free of branches that depend on the id. */
static bool may_have(const struct obb_ended *ended, uint64_t id)
{
    return bit_of(ended->bits, bit_for(ended, id));
}

static bool has(const struct obb_ended *ended, uint64_t id)
{
    return may_have(ended, id) && (ended->span > 0 || ended->ids[slot_of(ended, id)] == id);
}

/* Returns the id of a version of a list. Each is a cache miss unless it is fetched ahead. */
static uint64_t id_at(const struct obb_version *const *versions, size_t count, size_t i)
{
    if (i + AHEAD < count)
        __builtin_prefetch(&versions[i + AHEAD]->id);
    return versions[i]->id;
}

/* Fills a hash set. */
static obb_status hash_ended(struct obb_ended *ended, const obb_committed *committed,
                             struct obb_budget *budget)
{
    unsigned bits = LEAST_SLOTS_BITS;
    while ((size_t)1 << bits < committed->ended_count * 2)
        bits++;
    const size_t slots = (size_t)1 << bits;
    ended->shift = 64 - bits;
    ended->ids = obb_budget_calloc(budget, slots, sizeof *ended->ids);
    ended->made = obb_budget_calloc(budget, slots / 64, sizeof *ended->made);
    ended->bits = obb_budget_calloc(budget, slots / 8, sizeof *ended->bits);
    if (ended->ids == NULL || ended->made == NULL || ended->bits == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < committed->ended_count; i++) {
        const uint64_t id = id_at(committed->ended, committed->ended_count, i);
        ended->ids[slot_of(ended, id)] = id;
        set_bit(ended->bits, bit_for(ended, id));
    }
    for (size_t i = 0; i < committed->made_count; i++) {
        const size_t slot = slot_of(ended, id_at(committed->made, committed->made_count, i));
        if (ended->ids[slot] != 0)
            set_bit(ended->made, slot);
    }
    return OBB_OK;
}

/* Fills bits for each id. */
static obb_status mark_ended(struct obb_ended *ended, const obb_committed *committed,
                             struct obb_budget *budget)
{
    const size_t words = (size_t)(ended->span / 64) + 1;
    ended->bits = obb_budget_calloc(budget, words, sizeof *ended->bits);
    ended->made = obb_budget_calloc(budget, words, sizeof *ended->made);
    if (ended->bits == NULL || ended->made == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < committed->ended_count; i++)
        set_bit(ended->bits, bit_for(ended, id_at(committed->ended, committed->ended_count, i)));
    for (size_t i = 0; i < committed->made_count; i++)
        set_bit(ended->made, bit_for(ended, id_at(committed->made, committed->made_count, i)));
    return OBB_OK;
}

obb_status obb_ended_init(struct obb_ended *ended, const obb_committed *committed,
                          struct obb_budget *budget)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < committed->ended_count; i++) {
        const uint64_t id = id_at(committed->ended, committed->ended_count, i);
        least = id < least ? id : least;
        most = id > most ? id : most;
    }
    *ended = (struct obb_ended){.first = least};
    if (committed->ended_count == 0 || most - least >= committed->ended_count * BITS_SHARE)
        return hash_ended(ended, committed, budget);
    ended->span = most - least + 1;
    return mark_ended(ended, committed, budget);
}

void obb_ended_fini(struct obb_ended *ended)
{
    obb_budget_free(ended->ids);
    obb_budget_free(ended->made);
    obb_budget_free(ended->bits);
}

bool obb_ended_removed(const struct obb_ended *ended, uint64_t id)
{
    return has(ended, id) &&
           !bit_of(ended->made, ended->span > 0 ? bit_for(ended, id) : slot_of(ended, id));
}

/* ---- The run --------------------------------------------------------------------------------- */

obb_status obb_contact_run_reserve(struct obb_contact_run *run, size_t capacity,
                                   struct obb_budget *budget)
{
    if (capacity <= run->capacity)
        return OBB_OK;
    obb_id_pair *pairs = obb_budget_realloc(budget, run->pairs, capacity, sizeof *run->pairs);
    if (pairs == NULL)
        return OBB_NO_MEMORY;
    run->pairs = pairs;
    run->capacity = capacity;
    return OBB_OK;
}

obb_status obb_contact_run_part(struct obb_contact_run *run, const struct obb_ended *ended,
                                struct obb_budget *budget, obb_id_pair **out, size_t *out_count)
{
    struct obb_contact_run taken = {.pairs = NULL};
    const bool exact = ended->span > 0; /* each id has a bit of its own */
    obb_status status = obb_contact_run_reserve(&taken, PART_BLOCK, budget);
    size_t kept = 0;
    for (size_t from = 0; from < run->count && status == OBB_OK; from += PART_BLOCK) {
        const size_t end = from + obb_least(PART_BLOCK, run->count - from);
        if (taken.capacity - taken.count < PART_BLOCK)
            status = obb_contact_run_reserve(&taken, taken.capacity * 2, budget);
        /* Each pair is written to both runs, and the end of one of them moves: whether a box of
         * the pair has ended cannot be predicted. */
        for (size_t i = from; i < end && status == OBB_OK; i++) {
            const obb_id_pair pair = run->pairs[i];
            unsigned out_of_run =
                (unsigned)may_have(ended, pair.id[0]) | (unsigned)may_have(ended, pair.id[1]);
            if (!exact && out_of_run != 0)
                out_of_run = has(ended, pair.id[0]) || has(ended, pair.id[1]);
            run->pairs[kept] = pair;
            taken.pairs[taken.count] = pair;
            kept += 1 - out_of_run;
            taken.count += out_of_run;
        }
    }
    if (status != OBB_OK) {
        obb_budget_free(taken.pairs);
        return status;
    }
    run->count = kept;
    *out = taken.pairs;
    *out_count = taken.count;
    return OBB_OK;
}

static bool before(const obb_id_pair *a, const obb_id_pair *b)
{
    return a->id[0] != b->id[0] ? a->id[0] < b->id[0] : a->id[1] < b->id[1];
}

/* From the last pair to the first, so the pairs of the run are moved up over free room only. */
void obb_contact_run_merge(struct obb_contact_run *run, const obb_id_pair *pairs, size_t count)
{
    assert(run->capacity - run->count >= count);
    size_t old = run->count;
    run->count += count;
    for (size_t left = count; left > 0; left--) {
        const obb_id_pair pair = pairs[left - 1];
        for (; old > 0 && before(&pair, &run->pairs[old - 1]); old--)
            run->pairs[old - 1 + left] = run->pairs[old - 1];
        run->pairs[old + left - 1] = pair;
    }
}
