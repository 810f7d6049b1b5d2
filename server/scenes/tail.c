#include "server/scenes/tail.h"

#include "server/scenes/loop_time.h"

#include <assert.h>
#include <stddef.h>

/* A tail that is being taken back on the pool. */
struct taking_back {
    struct srv_job job; /* first */
    struct srv_tail *tail;
    struct srv_scene_lock lock; /* of its scene */
};

struct srv_tail {
    struct srv_tails *tails;
    struct srv_companion *companion;
    struct srv_journaled journaled;
    wire_record_id newest; /* the record that the next one follows: the last one in the tail */
    uint64_t fingerprint;  /* of the scene after it */
    struct srv_tail_item *first, *last;
    struct srv_tail_wait *first_wait, *last_wait;
    struct srv_wait unlocked;       /* goes on when the scene is unlocked */
    struct srv_tail_item *in_parts; /* the last item, while its parts are being written; or NULL */
    bool is_busy;                   /* items or waits are being called */
    bool goes_back;                 /* a worker takes the scene back */
    bool is_back;                   /* it has done so, and nobody has heard of it yet */
};

static void advance(struct srv_tail *tail);

static void on_unlocked(struct srv_wait *wait)
{
    advance((struct srv_tail *)(void *)((char *)wait - offsetof(struct srv_tail, unlocked)));
}

bool srv_tail_create(struct srv_tails *tails, struct srv_companion *companion,
                     const struct srv_journaled *journaled)
{
    struct srv_tail *tail = obb_calloc(1, sizeof *tail);
    if (tail == NULL)
        return false;
    tail->tails = tails;
    tail->companion = companion;
    tail->journaled = *journaled;
    tail->newest = journaled->newest;
    tail->fingerprint = journaled->fingerprint;
    tail->unlocked.again = on_unlocked;
    companion->tail = tail;
    return true;
}

void srv_tail_destroy(struct srv_tail *tail)
{
    if (tail == NULL)
        return;
    assert(srv_tail_empty(tail) && tail->first_wait == NULL && tail->unlocked.lock == NULL);
    tail->companion->tail = NULL;
    obb_free(tail);
}

struct srv_tail *srv_tail_of(const struct obb_scene *scene)
{
    const struct srv_companion *companion = srv_companion_of(scene);
    return companion != NULL ? companion->tail : NULL;
}

struct srv_journaled *srv_tail_journaled(struct srv_tail *tail) { return &tail->journaled; }

void srv_tail_follow(struct srv_tail *tail, wire_record_id id, uint64_t seq, uint64_t fingerprint)
{
    assert(srv_tail_empty(tail));
    tail->newest = tail->journaled.newest = id;
    tail->fingerprint = tail->journaled.fingerprint = fingerprint;
    tail->journaled.place = seq;
}

uint64_t srv_tail_fingerprint(const struct srv_tail *tail)
{
    return tail != NULL ? tail->fingerprint : 0;
}

/* ---- Items ----------------------------------------------------------------------------------- */

bool srv_tail_empty(const struct srv_tail *tail) { return tail->first == NULL; }

bool srv_tail_at_rest(const struct srv_tail *tail)
{
    return srv_tail_empty(tail) && tail->first_wait == NULL && tail->unlocked.lock == NULL &&
           !tail->is_busy;
}

static bool has_failed(const struct srv_tail_item *item)
{
    return item->settled && item->status != SRV_JOURNAL_OK;
}

bool srv_tail_failing(const struct srv_tail *tail)
{
    /* whatever is behind a failed record has failed, too; behind it, items have no record */
    const struct srv_tail_item *item = tail->last;
    while (item != NULL && !item->has_record)
        item = item->previous;
    return item != NULL && has_failed(item);
}

wire_record_id srv_tails_new_id(struct srv_tails *tails)
{
    return (wire_record_id){tails->writer, atomic_fetch_add(&tails->counter, 1) + 1};
}

struct srv_record_entry *srv_tails_encode(struct srv_tails *tails, const struct obb_scene *scene,
                                          uint64_t number, int dimensions,
                                          const wire_record *record)
{
    wire_record whole = *record;
    const struct srv_tail *tail = srv_tail_of(scene);
    const obb_effects *effects = &record->effects;
    whole.epoch = obb_scene_epoch(scene);
    whole.id = srv_tails_new_id(tails);
    if (tail != NULL)
        whole.base = tail->newest;
    whole.base_revision = effects->moment.revision - effects->appends;
    whole.base_id = effects->first_id;
    whole.seen = srv_journal_seen(tails->journal);
    return srv_record_entry_create(&whole, obb_scene_name(scene), number, dimensions,
                                   tails->budget);
}

static void push(struct srv_tail *tail, struct srv_tail_item *item, const srv_tail_calls *calls)
{
    *item = (struct srv_tail_item){.calls = calls, .tail = tail, .previous = tail->last};
    *(tail->last != NULL ? &tail->last->next : &tail->first) = item;
    tail->last = item;
}

