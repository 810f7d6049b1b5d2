#include "server/journal/purges.h"

#include <string.h>

/* Sets the tags of purges apart from those of messages and pieces. */
#define PURGE_TAG (UINT64_C(1) << 62)

struct srv_purge {
    struct srv_purge *next;
    uint64_t seq, due_ms;
    size_t length;
    char name[];
};

static obb_str name_of(const struct srv_purge *p)
{
    return (obb_str){.bytes = p->name, .length = p->length};
}

bool srv_purges_add(struct srv_purges *all, obb_str name, uint64_t seq, uint64_t due_ms)
{
    struct srv_purge *p =
        all->stream->removes(all->stream) ? obb_malloc(1, sizeof *p + name.length) : NULL;
    if (p == NULL)
        return false;
    obb_budget_charge(all->budget, sizeof *p + name.length);
    p->seq = seq;
    p->due_ms = due_ms;
    p->length = name.length;
    memcpy(p->name, name.bytes, name.length);
    struct srv_purge **place = &all->first;
    while (*place != NULL && (*place)->due_ms <= due_ms)
        place = &(*place)->next;
    p->next = *place;
    *place = p;
    if (place == &all->first)
        all->asked = 0; /* what was under way is asked for again */
    return true;
}

static void drop_first(struct srv_purges *all)
{
    struct srv_purge *p = all->first;
    all->first = p->next;
    obb_budget_give(all->budget, sizeof *p + p->length);
    obb_free(p);
}

bool srv_purges_appended(struct srv_purges *all, uint64_t tag, bool known, uint64_t now_ms)
{
    if ((tag & PURGE_TAG) == 0 || (tag & ~PURGE_TAG) >= PURGE_TAG)
        return false;
    if (tag != all->asked)
        return true;
    all->asked = 0;
    if (!known)
        return true; /* the next look asks again */
    all->done(all->context, name_of(all->first), all->first->seq);
    drop_first(all);
    srv_purges_look(all, now_ms);
    return true;
}

void srv_purges_look(struct srv_purges *all, uint64_t now_ms)
{
    const struct srv_purge *p = all->first;
    if (p == NULL || p->due_ms > now_ms ||
        (all->asked != 0 && now_ms - all->asked_ms < all->patience_ms))
        return;
    all->asked = PURGE_TAG | ++all->tag;
    all->asked_ms = now_ms;
    if (!all->stream->purge(all->stream, name_of(p), p->seq, all->asked))
        all->asked = 0;
}

void srv_purges_fini(struct srv_purges *all)
{
    while (all->first != NULL)
        drop_first(all);
}
