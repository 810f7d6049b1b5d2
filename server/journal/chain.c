#include "server/journal/chain.h"

wire_record_id srv_chain_end(const struct srv_chain *chain)
{
    return chain->last != NULL ? chain->last->link.id : chain->newest;
}

/* Returns whether the last pending record, or else the newest one that counts, leaves a scene. */
static bool leaves_scene(const struct srv_chain *chain)
{
    return chain->last != NULL ? chain->last->link.kind != WIRE_RECORD_GONE : chain->is_there;
}

/* A scene is made where none is, and changed or ended where one is. */
static bool fits(wire_record_kind kind, bool is_there)
{
    return (kind == WIRE_RECORD_MADE) != is_there;
}

bool srv_chain_append(struct srv_chain *chain, struct srv_pending *pending, const srv_link *link)
{
    if (!wire_record_id_equal(link->base, srv_chain_end(chain)) ||
        !fits(link->kind, leaves_scene(chain)))
        return false;
    *pending = (struct srv_pending){.link = *link, .previous = chain->last};
    *(chain->last != NULL ? &chain->last->next : &chain->first) = pending;
    chain->last = pending;
    return true;
}

bool srv_chain_counts(const struct srv_chain *chain, const srv_link *link)
{
    return wire_record_id_equal(link->base, chain->newest) && fits(link->kind, chain->is_there);
}

srv_chain_verdict srv_chain_read(struct srv_chain *chain, const srv_link *link)
{
    if (!srv_chain_counts(chain, link))
        return SRV_CHAIN_VOID;
    chain->newest = link->id;
    chain->is_there = link->kind != WIRE_RECORD_GONE;
    struct srv_pending *first = chain->first;
    if (first == NULL || !wire_record_id_equal(first->link.id, link->id))
        return SRV_CHAIN_FOREIGN;
    chain->first = first->next;
    *(first->next != NULL ? &first->next->previous : &chain->last) = NULL;
    return SRV_CHAIN_OWN;
}

struct srv_pending *srv_chain_revert(struct srv_chain *chain)
{
    struct srv_pending *last = chain->last;
    if (last == NULL)
        return NULL;
    chain->last = last->previous;
    *(last->previous != NULL ? &last->previous->next : &chain->first) = NULL;
    return last;
}
