#include "core/query/contact_run.h"

#include "core/base/alloc.h"
#include "core/base/cancel.h"
#include "core/base/least.h"
#include "core/versions/version.h"

#include <string.h>

#define LEAST_SLOTS_BITS 6   /* slots of a hash set, as a power of two */
#define BITS_SHARE       128 /* ids for each ended one, up to which each has a bit: 32 bytes */
#define AHEAD            16  /* versions whose ids are fetched ahead */
#define BLOCK            32  /* pairs that are looked at before the first is moved: 64 ids */
#define BLOCKS_AHEAD     3   /* blocks that are fetched ahead */
#define COPIED           8   /* pairs that are copied at a time */

/* ---- The ended boxes ------------------------------------------------------------------------- */

/* Ids are given in sequence. A product with an odd constant near 2^64 / phi spreads them (Knuth,
 * 6.4). */
static uint64_t hash_of(uint64_t id) { return id * 0x9e3779b97f4a7c15u; }

/* Returns the slot of the id, or the free slot at which it belongs. */
static size_t slot_of(const struct obb_contact_ended *ended, uint64_t id)
{
    const size_t mask = SIZE_MAX >> ended->shift;
    size_t slot = (size_t)(hash_of(id) >> ended->shift);
    while (ended->ids[slot] != 0 && ended->ids[slot] != id)
        slot = (slot + 1) & mask;
    return slot;
}

static bool bit_of(const uint64_t *bits, uint64_t i) { return (bits[i / 64] >> i % 64 & 1) != 0; }

static void set_bit(uint64_t *bits, uint64_t i) { bits[i / 64] |= (uint64_t)1 << i % 64; }

/* Returns the bit of the hash set for an id. The set has eight bits a slot, so three more bits of
 * the hash choose one. */
static uint64_t bit_for(const struct obb_contact_ended *ended, uint64_t id)
{
    return hash_of(id) >> (ended->shift - 3);
}

/* Returns false if the id is certainly none of the hash set. Free of branches that depend on the
 * id. */
static bool may_have(const struct obb_contact_ended *ended, uint64_t id)
{
    return bit_of(ended->bits, bit_for(ended, id));
}

static bool has(const struct obb_contact_ended *ended, uint64_t id)
{
    if (ended->span > 0)
        return id - ended->first < ended->span && bit_of(ended->bits, id - ended->first);
    return may_have(ended, id) && ended->ids[slot_of(ended, id)] == id;
}

/* The ids of versions, as far as a run can hold them. */
struct ids {
    uint32_t *list; /* of the budget */
    size_t count;
    uint32_t least, most; /* most < least: none */
};

/* Lists the ids of versions. known: the same ids, in any order; NULL: they are read from the
 * versions, each of which is a cache miss unless it is fetched ahead. The caller frees the list. */
static obb_status read_ids(const struct obb_version *const *versions, const uint64_t *known,
                           size_t count, struct obb_budget *budget, struct ids *out)
{
    *out = (struct ids){.list = obb_budget_malloc(budget, count, sizeof *out->list),
                        .least = UINT32_MAX};
    for (size_t i = 0; i < count && out->list != NULL; i++) {
        if (known == NULL && i + AHEAD < count)
            __builtin_prefetch(&versions[i + AHEAD]->id);
        const uint64_t id = known != NULL ? known[i] : versions[i]->id;
        if (id >= OBB_CONTACT_RUN_IDS)
            continue;
        out->list[out->count++] = (uint32_t)id;
        out->least = id < out->least ? (uint32_t)id : out->least;
        out->most = id > out->most ? (uint32_t)id : out->most;
    }
    return out->list != NULL ? OBB_OK : OBB_NO_MEMORY;
}

/* Fills a hash set. made: NULL if the commit removed no box. */
static obb_status hash_ended(struct obb_contact_ended *ended, const struct ids *ids,
                             const struct ids *made, struct obb_budget *budget)
{
    unsigned bits = LEAST_SLOTS_BITS;
    while ((size_t)1 << bits < ids->count * 2)
        bits++;
    const size_t slots = (size_t)1 << bits;
    ended->shift = 64 - bits;
    ended->ids = obb_budget_calloc(budget, slots, sizeof *ended->ids);
    ended->bits = obb_budget_calloc(budget, slots / 8, sizeof *ended->bits);
    if (ended->ids == NULL || ended->bits == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < ids->count; i++) {
        ended->ids[slot_of(ended, ids->list[i])] = ids->list[i];
        set_bit(ended->bits, bit_for(ended, ids->list[i]));
    }
    if (made == NULL)
        return OBB_OK;
    ended->made = obb_budget_calloc(budget, slots / 64, sizeof *ended->made);
    for (size_t i = 0; i < made->count && ended->made != NULL; i++) {
        const size_t slot = slot_of(ended, made->list[i]);
        if (ended->ids[slot] != 0)
            set_bit(ended->made, slot);
    }
    return ended->made != NULL ? OBB_OK : OBB_NO_MEMORY;
}

