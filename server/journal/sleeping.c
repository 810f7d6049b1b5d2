#include "server/journal/sleeping.h"

#include "server/journal/sending.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    WAKES = 4,         /* scenes that are got at a time */
    WAKE_TRIES = 5,    /* before those who wait are told that it cannot be done */
    AWAY_PATIENCES = 2 /* likewise, while the log cannot be reached */
};

/* ---- Scenes that sleep ----------------------------------------------------------------------- */

size_t srv_sleeping_behind(const struct srv_shared *j, obb_str name)
{
    size_t low = 0, high = j->asleep_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (obb_str_compare(srv_strand_name(j->asleep[middle]), name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool srv_sleeping_may(const struct srv_shared *j, const struct srv_strand *s)
{
    return j->options.may_sleep != NULL &&
           j->options.may_sleep(j->options.context, srv_strand_name(s));
}

bool srv_sleeping_begin(struct srv_shared *j, struct srv_strand *s)
{
    if (j->asleep_count == j->asleep_room) {
        const size_t room = j->asleep_room == 0 ? 64 : 2 * j->asleep_room;
        struct srv_strand **more = obb_realloc((void *)j->asleep, room, sizeof *more);
        if (more == NULL)
            return false;
        obb_budget_charge(j->options.budget, (room - j->asleep_room) * sizeof *more);
        j->asleep = more;
        j->asleep_room = room;
    }
    const size_t place = srv_sleeping_behind(j, srv_strand_name(s));
    memmove((void *)(j->asleep + place + 1), (void *)(j->asleep + place),
            (j->asleep_count - place) * sizeof(struct srv_strand *));
    j->asleep[place] = s;
    j->asleep_count++;
    s->sleeps = true;
    srv_shared_count(&j->journal.figures.sleeps, j->told);
    atomic_store(&j->journal.figures.asleep, j->asleep_count);
    return true;
}

void srv_sleeping_tell(const struct srv_strand *s, srv_asleep *out)
{
    *out = (srv_asleep){.name = srv_strand_name(s),
                        .epoch = s->epoch,
                        .revision = s->revision,
                        .knows_boxes = s->knows_boxes,
                        .boxes = s->boxes};
}

void srv_sleeping_add_waker(struct srv_wake_waits *waits, struct srv_wake_wait *wait)
{
    wait->in = waits;
    wait->next = NULL;
    wait->previous = waits->last;
    *(waits->last != NULL ? &waits->last->next : &waits->first) = wait;
    waits->last = wait;
}

/* Tells those who wait for a scene, in the next turn of the loop. */
static void tell_wakers(struct srv_shared *j, struct srv_strand *s, bool good)
{
    for (struct srv_wake_wait *wait; (wait = s->wakers.first) != NULL;) {
        srv_wake_wait_leave(wait);
        srv_sleeping_add_waker(&j->woken, wait);
        wait->good = good;
    }
    if (s->is_wanted && !(s->sleeps && s->recovers)) { /* that one is made in any case */
        struct srv_strand **place = &j->wanted, *before = NULL;
        for (; *place != s; place = &(*place)->next_wanted)
            before = *place;
        *place = s->next_wanted;
        if (j->last_wanted == s)
            j->last_wanted = before;
        s->is_wanted = false;
    }
    srv_bell_ring(j->bell);
}

void srv_sleeping_end(struct srv_shared *j, struct srv_strand *s)
{
    const size_t place = srv_sleeping_behind(j, srv_strand_name(s)) - 1;
    assert(s->sleeps && j->asleep[place] == s);
    j->asleep_count--;
    memmove((void *)(j->asleep + place), (void *)(j->asleep + place + 1),
            (j->asleep_count - place) * sizeof(struct srv_strand *));
    s->sleeps = s->recovers = false;
    atomic_store(&j->journal.figures.asleep, j->asleep_count);
    tell_wakers(j, s, true);
}

bool srv_sleeping_meet(struct srv_shared *j, struct srv_strand *s, const srv_link *link,
                       obb_str one)
{
    if (link->kind == WIRE_RECORD_MADE && !s->sleeps && srv_sleeping_may(j, s))
        (void)srv_sleeping_begin(j, s);
    if (!s->sleeps)
        return false;
    if (link->kind != WIRE_RECORD_COMMIT)
        srv_strand_end_waking(j, s);
    else if (s->waking != NULL)
        srv_waking_add(&s->waking->get, s->first->seq, one, link->in_parts);
    if (link->kind == WIRE_RECORD_GONE && s->recovers)
        return false;
    if (link->kind == WIRE_RECORD_GONE)
        srv_sleeping_end(j, s);
    srv_shared_drop_bytes(j, &s->applied);
    srv_shared_count(&j->journal.figures.conflicts, s->chain.first != NULL);
    s->applies = true;
    srv_sending_supersede(j, s, false);
    s->applies = false;
    return true;
}

/* ---- Waking ---------------------------------------------------------------------------------- */

void srv_sleeping_fail(struct srv_shared *j, struct srv_strand *s, const char *why)
{
    srv_strand_end_waking(j, s);
    srv_shared_count(&j->journal.figures.wake_failures, 1);
    if (s->tries++ == 0)
        srv_strand_warn(j, s, false, why);
    s->wake_ms = srv_shared_now_ms(j) + srv_shared_rest_ms(j);
    if (s->tries >= WAKE_TRIES)
        tell_wakers(j, s, false);
    if (s->tries > WAKE_TRIES && s->recovers) /* it goes on for long */
        s->wake_ms = srv_shared_now_ms(j) + j->options.patience_ms;
    srv_sleeping_wake(j);
}

/* Everything is got that the scene is made of: it is loaded. What counts meanwhile waits. */
static void on_got_all(struct srv_waking *get, const char *why)
{
    struct srv_strand_waking *w = (struct srv_strand_waking *)get;
    struct srv_strand *s = w->strand;
    struct srv_shared *j = s->journal;
    size_t count = 0;
    const srv_woken_record *records = why == NULL ? srv_waking_list(get, &count) : NULL;
    if (records == NULL) {
        srv_sleeping_fail(j, s, why != NULL ? why : "there is not enough memory");
        return;
    }
    const bool has_snapshot = wire_record_id_is(get->set);
    srv_foreign foreign = {.name = srv_strand_name(s),
                           .seq = s->place,
                           .bytes = {w->record.bytes, w->record.length},
                           .pieces = get->snapshot.pieces,
                           .piece_count = get->snapshot.count,
                           .is_snapshot = has_snapshot,
                           .wakes = true,
                           .replaces = s->recovers,
                           .is_unchecked = srv_strand_is_unchecked(s),
                           .newest = s->chain.newest,
                           .from = get->from,
                           .records = records,
                           .record_count = count};
    if (!has_snapshot) {
        foreign.bytes = records->bytes;
        foreign.pieces = records->pieces;
        foreign.piece_count = records->piece_count;
        foreign.records++;
        foreign.record_count--;
    }
    s->applies = s->is_given = true;
    j->options.foreign(j->options.context, &foreign);
}

static bool can_wake(struct srv_shared *j, const struct srv_strand *s)
{
    return s->sleeps && s->waking == NULL && !s->applies && s->first == NULL && !s->holds &&
           !s->doubts && !s->rereads && srv_shared_now_ms(j) >= s->wake_ms;
}

/* Returns false without memory, or if nobody knows from where on the scene is to be read. */
static bool begin_waking(struct srv_shared *j, struct srv_strand *s)
{
    const struct srv_strand_source *source = &s->source;
    struct srv_strand_waking *w = source->from != 0 ? srv_shared_calloc(j, sizeof *w) : NULL;
    if (w == NULL)
        return false;
    wire_buf_append(&w->record, source->record.bytes, source->record.length);
    obb_budget_charge(j->options.budget, w->record.capacity);
    w->strand = s;
    w->get = (struct srv_waking){.stream = j->options.stream,
                                 .pieces = &j->pieces,
                                 .budget = j->options.budget,
                                 .patience_ms = j->options.patience_ms,
                                 .name = srv_strand_name(s),
                                 .chain = source->before,
                                 .from = source->from,
                                 .until = s->read,
                                 .newest = s->chain.newest,
                                 .set = source->set,
                                 .tag = ++j->wake_tag,
                                 .done = on_got_all};
    s->waking = w;
    j->waking_count++;
    srv_waking_begin(&w->get, srv_shared_now_ms(j));
    return true;
}

void srv_sleeping_wake(struct srv_shared *j)
{
    for (struct srv_strand *s = j->wanted, *next; s != NULL && j->waking_count < WAKES; s = next) {
        next = s->next_wanted;
        if (j->hurry_ms != 0 || !can_wake(j, s) || begin_waking(j, s))
            continue;
        srv_shared_count(&j->journal.figures.wake_failures, 1);
        s->wake_ms = srv_shared_now_ms(j) + j->options.patience_ms;
        tell_wakers(j, s, false);
    }
}

void srv_sleeping_enlist(struct srv_shared *j, struct srv_strand *s)
{
    if (s->is_wanted)
        return;
    s->is_wanted = true;
    s->tries = 0;
    s->wake_ms = 0;
    s->wanted_ms = srv_shared_now_ms(j);
    s->next_wanted = NULL;
    *(j->last_wanted != NULL ? &j->last_wanted->next_wanted : &j->wanted) = s;
    j->last_wanted = s;
}

void srv_sleeping_look(struct srv_shared *j, uint64_t now)
{
    const bool away = !j->options.stream->connected(j->options.stream);
    for (struct srv_strand *s = j->wanted, *next; s != NULL; s = next) {
        next = s->next_wanted;
        if (!away)
            s->wanted_ms = now;
        if (j->hurry_ms != 0 || now - s->wanted_ms >= AWAY_PATIENCES * j->options.patience_ms) {
            tell_wakers(j, s, false);
            if (!s->is_given)
                srv_strand_end_waking(j, s);
        }
    }
    for (struct srv_strand *s = j->wanted, *next; s != NULL; s = next) {
        next = s->next_wanted;
        if (s->waking != NULL)
            srv_waking_look(&s->waking->get, now);
    }
    srv_sleeping_wake(j);
}

void srv_sleeping_read(void *context, uint64_t tag, uint64_t seq, obb_str bytes)
{
    struct srv_shared *j = context;
    struct srv_strand *s = j->wanted;
    while (s != NULL && (s->waking == NULL || s->waking->get.tag != tag))
        s = s->next_wanted;
    if (s != NULL && !j->is_lost)
        srv_waking_read(&s->waking->get, seq, bytes, srv_shared_now_ms(j));
}

void srv_sleeping_call_woken(struct srv_shared *j)
{
    const double end = srv_clock() + SRV_SHARED_TURN_US * 1e-6;
    for (struct srv_wake_wait *wait; (wait = j->woken.first) != NULL && srv_clock() < end;) {
        srv_wake_wait_leave(wait);
        wait->done(wait, wait->good);
    }
    if (j->woken.first != NULL)
        srv_bell_ring(j->bell);
}

/* ---- Scenes that ended unseen ---------------------------------------------------------------- */

/* Of a scene that ended, everything is purged once its end is forgotten: perhaps while a process
 * that begins has read that it was made, and not yet that it ended. The last message about a scene
 * that is there is never purged. */

/* Sets the tags of these questions apart from those of pieces. */
#define PROOF_TAG (UINT64_C(1) << 60)

/* Returns whether the end of a scene may have been in the log before it was read there. */
static bool may_have_ended(const struct srv_shared *j, const struct srv_strand *s)
{
    return j->told && s->sleeps && !s->recovers && s->first == NULL && !s->rereads && !s->applies &&
           s->read <= j->began_until && s->read + SRV_CHAIN_WINDOW < j->journal.seen;
}

/* All is delivered that was in the log when it did not hold the last message about a scene. */
static void on_missing(struct srv_mark_wait *wait)
{
    struct srv_strand *s =
        (struct srv_strand *)(void *)((char *)wait - offsetof(struct srv_strand, missing));
    s->is_missing = true;
}

bool srv_sleeping_prove(struct srv_shared *j, uint64_t tag, srv_stream_found found)
{
    if (tag >> 60 != PROOF_TAG >> 60)
        return false;
    for (size_t i = 0; i < SRV_SHARED_PROOFS; i++) {
        struct srv_strand *s = j->proofs[i].strand;
        if (s == NULL || j->proofs[i].tag != tag)
            continue;
        j->proofs[i].strand = NULL;
        s->is_asked = false;
        s->is_proved = found == SRV_STREAM_FOUND;
        if (found != SRV_STREAM_MISSING)
            break; /* if nobody knows, a later look asks again */
        s->missing = (struct srv_mark_wait){.name = srv_strand_name(s), .read = on_missing};
        srv_marks_add(&j->marks, &s->missing, srv_shared_now_ms(j));
    }
    return true;
}

void srv_sleeping_look_if_ended(struct srv_shared *j, struct srv_strand *s)
{
    if (s->is_asked || s->is_proved || s->missing.in != NULL || !may_have_ended(j, s))
        return;
    if (s->is_missing && s->asked == s->read) {
        srv_strand_end_waking(j, s);
        srv_strand_drop_source(j, s);
        s->chain.is_there = false;
        s->chain.ended = s->read; /* it is forgotten, as at all others */
        srv_sleeping_end(j, s);
        return;
    }
    s->is_missing = false;
    for (size_t i = 0; i < SRV_SHARED_PROOFS; i++) {
        if (j->proofs[i].strand != NULL)
            continue;
        const uint64_t tag = PROOF_TAG | ++j->proof_tag;
        s->asked = s->read;
        s->is_asked = j->options.stream->has(j->options.stream, s->asked, tag);
        if (s->is_asked) {
            j->proofs[i].strand = s;
            j->proofs[i].tag = tag;
        }
        return;
    }
}
