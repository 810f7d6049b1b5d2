#include "server/journal/judging.h"

#include "server/journal/delivery.h"
#include "server/journal/marked.h"
#include "server/journal/sending.h"
#include "server/journal/sleeping.h"

#include <assert.h>
#include <stddef.h>

/* With a snapshot that no server has: a newer one took its place. */
enum { FETCH_PATIENCES = 5 };

/* ---- Records --------------------------------------------------------------------------------- */

static const char no_parts[] =
    "the parts of a record are not there, or are damaged, or there is no memory";

/* Reads a whole record, as far as the rule needs it. Returns false if the bytes are damaged. */
static bool read_link(obb_str bytes, srv_link *out)
{
    wire_record record;
    if (wire_record_head(bytes, &record) != OBB_OK)
        return false;
    *out = srv_link_of(&record);
    return true;
}

/* Reads the head of a record, or of the last slice of one. *out_whole: there is a record to judge,
 * whose bytes are *bytes: if it had slices, those of s->applied. Returns false if the bytes are
 * damaged, or without memory. */
static bool read_next(struct srv_shared *j, struct srv_strand *s, obb_str *bytes, wire_record *out,
                      bool *out_whole, uint64_t *out_from)
{
    struct wire_buf record = {0};
    const bool good = srv_slices_read(&s->slices, &s->chain, s->first->seq, bytes, out, out_whole,
                                      &record, out_from);
    if (record.bytes == NULL)
        return good;
    srv_shared_drop_bytes(j, &s->applied);
    s->applied = record;
    return good;
}

/* Hands a foreign record over. */
static void apply_foreign(struct srv_shared *j, struct srv_strand *s, obb_str bytes)
{
    srv_shared_count(&j->journal.figures.conflicts, s->chain.first != NULL);
    const srv_foreign foreign = {.name = srv_strand_name(s),
                                 .seq = s->first->seq,
                                 .bytes = bytes,
                                 .pieces = s->fetch.pieces,
                                 .piece_count = s->fetch.count,
                                 .replaces = s->recovers,
                                 .is_unchecked = srv_strand_is_unchecked(s)};
    j->options.foreign(j->options.context, &foreign);
    srv_sending_supersede(j, s, false);
}

static struct srv_strand *strand_of_fetch(struct srv_fetch *fetch)
{
    return (struct srv_strand *)(void *)((char *)fetch - offsetof(struct srv_strand, fetch));
}

static void judge(struct srv_shared *j, struct srv_strand *s);

