/* The set is in one of two forms:
 *
 *   lists  a pair is linked into a list of each of its boxes: a commit costs by the pairs of the
 *          boxes that it ended, each of them several cache misses
 *   run    all pairs in one sorted array (contact_run.h): a commit costs by all pairs, read in
 *          order
 *
 * A run holds only ids below 2^32: while the scene has a greater one, the set is in lists.
 *
 * A commit that ends more than one box for LIST_WORK pairs is cheaper on a run. The set changes its
 * form as soon as the commits since the last change lost as much, compared with the other form, as
 * a change costs. So it costs at most about twice as much as with the better form throughout.
 *
 * Measured, before the join and the run became faster: a tenth of 100,000 boxes moved took 15.5 ms
 * on lists and 7.6 ms on a run. */
#include "core/query/contacts.h"

#include "core/base/budget.h"
#include "core/base/cancel.h"
#include "core/base/least.h"
#include "core/base/sort.h"
#include "core/geometry/sat.h"
#include "core/index/join.h"
#include "core/query/contact_run.h"
#include "core/query/filter.h"
#include "core/scene/view_inside.h"
#include "core/versions/version.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* No place. A place in the list of a box is a pair and one of its two sides: pair * 2 + side. */
#define NOWHERE UINT32_MAX

struct pair {
    uint64_t id[2]; /* the smaller first; 0: not in use, and next[0] is the next unused pair */
    uint32_t next[2], previous[2];
};

/* Costs in lists and of a change, in pairs of a run that are passed in the same time. */
#define LIST_WORK   100 /* an ended box in lists: 0.8 us */
#define CHANGE_WORK 10  /* a pair that changes its form */

#define POLLED 256 /* pairs between two looks at the cancellation: 200 us in lists */

/* A box that has pairs, or had some. */
struct head {
    uint64_t id; /* 0: free */
    uint32_t first;
};

struct obb_contacts {
    struct obb_budget *budget;
    bool listed; /* the form: lists; else the run */
    size_t lost; /* by this form since the last change, in pairs of a run passed */
    struct obb_contact_run
        run; /* empty in the form of lists, as the rest is in the form of a run */
    struct pair *pairs;
    uint32_t pair_capacity, pair_end; /* pairs beyond pair_end were never in use */
    uint32_t free_pair;               /* NOWHERE: none below pair_end */
    size_t count;
    struct head *heads; /* open addressing */
    size_t head_mask;   /* their number, a power of two, less 1 */
    size_t head_count;  /* heads that are not free */
};

/* ---- Boxes to pairs -------------------------------------------------------------------------- */

static size_t slot_of(const struct obb_contacts *contacts, uint64_t id)
{
    /* Ids are given in sequence. A product with an odd constant near 2^64 / phi spreads them
     * (Knuth, 6.4). */
    size_t slot = (size_t)((id * 0x9e3779b97f4a7c15u) >> 20) & contacts->head_mask;
    while (contacts->heads[slot].id != 0 && contacts->heads[slot].id != id)
        slot = (slot + 1) & contacts->head_mask;
    return slot;
}

/* Returns the place of the first pair of the box, or NULL if the box never had a pair. */
static uint32_t *first_of(const struct obb_contacts *contacts, uint64_t id)
{
    struct head *head = &contacts->heads[slot_of(contacts, id)];
    return head->id == id ? &head->first : NULL;
}

/* Makes room for one more head, and drops heads without pairs. */
static bool heads_grow(struct obb_contacts *contacts)
{
    if (contacts->head_count * 2 <= contacts->head_mask)
        return true;
    size_t live = 0;
    for (size_t i = 0; i <= contacts->head_mask; i++)
        live += contacts->heads[i].id != 0 && contacts->heads[i].first != NOWHERE;
    size_t size = 64;
    while (size < live * 4 + 2)
        size *= 2;
    struct head *old = contacts->heads;
    const size_t old_size = contacts->head_mask + 1;
    struct head *heads = obb_budget_calloc(contacts->budget, size, sizeof *heads);
    if (heads == NULL)
        return false;
    contacts->heads = heads;
    contacts->head_mask = size - 1;
    contacts->head_count = live;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].id != 0 && old[i].first != NOWHERE)
            heads[slot_of(contacts, old[i].id)] = old[i];
    obb_budget_free(old);
    return true;
}

