#include "server/journal/shared.h"

#include "server/journal/delivery.h"
#include "server/journal/judging.h"
#include "server/journal/marked.h"
#include "server/journal/sending.h"
#include "server/journal/sleeping.h"
#include "server/journal/strand_body.h"

#include <assert.h>

enum {
    MESSAGE_BYTES = 512 << 10,
    SLICE_BYTES = 128 << 10,
    SWEPT = 16, /* buckets, at each look */
    PATIENCE_MS = 1000,
    KEEP_MS = 60000,
    PURGE_PATIENCES = 5, /* before a purge is asked for again */
    HURRY_MS = 2000      /* at the end of the service */
};

/* ---- Looking --------------------------------------------------------------------------------- */

/* Returns whether nothing of the strand is needed any more. */
static bool is_idle(const struct srv_shared *j, const struct srv_strand *s)
{
    return srv_chain_may_forget(&s->chain, j->journal.seen) && s->first == NULL &&
           s->slices.first == NULL && !s->applies && !s->is_fresh && !s->rereads && !s->is_purged &&
           !s->is_asked && s->missing.in == NULL && s->marked.first == NULL;
}

/* Purges all messages about a scene whose end is forgotten, unless another process does. The last
 * message of the log stays. Returns whether the strand is needed for that. */
static bool purge_end(struct srv_shared *j, struct srv_strand *s)
{
    if (!s->ends_purge)
        return false;
    s->ends_purge = false;
    s->is_purged =
        srv_purges_add(&j->purges, srv_strand_name(s), j->journal.seen, srv_shared_now_ms(j));
    return s->is_purged;
}

/* Forgets the names of some buckets that the rule does not need any more, and slices whose record
 * comes too late. */
static void sweep(struct srv_shared *j)
{
    const uint64_t seen = j->journal.seen;
    if (j->refused.first != NULL) /* their strands are needed */
        return;
    for (size_t i = 0; i < SWEPT; i++) {
        struct srv_strand **place = &j->buckets[j->swept++ % SRV_STRAND_BUCKETS];
        while (*place != NULL) {
            struct srv_strand *s = *place;
            if (seen > SRV_CHAIN_WINDOW && s->first == NULL)
                srv_slices_drop(&s->slices, seen - SRV_CHAIN_WINDOW);
            if (!s->applies && ((s->holds && !srv_strand_is_held(j, s)) ||
                                (s->lacks_parts && srv_strand_is_impatient(j, s))))
                srv_strand_add_fresh(j, s);
            srv_sleeping_look_if_ended(j, s);
            if (!is_idle(j, s) || purge_end(j, s)) {
                place = &s->next;
                continue;
            }
            *place = s->next;
            srv_strand_free(j, s);
        }
    }
    if (j->fresh != NULL)
        srv_bell_ring(j->bell);
}

/* Sends again whatever makes no progress, and gives up what waits too long at the end. */
static void on_timer(void *context)
{
    struct srv_shared *j = context;
    const uint64_t now = srv_shared_now_ms(j);
    j->looks++;
    for (struct srv_strand *s = j->waiting, *next; s != NULL; s = next) {
        next = s->next_waiting;
        const uint64_t still_ms = now - s->moved_ms;
        /* what is said to be in the log may take twice as long to be shown */
        if (still_ms >= (s->flight != 0 ? 1U : 2U) * j->options.patience_ms) {
            srv_sending_rewind(j, s);
            s->moved_ms = now;
        }
        srv_sending_send(j, s);
    }
    while (j->hurry_ms != 0 && now >= j->hurry_ms && j->waiting != NULL)
        srv_sending_settle_all(j, j->waiting, SRV_JOURNAL_UNKNOWN, false);
    srv_pieces_look(&j->pieces, now);
    srv_purges_look(&j->purges, now);
    srv_marks_look(&j->marks, now);
    srv_sleeping_look(j, now);
    srv_marked_release_all(j);
    if (j->hurry_ms != 0 && now >= j->hurry_ms)
        srv_pieces_give_up(&j->pieces);
    sweep(j);
}

/* ---- The log --------------------------------------------------------------------------------- */

static void on_got(void *context, uint64_t tag, srv_stream_found found, obb_str bytes)
{
    struct srv_shared *j = context;
    if (!srv_sleeping_prove(j, tag, found))
        srv_pieces_got(&j->pieces, tag, found, bytes, srv_shared_now_ms(j));
}

/* The messages about a name with places below `seq` are removed. */
static void on_purged(void *context, obb_str name, uint64_t seq)
{
    struct srv_shared *j = context;
    struct srv_strand *s = *srv_strand_place(j, name);
    srv_shared_count(&j->journal.figures.purges, 1);
    if (s == NULL)
        return;
    s->is_purged = false;
    srv_strand_drop_named(j, s, seq, true);
}

