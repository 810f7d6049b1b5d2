#include "core/query/contact_run.h"

#include "core/base/cancel.h"
#include "core/base/least.h"
#include "core/versions/version.h"

#include <string.h>

#define LEAST_SLOTS_BITS 6   /* slots of a hash set, as a power of two */
#define BITS_SHARE       128 /* ids for each ended one, up to which each has a bit: 32 bytes */
#define AHEAD            16  /* versions whose ids are fetched ahead */
#define BLOCK            64  /* pairs that are looked at before the first is moved */
#define COPIED           8   /* pairs that are copied at a time */

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

obb_status obb_contact_run_init(struct obb_contact_run *run, size_t count,
                                struct obb_budget *budget)
{
    const size_t room = count + COPIED;
    char *block = obb_budget_malloc(budget, room, sizeof *run->boxes + sizeof *run->ids);
    *run = (struct obb_contact_run){.boxes = NULL};
    if (block == NULL)
        return OBB_NO_MEMORY;
    run->boxes = (void *)block;
    run->ids = (void *)(block + room * sizeof *run->boxes);
    return OBB_OK;
}

void obb_contact_run_fini(struct obb_contact_run *run)
{
    obb_budget_free(run->boxes);
    *run = (struct obb_contact_run){.boxes = NULL};
}

static void append(struct obb_contact_run *run, const uint64_t ids[2], const obb_box_pair *boxes)
{
    memcpy(run->ids[run->count], ids, sizeof run->ids[0]);
    run->boxes[run->count++] = *boxes;
}

void obb_contact_run_add(struct obb_contact_run *run, const obb_box_pair *boxes)
{
    append(run, (const uint64_t[]){boxes->a->id, boxes->b->id}, boxes);
}

static bool before(const uint64_t a[2], const uint64_t b[2])
{
    return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

/* A run that is on its way to the state after a commit. */
struct passage {
    const struct obb_contact_run *from;
    struct obb_contact_run to;
    const struct obb_contact_step *step;
    const obb_id_pair *next, *end; /* of the present pairs */
    obb_status status;
};

/* Returns which of up to BLOCK pairs have a box that has ended, as bits. Free of branches that
 * depend on the pairs: a tenth of all boxes ends a fifth of all pairs, in no order. */
static uint64_t ended_of(const struct obb_ended *ended, uint64_t (*const ids)[2], size_t count)
{
    uint64_t may = 0, has_one = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t a = may_have(ended, ids[i][0]), b = may_have(ended, ids[i][1]);
        may |= (a | b) << i;
    }
    if (ended->span > 0)
        return may;
    for (; may != 0; may &= may - 1) {
        const uint64_t *pair = ids[__builtin_ctzll(may)];
        if (has(ended, pair[0]) || has(ended, pair[1]))
            has_one |= may & -may;
    }
    return has_one;
}

/* Returns whether the next present pair comes before pair i of the run. */
static bool is_before(const struct passage *p, size_t i)
{
    return p->next < p->end && before(p->next->id, p->from->ids[i]);
}

static void tell(struct passage *p, const obb_id_pair *old, const obb_id_pair *present)
{
    if (p->status == OBB_OK && !p->step->tell(p->step->context, old, present))
        p->status = OBB_NO_MEMORY;
}

/* The next present pair comes in. */
static void come(struct passage *p, const obb_id_pair *old)
{
    append(&p->to, p->next->id, &p->next->boxes);
    if (old == NULL || p->step->stayed)
        tell(p, old, p->next);
    p->next++;
}

/* The pairs from i to end - 1 of the run stay. Some behind them are copied too, and overwritten
 * later: how many stay cannot be predicted. */
static void stay(struct passage *p, size_t i, size_t end)
{
    const struct obb_contact_run *from = p->from;
    struct obb_contact_run *to = &p->to;
    while (i < end && is_before(p, end - 1)) { /* it begins among them */
        for (; before(from->ids[i], p->next->id); i++)
            append(to, from->ids[i], &from->boxes[i]);
        come(p, NULL);
    }
    const size_t shift = to->count - i;
    for (size_t k = i; k < end; k += COPIED) {
        memcpy(to->ids[k + shift], from->ids[k], COPIED * sizeof to->ids[0]);
        memcpy(&to->boxes[k + shift], &from->boxes[k], COPIED * sizeof to->boxes[0]);
    }
    to->count += end - i;
}

/* Pair i of the run leaves it, and perhaps comes back. */
static void leave(struct passage *p, size_t i)
{
    const uint64_t *ids = p->from->ids[i];
    const obb_id_pair old = {.id = {ids[0], ids[1]}, .boxes = p->from->boxes[i]};
    while (is_before(p, i))
        come(p, NULL);
    if (p->next < p->end && !before(ids, p->next->id))
        come(p, &old);
    else
        tell(p, &old, NULL);
}

obb_status obb_contact_run_advance(struct obb_contact_run *run, const struct obb_contact_step *step,
                                   struct obb_budget *budget)
{
    struct passage p = {
        .from = run, .step = step, .next = step->present, .end = step->present + step->count};
    p.status = obb_contact_run_init(&p.to, run->count + step->count, budget);
    for (size_t block = 0; block < run->count && p.status == OBB_OK; block += BLOCK) {
        const size_t pairs = obb_least(BLOCK, run->count - block);
        size_t first = block;
        for (uint64_t left = ended_of(step->ended, run->ids + block, pairs); left != 0;
             left &= left - 1) {
            const size_t i = block + (size_t)__builtin_ctzll(left);
            stay(&p, first, i);
            leave(&p, i);
            first = i + 1;
        }
        stay(&p, first, block + pairs);
        if (obb_cancelled(step->cancel))
            p.status = OBB_CANCELLED;
    }
    while (p.next < p.end && p.status == OBB_OK)
        come(&p, NULL);
    obb_contact_run_fini(p.status == OBB_OK ? run : &p.to);
    if (p.status == OBB_OK)
        *run = p.to;
    return p.status;
}