static bool pairs_reserve(struct obb_contacts *contacts, size_t capacity)
{
    if (capacity > UINT32_MAX / 4) /* places are twice as many */
        return false;
    struct pair *pairs =
        obb_budget_realloc(contacts->budget, contacts->pairs, capacity, sizeof *pairs);
    if (pairs == NULL)
        return false;
    contacts->pairs = pairs;
    contacts->pair_capacity = (uint32_t)capacity;
    return true;
}

static bool pairs_grow(struct obb_contacts *contacts)
{
    if (contacts->free_pair != NOWHERE || contacts->pair_end < contacts->pair_capacity)
        return true;
    const size_t capacity = contacts->pair_capacity;
    return pairs_reserve(contacts, capacity < 64 ? 64 : capacity * 2);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void link_side(struct obb_contacts *contacts, uint32_t at, uint32_t side)
{
    struct pair *pair = &contacts->pairs[at];
    const size_t slot = slot_of(contacts, pair->id[side]);
    struct head *head = &contacts->heads[slot];
    if (head->id == 0) {
        *head = (struct head){.id = pair->id[side], .first = NOWHERE};
        contacts->head_count++;
    }
    const uint32_t place = at * 2 + side;
    pair->previous[side] = NOWHERE;
    pair->next[side] = head->first;
    if (head->first != NOWHERE)
        contacts->pairs[head->first / 2].previous[head->first % 2] = place;
    head->first = place;
}

static bool add(struct obb_contacts *contacts, uint64_t a, uint64_t b)
{
    if (!pairs_grow(contacts) || !heads_grow(contacts))
        return false;
    uint32_t at = contacts->free_pair;
    if (at != NOWHERE)
        contacts->free_pair = contacts->pairs[at].next[0];
    else
        at = contacts->pair_end++;
    contacts->pairs[at] = (struct pair){.id = {a, b}};
    link_side(contacts, at, 0);
    link_side(contacts, at, 1);
    contacts->count++;
    return true;
}

static void unlink_side(struct obb_contacts *contacts, uint32_t at, uint32_t side)
{
    struct pair *pairs = contacts->pairs;
    const uint32_t next = pairs[at].next[side], previous = pairs[at].previous[side];
    if (next != NOWHERE)
        pairs[next / 2].previous[next % 2] = previous;
    if (previous != NOWHERE)
        pairs[previous / 2].next[previous % 2] = next;
    else
        contacts->heads[slot_of(contacts, pairs[at].id[side])].first = next;
}

static void drop(struct obb_contacts *contacts, uint32_t at)
{
    unlink_side(contacts, at, 0);
    unlink_side(contacts, at, 1);
    contacts->pairs[at].id[0] = 0;
    contacts->pairs[at].next[0] = contacts->free_pair;
    contacts->free_pair = at;
    contacts->count--;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Fills the run, which is empty, with sorted pairs, up to the first one that it cannot hold. */
static obb_status fill_run(struct obb_contacts *contacts, const obb_box_pair *pairs, size_t count,
                           const atomic_bool *cancel)
{
    struct obb_contact_run *run = &contacts->run;
    obb_status status = obb_contact_run_init(run, count, contacts->budget);
    for (size_t i = 0; status == OBB_OK && i < count; i++) {
        if (i % POLLED == 0 && obb_cancelled(cancel))
            status = OBB_CANCELLED;
        else if (!obb_contact_run_add(run, &pairs[i]))
            break;
    }
    return status;
}

static void free_lists(struct obb_contacts *contacts)
{
    obb_budget_free(contacts->pairs);
    obb_budget_free(contacts->heads);
    contacts->pairs = NULL;
    contacts->heads = NULL;
    contacts->pair_capacity = contacts->pair_end = 0;
    contacts->free_pair = NOWHERE;
    contacts->count = contacts->head_count = 0;
}

/* Fills the lists, which are empty, with pairs. */
static obb_status fill_lists(struct obb_contacts *contacts, const obb_box_pair *pairs, size_t count,
                             const atomic_bool *cancel)
{
    contacts->listed = true;
    contacts->head_mask = 63;
    contacts->heads =
        obb_budget_calloc(contacts->budget, contacts->head_mask + 1, sizeof *contacts->heads);
    if (contacts->heads == NULL || !pairs_reserve(contacts, count))
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (i % POLLED == 0 && obb_cancelled(cancel))
            return OBB_CANCELLED;
        if (!add(contacts, pairs[i].a->id, pairs[i].b->id))
            return OBB_NO_MEMORY;
    }
    return OBB_OK;
}

/* Changes the form from a run to lists. */
static obb_status to_lists(struct obb_contacts *contacts, const atomic_bool *cancel)
{
    struct obb_contact_run *run = &contacts->run;
    const obb_status status = fill_lists(contacts, run->boxes, run->count, cancel);
    obb_contact_run_fini(run);
    return status;
}

/* Changes the form from lists to a run. view: of the state of the set. */
static obb_status to_run(struct obb_contacts *contacts, const struct obb_view *view,
                         const atomic_bool *cancel, struct obb_arena *arena)
{
    const obb_box_pair *pairs;
    const size_t count = contacts->count;
    obb_status status = obb_contacts_list(contacts, view, arena, &pairs);
    if (status != OBB_OK)
        return status;
    free_lists(contacts);
    contacts->listed = false;
    return fill_run(contacts, pairs, count, cancel);
}

/* Returns whether a box of the state has an id that no run can hold, or had one before. */
static bool has_great_id(const struct obb_view *view)
{
    return obb_layers_most_id(view->layers) >= OBB_CONTACT_RUN_IDS;
}

/* Changes the form before a commit that ended so many boxes, if that is paid for or the run cannot
 * hold its pairs. */
static obb_status choose_form(struct obb_contacts *contacts, const struct obb_view *before,
                              const struct obb_view *after, size_t ended, const atomic_bool *cancel,
                              struct obb_arena *arena)
{
    if (has_great_id(before) || has_great_id(after))
        return contacts->listed ? OBB_OK : to_lists(contacts, cancel);
    const size_t all = obb_contacts_count(contacts), touched = obb_least(ended, all) * LIST_WORK;
    const size_t here = contacts->listed ? touched : all, there = contacts->listed ? all : touched;
    if (here >= there)
        contacts->lost += here - there;
    else
        contacts->lost -= obb_least(contacts->lost, there - here);
    if (contacts->lost <= all * CHANGE_WORK)
        return OBB_OK;
    contacts->lost = 0;
    return contacts->listed ? to_run(contacts, before, cancel, arena) : to_lists(contacts, cancel);
}

obb_status obb_contacts_create(struct obb_budget *budget, const obb_box_pair *pairs, size_t count,
                               const atomic_bool *cancel, struct obb_contacts **out)
{
    struct obb_contacts *contacts = obb_budget_calloc(budget, 1, sizeof *contacts);
    if (contacts == NULL)
        return OBB_NO_MEMORY;
    contacts->budget = budget;
    contacts->free_pair = NOWHERE;
    obb_status status = fill_run(contacts, pairs, count, cancel);
    if (status == OBB_OK && contacts->run.count < count) {
        obb_contact_run_fini(&contacts->run);
        status = fill_lists(contacts, pairs, count, cancel);
    }
    if (status == OBB_OK)
        *out = contacts;
    else
        obb_contacts_destroy(contacts);
    return status;
}

void obb_contacts_destroy(struct obb_contacts *contacts)
{
    if (contacts == NULL)
        return;
    obb_contact_run_fini(&contacts->run);
    free_lists(contacts);
    obb_budget_free(contacts);
}

size_t obb_contacts_count(const struct obb_contacts *contacts)
{
    return contacts->listed ? contacts->count : contacts->run.count;
}

bool obb_contacts_listed(const struct obb_contacts *contacts) { return contacts->listed; }

/* ---- Following a commit ---------------------------------------------------------------------- */

/* The pairs of the state after the commit in which one box or both were made by the commit, by (id,
 * id). */
struct found {
    const struct obb_view *after;
    obb_id_pair *pairs; /* of the budget */
    size_t count;
};

/* The judge of the join. */
static bool is_pair(void *context, const struct obb_version *a, const struct obb_version *b,
                    obb_verdict verdict, size_t *doubts)
{
    const struct found *found = context;
    if (!obb_filter_pair(a, b))
        return false;
    if (verdict == OBB_SURE)
        return true;
    ++*doubts;
    return obb_sat_overlap_of_boxes(&a->box, &b->box, found->after->info.dimensions);
}

static obb_status find_present(const obb_committed *committed, const atomic_bool *cancel,
                               struct obb_budget *budget, struct found *found)
{
    const struct obb_view *after = found->after;
    assert(after->overlay == NULL && after->alpha == 0.0); /* boxes are where their versions say */
    const obb_join_wish wish = {.list = OBB_JOIN_IDS,
                                .limit = SIZE_MAX,
                                .plain_pass = true,
                                .judge = is_pair,
                                .context = found};
    struct obb_join *join;
    obb_status status =
        obb_join_create_moved(after->layers, after->revision, &wish, committed->made,
                              committed->made_count, cancel, budget, &join);
    if (status != OBB_OK)
        return status;
    for (size_t chunks; status == OBB_OK && (chunks = obb_join_advance(join, &status)) > 0;)
        for (size_t i = 0; i < chunks && status == OBB_OK; i++)
            status = obb_join_chunk(join, i);
    if (status == OBB_OK) {
        found->count = obb_join_count(join).listed;
        found->pairs = obb_join_take_ids(join);
    }
    obb_join_destroy(join);
    return status;
}

/* The changes of a commit, as they are found. */
struct changes {
    const obb_committed *committed;
    struct obb_contact_ended ended; /* of the budget; in the form of a run */
    struct obb_arena *arena;
    obb_contact_change *list;
    size_t count, capacity;
};

/* Returns a new change, or NULL if there is no memory. */
static obb_contact_change *add_change(struct changes *changes)
{
    if (changes->count == changes->capacity) {
        const size_t capacity = changes->capacity == 0 ? 256 : changes->capacity * 2;
        obb_contact_change *list =
            obb_arena_grow(changes->arena, changes->list, changes->count, capacity, sizeof *list);
        if (list == NULL)
            return NULL;
        changes->list = list;
        changes->capacity = capacity;
    }
    obb_contact_change *change = &changes->list[changes->count++];
    *change = (obb_contact_change){.removed = false};
    return change;
}

static bool has_expired(const struct changes *changes, uint64_t a, uint64_t b)
{
    return obb_committed_expired(changes->committed, a) ||
           obb_committed_expired(changes->committed, b);
}

/* ---- In lists -------------------------------------------------------------------------------- */

/* The pairs of the set of which the commit ended a box, by (id, id), each once. Their item is the
 * struct pair. */
struct past {
    const struct obb_ranked *list;
    size_t count;
};

static size_t count_pairs(const struct obb_contacts *contacts,
                          const struct obb_version *const *boxes, size_t count)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *first = first_of(contacts, boxes[i]->id);
        for (uint32_t at = first != NULL ? *first : NOWHERE; at != NOWHERE;
             at = contacts->pairs[at / 2].next[at % 2])
            pairs++;
    }
    return pairs;
}