/* Settles what could not be appended, the newest first, and goes on to judge. */
static void on_bell(void *context)
{
    struct srv_shared *j = context;
    struct srv_entry *entry = j->refused.last;
    j->refused = (struct srv_entries){NULL, NULL};
    for (struct srv_entry *previous; entry != NULL; entry = previous) {
        previous = entry->previous;
        srv_entry_settle(entry, entry->status);
    }
    srv_sleeping_call_woken(j);
    srv_judging_rest(j);
}

/* ---- The face -------------------------------------------------------------------------------- */

static srv_journal_status state(struct srv_journal *journal)
{
    struct srv_shared *j = srv_shared_self(journal);
    return !j->is_lost && j->options.stream->connected(j->options.stream) ? SRV_JOURNAL_OK
                                                                          : SRV_JOURNAL_FAILED;
}

static void refuse(struct srv_shared *j, struct srv_entry *entry, srv_journal_status status)
{
    entry->status = status;
    entry->next = NULL;
    entry->previous = j->refused.last;
    *(j->refused.last != NULL ? &j->refused.last->next : &j->refused.first) = entry;
    j->refused.last = entry;
    srv_bell_ring(j->bell);
}

/* Returns whether the record makes a scene in place of one of another process that is not applied
 * yet. Applying that one waits for the scene, which stays locked until the record is settled: so
 * the record must not wait. */
static bool comes_too_soon(const struct srv_strand *s, const srv_link *link)
{
    return link->kind == WIRE_RECORD_MADE && link->in_parts && (s->applies || s->lacks_parts);
}

static void append(struct srv_journal *journal, struct srv_entry *entry)
{
    struct srv_shared *j = srv_shared_self(journal);
    const bool is_piece = entry->kind == SRV_ENTRY_CHUNK || entry->kind == SRV_ENTRY_DROPPED ||
                          entry->kind == SRV_ENTRY_SNAPSHOT;
    const bool is_record = entry->kind == SRV_ENTRY_RECORD || entry->kind == SRV_ENTRY_GONE;
    struct srv_strand *s = is_record ? srv_strand_of(j, entry->name) : NULL;
    entry->strand = s;
    if (is_piece && state(journal) == SRV_JOURNAL_OK && j->hurry_ms == 0) {
        srv_pieces_append(&j->pieces, entry, srv_shared_now_ms(j));
        return;
    }
    if (s == NULL || state(journal) != SRV_JOURNAL_OK || j->hurry_ms != 0) {
        refuse(j, entry, SRV_JOURNAL_FAILED);
        return;
    }
    if (s->sleeps || comes_too_soon(s, &entry->link) ||
        !srv_chain_append(&s->chain, &entry->pending, &entry->link)) {
        refuse(j, entry, SRV_JOURNAL_SUPERSEDED);
        return;
    }
    entry->sent = entry->may_count = false;
    j->waiting_count++;
    srv_sending_note_waiting(j, s);
    srv_sending_send(j, s);
}

static void forget(struct srv_journal *journal, uint64_t seq)
{
    (void)journal;
    (void)seq;
}

static void hurry(struct srv_journal *journal)
{
    struct srv_shared *j = srv_shared_self(journal);
    j->hurry_ms = srv_shared_now_ms(j) + HURRY_MS;
}

static size_t waiting(struct srv_journal *journal)
{
    return srv_shared_self(journal)->waiting_count;
}

static uint64_t lag_ms(struct srv_journal *journal)
{
    const struct srv_shared *j = srv_shared_self(journal);
    const uint64_t unread_ms = j->options.stream->lag_ms(j->options.stream),
                   unjudged_ms = j->unjudged > 0 ? srv_shared_now_ms(j) - j->busy_ms : 0;
    return unread_ms > unjudged_ms ? unread_ms : unjudged_ms;
}

static wire_record_id newest(struct srv_journal *journal, obb_str name)
{
    const struct srv_strand *s = *srv_strand_place(srv_shared_self(journal), name);
    return s != NULL ? srv_chain_end(&s->chain, journal->seen) : (wire_record_id){0};
}

static bool asleep(const struct srv_journal *journal, obb_str name, srv_asleep *out)
{
    /* the shared journal is the first member of what its owner has made */
    struct srv_shared *j = (struct srv_shared *)(uintptr_t)journal;
    const struct srv_strand *s = *srv_strand_place(j, name);
    if (s == NULL || !s->sleeps)
        return false;
    if (out != NULL)
        srv_sleeping_tell(s, out);
    return true;
}

