#include "server/journal/chain.h"

/* Returns whether there is no scene, and its end is forgotten at this place. */
static bool is_forgotten(const struct srv_chain *chain, uint64_t seq)
{
    return !chain->is_there && seq > chain->ended + SRV_CHAIN_WINDOW;
}

wire_record_id srv_chain_end(const struct srv_chain *chain, uint64_t seq)
{
    if (chain->last != NULL)
        return chain->last->link.id;
    return is_forgotten(chain, seq) ? (wire_record_id){0} : chain->newest;
}

/* Returns whether the last pending record, or else the newest one that counts, leaves a scene. */
static bool leaves_scene(const struct srv_chain *chain)
{
    return chain->last != NULL ? chain->last->link.kind != WIRE_RECORD_GONE : chain->is_there;
}

/* A scene is made where none is, or in place of another, and changed or ended where one is. */
static bool fits(const srv_link *link, bool is_there)
{
    return link->kind == WIRE_RECORD_MADE ? !is_there || link->in_parts : is_there;
}

bool srv_chain_append(struct srv_chain *chain, struct srv_pending *pending, const srv_link *link)
{
    if (!wire_record_id_equal(link->base, srv_chain_end(chain, link->seen)) ||
        !fits(link, leaves_scene(chain)))
        return false;
    *pending = (struct srv_pending){.link = *link, .previous = chain->last};
    *(chain->last != NULL ? &chain->last->next : &chain->first) = pending;
    chain->last = pending;
    return true;
}

/* Returns whether a record comes so late that neither it nor a copy of it can count. */
static bool is_late(const struct srv_chain *chain, const srv_link *link, uint64_t seq)
{
    return link->kind == WIRE_RECORD_MADE &&
           (seq > link->seen + SRV_CHAIN_WINDOW ||
            (is_forgotten(chain, seq) && wire_record_id_is(link->base)));
}

bool srv_chain_counts(const struct srv_chain *chain, const srv_link *link, uint64_t seq)
{
    return fits(link, chain->is_there) && !is_late(chain, link, seq) &&
           (is_forgotten(chain, seq) || wire_record_id_equal(link->base, chain->newest));
}

bool srv_chain_may_forget(const struct srv_chain *chain, uint64_t seq)
{
    return chain->first == NULL && is_forgotten(chain, seq);
}

srv_chain_verdict srv_chain_read(struct srv_chain *chain, const srv_link *link, uint64_t seq)
{
    struct srv_pending *first = chain->first;
    const bool is_own = first != NULL && wire_record_id_equal(first->link.id, link->id);
    if (!srv_chain_counts(chain, link, seq))
        return is_own && is_late(chain, link, seq) ? SRV_CHAIN_LATE : SRV_CHAIN_VOID;
    chain->newest = link->id;
    chain->is_there = link->kind != WIRE_RECORD_GONE;
    chain->ended = chain->is_there ? 0 : seq;
    if (!is_own)
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