/* Finds the past pairs in the lists. A box that the commit made had no pairs, or is one of the
 * ended boxes, too. */
static obb_status find_past(const struct obb_contacts *contacts, const obb_committed *committed,
                            struct obb_arena *arena, struct past *out)
{
    const size_t room = count_pairs(contacts, committed->ended, committed->ended_count);
    struct obb_ranked *list = obb_arena_alloc(arena, 2 * room, sizeof *list);
    if (list == NULL)
        return OBB_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < committed->ended_count; i++) {
        const uint32_t *first = first_of(contacts, committed->ended[i]->id);
        for (uint32_t at = first != NULL ? *first : NOWHERE; at != NOWHERE;
             at = contacts->pairs[at / 2].next[at % 2]) {
            const struct pair *pair = &contacts->pairs[at / 2];
            list[count++] =
                (struct obb_ranked){.major = pair->id[0], .minor = pair->id[1], .item = pair};
        }
    }
    assert(count == room);
    struct obb_ranked *sorted = obb_sort_ranked(list, count, list + room, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 ||
            sorted[i].item != sorted[kept - 1].item) /* both boxes of a pair were ended */
            sorted[kept++] = sorted[i];
    out->list = sorted;
    out->count = kept;
    return OBB_OK;
}

static int compare(const struct past *past, size_t i, const obb_id_pair *present)
{
    const uint64_t first = past->list[i].major, second = past->list[i].minor;
    if (first != present->id[0])
        return first < present->id[0] ? -1 : 1;
    if (second != present->id[1])
        return second < present->id[1] ? -1 : 1;
    return 0;
}

