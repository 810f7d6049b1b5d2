#include "server/journal/sending.h"

#include <stddef.h>

/* ---- Entries --------------------------------------------------------------------------------- */

void srv_entry_settle(struct srv_entry *entry, srv_journal_status status)
{
    entry->settled(entry, status);
    entry->released(entry);
}

void srv_sending_note_waiting(struct srv_shared *j, struct srv_strand *s)
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
static struct srv_entry **take_refused(struct srv_shared *j, const struct srv_strand *s,
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

void srv_sending_settle_all(struct srv_shared *j, struct srv_strand *s, srv_journal_status status,
                            bool unknown)
{
    srv_strand_end_flight(j, s);
    struct srv_entry *list = NULL, **end = take_refused(j, s, &list);
    for (struct srv_pending *p; (p = srv_chain_revert(&s->chain)) != NULL;) {
        struct srv_entry *entry = srv_entry_of(p);
        entry->status = unknown && entry->may_count ? SRV_JOURNAL_UNKNOWN : status;
        entry->next = NULL;
        *end = entry;
        end = &entry->next;
        j->waiting_count--;
    }
    srv_sending_note_waiting(j, s);
    for (struct srv_entry *next; list != NULL; list = next) {
        next = list->next;
        srv_entry_settle(list, list->status);
    }
}

/* ---- Messages -------------------------------------------------------------------------------- */

void srv_sending_rewind(struct srv_shared *j, struct srv_strand *s)
{
    srv_strand_end_flight(j, s);
    for (struct srv_pending *p = s->chain.first; p != NULL; p = p->next) {
        srv_entry_of(p)->sent = false;
        srv_entry_of(p)->slices = 0;
    }
}

/* Writes the next slice of an entry that is too long for one message. */
static void write_slice(struct srv_shared *j, struct srv_entry *entry)
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
static bool write_message(struct srv_shared *j, struct srv_strand *s)
{
    const size_t most = j->options.message_bytes;
    wire_buf_restart(&j->message, j->message.capacity);
    for (struct srv_pending *p = s->chain.first; p != NULL; p = p->next) {
        struct srv_entry *entry = srv_entry_of(p);
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

void srv_sending_send(struct srv_shared *j, struct srv_strand *s)
{
    if (s->first != NULL || j->is_lost || s->flight != 0 || s->chain.first == NULL ||
        srv_shared_now_ms(j) < s->retry_ms)
        return;
    if (!write_message(j, s))
        return;
    s->flight = ++j->tag;
    s->next_flight = j->flights[s->flight % SRV_STRAND_BUCKETS];
    j->flights[s->flight % SRV_STRAND_BUCKETS] = s;
    s->moved_ms = srv_shared_now_ms(j);
    const obb_str bytes = {.bytes = j->message.bytes, .length = j->message.length};
    if (j->message.failed ||
        !j->options.stream->append(j->options.stream, srv_strand_name(s), s->flight, bytes)) {
        srv_sending_rewind(j, s);
        s->retry_ms = srv_shared_now_ms(j) + srv_shared_rest_ms(j);
        return;
    }
    s->retry_ms = 0;
    srv_shared_count(&j->journal.figures.groups, 1);
    srv_shared_count(&j->journal.figures.bytes, bytes.length);
}

void srv_sending_appended(void *context, uint64_t tag, bool known)
{
    struct srv_shared *j = context;
    if (srv_pieces_appended(&j->pieces, tag, known, srv_shared_now_ms(j)) ||
        srv_purges_appended(&j->purges, tag, known, srv_shared_now_ms(j)) ||
        srv_marks_appended(&j->marks, tag, known, srv_shared_now_ms(j)))
        return;
    struct srv_strand *s = j->flights[tag % SRV_STRAND_BUCKETS];
    while (s != NULL && s->flight != tag)
        s = s->next_flight;
    if (s == NULL)
        return; /* of a message that was given up, or that the log has shown already */
    srv_strand_end_flight(j, s);
    s->moved_ms = srv_shared_now_ms(j);
    if (!known) {
        srv_sending_rewind(j, s);
        s->retry_ms = srv_shared_now_ms(j) + srv_shared_rest_ms(j);
        srv_shared_count(&j->journal.figures.failures, 1);
    }
    srv_sending_send(j, s);
}

void srv_sending_supersede(struct srv_shared *j, struct srv_strand *s, bool unknown)
{
    const bool judges = s->judges;
    srv_sending_rewind(j, s);
    s->judges = false;
    srv_sending_settle_all(j, s, SRV_JOURNAL_SUPERSEDED, unknown);
    s->judges = judges;
}
