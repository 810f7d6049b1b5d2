#include "server/journal/marked.h"

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

void srv_marked_release(struct srv_strand *s)
{
    while (s->marked.first != NULL && is_applied(s, s->marked.first->place))
        tell_read(s->marked.first);
}

/* Returns whether all is applied of all strands that was delivered before this place. */
static bool is_all_applied(const struct srv_shared *j, uint64_t place)
{
    if (j->unjudged == 0 && !j->rereads && j->lacking == 0)
        return true;
    for (size_t i = 0; i < SRV_STRAND_BUCKETS; i++)
        for (const struct srv_strand *s = j->buckets[i]; s != NULL; s = s->next)
            if (!is_applied(s, place))
                return false;
    return true;
}

void srv_marked_release_all(struct srv_shared *j)
{
    while (j->marked.first != NULL && is_all_applied(j, j->marked.first->place))
        tell_read(j->marked.first);
}

void srv_marked_meet(struct srv_shared *j, uint64_t seq, obb_str bytes)
{
    struct srv_mark_waits waits = srv_marks_read(&j->marks, seq, bytes, srv_shared_now_ms(j));
    srv_shared_count(&j->journal.figures.marks, waits.first != NULL);
    for (struct srv_mark_wait *wait = waits.first, *next; wait != NULL; wait = next) {
        next = wait->next;
        struct srv_strand *s = wait->name.length > 0 ? *srv_strand_place(j, wait->name) : NULL;
        srv_mark_waits_add(s != NULL ? &s->marked : &j->marked, wait);
        if (s != NULL)
            srv_marked_release(s);
        else if (wait->name.length > 0)
            tell_read(wait);
    }
}
