#include "server/journal/shared.h"

#include "server/journal/journal_body.h"
#include "server/journal/marks.h"
#include "server/journal/pieces.h"
#include "server/journal/purges.h"
#include "server/journal/slices.h"
#include "server/journal/waking.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    MESSAGE_BYTES = 512 << 10,
    SLICE_BYTES = 128 << 10,
    BUCKETS = 1024,
    SWEPT = 16, /* buckets, at each look */
    PATIENCE_MS = 1000,
    KEEP_MS = 60000,
    PARTS_PATIENCES = 30, /* with parts that no server has */
    FETCH_PATIENCES = 5,  /* with a snapshot that no server has: a newer one took its place */
    PURGE_PATIENCES = 5,  /* before a purge is asked for again */
    LOOKS = 10, /* at what waits, while a message may be under way; a failed one rests as long */
    HURRY_MS = 2000, /* at the end of the service */
    TURN_US = 500,   /* for which the loop judges and applies at a stretch */
    PATIENT_LOOKS = PARTS_PATIENCES * LOOKS,
    WAKES = 4,             /* scenes that are got at a time */
    PROOFS = 16,           /* questions whether a scene is still in the log, likewise */
    WAKE_TRIES = 5,        /* before those who wait are told that it cannot be done */
    AWAY_PATIENCES = 2,    /* likewise, while the log cannot be reached */
    INBOX_BYTES = 16 << 20 /* of messages that wait to be judged: then no more are taken */
};

/* A message that was read and is not judged yet. */
struct message {
    struct message *next;
    uint64_t seq;
    size_t judged; /* bytes of it */
    bool is_tried; /* it speaks of a snapshot that was passed over */
    /* Messages of the log were purged between the one before about this name and this one, and
     * perhaps some about this name. */
    bool is_after_gap;
    bool is_told;  /* that the scene is loaded again */
    obb_str bytes; /* in the same block */
};

/* Pieces that a record names, or the word about a snapshot. */
struct named {
    struct named *next;
    wire_record_id set;
    uint64_t place; /* nobody needs them if the messages before a larger place are purged */
};

/* A snapshot that a message speaks of. */
struct offer {
    wire_record_id set, base; /* base: the newest record that it holds */
    uint64_t place;           /* of that one */
    uint64_t seq;             /* of the message */
    obb_str record;
};

/* From where on the log is read to make the scene that is there. */
struct source {
    uint64_t from;           /* the place of the first message; 0: nobody knows */
    struct srv_chain before; /* the chain before the first record that counts from there on */
    wire_record_id set;      /* the pieces of the snapshot that holds what was before; or zeroes */
    struct wire_buf record;  /* likewise: the record that says so; counts against the budget */
};

/* A scene that is being woken. */
struct waking {
    struct srv_waking get; /* first */
    struct srv_strand *strand;
    struct wire_buf record; /* of the source, as it was then; counts against the budget */
};

/* All about one name. */
struct srv_strand {
    struct srv_strand *next; /* in its bucket */
    char *name;              /* in the same block */
    size_t name_length;
    struct srv_chain chain;
    struct message *first, *last; /* owned */
    struct srv_slices slices;     /* all follow the newest record that counts */
    struct wire_buf applied; /* of the foreign record that is being applied, if it had slices */
    struct srv_fetch fetch;  /* of the pieces of that record, if it comes in parts */
    obb_str in_parts;        /* that record, while its pieces are being got */
    struct shared *journal;
    bool applies;   /* a foreign record is being applied, or its pieces are being got */
    uint64_t place; /* of the newest record that counts; 0: none, or the strand was forgotten */
    size_t bytes;   /* of the messages */

    /* Snapshots. */
    bool holds;                /* the first message cannot be judged before a snapshot is loaded */
    bool doubts;               /* or before it is known that none is needed */
    bool has_offer;            /* a message has come meanwhile that speaks of one */
    bool lacks_parts;          /* the pieces of the newest record that counts are not there */
    bool gave_up;              /* there is no snapshot: the messages are judged as they are */
    uint64_t patient_until;    /* looks; with a snapshot, or parts, that cannot be got */
    bool loads;                /* a snapshot is being got or loaded: */
    struct offer loaded;       /* that one; without the record */
    bool is_replaced;          /* the chain is that behind it, and before was */
    struct srv_chain replaced; /* this one */
    bool has_tried;            /* at least one was passed over */
    struct named *named;       /* owned */

    bool rereads;    /* the stream delivers its messages again, */
    uint64_t read;   /* the place of the last message that was delivered */
    uint64_t judged; /* the place of the last message of which records were judged */
    bool ends_purge; /* once its end is forgotten, its messages are purged here */
    bool is_purged;  /* that is under way */
    bool judges;     /* a call of `judge` is under way */
    struct srv_strand *next_fresh;
    bool is_fresh; /* in the list of those of which messages were delivered */

    uint64_t flight; /* tag of the message that is under way; 0: none */
    struct srv_strand *next_flight;
    uint64_t moved_ms;
    uint64_t retry_ms; /* nothing is sent before; 0: whenever */
    struct srv_strand *next_waiting, *previous_waiting;
    bool is_waiting; /* in the list of those with pending entries */

    struct srv_mark_waits marked; /* whose mark is read, but not all that comes before it applied */

    /* Sleeping: the scene is there, and is not held here. Its records are judged, and not applied. */
    bool sleeps;
    struct source source;
    /* What its newest record says. */
    uint64_t epoch, revision, boxes;
    bool knows_boxes;
    struct srv_wake_waits wakers; /* if there are some, it is in the list of those: */
    struct srv_strand *next_wanted;
    bool is_wanted;
    struct waking *waking;       /* owned; or NULL */
    bool is_given;               /* what was got is being loaded: as `applies` */
    size_t tries;                /* that failed */
    uint64_t wanted_ms, wake_ms; /* since when the log is away, and it is wanted; no try before */

    /* A scene that may have ended unseen. */
    bool is_proved;  /* the log held its last message when it was asked */
    bool is_asked;   /* that is under way */
    uint64_t asked;  /* the place of that message */
    bool is_missing; /* the log does not hold it, and all is delivered that it held then */
    struct srv_mark_wait missing; /* until that is delivered */

    /* A scene that is not what the log says: it sleeps, and is there. */
    bool recovers;
    wire_record_id again;    /* the record for which it was made from the log once more */
    wire_record_id differed; /* the one whose hash was wrong after that */
    uint64_t disputed;       /* whose hashes do not count; 0: nobody's */
};

struct entries {
    struct srv_entry *first, *last;
};

struct shared {
    struct srv_journal journal; /* first */
    srv_shared_options options;
    struct srv_bell *bell; /* settles what could not be appended */
    struct srv_timer *timer;
    struct srv_strand *buckets[BUCKETS];
    obb_hash_key key;
    struct srv_strand *flights[BUCKETS]; /* those with a message under way, by its tag */
    size_t swept;                        /* the next bucket that is swept */
    struct srv_pieces pieces;
    struct srv_purges purges;
    struct srv_marks marks;
    struct srv_mark_waits marked; /* whose mark is read; they wait for all strands */
    struct srv_strand *fresh;     /* those of which messages were delivered since the last rest */
    struct srv_strand *waiting;   /* those with pending entries */
    size_t waiting_count;         /* entries */
    struct entries refused;       /* wait for the bell */
    struct wire_buf message;
    uint64_t tag;
    /* Looks at what waits, so far: a process that stood still for long is not impatient at once. */
    uint64_t looks;
    uint64_t delivered; /* looks before the last message came */
    uint64_t position;  /* its place, also if it came again */
    /* Messages that were purged before they were delivered (see note_gap). */
    uint64_t gap;      /* the place of the first message behind the last of them; 0: none */
    uint64_t gap_from; /* the place of the last message before the first of them */
    uint64_t gap_left; /* messages to be delivered until all is known about them */
    uint64_t hurry_ms; /* when what waits is given up; 0: never */
    size_t unjudged;   /* messages */
    uint64_t busy_ms;  /* since when there are some */
    size_t lacking;    /* strands whose newest record lacks its parts */
    size_t inbox;      /* their bytes */
    size_t held;       /* those of strands that wait for a snapshot: they do not fill the inbox */
    bool rereads;      /* some strand does */
    double turn_end;   /* nothing more is judged in this turn of the loop */
    struct srv_strand **asleep; /* owned; by name */
    size_t asleep_count, asleep_room;
    struct srv_strand *wanted, *last_wanted; /* somebody waits for them to be woken */
    size_t waking_count;
    uint64_t wake_tag;
    /* Whether scenes that were read at the beginning are still in the log. */
    struct {
        struct srv_strand *strand; /* NULL: nothing is asked here */
        uint64_t tag;
    } proofs[PROOFS];
    uint64_t proof_tag;
    uint64_t began_until; /* the place of the last message that was in the log at the beginning */
    struct srv_wake_waits woken; /* are told in the next turn of the loop */
    bool read_all;               /* everything was delivered that was in the log at the beginning */
    bool told, is_lost;
};

