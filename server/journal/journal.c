#include "server/journal/journal.h"

#include "server/journal/journal_body.h"

void srv_journal_append(struct srv_journal *j, struct srv_entry *entry)
{
    j->calls->append(j, entry);
}

bool srv_journal_holds_pieces(const struct srv_journal *j) { return j->holds_pieces; }

bool srv_journal_seals(const struct srv_journal *j) { return j->seals; }

uint64_t srv_journal_number(struct srv_journal *j) { return ++j->number; }

wire_record_id srv_journal_newest(struct srv_journal *j, obb_str name)
{
    return j->calls->newest(j, name);
}

bool srv_journal_asleep(const struct srv_journal *j, obb_str name, srv_asleep *out)
{
    return j->calls->asleep != NULL && j->calls->asleep(j, name, out);
}

bool srv_journal_next_asleep(const struct srv_journal *j, obb_str after, srv_asleep *out)
{
    return j->calls->next_asleep != NULL && j->calls->next_asleep(j, after, out);
}

bool srv_journal_wake(struct srv_journal *j, obb_str name, struct srv_wake_wait *wait)
{
    return j->calls->wake != NULL && j->calls->wake(j, name, wait);
}

void srv_wake_wait_leave(struct srv_wake_wait *wait)
{
    struct srv_wake_waits *in = wait->in;
    if (in == NULL)
        return;
    *(wait->previous != NULL ? &wait->previous->next : &in->first) = wait->next;
    *(wait->next != NULL ? &wait->next->previous : &in->last) = wait->previous;
    wait->in = NULL;
}

uint64_t srv_journal_seen(const struct srv_journal *j)
{
    return atomic_load_explicit(&j->seen, memory_order_relaxed);
}

void srv_journal_forget(struct srv_journal *j, uint64_t seq) { j->calls->forget(j, seq); }

bool srv_journal_has_excerpts(const struct srv_journal *j) { return j->calls->read != NULL; }

void srv_journal_read(struct srv_journal *j, struct srv_excerpt *excerpt)
{
    j->calls->read(j, excerpt);
}

void srv_journal_read_end(struct srv_journal *j, struct srv_excerpt *excerpt)
{
    srv_excerpt_clear(excerpt);
    j->calls->read_end(j);
}

void srv_journal_hurry(struct srv_journal *j) { j->calls->hurry(j); }

srv_journal_status srv_journal_state(struct srv_journal *j) { return j->calls->state(j); }

size_t srv_journal_waiting(struct srv_journal *j) { return j->calls->waiting(j); }

uint64_t srv_journal_lag_ms(struct srv_journal *j)
{
    return j->calls->lag_ms != NULL ? j->calls->lag_ms(j) : 0;
}

void srv_journal_count_failure(struct srv_journal *j)
{
    atomic_fetch_add_explicit(&j->figures.failures, 1, memory_order_relaxed);
}

const struct srv_journal_figures *srv_journal_figures(const struct srv_journal *j)
{
    return &j->figures;
}

void srv_journal_destroy(struct srv_journal *j)
{
    if (j != NULL)
        j->calls->destroy(j);
}