static bool next_asleep(const struct srv_journal *journal, obb_str after, srv_asleep *out)
{
    const struct srv_shared *j = (const struct srv_shared *)journal;
    const size_t place = srv_sleeping_behind(j, after);
    if (place == j->asleep_count)
        return false;
    srv_sleeping_tell(j->asleep[place], out);
    return true;
}

static bool wake(struct srv_journal *journal, obb_str name, struct srv_wake_wait *wait)
{
    struct srv_shared *j = srv_shared_self(journal);
    struct srv_strand *s = *srv_strand_place(j, name);
    if (state(journal) != SRV_JOURNAL_OK || j->hurry_ms != 0)
        return false;
    if (s == NULL || !s->sleeps) {
        srv_sleeping_add_waker(&j->woken, wait);
        wait->good = true;
        srv_bell_ring(j->bell);
        return true;
    }
    srv_sleeping_add_waker(&s->wakers, wait);
    srv_sleeping_enlist(j, s);
    srv_sleeping_wake(j);
    return true;
}

void srv_shared_applied(struct srv_journal *journal, obb_str name)
{
    struct srv_shared *j = srv_shared_self(journal);
    srv_judging_applied(j, *srv_strand_place(j, name));
}

void srv_shared_refused(struct srv_journal *journal, obb_str name, const char *why)
{
    struct srv_shared *j = srv_shared_self(journal);
    srv_judging_refused(j, *srv_strand_place(j, name), why);
}

bool srv_shared_differs(struct srv_journal *journal, obb_str name, const char *why)
{
    struct srv_shared *j = srv_shared_self(journal);
    return srv_judging_differs(j, *srv_strand_place(j, name), why);
}

void srv_shared_checked(struct srv_journal *journal, obb_str name, bool is_right)
{
    struct srv_shared *j = srv_shared_self(journal);
    srv_judging_checked(j, *srv_strand_place(j, name), is_right);
}

void srv_shared_mark(struct srv_journal *journal, struct srv_mark_wait *wait)
{
    struct srv_shared *j = srv_shared_self(journal);
    srv_marks_add(&j->marks, wait, srv_shared_now_ms(j));
}

bool srv_shared_sleep(struct srv_journal *journal, obb_str name)
{
    struct srv_shared *j = srv_shared_self(journal);
    struct srv_strand *s = *srv_strand_place(j, name);
    return s != NULL && j->told && !j->is_lost && s->chain.is_there && s->chain.first == NULL &&
           !s->sleeps && s->first == NULL && s->source.from != 0 && s->flight == 0 && !s->applies &&
           !s->holds && !s->doubts && !s->lacks_parts && !s->rereads && s->marked.first == NULL &&
           j->options.stream->connected(j->options.stream) && srv_sleeping_begin(j, s);
}

static void destroy(struct srv_journal *journal)
{
    struct srv_shared *j = srv_shared_self(journal);
    for (size_t i = 0; i < SRV_STRAND_BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            srv_strand_end_waking(j, s);
    j->options.stream->close(j->options.stream);
    for (size_t i = 0; i < SRV_STRAND_BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i], *next; s != NULL; s = next) {
            next = s->next;
            assert(s->chain.first == NULL);
            srv_strand_free(j, s);
        }
    srv_pieces_give_up(&j->pieces); /* sets that are dropped */
    srv_pieces_fini(&j->pieces);
    srv_purges_fini(&j->purges);
    wire_buf_fini(&j->message);
    srv_shared_free(j, j->asleep, j->asleep_room * sizeof(struct srv_strand *));
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
    struct srv_shared *j = obb_calloc(1, sizeof *j);
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
    const struct srv_stream_calls stream_calls = {.appended = srv_sending_appended,
                                                  .got = on_got,
                                                  .read = srv_sleeping_read,
                                                  .delivered = srv_delivery_take,
                                                  .at_end = srv_delivery_end,
                                                  .rest = srv_judging_rest,
                                                  .wants = srv_delivery_wants,
                                                  .caught_up = srv_delivery_caught_up,
                                                  .context = j};
    if (srv_bell_create(options->loop, on_bell, j, &j->bell) &&
        srv_timer_create(options->loop, on_timer, j, &j->timer) &&
        options->stream->begin(options->stream, &stream_calls)) {
        srv_timer_start(j->timer, srv_shared_rest_ms(j), srv_shared_rest_ms(j));
        *out = &j->journal;
        return true;
    }
    srv_timer_destroy(j->timer);
    srv_bell_destroy(j->bell);
    obb_free(j);
    return false;
}