static obb_box_pair pair_in(const struct obb_view *view, const struct obb_ranked *past)
{
    return (obb_box_pair){obb_view_find_id(view, past->major), obb_view_find_id(view, past->minor)};
}

/* Merges the two sorted lists. Returns false if there is no memory. */
static bool list_changes(struct changes *changes, const struct past *past,
                         const struct found *present, const struct obb_view *before, bool stayed)
{
    for (size_t i = 0, j = 0; i < past->count || j < present->count;) {
        const int order = i == past->count      ? 1
                          : j == present->count ? -1
                                                : compare(past, i, &present->pairs[j]);
        const bool told = order != 0 || stayed;
        obb_contact_change *change = told ? add_change(changes) : NULL;
        if (told && change == NULL)
            return false;
        if (change != NULL && order <= 0)
            change->before = pair_in(before, &past->list[i]);
        if (change != NULL && order >= 0)
            change->after = present->pairs[j].boxes;
        if (order < 0) {
            const obb_box_pair left = pair_in(present->after, &past->list[i]);
            change->removed = left.a == NULL || left.b == NULL;
            change->expired = has_expired(changes, past->list[i].major, past->list[i].minor);
        }
        i += order <= 0;
        j += order >= 0;
    }
    return true;
}

/* Brings the lists to the state after the commit. Both lists are sorted. Returns false if there is
 * no memory. */