static struct shared *self(struct srv_journal *journal) { return (struct shared *)journal; }

static void add_to(_Atomic uint64_t *figure, uint64_t by)
{
    atomic_fetch_add_explicit(figure, by, memory_order_relaxed);
}

static uint64_t now_ms(const struct shared *j) { return srv_loop_now_ms(j->options.loop); }

/* Between two looks at what waits, and before a failed message is sent again. */
static uint64_t rest_ms(const struct shared *j) { return j->options.patience_ms / LOOKS + 1; }

/* Blocks of the heap that count against the budget in any case. */
static void *charged_calloc(struct shared *j, size_t bytes)
{
    void *block = obb_calloc(1, bytes);
    if (block != NULL)
        obb_budget_charge(j->options.budget, bytes);
    return block;
}

static void charged_free(struct shared *j, void *block, size_t bytes)
{
    obb_free(block);
    obb_budget_give(j->options.budget, bytes);
}

static void begin_turn(struct shared *j) { j->turn_end = srv_clock() + TURN_US * 1e-6; }

/* ---- Names ----------------------------------------------------------------------------------- */

static obb_str name_of(const struct srv_strand *s)
{
    return (obb_str){.bytes = s->name, .length = s->name_length};
}

static struct srv_strand **place_of(struct shared *j, obb_str name)
{
    struct srv_strand **place = &j->buckets[obb_hash(j->key, name.bytes, name.length) % BUCKETS];
    while (*place != NULL && !obb_str_equal(name_of(*place), name))
        place = &(*place)->next;
    return place;
}

/* Returns the strand of a name, which is made if there is none; NULL without memory. */
static struct srv_strand *strand_of(struct shared *j, obb_str name)
{
    struct srv_strand **place = place_of(j, name);
    if (*place != NULL)
        return *place;
    struct srv_strand *s = charged_calloc(j, sizeof *s + name.length);
    if (s == NULL)
        return NULL;
    s->journal = j;
    s->slices.budget = j->options.budget;
    s->name = (char *)(s + 1);
    memcpy(s->name, name.bytes, name.length);
    s->name_length = name.length;
    *place = s;
    return s;
}

static void free_message(struct shared *j, struct message *m)
{
    charged_free(j, m, sizeof *m + m->bytes.length);
}

static void drop_bytes(struct shared *j, struct wire_buf *bytes)
{
    obb_budget_give(j->options.budget, bytes->capacity);
    wire_buf_fini(bytes);
}

static bool is_full(const struct shared *j) { return j->inbox - j->held >= INBOX_BYTES; }

/* Takes out the first message of a name, and frees it. */
static void drop_message(struct shared *j, struct srv_strand *s)
{
    struct message *m = s->first;
    const bool was_full = is_full(j);
    s->first = m->next;
    if (s->first == NULL)
        s->last = NULL;
    j->unjudged--;
    j->inbox -= m->bytes.length;
    s->bytes -= m->bytes.length;
    if (s->holds)
        j->held -= m->bytes.length;
    free_message(j, m);
    if (was_full && !is_full(j))
        j->options.stream->resume(j->options.stream);
}

static void drop_named(struct shared *j, struct srv_strand *s, uint64_t place, bool everywhere)
{
    struct named **at = &s->named;
    while (*at != NULL) {
        struct named *n = *at;
        if (n->place >= place) {
            at = &n->next;
            continue;
        }
        *at = n->next;
        if (everywhere)
            srv_pieces_drop(&j->pieces, n->set, now_ms(j));
        charged_free(j, n, sizeof *n);
    }
}

static void end_flight(struct shared *j, struct srv_strand *s)
{
    if (s->flight == 0)
        return;
    struct srv_strand **place = &j->flights[s->flight % BUCKETS];
    while (*place != s)
        place = &(*place)->next_flight;
    *place = s->next_flight;
    s->flight = 0;
}

static void drop_source(struct shared *j, struct srv_strand *s)
{
    drop_bytes(j, &s->source.record);
    s->source = (struct source){.from = 0};
}

static void end_waking(struct shared *j, struct srv_strand *s)
{
    struct waking *w = s->waking;
    if (w == NULL)
        return;
    s->waking = NULL;
    j->waking_count--;
    srv_waking_end(&w->get);
    drop_bytes(j, &w->record);
    charged_free(j, w, sizeof *w);
}

static void free_strand(struct shared *j, struct srv_strand *s)
{
    end_waking(j, s);
    drop_source(j, s);
    for (struct message *m = s->first, *next; m != NULL; m = next) {
        next = m->next;
        free_message(j, m);
    }
    end_flight(j, s);
    drop_named(j, s, UINT64_MAX, false);
    srv_fetch_end(&s->fetch);
    srv_slices_drop(&s->slices, UINT64_MAX);
    drop_bytes(j, &s->applied);
    charged_free(j, s, sizeof *s + s->name_length);
}

/* ---- Entries --------------------------------------------------------------------------------- */

static struct srv_entry *entry_of(struct srv_pending *pending)
{
    return (struct srv_entry *)(void *)((char *)pending - offsetof(struct srv_entry, pending));
}

static void settle(struct srv_entry *entry, srv_journal_status status)
{
    entry->settled(entry, status);
    entry->released(entry);
}

/* Keeps the list of strands that have pending entries. */
static void note_waiting(struct shared *j, struct srv_strand *s)
{
    const bool waits = s->chain.first != NULL;
    if (waits == s->is_waiting)
        return;
    s->is_waiting = waits;
    if (waits) {
        s->previous_waiting = NULL;
        s->next_waiting = j->waiting;
        if (j->waiting != NULL)
            j->waiting->previous_waiting = s;
        j->waiting = s;
        return;
    }
    *(s->previous_waiting != NULL ? &s->previous_waiting->next_waiting : &j->waiting) =
        s->next_waiting;
    if (s->next_waiting != NULL)
        s->next_waiting->previous_waiting = s->previous_waiting;
}

/* Takes out the entries of a strand that could not be appended, the newest first. */
static struct srv_entry **take_refused(struct shared *j, const struct srv_strand *s,
                                       struct srv_entry **end)
{
    for (struct srv_entry *e = j->refused.last, *previous; e != NULL; e = previous) {
        previous = e->previous;
        if (e->strand != s)
            continue;
        *(e->previous != NULL ? &e->previous->next : &j->refused.first) = e->next;
        *(e->next != NULL ? &e->next->previous : &j->refused.last) = e->previous;
        e->next = NULL;
        *end = e;
        end = &e->next;
    }
    return end;
}

/* Takes out all pending entries and settles them, the newest first. The calls may append others.
 * unknown: those that were sent may count in what was purged. */