/* Returns a bit for each id of the span, set for those of the list; or NULL if there is no
 * memory. */
static uint64_t *mark_ids(const struct obb_contact_ended *ended, const struct ids *ids,
                          struct obb_budget *budget)
{
    uint64_t *bits = obb_budget_calloc(budget, (size_t)(ended->span / 64) + 1, sizeof *bits);
    for (size_t i = 0; i < ids->count && bits != NULL; i++) {
        const uint32_t place = ids->list[i] - ended->first;
        if (place < ended->span)
            set_bit(bits, place);
    }
    return bits;
}

/* Fills bits for each id, or a hash set. made: NULL if the commit removed no box. */
static obb_status fill_ended(struct obb_contact_ended *ended, const struct ids *ids,
                             const struct ids *made, struct obb_budget *budget)
{
    ended->first = ids->least;
    if (ids->count == 0 || (uint64_t)ids->most - ids->least >= ids->count * BITS_SHARE)
        return hash_ended(ended, ids, made, budget);
    ended->span = ids->most - ids->least + 1;
    ended->bits = mark_ids(ended, ids, budget);
    if (made != NULL)
        ended->made = mark_ids(ended, made, budget);
    return ended->bits == NULL || (made != NULL && ended->made == NULL) ? OBB_NO_MEMORY : OBB_OK;
}

obb_status obb_contact_ended_init(struct obb_contact_ended *ended, const obb_committed *committed,
                                  const uint64_t *made_ids, struct obb_budget *budget)
{
    struct ids ids, made = {.list = NULL};
    /* Without a box that is gone or new, the commit made one version of each box that it ended. */
    const bool same = committed->gone == 0 && committed->made_count == committed->ended_count;
    *ended = (struct obb_contact_ended){.bits = NULL};
    obb_status status =
        read_ids(committed->ended, same ? made_ids : NULL, committed->ended_count, budget, &ids);
    if (status == OBB_OK && committed->gone > 0)
        status = read_ids(committed->made, made_ids, committed->made_count, budget, &made);
    if (status == OBB_OK)
        status = fill_ended(ended, &ids, committed->gone > 0 ? &made : NULL, budget);
    obb_budget_free(ids.list);
    obb_budget_free(made.list);
    return status;
}

void obb_contact_ended_fini(struct obb_contact_ended *ended)
{
    obb_budget_free(ended->ids);
    obb_budget_free(ended->made);
    obb_budget_free(ended->bits);
}

bool obb_contact_ended_removed(const struct obb_contact_ended *ended, uint64_t id)
{
    return ended->made != NULL && has(ended, id) &&
           !bit_of(ended->made, ended->span > 0 ? id - ended->first : slot_of(ended, id));
}

/* ---- The run --------------------------------------------------------------------------------- */

obb_status obb_contact_run_init(struct obb_contact_run *run, size_t count,
                                struct obb_budget *budget)
{
    const size_t room = count + COPIED;
    char *block = obb_budget_malloc(budget, room, sizeof *run->boxes + sizeof *run->keys);
    *run = (struct obb_contact_run){.boxes = NULL};
    if (block == NULL)
        return OBB_NO_MEMORY;
    run->boxes = (void *)block;
    run->keys = (void *)(block + room * sizeof *run->boxes);
    return OBB_OK;
}

void obb_contact_run_fini(struct obb_contact_run *run)
{
    obb_budget_free(run->boxes);
    *run = (struct obb_contact_run){.boxes = NULL};
}

static void append(struct obb_contact_run *run, uint64_t key, const obb_box_pair *boxes)
{
    run->keys[run->count] = key;
    run->boxes[run->count++] = *boxes;
}

bool obb_contact_run_add(struct obb_contact_run *run, const obb_box_pair *boxes)
{
    const uint64_t ids[2] = {boxes->a->id, boxes->b->id};
    if (ids[1] >= OBB_CONTACT_RUN_IDS) /* the greater one */
        return false;
    append(run, obb_contact_key(ids), boxes);
    return true;
}

static uint64_t first_id(uint64_t key) { return key >> 32; }
static uint64_t second_id(uint64_t key) { return (uint32_t)key; }

/* A run that is on its way to the state after a commit. */
struct passage {
    const struct obb_contact_run *from;
    struct obb_contact_run to;
    const struct obb_contact_step *step;
    const obb_id_pair *next, *end; /* of the present pairs */
    uint64_t next_key;             /* of `next`; greater than all keys at the end */
    obb_status status;
};

/* Returns which of up to BLOCK pairs have a box that has ended: bit 2 k for pair k. Free of
 * branches that depend on the pairs: a tenth of all boxes ends a fifth of all pairs, in no
 * order. */
