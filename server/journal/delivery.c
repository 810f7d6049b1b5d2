#include "server/journal/delivery.h"

#include "server/journal/marked.h"

#include <string.h>

/* ---- Gaps ------------------------------------------------------------------------------------ */

/* Notes from the place of a message whether others were purged between it and the one before.
 *
 * Whoever purges has written a record before that names the snapshot. So it stands among the
 * messages that were in the log when this one was sent: once those are delivered, each strand has
 * read of the snapshots that hold what it lacks. Only the messages of a scene whose end is
 * forgotten are purged without one. */
static void note_gap(struct srv_shared *j, uint64_t seq, uint64_t left)
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
static void end_gap(struct srv_shared *j)
{
    if (j->gap == 0 || j->gap_left > 0)
        return;
    j->gap = 0;
    if (j->told && j->position > j->gap_from + SRV_CHAIN_WINDOW) {
        srv_shared_lose(
            j, "the log went on too far while it was not read here: the ends of scenes may have "
               "been purged");
        return;
    }
    for (size_t i = 0; i < SRV_STRAND_BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            if (s->doubts)
                srv_strand_add_fresh(j, s);
}

/* ---- Once more ------------------------------------------------------------------------------- */

void srv_delivery_again(struct srv_shared *j, struct srv_strand *s, uint64_t from)
{
    while (s->first != NULL)
        srv_strand_drop_message(j, s);
    s->rereads = j->rereads = true;
    s->read = from - 1;
    s->judged = 0;
    for (size_t i = 0; i < SRV_STRAND_BUCKETS; i++)
        for (const struct srv_strand *other = j->buckets[i]; other != NULL; other = other->next)
            if (other->rereads && other->read + 1 < from)
                from = other->read + 1;
    j->position = from - 1;
    j->gap_left = UINT64_MAX;
    j->options.stream->rewind(j->options.stream, from);
}

/* All that was read before is delivered again: what comes now is new to every strand. */
static void end_rereads(struct srv_shared *j)
{
    for (size_t i = 0; j->rereads && i < SRV_STRAND_BUCKETS; i++)
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next) {
            if (s->rereads && s->marked.first != NULL)
                srv_strand_add_fresh(j, s);
            s->rereads = false;
        }
    j->rereads = false;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Keeps a message about a name until it is judged. */
static void take_message(struct srv_shared *j, obb_str name, uint64_t seq, obb_str bytes)
{
    const bool is_new = seq > j->journal.seen;
    struct srv_strand *s = is_new ? srv_strand_of(j, name) : *srv_strand_place(j, name);
    const bool is_wanted = is_new || (s != NULL && s->rereads && seq > s->read);
    if (seq >= j->journal.seen)
        end_rereads(j);
    if (!is_wanted)
        return; /* it was read before */
    struct srv_strand_message *m = srv_shared_calloc(j, sizeof *m + bytes.length);
    if (s == NULL || m == NULL) {
        if (m != NULL)
            srv_shared_free(j, m, sizeof *m + bytes.length);
        srv_shared_lose(j, "there is not enough memory to follow the log");
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
        j->busy_ms = srv_shared_now_ms(j);
    j->inbox += bytes.length;
    s->bytes += bytes.length;
    if (s->holds) {
        struct srv_offer offer;
        j->held += bytes.length;
        s->has_offer = s->has_offer || srv_offer_read(m->bytes, seq, &offer);
    }
    srv_strand_add_fresh(j, s);
}

static void take_mark(struct srv_shared *j, uint64_t seq, obb_str bytes)
{
    if (seq >= j->journal.seen)
        end_rereads(j);
    if (seq <= j->journal.seen)
        return; /* it was read before */
    j->delivered = j->looks;
    j->journal.seen = seq;
    srv_marked_meet(j, seq, bytes);
}

void srv_delivery_take(void *context, obb_str name, uint64_t seq, uint64_t left, obb_str bytes)
{
    struct srv_shared *j = context;
    if (j->is_lost)
        return;
    note_gap(j, seq, left);
    if (name.length == 0)
        take_mark(j, seq, bytes);
    else
        take_message(j, name, seq, bytes);
    end_gap(j);
}

void srv_delivery_end(void *context, uint64_t seq)
{
    struct srv_shared *j = context;
    if (j->is_lost || j->position != seq)
        return;
    j->gap_left = 0;
    end_gap(j);
}

bool srv_delivery_wants(void *context)
{
    const struct srv_shared *j = context;
    return !srv_shared_is_full(j);
}

void srv_delivery_caught_up(void *context)
{
    struct srv_shared *j = context;
    j->read_all = true;
    j->began_until = j->position;
    for (size_t i = 0; i < SRV_STRAND_BUCKETS; i++) /* what is not there yet never comes */
        for (struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            if (s->holds || s->lacks_parts)
                srv_strand_add_fresh(j, s);
    if (j->fresh != NULL)
        srv_bell_ring(j->bell);
    else
        srv_shared_look_if_caught_up(j);
}