static void settle_all(struct shared *j, struct srv_strand *s, srv_journal_status status,
                       bool unknown)
{
    end_flight(j, s);
    struct srv_entry *list = NULL, **end = take_refused(j, s, &list);
    for (struct srv_pending *p; (p = srv_chain_revert(&s->chain)) != NULL;) {
        struct srv_entry *entry = entry_of(p);
        entry->status = unknown && entry->may_count ? SRV_JOURNAL_UNKNOWN : status;
        entry->next = NULL;
        *end = entry;
        end = &entry->next;
        j->waiting_count--;
    }
    note_waiting(j, s);
    for (struct srv_entry *next; list != NULL; list = next) {
        next = list->next;
        settle(list, list->status);
    }
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Lets everything pending of a name be sent once more. */
static void rewind_strand(struct shared *j, struct srv_strand *s)
{
    end_flight(j, s);
    for (struct srv_pending *p = s->chain.first; p != NULL; p = p->next) {
        entry_of(p)->sent = false;
        entry_of(p)->slices = 0;
    }
}

/* Writes the next slice of an entry that is too long for one message. */
static void write_slice(struct shared *j, struct srv_entry *entry)
{
    const size_t most = j->options.message_bytes, from = entry->slices * most;
    const size_t left = entry->bytes.length - from;
    const wire_slice slice = {.kind = entry->link.kind,
                              .id = entry->link.id,
                              .base = entry->link.base,
                              .number = entry->slices,
                              .count = (entry->bytes.length + most - 1) / most,
                              .bytes = {entry->bytes.bytes + from, left < most ? left : most}};
    wire_slice_write(&slice, &j->message);
    entry->slices++;
    entry->sent = entry->slices == slice.count;
    entry->may_count |= entry->sent;
}

/* Writes what comes next of a name into the message. Returns false if there is nothing. */
static bool write_message(struct shared *j, struct srv_strand *s)
{
    const size_t most = j->options.message_bytes;
    wire_buf_restart(&j->message, j->message.capacity);
    for (struct srv_pending *p = s->chain.first; p != NULL; p = p->next) {
        struct srv_entry *entry = entry_of(p);
        const bool fits = j->message.length + entry->bytes.length <= most;
        if (entry->sent)
            continue;
        if (!fits && j->message.length > 0)
            break;
        if (!fits) {
            write_slice(j, entry);
            break;
        }
        entry->write(entry, &j->message);
        entry->sent = entry->may_count = true;
    }
    return j->message.length > 0 || j->message.failed;
}

/* Sends what was not sent yet of a name as one message, unless one is under way, or records of the
 * log are still to be judged: one of them may come first. */
static void send(struct shared *j, struct srv_strand *s)
{
    if (s->first != NULL || j->is_lost || s->flight != 0 || s->chain.first == NULL ||
        now_ms(j) < s->retry_ms)
        return;
    if (!write_message(j, s))
        return;
    s->flight = ++j->tag;
    s->next_flight = j->flights[s->flight % BUCKETS];
    j->flights[s->flight % BUCKETS] = s;
    s->moved_ms = now_ms(j);
    const obb_str bytes = {.bytes = j->message.bytes, .length = j->message.length};
    if (j->message.failed ||
        !j->options.stream->append(j->options.stream, name_of(s), s->flight, bytes)) {
        rewind_strand(j, s);
        s->retry_ms = now_ms(j) + rest_ms(j);
        return;
    }
    s->retry_ms = 0;
    add_to(&j->journal.figures.groups, 1);
    add_to(&j->journal.figures.bytes, bytes.length);
}

static void on_appended(void *context, uint64_t tag, bool known)
{
    struct shared *j = context;
    if (srv_pieces_appended(&j->pieces, tag, known, now_ms(j)) ||
        srv_purges_appended(&j->purges, tag, known, now_ms(j)) ||
        srv_marks_appended(&j->marks, tag, known, now_ms(j)))
        return;
    struct srv_strand *s = j->flights[tag % BUCKETS];
    while (s != NULL && s->flight != tag)
        s = s->next_flight;
    if (s == NULL)
        return; /* of a message that was given up, or that the log has shown already */
    end_flight(j, s);
    s->moved_ms = now_ms(j);
    if (!known) {
        rewind_strand(j, s);
        s->retry_ms = now_ms(j) + rest_ms(j);
        add_to(&j->journal.figures.failures, 1);
    }
    send(j, s);
}

static bool prove(struct shared *j, uint64_t tag, srv_stream_found found);

static void on_got(void *context, uint64_t tag, srv_stream_found found, obb_str bytes)
{
    struct shared *j = context;
    if (!prove(j, tag, found))
        srv_pieces_got(&j->pieces, tag, found, bytes, now_ms(j));
}

/* Puts a strand among those that are judged in the next turn. */
static void add_fresh(struct shared *j, struct srv_strand *s)
{
    if (s->is_fresh)
        return;
    s->is_fresh = true;
    s->next_fresh = j->fresh;
    j->fresh = s;
}

/* Pieces that are gone were made needless by a snapshot of which the log speaks further on, perhaps
 * behind its end as it was at the beginning. */
static void be_patient(const struct shared *j, struct srv_strand *s)
{
    s->patient_until = j->looks + PATIENT_LOOKS;
}

/* Returns whether nothing is to be waited for any more: no message has come for long. */
static bool is_impatient(const struct shared *j, const struct srv_strand *s)
{
    return j->read_all && j->looks >= s->patient_until && j->looks - j->delivered >= PATIENT_LOOKS;
}

/* Returns whether the first message of a strand has to wait still. */
static bool is_held(const struct shared *j, const struct srv_strand *s)
{
    if (!s->holds || s->has_offer)
        return false;
    return s->doubts ? j->gap != 0 || j->looks < s->patient_until : !is_impatient(j, s);
}

/* Returns whether nothing of the strand is needed any more. */
static bool is_idle(const struct shared *j, const struct srv_strand *s)
{
    return srv_chain_may_forget(&s->chain, j->journal.seen) && s->first == NULL &&
           s->slices.first == NULL && !s->applies && !s->is_fresh && !s->rereads && !s->is_purged &&
           !s->is_asked && s->missing.in == NULL && s->marked.first == NULL;
}

/* Purges all messages about a scene whose end is forgotten, unless another process does. The last
 * message of the log stays. Returns whether the strand is needed for that. */
static bool purge_end(struct shared *j, struct srv_strand *s)
{
    if (!s->ends_purge)
        return false;
    s->ends_purge = false;
    s->is_purged = srv_purges_add(&j->purges, name_of(s), j->journal.seen, now_ms(j));
    return s->is_purged;
}

/* The messages about a name with places below `seq` are removed. */
static void on_purged(void *context, obb_str name, uint64_t seq)
{
    struct shared *j = context;
    struct srv_strand *s = *place_of(j, name);
    add_to(&j->journal.figures.purges, 1);
    if (s == NULL)
        return;
    s->is_purged = false;
    drop_named(j, s, seq, true);
}

static void look_if_ended(struct shared *j, struct srv_strand *s);

/* Forgets the names of some buckets that the rule does not need any more, and slices whose record
 * comes too late. */
static void sweep(struct shared *j)
{
    const uint64_t seen = j->journal.seen;
    if (j->refused.first != NULL) /* their strands are needed */
        return;
    for (size_t i = 0; i < SWEPT; i++) {
        struct srv_strand **place = &j->buckets[j->swept++ % BUCKETS];
        while (*place != NULL) {
            struct srv_strand *s = *place;
            if (seen > SRV_CHAIN_WINDOW && s->first == NULL)
                srv_slices_drop(&s->slices, seen - SRV_CHAIN_WINDOW);
            if (!s->applies &&
                ((s->holds && !is_held(j, s)) || (s->lacks_parts && is_impatient(j, s))))
                add_fresh(j, s);
            look_if_ended(j, s);
            if (!is_idle(j, s) || purge_end(j, s)) {
                place = &s->next;
                continue;
            }
            *place = s->next;
            free_strand(j, s);
        }
    }
    if (j->fresh != NULL)
        srv_bell_ring(j->bell);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/* Returns whether all is applied of a strand that was delivered before this place. */
static bool is_applied(const struct srv_strand *s, uint64_t place)
{
    return !s->rereads && !s->lacks_parts && (s->first == NULL || s->first->seq > place);
}

static void tell_read(struct srv_mark_wait *wait)
{
    srv_mark_wait_leave(wait);
    wait->read(wait);
}

/* Tells those who wait for a strand, in the order of their marks. */
static void release_marked(struct srv_strand *s)
{
    while (s->marked.first != NULL && is_applied(s, s->marked.first->place))
        tell_read(s->marked.first);
}

/* Returns whether all is applied of all strands that was delivered before this place. */
static bool is_all_applied(const struct shared *j, uint64_t place)
{
    if (j->unjudged == 0 && !j->rereads && j->lacking == 0)
        return true;
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            if (!is_applied(s, place))
                return false;
    return true;
}

/* Tells those who wait for all strands. It takes long if there is something to judge: then only the
 * timer calls it. */
static void release_all_marked(struct shared *j)
{
    while (j->marked.first != NULL && is_all_applied(j, j->marked.first->place))
        tell_read(j->marked.first);
}

static void meet_mark(struct shared *j, uint64_t seq, obb_str bytes)
{
    struct srv_mark_waits waits = srv_marks_read(&j->marks, seq, bytes, now_ms(j));
    add_to(&j->journal.figures.marks, waits.first != NULL);
    for (struct srv_mark_wait *wait = waits.first, *next; wait != NULL; wait = next) {
        next = wait->next;
        struct srv_strand *s = wait->name.length > 0 ? *place_of(j, wait->name) : NULL;
        srv_mark_waits_add(s != NULL ? &s->marked : &j->marked, wait);
        if (s != NULL)
            release_marked(s);
        else if (wait->name.length > 0)
            tell_read(wait);
    }
}

void srv_shared_mark(struct srv_journal *journal, struct srv_mark_wait *wait)
{
    struct shared *j = self(journal);
    srv_marks_add(&j->marks, wait, now_ms(j));
}

/* ---- Looking --------------------------------------------------------------------------------- */

static void look_at_wakes(struct shared *j, uint64_t now);

/* Sends again whatever makes no progress, and gives up what waits too long at the end. */
static void on_timer(void *context)
{
    struct shared *j = context;
    const uint64_t now = now_ms(j);
    j->looks++;
    for (struct srv_strand *s = j->waiting, *next; s != NULL; s = next) {
        next = s->next_waiting;
        const uint64_t still_ms = now - s->moved_ms;
        /* what is said to be in the log may take twice as long to be shown */
        if (still_ms >= (s->flight != 0 ? 1U : 2U) * j->options.patience_ms) {
            rewind_strand(j, s);
            s->moved_ms = now;
        }
        send(j, s);
    }
    while (j->hurry_ms != 0 && now >= j->hurry_ms && j->waiting != NULL)
        settle_all(j, j->waiting, SRV_JOURNAL_UNKNOWN, false);
    srv_pieces_look(&j->pieces, now);
    srv_purges_look(&j->purges, now);
    srv_marks_look(&j->marks, now);
    look_at_wakes(j, now);
    release_all_marked(j);
    if (j->hurry_ms != 0 && now >= j->hurry_ms)
        srv_pieces_give_up(&j->pieces);
    sweep(j);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static const char no_parts[] =
    "the parts of a record are not there, or are damaged, or there is no memory";

static void lose(struct shared *j, const char *why)
{
    if (j->is_lost)
        return;
    j->is_lost = true;
    j->options.lost(j->options.context, why);
}

static void look_if_caught_up(struct shared *j)
{
    if (!j->read_all || j->unjudged > 0 || j->lacking > 0 || j->rereads || j->told || j->is_lost)
        return;
    j->told = true;
    j->options.caught_up(j->options.context);
}

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
static bool read_next(struct shared *j, struct srv_strand *s, obb_str *bytes, wire_record *out,
                      bool *out_whole, uint64_t *out_from)
{
    struct wire_buf record = {0};
    const bool good = srv_slices_read(&s->slices, &s->chain, s->first->seq, bytes, out, out_whole,
                                      &record, out_from);
    if (record.bytes == NULL)
        return good;
    drop_bytes(j, &s->applied);
    s->applied = record;
    return good;
}

/* Notes pieces that are needed until the messages before a larger place are purged. Without memory
 * they become orphans. Where nothing is ever removed, nothing need be known of them. */
static void note_named(struct shared *j, struct srv_strand *s, wire_record_id set, uint64_t place)
{
    if (!j->options.stream->removes(j->options.stream))
        return;
    for (const struct named *n = s->named; n != NULL; n = n->next)
        if (wire_record_id_equal(n->set, set))
            return;
    struct named *n = charged_calloc(j, sizeof *n);
    if (n == NULL)
        return;
    *n = (struct named){.next = s->named, .set = set, .place = place};
    s->named = n;
}

/* Returns where the first name behind this one stands among those of scenes that sleep. */
static size_t asleep_behind(const struct shared *j, obb_str name)
{
    size_t low = 0, high = j->asleep_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (obb_str_compare(name_of(j->asleep[middle]), name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns whether a scene need not be held here that another process has made. */
static bool may_sleep(const struct shared *j, const struct srv_strand *s)
{
    return j->options.may_sleep != NULL && j->options.may_sleep(j->options.context, name_of(s));
}

/* The scene is there, and is not held here. Returns false without memory. O(scenes that sleep). */
static bool fall_asleep(struct shared *j, struct srv_strand *s)
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
    const size_t place = asleep_behind(j, name_of(s));
    memmove((void *)(j->asleep + place + 1), (void *)(j->asleep + place),
            (j->asleep_count - place) * sizeof(struct srv_strand *));
    j->asleep[place] = s;
    j->asleep_count++;
    s->sleeps = true;
    add_to(&j->journal.figures.sleeps, j->told);
    atomic_store(&j->journal.figures.asleep, j->asleep_count);
    return true;
}

static void tell_asleep(const struct srv_strand *s, srv_asleep *out)
{
    *out = (srv_asleep){.name = name_of(s),
                        .epoch = s->epoch,
                        .revision = s->revision,
                        .knows_boxes = s->knows_boxes,
                        .boxes = s->boxes};
}

static void add_waker(struct srv_wake_waits *waits, struct srv_wake_wait *wait)
{
    wait->in = waits;
    wait->next = NULL;
    wait->previous = waits->last;
    *(waits->last != NULL ? &waits->last->next : &waits->first) = wait;
    waits->last = wait;
}

/* Takes back all entries of a strand that wait. If a foreign record came first, it is applied
 * meanwhile, and so is all that was read behind it. Only then do the entries begin again; those
 * that may count already do not (`unknown`, as in settle_all). */
static void supersede(struct shared *j, struct srv_strand *s, bool unknown)
{
    const bool judges = s->judges;
    rewind_strand(j, s);
    s->judges = false;
    settle_all(j, s, SRV_JOURNAL_SUPERSEDED, unknown);
    s->judges = judges;
}

/* Returns whether the hash in the newest record does not count. */
static bool is_unchecked(const struct srv_strand *s)
{
    const wire_record_id id = s->chain.newest;
    return wire_record_id_is(id) &&
           (id.writer == s->disputed || wire_record_id_equal(id, s->differed));
}

/* Hands a foreign record over. */
static void apply_foreign(struct shared *j, struct srv_strand *s, obb_str bytes)
{
    add_to(&j->journal.figures.conflicts, s->chain.first != NULL);
    const srv_foreign foreign = {.name = name_of(s),
                                 .seq = s->first->seq,
                                 .bytes = bytes,
                                 .pieces = s->fetch.pieces,
                                 .piece_count = s->fetch.count,
                                 .replaces = s->recovers,
                                 .is_unchecked = is_unchecked(s)};
    j->options.foreign(j->options.context, &foreign);
    supersede(j, s, false);
}

static struct srv_strand *strand_of_fetch(struct srv_fetch *fetch)
{
    return (struct srv_strand *)(void *)((char *)fetch - offsetof(struct srv_strand, fetch));
}

static void judge(struct shared *j, struct srv_strand *s);

/* The pieces of a foreign record are there. */
static void on_fetched(struct srv_fetch *fetch, bool found)
{
    struct srv_strand *s = strand_of_fetch(fetch);
    struct shared *j = s->journal;
    if (found) {
        apply_foreign(j, s, s->in_parts);
        return;
    }
    srv_fetch_end(&s->fetch);
    s->applies = false;
    j->lacking += !s->lacks_parts;
    s->lacks_parts = true;
    be_patient(j, s);
    begin_turn(j);
    judge(j, s);
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

static void warn(struct shared *j, const struct srv_strand *s, bool again, const char *why)
{
    if (j->options.warn != NULL)
        j->options.warn(j->options.context, name_of(s), again, why);
}

/* Lets the messages of a strand wait for a snapshot, or not. They do not fill the inbox. */
static void set_holds(struct shared *j, struct srv_strand *s, bool holds)
{
    const bool was_full = is_full(j);
    if (holds && !s->holds)
        j->held += s->bytes;
    if (!holds && s->holds)
        j->held -= s->bytes;
    s->holds = holds;
    if (was_full && !is_full(j))
        j->options.stream->resume(j->options.stream);
}

/* Reads the word that a snapshot is whole, which is the only record of its message. Returns false
 * if the message is another one. */
static bool read_offer(obb_str bytes, uint64_t seq, struct offer *out)
{
    wire_record record;
    obb_str one;
    if (!wire_record_next(&bytes, &one) || wire_slice_is(one) ||
        wire_record_head(one, &record) != OBB_OK || record.kind != WIRE_RECORD_WHOLE)
        return false;
    *out = (struct offer){
        .set = record.id, .base = record.base, .place = record.seen, .seq = seq, .record = one};
    return true;
}

/* Returns whether no record about the name was found that counts, or all are forgotten. */
static bool is_blank(const struct srv_strand *s)
{
    return s->place == 0 && !wire_record_id_is(s->chain.newest);
}

/* Returns the first place so that a snapshot of a record there, or behind, holds one that counts
 * and was not applied here. */
static uint64_t first_lacked(const struct srv_strand *s) { return s->place + !s->lacks_parts; }

static void on_snapshot(struct srv_fetch *fetch, bool found);
static void go_on(struct shared *j, struct srv_strand *s);

/* Lets the scene be made from a snapshot, and from what comes behind it. */
static void note_source(struct shared *j, struct srv_strand *s, const struct offer *offer)
{
    struct wire_buf record = {0};
    wire_buf_append(&record, offer->record.bytes, offer->record.length);
    if (record.failed) { /* what was known goes on */
        wire_buf_fini(&record);
        return;
    }
    obb_budget_charge(j->options.budget, record.capacity);
    drop_source(j, s);
    s->source = (struct source){.from = offer->place,
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
static void pass_on(struct shared *j, struct srv_strand *s, const struct offer *offer)
{
    wire_record head;
    const struct offer loaded = *offer;
    end_waking(j, s);
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
    supersede(j, s, true);
    s->applies = false;
    go_on(j, s);
}

/* Gets a snapshot, and loads it. */
static void load(struct shared *j, struct srv_strand *s, const struct offer *offer)
{
    if (s->sleeps || (!s->chain.is_there && may_sleep(j, s) && fall_asleep(j, s))) {
        pass_on(j, s, offer);
        return;
    }
    s->has_offer = false;
    s->applies = s->loads = true;
    s->loaded = *offer;
    drop_bytes(j, &s->applied);
    wire_buf_append(&s->applied, offer->record.bytes, offer->record.length);
    obb_budget_charge(j->options.budget, s->applied.capacity);
    s->loaded.record = (obb_str){.length = 0};
    s->fetch = (struct srv_fetch){.set = offer->set,
                                  .done = on_snapshot,
                                  .patience_ms = FETCH_PATIENCES * j->options.patience_ms};
    srv_fetch_begin(&j->pieces, &s->fetch, now_ms(j));
}

/* Passes the snapshot over that was to be loaded. */
static void pass_over(struct shared *j, struct srv_strand *s, const char *why)
{
    add_to(&j->journal.figures.passed_over, 1);
    add_to(&j->journal.figures.failures, 1);
    warn(j, s, false, why);
    srv_fetch_end(&s->fetch);
    drop_bytes(j, &s->applied);
    if (s->is_replaced) {
        s->chain.newest = s->replaced.newest;
        s->chain.is_there = s->replaced.is_there;
        s->chain.ended = s->replaced.ended;
    }
    for (struct message *m = s->first; m != NULL; m = m->next)
        m->is_tried |= m->seq == s->loaded.seq;
    s->has_tried = true;
    s->applies = s->loads = s->is_replaced = false;
    be_patient(j, s);
    begin_turn(j);
    judge(j, s);
}

/* The pieces of a snapshot are there. */
static void on_snapshot(struct srv_fetch *fetch, bool found)
{
    struct srv_strand *s = strand_of_fetch(fetch);
    struct shared *j = s->journal;
    if (!found || s->applied.failed) {
        pass_over(j, s, "its pieces are not there, or are damaged");
        return;
    }
    const srv_foreign foreign = {.name = name_of(s),
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
    supersede(j, s, true);
}

/* Loads the newest snapshot that the waiting messages speak of, that was not tried, and that holds
 * a record at `place` or behind it. Returns false if there is none. */
static bool seek_snapshot(struct shared *j, struct srv_strand *s, uint64_t place)
{
    struct offer offer, best = {.seq = 0};
    for (const struct message *m = s->first; m != NULL; m = m->next)
        if (!m->is_tried && read_offer(m->bytes, m->seq, &offer) && offer.place >= place &&
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
static bool lacks_beginning(const struct shared *j, const struct srv_strand *s, obb_str one)
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
    const struct message *m = s->first;
    return m->is_after_gap && m->judged == 0 && m->seq > s->place && !goes_on(s, one);
}

static bool has_tried(const struct srv_strand *s)
{
    const struct message *m = s->first;
    while (m != NULL && !m->is_tried)
        m = m->next;
    return m != NULL;
}

/* Lets a strand wait until it is known whether messages were purged before its first one, and then
 * until a snapshot is loaded. One that was passed over is tried again after a while: the process
 * serves the other scenes meanwhile. Returns false if nothing lacks. */
static bool clear_doubt(struct shared *j, struct srv_strand *s)
{
    struct message *first = s->first;
    const uint64_t place = first->seq;
    const bool lacks = has_tried(s), was_told = first->is_told;
    const bool is_news = !was_told && !s->sleeps && (j->told || !is_blank(s));
    s->doubts = first->is_told = true; /* the message may go */
    for (struct message *m = first; m != NULL && j->looks >= s->patient_until; m = m->next)
        m->is_tried = false;
    if (seek_snapshot(j, s, place)) {
        if (is_news && !s->sleeps) {
            add_to(&j->journal.figures.differed, 1);
            warn(j, s, true, "messages were purged that were not read here");
        }
        return true;
    }
    first->is_told = was_told;
    s->doubts = j->gap != 0 || lacks;
    set_holds(j, s, s->doubts);
    first->is_after_gap = s->doubts;
    return s->doubts;
}

/* Returns whether a strand has to wait for a snapshot. */
static bool waits_for_snapshot(struct shared *j, struct srv_strand *s)
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
    if (!is_impatient(j, s)) {
        set_holds(j, s, true);
        return true;
    }
    set_holds(j, s, false);
    if (s->lacks_parts)
        lose(j, no_parts);
    else if (s->has_tried)
        lose(j, "no snapshot of a scene can be loaded whose beginning was purged");
    s->gave_up = true;
    return j->is_lost;
}

/* Notes from the place of a message whether others were purged between it and the one before.
 *
 * Whoever purges has written a record before that names the snapshot. So it stands among the
 * messages that were in the log when this one was sent: once those are delivered, each strand has
 * read of the snapshots that hold what it lacks. Only the messages of a scene whose end is
 * forgotten are purged without one. */
static void note_gap(struct shared *j, uint64_t seq, uint64_t left)
{
    if (seq > j->position + 1) {
        j->gap_from = j->gap == 0 ? j->position : j->gap_from;
        j->gap = seq;
        j->gap_left = UINT64_MAX;
    }
    j->position = seq;
    if (j->gap != 0)
        j->gap_left = left < j->gap_left ? left : j->gap_left - 1;
}

/* Lets the strands go on that were in doubt, once all is delivered that has to be. */
static void end_gap(struct shared *j)
{
    if (j->gap == 0 || j->gap_left > 0)
        return;
    j->gap = 0;
    if (j->told && j->position > j->gap_from + SRV_CHAIN_WINDOW) {
        lose(j, "the log went on too far while it was not read here: the ends of scenes may have "
                "been purged");
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            if (s->doubts)
                add_fresh(j, s);
}

/* Lets the stream deliver the messages of a strand again, from a place on. */
static void reread(struct shared *j, struct srv_strand *s, uint64_t from)
{
    while (s->first != NULL)
        drop_message(j, s);
    s->rereads = j->rereads = true;
    s->read = from - 1;
    s->judged = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct srv_strand *other = j->buckets[i]; other != NULL; other = other->next)
            if (other->rereads && other->read + 1 < from)
                from = other->read + 1;
    j->position = from - 1;
    j->gap_left = UINT64_MAX;
    j->options.stream->rewind(j->options.stream, from);
}

/* All that was read before is delivered again: what comes now is new to every strand. */
static void end_rereads(struct shared *j)
{
    for (size_t i = 0; j->rereads && i < BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next) {
            if (s->rereads && s->marked.first != NULL)
                add_fresh(j, s);
            s->rereads = false;
        }
    j->rereads = false;
}

/* A snapshot is loaded: the strand goes on behind the newest record that it holds. */
static void go_on(struct shared *j, struct srv_strand *s)
{
    const struct offer loaded = s->loaded;
    add_to(&j->journal.figures.loads, !s->sleeps);
    j->lacking -= s->lacks_parts;
    s->loads = s->lacks_parts = s->is_replaced = false;
    s->has_tried = s->doubts = false;
    s->place = loaded.place;
    set_holds(j, s, false);
    srv_slices_drop(&s->slices, UINT64_MAX);
    note_named(j, s, loaded.set, loaded.place);
    if (s->judged > loaded.place)
        reread(j, s, loaded.place);
    while (s->first != NULL && s->first->seq < loaded.place)
        drop_message(j, s);
}

/* Hears of a whole snapshot. */
static void meet_snapshot(struct shared *j, struct srv_strand *s, obb_str one)
{
    struct offer offer;
    wire_record record;
    if (!read_offer(one, s->first->seq, &offer) || wire_record_head(one, &record) != OBB_OK) {
        lose(j, "a record of the log is damaged");
        return;
    }
    if (offer.place >= first_lacked(s)) {
        if (is_blank(s) && j->told && offer.seq > offer.place + SRV_CHAIN_WINDOW)
            return; /* the scene may have ended long ago */
        if (!is_blank(s) && !s->sleeps) {
            add_to(&j->journal.figures.differed, 1);
            warn(j, s, true, "messages were purged that were not read here");
        }
        load(j, s, &offer);
        return;
    }
    note_named(j, s, offer.set, offer.place);
    if (s->chain.is_there && offer.place >= s->source.from)
        note_source(j, s, &offer);
    if (record.id.writer == j->options.writer) {
        add_to(&j->journal.figures.snapshots, 1);
        (void)srv_purges_add(&j->purges, name_of(s), offer.place, now_ms(j) + j->options.keep_ms);
    } else if (s->chain.is_there && j->options.snapshot != NULL) {
        j->options.snapshot(j->options.context, name_of(s), &record);
    }
}

/* ---- Sleeping and waking --------------------------------------------------------------------- */

/* Tells those who wait for a scene, in the next turn of the loop. */
static void tell_wakers(struct shared *j, struct srv_strand *s, bool good)
{
    for (struct srv_wake_wait *wait; (wait = s->wakers.first) != NULL;) {
        srv_wake_wait_leave(wait);
        add_waker(&j->woken, wait);
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

/* The scene is held here, or is no more. */
static void stop_sleeping(struct shared *j, struct srv_strand *s)
{
    const size_t place = asleep_behind(j, name_of(s)) - 1;
    assert(s->sleeps && j->asleep[place] == s);
    j->asleep_count--;
    memmove((void *)(j->asleep + place), (void *)(j->asleep + place + 1),
            (j->asleep_count - place) * sizeof(struct srv_strand *));
    s->sleeps = s->recovers = false;
    atomic_store(&j->journal.figures.asleep, j->asleep_count);
    tell_wakers(j, s, true);
}

/* A scene was made. `from` is the place of the first message that speaks of that. */
static void note_making(struct shared *j, struct srv_strand *s, const struct srv_chain *before,
                        uint64_t from)
{
    drop_source(j, s);
    s->source = (struct source){
        .from = from,
        .before = {.newest = before->newest, .is_there = before->is_there, .ended = before->ended}};
}

/* A foreign record counts, which is the newest one now. Returns false if it is to be applied: also
 * the end of a scene that sleeps and is there. */
static bool meet_asleep(struct shared *j, struct srv_strand *s, const srv_link *link, obb_str one)
{
    if (link->kind == WIRE_RECORD_MADE && !s->sleeps && may_sleep(j, s))
        (void)fall_asleep(j, s);
    if (!s->sleeps)
        return false;
    if (link->kind != WIRE_RECORD_COMMIT)
        end_waking(j, s);
    else if (s->waking != NULL)
        srv_waking_add(&s->waking->get, s->first->seq, one, link->in_parts);
    if (link->kind == WIRE_RECORD_GONE && s->recovers)
        return false;
    if (link->kind == WIRE_RECORD_GONE)
        stop_sleeping(j, s);
    drop_bytes(j, &s->applied);
    add_to(&j->journal.figures.conflicts, s->chain.first != NULL);
    s->applies = true;
    supersede(j, s, false);
    s->applies = false;
    return true;
}

static void begin_wakes(struct shared *j);

/* What was got is of no use. It is tried again a few times: a newer snapshot may have come. */
static void fail_wake(struct shared *j, struct srv_strand *s, const char *why)
{
    end_waking(j, s);
    add_to(&j->journal.figures.wake_failures, 1);
    if (s->tries++ == 0)
        warn(j, s, false, why);
    s->wake_ms = now_ms(j) + rest_ms(j);
    if (s->tries >= WAKE_TRIES)
        tell_wakers(j, s, false);
    if (s->tries > WAKE_TRIES && s->recovers) /* it goes on for long */
        s->wake_ms = now_ms(j) + j->options.patience_ms;
    begin_wakes(j);
}

/* Everything is got that the scene is made of: it is loaded. What counts meanwhile waits. */
static void on_got_all(struct srv_waking *get, const char *why)
{
    struct waking *w = (struct waking *)get;
    struct srv_strand *s = w->strand;
    struct shared *j = s->journal;
    size_t count = 0;
    const srv_woken_record *records = why == NULL ? srv_waking_list(get, &count) : NULL;
    if (records == NULL) {
        fail_wake(j, s, why != NULL ? why : "there is not enough memory");
        return;
    }
    const bool has_snapshot = wire_record_id_is(get->set);
    srv_foreign foreign = {.name = name_of(s),
                           .seq = s->place,
                           .bytes = {w->record.bytes, w->record.length},
                           .pieces = get->snapshot.pieces,
                           .piece_count = get->snapshot.count,
                           .is_snapshot = has_snapshot,
                           .wakes = true,
                           .replaces = s->recovers,
                           .is_unchecked = is_unchecked(s),
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

static bool can_wake(struct shared *j, const struct srv_strand *s)
{
    return s->sleeps && s->waking == NULL && !s->applies && s->first == NULL && !s->holds &&
           !s->doubts && !s->rereads && now_ms(j) >= s->wake_ms;
}

/* Returns false without memory, or if nobody knows from where on the scene is to be read. */
static bool begin_waking(struct shared *j, struct srv_strand *s)
{
    const struct source *source = &s->source;
    struct waking *w = source->from != 0 ? charged_calloc(j, sizeof *w) : NULL;
    if (w == NULL)
        return false;
    wire_buf_append(&w->record, source->record.bytes, source->record.length);
    obb_budget_charge(j->options.budget, w->record.capacity);
    w->strand = s;
    w->get = (struct srv_waking){.stream = j->options.stream,
                                 .pieces = &j->pieces,
                                 .budget = j->options.budget,
                                 .patience_ms = j->options.patience_ms,
                                 .name = name_of(s),
                                 .chain = source->before,
                                 .from = source->from,
                                 .until = s->read,
                                 .newest = s->chain.newest,
                                 .set = source->set,
                                 .tag = ++j->wake_tag,
                                 .done = on_got_all};
    s->waking = w;
    j->waking_count++;
    srv_waking_begin(&w->get, now_ms(j));
    return true;
}

static void begin_wakes(struct shared *j)
{
    for (struct srv_strand *s = j->wanted, *next; s != NULL && j->waking_count < WAKES; s = next) {
        next = s->next_wanted;
        if (j->hurry_ms != 0 || !can_wake(j, s) || begin_waking(j, s))
            continue;
        add_to(&j->journal.figures.wake_failures, 1);
        s->wake_ms = now_ms(j) + j->options.patience_ms;
        tell_wakers(j, s, false);
    }
}

/* Puts a scene that sleeps among those that are woken. */
static void enlist(struct shared *j, struct srv_strand *s)
{
    if (s->is_wanted)
        return;
    s->is_wanted = true;
    s->tries = 0;
    s->wake_ms = 0;
    s->wanted_ms = now_ms(j);
    s->next_wanted = NULL;
    *(j->last_wanted != NULL ? &j->last_wanted->next_wanted : &j->wanted) = s;
    j->last_wanted = s;
}

/* Lets what is being got go on. While the log is away for long, nobody waits for it. */
static void look_at_wakes(struct shared *j, uint64_t now)
{
    const bool away = !j->options.stream->connected(j->options.stream);
    for (struct srv_strand *s = j->wanted, *next; s != NULL; s = next) {
        next = s->next_wanted;
        if (!away)
            s->wanted_ms = now;
        if (j->hurry_ms != 0 || now - s->wanted_ms >= AWAY_PATIENCES * j->options.patience_ms) {
            tell_wakers(j, s, false);
            if (!s->is_given)
                end_waking(j, s);
        }
    }
    for (struct srv_strand *s = j->wanted, *next; s != NULL; s = next) {
        next = s->next_wanted;
        if (s->waking != NULL)
            srv_waking_look(&s->waking->get, now);
    }
    begin_wakes(j);
}

static void on_read(void *context, uint64_t tag, uint64_t seq, obb_str bytes)
{
    struct shared *j = context;
    struct srv_strand *s = j->wanted;
    while (s != NULL && (s->waking == NULL || s->waking->get.tag != tag))
        s = s->next_wanted;
    if (s != NULL && !j->is_lost)
        srv_waking_read(&s->waking->get, seq, bytes, now_ms(j));
}

/* Calls those whose scenes are there. */
static void call_woken(struct shared *j)
{
    const double end = srv_clock() + TURN_US * 1e-6;
    for (struct srv_wake_wait *wait; (wait = j->woken.first) != NULL && srv_clock() < end;) {
        srv_wake_wait_leave(wait);
        wait->done(wait, wait->good);
    }
    if (j->woken.first != NULL)
        srv_bell_ring(j->bell);
}

bool srv_shared_sleep(struct srv_journal *journal, obb_str name)
{
    struct shared *j = self(journal);
    struct srv_strand *s = *place_of(j, name);
    return s != NULL && j->told && !j->is_lost && s->chain.is_there && s->chain.first == NULL &&
           !s->sleeps && s->first == NULL && s->source.from != 0 && s->flight == 0 && !s->applies &&
           !s->holds && !s->doubts && !s->lacks_parts && !s->rereads && s->marked.first == NULL &&
           j->options.stream->connected(j->options.stream) && fall_asleep(j, s);
}

/* ---- Scenes that ended unseen ---------------------------------------------------------------- */

/* Of a scene that ended, everything is purged once its end is forgotten: perhaps while a process
 * that begins has read that it was made, and not yet that it ended. The last message about a scene
 * that is there is never purged. */

/* Sets the tags of these questions apart from those of pieces. */
#define PROOF_TAG (UINT64_C(1) << 60)

/* Returns whether the end of a scene may have been in the log before it was read there. */
static bool may_have_ended(const struct shared *j, const struct srv_strand *s)
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

/* What was asked for with this tag is answered. Returns false if that was something else. */
static bool prove(struct shared *j, uint64_t tag, srv_stream_found found)
{
    if (tag >> 60 != PROOF_TAG >> 60)
        return false;
    for (size_t i = 0; i < PROOFS; i++) {
        struct srv_strand *s = j->proofs[i].strand;
        if (s == NULL || j->proofs[i].tag != tag)
            continue;
        j->proofs[i].strand = NULL;
        s->is_asked = false;
        s->is_proved = found == SRV_STREAM_FOUND;
        if (found != SRV_STREAM_MISSING)
            break; /* if nobody knows, a later look asks again */
        s->missing = (struct srv_mark_wait){.name = name_of(s), .read = on_missing};
        srv_marks_add(&j->marks, &s->missing, now_ms(j));
    }
    return true;
}

/* Asks whether a scene is still in the log, if that is not sure, and ends one that is not. */
static void look_if_ended(struct shared *j, struct srv_strand *s)
{
    if (s->is_asked || s->is_proved || s->missing.in != NULL || !may_have_ended(j, s))
        return;
    if (s->is_missing && s->asked == s->read) {
        end_waking(j, s);
        drop_source(j, s);
        s->chain.is_there = false;
        s->chain.ended = s->read; /* it is forgotten, as at all others */
        stop_sleeping(j, s);
        return;
    }
    s->is_missing = false;
    for (size_t i = 0; i < PROOFS; i++) {
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

/* ---- Judging --------------------------------------------------------------------------------- */

/* Judges the next record of the first message. */
static void judge_one(struct shared *j, struct srv_strand *s)
{
    struct message *m = s->first;
    obb_str rest = {m->bytes.bytes + m->judged, m->bytes.length - m->judged}, one;
    wire_record head = {.kind = WIRE_RECORD_KINDS};
    bool whole = true;
    uint64_t from = m->seq;
    if (waits_for_snapshot(j, s))
        return;
    if (!wire_record_next(&rest, &one) || !read_next(j, s, &one, &head, &whole, &from)) {
        lose(j, "a record of the log is damaged, or a newer obbd wrote it, or there is no memory");
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
        add_to(&j->journal.figures.voided, 1);
        drop_bytes(j, &s->applied);
        if (verdict == SRV_CHAIN_LATE)
            supersede(j, s, false);
        return;
    }
    s->moved_ms = now_ms(j);
    s->place = m->seq;
    note_facts(s, &head);
    if (link.kind == WIRE_RECORD_MADE)
        note_making(j, s, &before, from);
    if (link.in_parts)
        note_named(j, s, link.id, m->seq);
    if (link.kind == WIRE_RECORD_GONE) {
        drop_source(j, s);
        s->ends_purge = verdict == SRV_CHAIN_OWN || !j->told;
    }
    srv_slices_drop(&s->slices, UINT64_MAX);
    add_to(&j->journal.figures.records, 1);
    if (verdict == SRV_CHAIN_OWN) {
        struct srv_entry *entry = entry_of(first);
        j->waiting_count--;
        note_waiting(j, s);
        if (s->chain.first == NULL || !entry_of(s->chain.first)->sent)
            end_flight(j, s); /* the log has shown all that was sent */
        drop_bytes(j, &s->applied);
        entry->seq = m->seq;
        settle(entry, SRV_JOURNAL_OK);
        return;
    }
    if (meet_asleep(j, s, &link, one))
        return;
    s->applies = true;
    if (!link.in_parts) {
        apply_foreign(j, s, one);
        return;
    }
    s->in_parts = one;
    s->fetch = (struct srv_fetch){.set = link.id,
                                  .done = on_fetched,
                                  .patience_ms = PARTS_PATIENCES * j->options.patience_ms};
    srv_fetch_begin(&j->pieces, &s->fetch, now_ms(j));
}

/* Judges what was read of a name, as far as it may, and until the turn ends. */
static void judge(struct shared *j, struct srv_strand *s)
{
    if (s->judges)
        return;
    s->judges = true;
    do {
        if (s->applies || s->first == NULL || j->is_lost || is_held(j, s))
            break;
        if (s->first->judged < s->first->bytes.length) {
            judge_one(j, s);
        } else {
            drop_message(j, s);
            release_marked(s);
        }
    } while (srv_clock() < j->turn_end);
    s->judges = false;
    if (s->lacks_parts && !s->applies && s->first == NULL && is_impatient(j, s))
        lose(j, no_parts);
    if (!s->applies && s->first != NULL && !is_held(j, s) && !j->is_lost) {
        add_fresh(j, s);
        srv_bell_ring(j->bell);
        release_marked(s);
        return;
    }
    release_marked(s);
    if (j->unjudged == 0)
        release_all_marked(j);
    if (s->is_wanted)
        begin_wakes(j);
    send(j, s);
    look_if_caught_up(j);
}

/* Keeps a message about a name until it is judged. */
static void take_message(struct shared *j, obb_str name, uint64_t seq, obb_str bytes)
{
    const bool is_new = seq > j->journal.seen;
    struct srv_strand *s = is_new ? strand_of(j, name) : *place_of(j, name);
    const bool is_wanted = is_new || (s != NULL && s->rereads && seq > s->read);
    if (seq >= j->journal.seen)
        end_rereads(j);
    if (!is_wanted)
        return; /* it was read before */
    struct message *m = charged_calloc(j, sizeof *m + bytes.length);
    if (s == NULL || m == NULL) {
        if (m != NULL)
            charged_free(j, m, sizeof *m + bytes.length);
        lose(j, "there is not enough memory to follow the log");
        return;
    }
    memcpy(m + 1, bytes.bytes, bytes.length);
    m->bytes = (obb_str){.bytes = (const char *)(m + 1), .length = bytes.length};
    m->seq = seq;
    m->is_after_gap = j->gap > s->read;
    *(s->last != NULL ? &s->last->next : &s->first) = m;
    s->last = m;
    s->read = seq;
    j->delivered = j->looks;
    if (is_new)
        j->journal.seen = seq;
    if (j->unjudged++ == 0)
        j->busy_ms = now_ms(j);
    j->inbox += bytes.length;
    s->bytes += bytes.length;
    if (s->holds) {
        struct offer offer;
        j->held += bytes.length;
        s->has_offer = s->has_offer || read_offer(m->bytes, seq, &offer);
    }
    add_fresh(j, s);
}

static void take_mark(struct shared *j, uint64_t seq, obb_str bytes)
{
    if (seq >= j->journal.seen)
        end_rereads(j);
    if (seq <= j->journal.seen)
        return; /* it was read before */
    j->delivered = j->looks;
    j->journal.seen = seq;
    meet_mark(j, seq, bytes);
}

static void on_delivered(void *context, obb_str name, uint64_t seq, uint64_t left, obb_str bytes)
{
    struct shared *j = context;
    if (j->is_lost)
        return;
    note_gap(j, seq, left);
    if (name.length == 0)
        take_mark(j, seq, bytes);
    else
        take_message(j, name, seq, bytes);
    end_gap(j);
}

/* The messages that were said to be left will not come. */
static void on_end(void *context, uint64_t seq)
{
    struct shared *j = context;
    if (j->is_lost || j->position != seq)
        return;
    j->gap_left = 0;
    end_gap(j);
}

static bool wants(void *context)
{
    const struct shared *j = context;
    return !is_full(j);
}

/* Judges all that was delivered, name by name: so entries are taken back once, and not for each
 * foreign record. */
static void on_rest(void *context)
{
    struct shared *j = context;
    begin_turn(j);
    while (j->fresh != NULL && srv_clock() < j->turn_end) {
        struct srv_strand *s = j->fresh;
        j->fresh = s->next_fresh;
        s->is_fresh = false;
        judge(j, s);
    }
    if (j->unjudged == 0)
        release_all_marked(j);
    if (j->fresh != NULL)
        srv_bell_ring(j->bell);
    else
        look_if_caught_up(j);
}

static void on_caught_up(void *context)
{
    struct shared *j = context;
    j->read_all = true;
    j->began_until = j->position;
    for (size_t i = 0; i < BUCKETS; i++) /* what is not there yet never comes */
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            if (s->holds || s->lacks_parts)
                add_fresh(j, s);
    if (j->fresh != NULL)
        srv_bell_ring(j->bell);
    else
        look_if_caught_up(j);
}

/* What the scene is made of is loaded. */
static void wake_up(struct shared *j, struct srv_strand *s)
{
    s->is_given = false;
    add_to(&j->journal.figures.wakes, 1);
    add_to(&j->journal.figures.loads, wire_record_id_is(s->waking->get.set));
    end_waking(j, s);
    stop_sleeping(j, s);
    begin_wakes(j);
}

/* A snapshot is loaded, of which s->applied speaks. */
static void note_loaded(struct shared *j, struct srv_strand *s)
{
    wire_record head;
    s->loaded.record = (obb_str){.bytes = s->applied.bytes, .length = s->applied.length};
    note_source(j, s, &s->loaded);
    if (wire_record_head(s->loaded.record, &head) == OBB_OK)
        note_facts(s, &head);
    s->loaded.record = (obb_str){.length = 0};
}

void srv_shared_applied(struct srv_journal *journal, obb_str name)
{
    struct shared *j = self(journal);
    struct srv_strand *s = *place_of(j, name);
    assert(s != NULL && s->applies);
    s->applies = false;
    srv_fetch_end(&s->fetch);
    if (s->loads)
        note_loaded(j, s);
    drop_bytes(j, &s->applied);
    if (s->is_given)
        wake_up(j, s);
    else if (s->recovers && !s->chain.is_there)
        stop_sleeping(j, s); /* it has ended */
    if (s->loads)
        go_on(j, s);
    if (!s->judges && srv_clock() >= j->turn_end)
        begin_turn(j);
    judge(j, s);
}

void srv_shared_refused(struct srv_journal *journal, obb_str name, const char *why)
{
    struct shared *j = self(journal);
    struct srv_strand *s = *place_of(j, name);
    assert(s != NULL && (s->loads || s->is_given));
    if (s->loads) {
        pass_over(j, s, why);
        return;
    }
    s->applies = s->is_given = false;
    fail_wake(j, s, why);
    begin_turn(j);
    judge(j, s);
}

bool srv_shared_differs(struct srv_journal *journal, obb_str name, const char *why)
{
    struct shared *j = self(journal);
    struct srv_strand *s = *place_of(j, name);
    assert(s != NULL && s->applies && !s->loads);
    const wire_record_id id = s->chain.newest;
    if (s->is_given) {
        s->differed = id;
        srv_shared_refused(journal, name, why);
        return true;
    }
    if (s->sleeps || !s->chain.is_there || s->source.from == 0 ||
        wire_record_id_equal(s->again, id) || !fall_asleep(j, s))
        return false;
    s->again = id;
    s->recovers = true;
    add_to(&j->journal.figures.differed, 1);
    warn(j, s, true, why);
    srv_fetch_end(&s->fetch);
    drop_bytes(j, &s->applied);
    supersede(j, s, false);
    s->applies = false;
    enlist(j, s);
    begin_turn(j);
    judge(j, s);
    return true;
}

void srv_shared_checked(struct srv_journal *journal, obb_str name, bool is_right)
{
    struct shared *j = self(journal);
    struct srv_strand *s = *place_of(j, name);
    const uint64_t writer = s->chain.newest.writer;
    if (is_right && s->disputed == writer)
        s->disputed = 0;
    if (is_right || s->disputed == writer)
        return;
    s->disputed = writer;
    add_to(&j->journal.figures.disputed, 1);
    warn(j, s, true, "the log does not hold what the hash in a record says: the log is believed");
}

/* ---- The face -------------------------------------------------------------------------------- */

static srv_journal_status state(struct srv_journal *journal)
{
    struct shared *j = self(journal);
    return !j->is_lost && j->options.stream->connected(j->options.stream) ? SRV_JOURNAL_OK
                                                                          : SRV_JOURNAL_FAILED;
}

static void refuse(struct shared *j, struct srv_entry *entry, srv_journal_status status)
{
    entry->status = status;
    entry->next = NULL;
    entry->previous = j->refused.last;
    *(j->refused.last != NULL ? &j->refused.last->next : &j->refused.first) = entry;
    j->refused.last = entry;
    srv_bell_ring(j->bell);
}

/* Settles what could not be appended, the newest first, and goes on to judge. */
static void on_bell(void *context)
{
    struct shared *j = context;
    struct srv_entry *entry = j->refused.last;
    j->refused = (struct entries){NULL, NULL};
    for (struct srv_entry *previous; entry != NULL; entry = previous) {
        previous = entry->previous;
        settle(entry, entry->status);
    }
    call_woken(j);
    on_rest(j);
}

static void append(struct srv_journal *journal, struct srv_entry *entry)
{
    struct shared *j = self(journal);
    const bool is_piece = entry->kind == SRV_ENTRY_CHUNK || entry->kind == SRV_ENTRY_DROPPED ||
                          entry->kind == SRV_ENTRY_SNAPSHOT;
    const bool is_record = entry->kind == SRV_ENTRY_RECORD || entry->kind == SRV_ENTRY_GONE;
    struct srv_strand *s = is_record ? strand_of(j, entry->name) : NULL;
    entry->strand = s;
    if (is_piece && state(journal) == SRV_JOURNAL_OK && j->hurry_ms == 0) {
        srv_pieces_append(&j->pieces, entry, now_ms(j));
        return;
    }
    if (s == NULL || state(journal) != SRV_JOURNAL_OK || j->hurry_ms != 0) {
        refuse(j, entry, SRV_JOURNAL_FAILED);
        return;
    }
    if (s->sleeps || !srv_chain_append(&s->chain, &entry->pending, &entry->link)) {
        refuse(j, entry, SRV_JOURNAL_SUPERSEDED);
        return;
    }
    entry->sent = entry->may_count = false;
    j->waiting_count++;
    note_waiting(j, s);
    send(j, s);
}

static void forget(struct srv_journal *journal, uint64_t seq)
{
    (void)journal;
    (void)seq;
}

static void hurry(struct srv_journal *journal)
{
    struct shared *j = self(journal);
    j->hurry_ms = now_ms(j) + HURRY_MS;
}

static size_t waiting(struct srv_journal *journal) { return self(journal)->waiting_count; }

static uint64_t lag_ms(struct srv_journal *journal)
{
    const struct shared *j = self(journal);
    const uint64_t unread_ms = j->options.stream->lag_ms(j->options.stream),
                   unjudged_ms = j->unjudged > 0 ? now_ms(j) - j->busy_ms : 0;
    return unread_ms > unjudged_ms ? unread_ms : unjudged_ms;
}

static wire_record_id newest(struct srv_journal *journal, obb_str name)
{
    const struct srv_strand *s = *place_of(self(journal), name);
    return s != NULL ? srv_chain_end(&s->chain, journal->seen) : (wire_record_id){0};
}

static bool asleep(const struct srv_journal *journal, obb_str name, srv_asleep *out)
{
    /* the shared journal is the first member of what its owner has made */
    struct shared *j = (struct shared *)(uintptr_t)journal;
    const struct srv_strand *s = *place_of(j, name);
    if (s == NULL || !s->sleeps)
        return false;
    if (out != NULL)
        tell_asleep(s, out);
    return true;
}

static bool next_asleep(const struct srv_journal *journal, obb_str after, srv_asleep *out)
{
    const struct shared *j = (const struct shared *)journal;
    const size_t place = asleep_behind(j, after);
    if (place == j->asleep_count)
        return false;
    tell_asleep(j->asleep[place], out);
    return true;
}

static bool wake(struct srv_journal *journal, obb_str name, struct srv_wake_wait *wait)
{
    struct shared *j = self(journal);
    struct srv_strand *s = *place_of(j, name);
    if (state(journal) != SRV_JOURNAL_OK || j->hurry_ms != 0)
        return false;
    if (s == NULL || !s->sleeps) {
        add_waker(&j->woken, wait);
        wait->good = true;
        srv_bell_ring(j->bell);
        return true;
    }
    add_waker(&s->wakers, wait);
    enlist(j, s);
    begin_wakes(j);
    return true;
}

static void destroy(struct srv_journal *journal)
{
    struct shared *j = self(journal);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            end_waking(j, s);
    j->options.stream->close(j->options.stream);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i], *next; s != NULL; s = next) {
            next = s->next;
            assert(s->chain.first == NULL);
            free_strand(j, s);
        }
    srv_pieces_give_up(&j->pieces); /* sets that are dropped */
    srv_pieces_fini(&j->pieces);
    srv_purges_fini(&j->purges);
    wire_buf_fini(&j->message);
    charged_free(j, j->asleep, j->asleep_room * sizeof(struct srv_strand *));
    srv_timer_destroy(j->timer);
    srv_bell_destroy(j->bell);
    obb_free(j);
}

bool srv_shared_create(const srv_shared_options *options, struct srv_journal **out)
{
    static const struct srv_journal_calls calls = {.append = append,
                                                   .forget = forget,
                                                   .hurry = hurry,
                                                   .state = state,
                                                   .waiting = waiting,
                                                   .lag_ms = lag_ms,
                                                   .newest = newest,
                                                   .asleep = asleep,
                                                   .next_asleep = next_asleep,
                                                   .wake = wake,
                                                   .destroy = destroy};
    struct shared *j = obb_calloc(1, sizeof *j);
    if (j == NULL)
        return false;
    j->journal.calls = &calls;
    j->journal.holds_pieces = true;
    j->options = *options;
    if (j->options.message_bytes == 0)
        j->options.message_bytes = MESSAGE_BYTES;
    if (j->options.patience_ms == 0)
        j->options.patience_ms = PATIENCE_MS;
    if (j->options.keep_ms == 0)
        j->options.keep_ms = KEEP_MS;
    j->pieces = (struct srv_pieces){.stream = options->stream,
                                    .budget = options->budget,
                                    .slice_bytes = options->slice_bytes != 0 ? options->slice_bytes
                                                                             : SLICE_BYTES,
                                    .patience_ms = j->options.patience_ms};
    j->purges = (struct srv_purges){.stream = options->stream,
                                    .budget = options->budget,
                                    .patience_ms = PURGE_PATIENCES * j->options.patience_ms,
                                    .done = on_purged,
                                    .context = j};
    j->marks = (struct srv_marks){.stream = options->stream,
                                  .writer = options->writer,
                                  .patience_ms = j->options.patience_ms};
    const struct srv_stream_calls stream_calls = {.appended = on_appended,
                                                  .got = on_got,
                                                  .read = on_read,
                                                  .delivered = on_delivered,
                                                  .at_end = on_end,
                                                  .rest = on_rest,
                                                  .wants = wants,
                                                  .caught_up = on_caught_up,
                                                  .context = j};
    if (srv_bell_create(options->loop, on_bell, j, &j->bell) &&
        srv_timer_create(options->loop, on_timer, j, &j->timer) &&
        options->stream->begin(options->stream, &stream_calls)) {
        srv_timer_start(j->timer, rest_ms(j), rest_ms(j));
        *out = &j->journal;
        return true;
    }
    srv_timer_destroy(j->timer);
    srv_bell_destroy(j->bell);
    obb_free(j);
    return false;
}