static uint64_t ended_of(const struct obb_contact_step *step, const uint64_t *keys, size_t count)
{
    const struct obb_contact_ended *ended = step->ended;
    uint64_t mask = 0;
    if (ended->span > 0) {
        const struct obb_marks marks = {
            .bits = ended->bits, .first = ended->first, .span = ended->span};
        uint32_t ids[2 * BLOCK];
        memcpy(ids, keys, count * sizeof *keys);
        mask = step->kernels->marked(&marks, ids, 2 * count);
        return (mask | mask >> 1) & UINT64_MAX / 3;
    }
    for (size_t k = 0; k < count; k++) {
        const uint64_t a = may_have(ended, first_id(keys[k])),
                       b = may_have(ended, second_id(keys[k]));
        mask |= (a | b) << 2 * k;
    }
    for (uint64_t may = mask; may != 0; may &= may - 1) {
        const uint64_t key = keys[__builtin_ctzll(may) / 2];
        if (!has(ended, first_id(key)) && !has(ended, second_id(key)))
            mask ^= may & -may;
    }
    return mask;
}

/* Sets the key of the next present pair. No pair has the greatest key: its two ids differ. */
static void look_at_next(struct passage *p)
{
    p->next_key = p->next < p->end ? obb_contact_key(p->next->id) : UINT64_MAX;
}

static void tell(struct passage *p, const obb_id_pair *old, const obb_id_pair *present)
{
    if (p->status == OBB_OK && !p->step->tell(p->step->context, old, present))
        p->status = OBB_NO_MEMORY;
}

/* The next present pair comes in. */
static void come(struct passage *p, const obb_id_pair *old)
{
    append(&p->to, p->next_key, &p->next->boxes);
    if (old == NULL || p->step->stayed)
        tell(p, old, p->next);
    p->next++;
    look_at_next(p);
}

/* The pairs from i to end - 1 of the run stay. Some behind them are copied too, and overwritten
 * later: how many stay cannot be predicted. */
static void stay(struct passage *p, size_t i, size_t end)
{
    const struct obb_contact_run *from = p->from;
    struct obb_contact_run *to = &p->to;
    while (i < end && p->next_key < from->keys[end - 1]) { /* it begins among them */
        for (; from->keys[i] < p->next_key; i++)
            append(to, from->keys[i], &from->boxes[i]);
        come(p, NULL);
    }
    const size_t shift = to->count - i;
    for (size_t k = i; k < end; k += COPIED) {
        memcpy(&to->keys[k + shift], &from->keys[k], COPIED * sizeof to->keys[0]);
        memcpy(&to->boxes[k + shift], &from->boxes[k], COPIED * sizeof to->boxes[0]);
    }
    to->count += end - i;
}

/* Pair i of the run leaves it, and perhaps comes back. */
static void leave(struct passage *p, size_t i)
{
    const uint64_t key = p->from->keys[i];
    const obb_id_pair old = {.id = {first_id(key), second_id(key)}, .boxes = p->from->boxes[i]};
    while (p->next_key < key)
        come(p, NULL);
    if (p->next_key == key)
        come(p, &old);
    else
        tell(p, &old, NULL);
}

/* Fetches the block that comes BLOCKS_AHEAD, and about where its pairs will go: the steps through
 * both are too uneven for the processor to do it by itself. Inlined: gcc drops the call of a
 * function that does nothing but fetch. */
static inline __attribute__((always_inline)) void fetch_ahead(const struct passage *p, size_t block)
{
    const size_t ahead = (size_t)BLOCKS_AHEAD * BLOCK, from = block + ahead,
                 to = p->to.count + ahead;
    if (from + BLOCK > p->from->count)
        return;
    for (size_t k = 0; k < BLOCK; k += OBB_LINE / sizeof *p->to.boxes) {
        __builtin_prefetch(&p->from->boxes[from + k]);
        __builtin_prefetch(&p->to.boxes[to + k], 1);
    }
    for (size_t k = 0; k < BLOCK; k += OBB_LINE / sizeof *p->to.keys) {
        __builtin_prefetch(&p->from->keys[from + k]);
        __builtin_prefetch(&p->to.keys[to + k], 1);
    }
}

obb_status obb_contact_run_advance(struct obb_contact_run *run, const struct obb_contact_step *step,
                                   struct obb_budget *budget)
{
    struct passage p = {
        .from = run, .step = step, .next = step->present, .end = step->present + step->count};
    p.status = obb_contact_run_init(&p.to, run->count + step->count, budget);
    look_at_next(&p);
    for (size_t block = 0; block < run->count && p.status == OBB_OK; block += BLOCK) {
        const size_t pairs = obb_least(BLOCK, run->count - block);
        size_t first = block;
        fetch_ahead(&p, block);
        for (uint64_t left = ended_of(step, run->keys + block, pairs); left != 0;
             left &= left - 1) {
            const size_t i = block + (size_t)__builtin_ctzll(left) / 2;
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