static bool update_lists(struct obb_contacts *contacts, const struct past *past,
                         const struct found *present)
{
    for (size_t i = 0, j = 0; i < past->count; i++) {
        while (j < present->count && compare(past, i, &present->pairs[j]) > 0)
            j++;
        if (j == present->count || compare(past, i, &present->pairs[j]) != 0)
            drop(contacts, (uint32_t)((const struct pair *)past->list[i].item - contacts->pairs));
    }
    for (size_t i = 0, j = 0; j < present->count; j++) {
        while (i < past->count && compare(past, i, &present->pairs[j]) < 0)
            i++;
        if (i < past->count && compare(past, i, &present->pairs[j]) == 0)
            continue;
        if (!add(contacts, present->pairs[j].id[0], present->pairs[j].id[1]))
            return false;
    }
    return true;
}

static obb_status advance_lists(struct obb_contacts *contacts, struct changes *changes,
                                const struct found *present, const struct obb_view *before,
                                bool stayed)
{
    struct past past;
    const obb_status status = find_past(contacts, changes->committed, changes->arena, &past);
    if (status != OBB_OK)
        return status;
    return list_changes(changes, &past, present, before, stayed) &&
                   update_lists(contacts, &past, present)
               ? OBB_OK
               : OBB_NO_MEMORY;
}

/* ---- In a run -------------------------------------------------------------------------------- */

static bool on_told(void *context, const obb_id_pair *before, const obb_id_pair *after)
{
    struct changes *changes = context;
    obb_contact_change *change = add_change(changes);
    if (change == NULL)
        return false;
    if (after != NULL)
        change->after = after->boxes;
    if (before == NULL)
        return true;
    change->before = before->boxes;
    if (after != NULL || changes->ended.made == NULL) /* NULL: no box was removed */
        return true;
    change->removed = obb_contact_ended_removed(&changes->ended, before->id[0]) ||
                      obb_contact_ended_removed(&changes->ended, before->id[1]);
    change->expired = has_expired(changes, before->id[0], before->id[1]);
    return true;
}