static void on_settled(struct srv_record_entry *record, srv_journal_status status)
{
    struct srv_tail_item *item = record->context;
    item->settled = true;
    item->status = status;
    item->seq = record->entry.seq;
    item->tail->journaled.unpublished += status == SRV_JOURNAL_OK;
    if (item->parts != NULL)
        srv_snapshot_parts_end(item->parts, srv_journal_may_hold(status));
    item->parts = NULL;
    advance(item->tail);
}

void srv_tail_append(struct srv_tail *tail, struct srv_tail_item *item, const srv_tail_calls *calls,
                     struct srv_record_entry *record)
{
    push(tail, item, calls);
    item->has_record = true;
    item->bytes = record->size;
    item->id = tail->newest = record->entry.link.id;
    item->fingerprint = tail->fingerprint = record->fingerprint;
    srv_record_entry_append(record, tail->tails->journal, tail->tails->drain, on_settled, item);
}

/* Returns how the record failed on which the item rests; SRV_JOURNAL_OK: none has failed. */
static srv_journal_status failure_before(const struct srv_tail_item *item)
{
    do
        item = item->previous;
    while (item != NULL && !has_failed(item));
    return item != NULL ? item->status : SRV_JOURNAL_OK;
}

/* All parts are durable, or one has failed, perhaps because it was cancelled. If a record before
 * has failed, this one must not be appended: it fails likewise. */
static void on_parts(void *context, srv_journal_status status)
{
    struct srv_tail *tail = context;
    struct srv_tail_item *item = tail->in_parts;
    struct srv_record_entry *record = item->record;
    const srv_journal_status before = failure_before(item);
    tail->in_parts = NULL;
    item->record = NULL;
    if (before != SRV_JOURNAL_OK) {
        if (status == SRV_JOURNAL_OK)
            srv_snapshot_parts_end(item->parts, false);
        status = before;
    }
    if (status == SRV_JOURNAL_OK) {
        srv_record_entry_name_parts(record, item->parts);
        item->bytes = record->size;
        srv_record_entry_append(record, tail->tails->journal, tail->tails->drain, on_settled, item);
    } else {
        srv_record_entry_destroy(record);
        item->parts = NULL;
        item->settled = true;
        item->status = status;
    }
    advance(tail);
}

void srv_tail_append_in_parts(struct srv_tail *tail, struct srv_tail_item *item,
                              const srv_tail_calls *calls, struct srv_record_entry *record,
                              const struct srv_parts *parts, int dimensions)
{
    const struct srv_journaled *journaled = &tail->journaled;
    push(tail, item, calls);
    item->has_record = true;
    item->record = record;
    item->id = tail->newest = record->entry.link.id;
    item->fingerprint = tail->fingerprint = record->fingerprint;
    tail->in_parts = item;
    item->parts =
        srv_snapshot_parts(tail->tails->snapshots, journaled->number, item->id,
                           obb_scene_epoch(journaled->scene), dimensions, parts, on_parts, tail);
    if (item->parts == NULL)
        on_parts(tail, SRV_JOURNAL_FAILED);
}

void srv_tail_rest(struct srv_tail *tail, struct srv_tail_item *item, const srv_tail_calls *calls)
{
    assert(!srv_tail_empty(tail));
    push(tail, item, calls);
}

/* Takes everything back, newest first. */
static void revert_all(const struct srv_tail *tail)
{
    for (struct srv_tail_item *item = tail->last; item != NULL; item = item->previous) {
        assert(!item->has_record || has_failed(item));
        if (item->calls->revert != NULL)
            item->calls->revert(item);
    }
}

static size_t revert_step(struct srv_job *job)
{
    revert_all(((struct taking_back *)job)->tail);
    return 0;
}

/* The scene is taken back. `reverted` answers nobody, so nobody joins meanwhile. Then all hear of
 * it, in order. */
static void tell_taken_back(struct srv_tail *tail)
{
    for (struct srv_tail_item *item = tail->last; item != NULL; item = item->previous)
        if (item->calls->reverted != NULL)
            item->calls->reverted(item);
    struct srv_tail_item *item = tail->first;
    tail->is_back = false;
    tail->first = tail->last = NULL;
    tail->newest = tail->journaled.newest;
    tail->fingerprint = tail->journaled.fingerprint;
    while (item != NULL) {
        struct srv_tail_item *next = item->next; /* the call is the end of the item */
        if (item->has_record && item->status != SRV_JOURNAL_SUPERSEDED)
            item->calls->failed(item, item->status);
        else
            item->calls->again(item);
        item = next;
    }
}

static void on_back(struct srv_job *job)
{
    struct taking_back *t = (struct taking_back *)job;
    const struct srv_tails *tails = t->tail->tails;
    t->tail->goes_back = false;
    t->tail->is_back = true;
    srv_lock_release(tails->locks, &t->lock);
    advance(t->tail);
    srv_lock_wake(&t->lock);
    obb_free(t);
    srv_drain_release(tails->drain);
}