/* The pieces of a foreign record are there. */
static void on_fetched(struct srv_fetch *fetch, bool found)
{
    struct srv_strand *s = strand_of_fetch(fetch);
    struct srv_shared *j = s->journal;
    if (found) {
        apply_foreign(j, s, s->in_parts);
        return;
    }
    srv_fetch_end(&s->fetch);
    s->applies = false;
    j->lacking += !s->lacks_parts;
    s->lacks_parts = true;
    srv_strand_be_patient(j, s);
    srv_shared_begin_turn(j);
    judge(j, s);
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

/* Returns whether no record about the name was found that counts, or all are forgotten. */
static bool is_blank(const struct srv_strand *s)
{
    return s->place == 0 && !wire_record_id_is(s->chain.newest);
}

/* Returns the first place so that a snapshot of a record there, or behind, holds one that counts
 * and was not applied here. */
static uint64_t first_lacked(const struct srv_strand *s) { return s->place + !s->lacks_parts; }

static void on_snapshot(struct srv_fetch *fetch, bool found);
static void go_on(struct srv_shared *j, struct srv_strand *s);

/* Lets the scene be made from a snapshot, and from what comes behind it. */
static void note_source(struct srv_shared *j, struct srv_strand *s, const struct srv_offer *offer)
{
    struct wire_buf record = {0};
    wire_buf_append(&record, offer->record.bytes, offer->record.length);
    if (record.failed) { /* what was known goes on */
        wire_buf_fini(&record);
        return;
    }
    obb_budget_charge(j->options.budget, record.capacity);
    srv_strand_drop_source(j, s);
    s->source = (struct srv_strand_source){.from = offer->place,
                                           .before = {.newest = offer->base, .is_there = true},
                                           .set = offer->set,
                                           .record = record};
}

/* Notes what the newest record says, or the word about a snapshot of it. */
static void note_facts(struct srv_strand *s, const wire_record *head)
{
    s->epoch = head->epoch;
    s->revision = head->effects.moment.revision;
    s->knows_boxes = head->has_boxes;
    s->boxes = head->boxes;
}

/* The scene sleeps: a snapshot is not loaded, only the chain goes on behind it. */
static void pass_on(struct srv_shared *j, struct srv_strand *s, const struct srv_offer *offer)
{
    wire_record head;
    const struct srv_offer loaded = *offer;
    srv_strand_end_waking(j, s);
    s->has_offer = false;
    s->chain.newest = loaded.base;
    s->chain.is_there = true;
    s->chain.ended = 0;
    s->source.from = 0; /* it lies before what is lacking */
    note_source(j, s, &loaded);
    if (wire_record_head(loaded.record, &head) == OBB_OK)
        note_facts(s, &head);
    s->loaded = loaded;
    s->loaded.record = (obb_str){.length = 0}; /* its message may go */
    s->applies = true;
    srv_sending_supersede(j, s, true);
    s->applies = false;
    go_on(j, s);
}

/* Gets a snapshot, and loads it. */
static void load(struct srv_shared *j, struct srv_strand *s, const struct srv_offer *offer)
{
    if (s->sleeps || (!s->chain.is_there && srv_sleeping_may(j, s) && srv_sleeping_begin(j, s))) {
        pass_on(j, s, offer);
        return;
    }
    s->has_offer = false;
    s->applies = s->loads = true;
    s->loaded = *offer;
    srv_shared_drop_bytes(j, &s->applied);
    wire_buf_append(&s->applied, offer->record.bytes, offer->record.length);
    obb_budget_charge(j->options.budget, s->applied.capacity);
    s->loaded.record = (obb_str){.length = 0};
    s->fetch = (struct srv_fetch){.set = offer->set,
                                  .done = on_snapshot,
                                  .patience_ms = FETCH_PATIENCES * j->options.patience_ms};
    srv_fetch_begin(&j->pieces, &s->fetch, srv_shared_now_ms(j));
}

/* Passes the snapshot over that was to be loaded. */
static void pass_over(struct srv_shared *j, struct srv_strand *s, const char *why)
{
    srv_shared_count(&j->journal.figures.passed_over, 1);
    srv_shared_count(&j->journal.figures.failures, 1);
    srv_strand_warn(j, s, false, why);
    srv_fetch_end(&s->fetch);
    srv_shared_drop_bytes(j, &s->applied);
    if (s->is_replaced) {
        s->chain.newest = s->replaced.newest;
        s->chain.is_there = s->replaced.is_there;
        s->chain.ended = s->replaced.ended;
    }
    for (struct srv_strand_message *m = s->first; m != NULL; m = m->next)
        m->is_tried |= m->seq == s->loaded.seq;
    s->has_tried = true;
    s->applies = s->loads = s->is_replaced = false;
    srv_strand_be_patient(j, s);
    srv_shared_begin_turn(j);
    judge(j, s);
}

/* The pieces of a snapshot are there. */
static void on_snapshot(struct srv_fetch *fetch, bool found)
{
    struct srv_strand *s = strand_of_fetch(fetch);
    struct srv_shared *j = s->journal;
    if (!found || s->applied.failed) {
        pass_over(j, s, "its pieces are not there, or are damaged");
        return;
    }
    const srv_foreign foreign = {.name = srv_strand_name(s),
                                 .seq = s->loaded.place,
                                 .bytes = {s->applied.bytes, s->applied.length},
                                 .pieces = fetch->pieces,
                                 .piece_count = fetch->count,
                                 .is_snapshot = true};
    s->replaced = s->chain;
    s->is_replaced = true;
    s->chain.newest = s->loaded.base;
    s->chain.is_there = true;
    s->chain.ended = 0;
    j->options.foreign(j->options.context, &foreign);
    srv_sending_supersede(j, s, true);
}

/* Loads the newest snapshot that the waiting messages speak of, that was not tried, and that holds
 * a record at `place` or behind it. Returns false if there is none. */
static bool seek_snapshot(struct srv_shared *j, struct srv_strand *s, uint64_t place)
{
    struct srv_offer offer, best = {.seq = 0};
    for (const struct srv_strand_message *m = s->first; m != NULL; m = m->next)
        if (!m->is_tried && srv_offer_read(m->bytes, m->seq, &offer) && offer.place >= place &&
            offer.place >= best.place)
            best = offer;
    s->has_offer = false;
    if (best.seq == 0)
        return false;
    load(j, s, &best);
    return true;
}

/* Returns whether a record is the first one of this process that waits. */
static bool is_own(const struct srv_strand *s, wire_record_id id)
{
    return s->chain.first != NULL && wire_record_id_equal(s->chain.first->link.id, id);
}

/* Returns whether a record, or a slice of one, goes on from what was read before: it counts, or it
 * speaks of a snapshot. Also if it is damaged, which is found when it is judged. */
static bool goes_on(const struct srv_strand *s, obb_str one)
{
    wire_slice slice;
    srv_link link;
    const uint64_t seq = s->first->seq;
    if (!wire_slice_is(one))
        return !read_link(one, &link) || link.kind == WIRE_RECORD_WHOLE ||
               srv_chain_counts(&s->chain, &link, seq);
    if (wire_slice_read(one, &slice) != OBB_OK)
        return true;
    link = (srv_link){.kind = slice.kind, .id = slice.id, .base = slice.base, .seen = seq};
    return srv_chain_counts(&s->chain, &link, seq) &&
           slice.number == srv_slices_of(&s->slices, slice.id);
}

/* Returns whether the messages of a strand lack their beginning: a record cannot be judged that is
 * the first one which was found about this name. */
static bool lacks_beginning(const struct srv_shared *j, const struct srv_strand *s, obb_str one)
{
    srv_link link;
    if (j->told || s->gave_up || !is_blank(s) || goes_on(s, one))
        return false;
    return wire_slice_is(one) || (read_link(one, &link) && !is_own(s, link.id));
}

/* Returns whether messages of a strand may lack right before the first one that waits.
 *
 * A purge leaves the message with the newest record that the snapshot holds. So if messages lack,
 * that one is the first which was read behind them, and its records, which follow each other,
 * counted. If its first record goes on from what was read before, none lacks that counts. If not,
 * either the record is void, as others are, or messages lack, and the log speaks of the snapshot
 * further on. Until that is known nothing may be judged: a record that comes late may follow the
 * newest one that was read here, and would seem to count. */
static bool may_lack(const struct srv_strand *s, obb_str one)
{
    const struct srv_strand_message *m = s->first;
    return m->is_after_gap && m->judged == 0 && m->seq > s->place && !goes_on(s, one);
}

static bool has_tried(const struct srv_strand *s)
{
    const struct srv_strand_message *m = s->first;
    while (m != NULL && !m->is_tried)
        m = m->next;
    return m != NULL;
}

/* Lets a strand wait until it is known whether messages were purged before its first one, and then
 * until a snapshot is loaded. One that was passed over is tried again after a while: the process
 * serves the other scenes meanwhile. Returns false if nothing lacks. */
static bool clear_doubt(struct srv_shared *j, struct srv_strand *s)
{
    struct srv_strand_message *first = s->first;
    const uint64_t place = first->seq;
    const bool lacks = has_tried(s), was_told = first->is_told;
    const bool is_news = !was_told && !s->sleeps && (j->told || !is_blank(s));
    s->doubts = first->is_told = true; /* the message may go */
    for (struct srv_strand_message *m = first; m != NULL && j->looks >= s->patient_until;
         m = m->next)
        m->is_tried = false;
    if (seek_snapshot(j, s, place)) {
        if (is_news && !s->sleeps) {
            srv_shared_count(&j->journal.figures.differed, 1);
            srv_strand_warn(j, s, true, "messages were purged that were not read here");
        }
        return true;
    }
    first->is_told = was_told;
    s->doubts = j->gap != 0 || lacks;
    srv_strand_set_holds(j, s, s->doubts);
    first->is_after_gap = s->doubts;
    return s->doubts;
}

/* Returns whether a strand has to wait for a snapshot. */
static bool waits_for_snapshot(struct srv_shared *j, struct srv_strand *s)
{
    obb_str rest = {s->first->bytes.bytes + s->first->judged,
                    s->first->bytes.length - s->first->judged},
            one;
    if (!s->lacks_parts) {
        if (!wire_record_next(&rest, &one))
            return false;
        if (!lacks_beginning(j, s, one))
            return may_lack(s, one) && clear_doubt(j, s);
    }
    s->doubts = false;
    if (seek_snapshot(j, s, first_lacked(s)))
        return true;
    if (!srv_strand_is_impatient(j, s)) {
        srv_strand_set_holds(j, s, true);
        return true;
    }
    srv_strand_set_holds(j, s, false);
    if (s->lacks_parts)
        srv_shared_lose(j, no_parts);
    else if (s->has_tried)
        srv_shared_lose(j, "no snapshot of a scene can be loaded whose beginning was purged");
    s->gave_up = true;
    return j->is_lost;
}

/* A snapshot is loaded: the strand goes on behind the newest record that it holds. */
static void go_on(struct srv_shared *j, struct srv_strand *s)
{
    const struct srv_offer loaded = s->loaded;
    srv_shared_count(&j->journal.figures.loads, !s->sleeps);
    j->lacking -= s->lacks_parts;
    s->loads = s->lacks_parts = s->is_replaced = false;
    s->has_tried = s->doubts = false;
    s->place = loaded.place;
    srv_strand_set_holds(j, s, false);
    srv_slices_drop(&s->slices, UINT64_MAX);
    srv_strand_note_named(j, s, loaded.set, loaded.place);
    if (s->judged > loaded.place)
        srv_delivery_again(j, s, loaded.place);
    while (s->first != NULL && s->first->seq < loaded.place)
        srv_strand_drop_message(j, s);
}

/* Hears of a whole snapshot. */
static void meet_snapshot(struct srv_shared *j, struct srv_strand *s, obb_str one)
{
    struct srv_offer offer;
    wire_record record;
    if (!srv_offer_read(one, s->first->seq, &offer) || wire_record_head(one, &record) != OBB_OK) {
        srv_shared_lose(j, "a record of the log is damaged");
        return;
    }
    if (offer.place >= first_lacked(s)) {
        if (is_blank(s) && j->told && offer.seq > offer.place + SRV_CHAIN_WINDOW)
            return; /* the scene may have ended long ago */
        if (!is_blank(s) && !s->sleeps) {
            srv_shared_count(&j->journal.figures.differed, 1);
            srv_strand_warn(j, s, true, "messages were purged that were not read here");
        }
        load(j, s, &offer);
        return;
    }
    srv_strand_note_named(j, s, offer.set, offer.place);
    if (s->chain.is_there && offer.place >= s->source.from)
        note_source(j, s, &offer);
    if (record.id.writer == j->options.writer) {
        srv_shared_count(&j->journal.figures.snapshots, 1);
        (void)srv_purges_add(&j->purges, srv_strand_name(s), offer.place,
                             srv_shared_now_ms(j) + j->options.keep_ms);
    } else if (s->chain.is_there && j->options.snapshot != NULL) {
        j->options.snapshot(j->options.context, srv_strand_name(s), &record);
    }
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* A scene was made. `from` is the place of the first message that speaks of that. */
static void note_making(struct srv_shared *j, struct srv_strand *s, const struct srv_chain *before,
                        uint64_t from)
{
    srv_strand_drop_source(j, s);
    s->source = (struct srv_strand_source){
        .from = from,
        .before = {.newest = before->newest, .is_there = before->is_there, .ended = before->ended}};
}

/* Judges the next record of the first message. */
static void judge_one(struct srv_shared *j, struct srv_strand *s)
{
    struct srv_strand_message *m = s->first;
    obb_str rest = {m->bytes.bytes + m->judged, m->bytes.length - m->judged}, one;
    wire_record head = {.kind = WIRE_RECORD_KINDS};
    bool whole = true;
    uint64_t from = m->seq;
    if (waits_for_snapshot(j, s))
        return;
    if (!wire_record_next(&rest, &one) || !read_next(j, s, &one, &head, &whole, &from)) {
        srv_shared_lose(
            j, "a record of the log is damaged, or a newer obbd wrote it, or there is no memory");
        return;
    }
    m->judged = m->bytes.length - rest.length;
    s->judged = m->seq;
    if (!whole)
        return;
    const srv_link link = srv_link_of(&head);
    if (link.kind == WIRE_RECORD_WHOLE) {
        meet_snapshot(j, s, one);
        return;
    }
    struct srv_pending *first = s->chain.first;
    const struct srv_chain before = s->chain;
    const srv_chain_verdict verdict = srv_chain_read(&s->chain, &link, m->seq);
    if (verdict == SRV_CHAIN_VOID || verdict == SRV_CHAIN_LATE) {
        srv_shared_count(&j->journal.figures.voided, 1);
        srv_shared_drop_bytes(j, &s->applied);
        if (verdict == SRV_CHAIN_LATE)
            srv_sending_supersede(j, s, false);
        return;
    }
    s->moved_ms = srv_shared_now_ms(j);
    s->place = m->seq;
    note_facts(s, &head);
    if (link.kind == WIRE_RECORD_MADE)
        note_making(j, s, &before, from);
    if (link.in_parts)
        srv_strand_note_named(j, s, link.id, m->seq);
    if (link.kind == WIRE_RECORD_GONE) {
        srv_strand_drop_source(j, s);
        s->ends_purge = verdict == SRV_CHAIN_OWN || !j->told;
    }
    srv_slices_drop(&s->slices, UINT64_MAX);
    srv_shared_count(&j->journal.figures.records, 1);
    if (verdict == SRV_CHAIN_OWN) {
        struct srv_entry *entry = srv_entry_of(first);
        j->waiting_count--;
        srv_sending_note_waiting(j, s);
        if (s->chain.first == NULL || !srv_entry_of(s->chain.first)->sent)
            srv_strand_end_flight(j, s); /* the log has shown all that was sent */
        srv_shared_drop_bytes(j, &s->applied);
        entry->seq = m->seq;
        srv_entry_settle(entry, SRV_JOURNAL_OK);
        return;
    }
    if (srv_sleeping_meet(j, s, &link, one))
        return;
    s->applies = true;
    if (!link.in_parts) {
        apply_foreign(j, s, one);
        return;
    }
    s->in_parts = one;
    s->fetch =
        (struct srv_fetch){.set = link.id,
                           .done = on_fetched,
                           .patience_ms = SRV_SHARED_PARTS_PATIENCES * j->options.patience_ms};
    srv_fetch_begin(&j->pieces, &s->fetch, srv_shared_now_ms(j));
}

/* Judges what was read of a name, as far as it may, and until the turn ends. */
static void judge(struct srv_shared *j, struct srv_strand *s)
{
    if (s->judges)
        return;
    s->judges = true;
    do {
        if (s->applies || s->first == NULL || j->is_lost || srv_strand_is_held(j, s))
            break;
        if (s->first->judged < s->first->bytes.length) {
            judge_one(j, s);
        } else {
            srv_strand_drop_message(j, s);
            srv_marked_release(s);
        }
    } while (srv_clock() < j->turn_end);
    s->judges = false;
    if (s->lacks_parts && !s->applies && s->first == NULL && srv_strand_is_impatient(j, s))
        srv_shared_lose(j, no_parts);
    if (!s->applies && s->first != NULL && !srv_strand_is_held(j, s) && !j->is_lost) {
        srv_strand_add_fresh(j, s);
        srv_bell_ring(j->bell);
        srv_marked_release(s);
        return;
    }
    srv_marked_release(s);
    if (j->unjudged == 0)
        srv_marked_release_all(j);
    if (s->is_wanted)
        srv_sleeping_wake(j);
    srv_sending_send(j, s);
    srv_shared_look_if_caught_up(j);
}

void srv_judging_rest(void *context)
{
    struct srv_shared *j = context;
    srv_shared_begin_turn(j);
    while (j->fresh != NULL && srv_clock() < j->turn_end) {
        struct srv_strand *s = j->fresh;
        j->fresh = s->next_fresh;
        s->is_fresh = false;
        judge(j, s);
    }
    if (j->unjudged == 0)
        srv_marked_release_all(j);
    if (j->fresh != NULL)
        srv_bell_ring(j->bell);
    else
        srv_shared_look_if_caught_up(j);
}

/* ---- What the scenes say --------------------------------------------------------------------- */

/* What the scene is made of is loaded. */
static void wake_up(struct srv_shared *j, struct srv_strand *s)
{
    s->is_given = false;
    srv_shared_count(&j->journal.figures.wakes, 1);
    srv_shared_count(&j->journal.figures.loads, wire_record_id_is(s->waking->get.set));
    srv_strand_end_waking(j, s);
    srv_sleeping_end(j, s);
    srv_sleeping_wake(j);
}

/* A snapshot is loaded, of which s->applied speaks. */
static void note_loaded(struct srv_shared *j, struct srv_strand *s)
{
    wire_record head;
    s->loaded.record = (obb_str){.bytes = s->applied.bytes, .length = s->applied.length};
    note_source(j, s, &s->loaded);
    if (wire_record_head(s->loaded.record, &head) == OBB_OK)
        note_facts(s, &head);
    s->loaded.record = (obb_str){.length = 0};
}

void srv_judging_applied(struct srv_shared *j, struct srv_strand *s)
{
    assert(s != NULL && s->applies);
    s->applies = false;
    srv_fetch_end(&s->fetch);
    if (s->loads)
        note_loaded(j, s);
    srv_shared_drop_bytes(j, &s->applied);
    if (s->is_given)
        wake_up(j, s);
    else if (s->recovers && !s->chain.is_there)
        srv_sleeping_end(j, s); /* it has ended */
    if (s->loads)
        go_on(j, s);
    if (!s->judges && srv_clock() >= j->turn_end)
        srv_shared_begin_turn(j);
    judge(j, s);
}

void srv_judging_refused(struct srv_shared *j, struct srv_strand *s, const char *why)
{
    assert(s != NULL && (s->loads || s->is_given));
    if (s->loads) {
        pass_over(j, s, why);
        return;
    }
    s->applies = s->is_given = false;
    srv_sleeping_fail(j, s, why);
    srv_shared_begin_turn(j);
    judge(j, s);
}

bool srv_judging_differs(struct srv_shared *j, struct srv_strand *s, const char *why)
{
    assert(s != NULL && s->applies && !s->loads);
    const wire_record_id id = s->chain.newest;
    if (s->is_given) {
        s->differed = id;
        srv_judging_refused(j, s, why);
        return true;
    }
    if (s->sleeps || !s->chain.is_there || s->source.from == 0 ||
        wire_record_id_equal(s->again, id) || !srv_sleeping_begin(j, s))
        return false;
    s->again = id;
    s->recovers = true;
    srv_shared_count(&j->journal.figures.differed, 1);
    srv_strand_warn(j, s, true, why);
    srv_fetch_end(&s->fetch);
    srv_shared_drop_bytes(j, &s->applied);
    srv_sending_supersede(j, s, false);
    s->applies = false;
    srv_sleeping_enlist(j, s);
    srv_shared_begin_turn(j);
    judge(j, s);
    return true;
}

void srv_judging_checked(struct srv_shared *j, struct srv_strand *s, bool is_right)
{
    const uint64_t writer = s->chain.newest.writer;
    if (is_right && s->disputed == writer)
        s->disputed = 0;
    if (is_right || s->disputed == writer)
        return;
    s->disputed = writer;
    srv_shared_count(&j->journal.figures.disputed, 1);
    srv_strand_warn(j, s, true,
                    "the log does not hold what the hash in a record says: the log is believed");
}