static obb_status advance_run(struct obb_contacts *contacts, struct changes *changes,
                              const struct found *present, bool stayed, const atomic_bool *cancel)
{
    const struct obb_contact_step step = {.kernels = obb_layers_kernels(present->after->layers),
                                          .ended = &changes->ended,
                                          .present = present->pairs,
                                          .count = present->count,
                                          .stayed = stayed,
                                          .cancel = cancel,
                                          .tell = on_told,
                                          .context = changes};
    const struct obb_view *after = present->after;
    const struct obb_index *made =
        obb_layers_made(after->layers, after->revision, changes->committed->made_count);
    obb_status status =
        obb_contact_ended_init(&changes->ended, changes->committed,
                               made != NULL ? obb_index_ids(made) : NULL, changes->arena->budget);
    if (status == OBB_OK)
        status = obb_contact_run_advance(&contacts->run, &step, contacts->budget);
    obb_contact_ended_fini(&changes->ended);
    return status;
}

obb_status obb_contacts_advance(struct obb_contacts *contacts, const struct obb_view *before,
                                const struct obb_view *after, const obb_committed *committed,
                                bool stayed, const atomic_bool *cancel, struct obb_arena *arena,
                                const obb_contact_change **out, size_t *out_count)
{
    struct found present = {.after = after};
    struct changes changes = {.committed = committed, .arena = arena};
    obb_status status = choose_form(contacts, before, after, committed->ended_count, cancel, arena);
    if (status == OBB_OK && committed->made_count > 0)
        status = find_present(committed, cancel, arena->budget, &present);
    if (status == OBB_OK)
        status = contacts->listed ? advance_lists(contacts, &changes, &present, before, stayed)
                                  : advance_run(contacts, &changes, &present, stayed, cancel);
    obb_budget_free(present.pairs);
    if (status == OBB_OK) {
        *out = changes.list;
        *out_count = changes.count;
    }
    return status;
}

/* Returns whether the box is the first of a pair. */
static bool leads(const struct obb_contacts *contacts, const struct head *head)
{
    uint32_t at = head->id != 0 ? head->first : NOWHERE;
    while (at != NOWHERE && at % 2 != 0)
        at = contacts->pairs[at / 2].next[at % 2];
    return at != NOWHERE;
}

/* Returns the boxes that are the first of a pair, by id, or NULL if there is no memory; item is the
 * head. */
static const struct obb_ranked *list_firsts(const struct obb_contacts *contacts,
                                            struct obb_arena *arena, size_t *out_count)
{
    size_t room = 0;
    for (size_t i = 0; i <= contacts->head_mask; i++)
        room += leads(contacts, &contacts->heads[i]);
    struct obb_ranked *list = obb_arena_alloc(arena, 2 * room, sizeof *list);
    if (list == NULL)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i <= contacts->head_mask; i++)
        if (leads(contacts, &contacts->heads[i]))
            list[count++] =
                (struct obb_ranked){.major = contacts->heads[i].id, .item = &contacts->heads[i]};
    *out_count = count;
    return obb_sort_ranked(list, count, list + room, NULL);
}

static int by_second(const void *a, const void *b)
{
    const obb_box_pair *x = a, *y = b;
    return x->b->id < y->b->id ? -1 : x->b->id > y->b->id;
}

obb_status obb_contacts_list(const struct obb_contacts *contacts, const struct obb_view *view,
                             struct obb_arena *arena, const obb_box_pair **out)
{
    if (!contacts->listed) {
        *out = contacts->run.boxes;
        return OBB_OK;
    }
    size_t first_count = 0, count = 0;
    obb_box_pair *pairs = obb_arena_alloc(arena, obb_contacts_count(contacts), sizeof *pairs);
    const struct obb_ranked *firsts = list_firsts(contacts, arena, &first_count);
    if (pairs == NULL || firsts == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < first_count; i++) {
        const struct head *head = firsts[i].item;
        const struct obb_version *a = obb_view_find_id(view, head->id);
        const size_t from = count;
        assert(a != NULL);
        for (uint32_t at = head->first; at != NOWHERE; at = contacts->pairs[at / 2].next[at % 2]) {
            if (at % 2 != 0)
                continue;
            const struct obb_version *b = obb_view_find_id(view, contacts->pairs[at / 2].id[1]);
            assert(b != NULL);
            pairs[count++] = (obb_box_pair){a, b};
        }
        qsort(pairs + from, count - from, sizeof *pairs, by_second);
    }
    assert(count == obb_contacts_count(contacts));
    *out = pairs;
    return OBB_OK;
}