/* Lets a worker take everything back. Returns false without memory. */
static bool take_back_on_pool(struct srv_tail *tail)
{
    const struct srv_tails *tails = tail->tails;
    struct taking_back *t = obb_calloc(1, sizeof *t);
    if (t == NULL)
        return false;
    t->tail = tail;
    t->job.advance = revert_step;
    t->job.done = on_back;
    t->job.background = true; /* it must be done, and is not refused for a full queue */
    if (srv_lock_take(tails->locks, &t->lock, tail->journaled.scene, false, 0)) {
        if (srv_pool_submit(tails->locks->pool, &t->job) == SRV_SUBMITTED) {
            srv_drain_hold(tails->drain);
            return true;
        }
        srv_lock_release(tails->locks, &t->lock); /* nobody waits for it yet */
    }
    obb_free(t);
    return false;
}

/* Returns whether it takes longer to take everything back than the loop may compute. */
static bool goes_back_slowly(const struct srv_tail *tail)
{
    enum { CHANGE_NS = 300 }; /* if the caches are cold */
    double ns = 0;
    for (struct srv_tail_item *item = tail->first; item != NULL; item = item->next)
        ns += item->calls->changes != NULL ? CHANGE_NS * (double)item->calls->changes(item) : 0.0;
    return ns > SRV_LOOP_NS;
}

/* Takes everything back, here or on the pool. Returns false if it is not done yet. */
static bool take_back(struct srv_tail *tail)
{
    tail->goes_back = goes_back_slowly(tail) && take_back_on_pool(tail);
    if (tail->goes_back)
        return false;
    revert_all(tail);
    tell_taken_back(tail);
    return true;
}

/* Calls the first item if it is settled and the scene is not locked. Returns false if it has to
 * wait. */
static bool step(struct srv_tail *tail)
{
    struct srv_tail_item *item = tail->first;
    if (tail->is_back) {
        tell_taken_back(tail);
        return true;
    }
    if (item == NULL || (item->has_record && !item->settled) || tail->goes_back ||
        tail->unlocked.lock != NULL ||
        srv_lock_wait(tail->tails->locks, tail->journaled.scene, &tail->unlocked))
        return false;
    if (has_failed(item) && tail->in_parts != NULL) {
        srv_snapshot_parts_cancel(tail->in_parts->parts); /* and then all fail */
        return false;
    }
    if (has_failed(item))
        return take_back(tail);
    tail->first = item->next;
    *(item->next != NULL ? &item->next->previous : &tail->last) = NULL;
    const bool has_record = item->has_record;
    const uint64_t seq = item->seq;
    const size_t bytes = item->bytes;
    if (has_record) {
        tail->journaled.newest = item->id;
        tail->journaled.fingerprint = item->fingerprint;
        tail->journaled.place = seq;
    }
    item->calls->durable(item);
    if (!has_record)
        return true;
    tail->journaled.unpublished--;
    srv_snapshot_written(tail->tails->snapshots, &tail->journaled, seq, bytes);
    return true;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void take_out(struct srv_tail_wait *wait)
{
    struct srv_tail *tail = wait->tail;
    *(wait->previous != NULL ? &wait->previous->next : &tail->first_wait) = wait->next;
    *(wait->next != NULL ? &wait->next->previous : &tail->last_wait) = wait->previous;
    wait->tail = NULL;
}

bool srv_tail_waits(struct srv_tail *tail, bool until_empty, struct srv_tail_wait *wait)
{
    const bool goes = wait->is_turn || wait->goes_first || tail->first_wait == NULL;
    wait->is_turn = false;
    if (goes && (!until_empty || srv_tail_empty(tail)) && !srv_tail_failing(tail) &&
        tail->in_parts == NULL)
        return false;
    wait->tail = tail;
    wait->until_empty = until_empty;
    if (goes) { /* whoever had its turn stays in front */
        wait->previous = NULL;
        wait->next = tail->first_wait;
        *(wait->next != NULL ? &wait->next->previous : &tail->last_wait) = wait;
        tail->first_wait = wait;
    } else {
        wait->next = NULL;
        wait->previous = tail->last_wait;
        tail->last_wait->next = wait;
        tail->last_wait = wait;
    }
    return true;
}

void srv_tail_unwait(struct srv_tail_wait *wait)
{
    struct srv_tail *tail = wait->tail;
    take_out(wait);
    advance(tail);
}

/* Calls the first wait if it is its turn. */
static bool wake(struct srv_tail *tail)
{
    struct srv_tail_wait *wait = tail->first_wait;
    if (wait == NULL || (wait->until_empty && !srv_tail_empty(tail)) || srv_tail_failing(tail) ||
        tail->in_parts != NULL)
        return false;
    take_out(wait);
    wait->is_turn = true;
    wait->again(wait);
    return true;
}

static void advance(struct srv_tail *tail)
{
    if (tail->is_busy)
        return;
    tail->is_busy = true;
    while (step(tail) || wake(tail))
        ;
    tail->is_busy = false;
}
