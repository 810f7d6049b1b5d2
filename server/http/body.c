#include "server/http/body.h"

#include <inttypes.h>
#include <string.h>

const char *srv_body_too_long(struct srv_exchange *x, uint64_t length)
{
    return wire_detail(&x->request.arena,
                       "found %" PRIu64 " bytes; a body has at most %" PRIu64 " (--body-limit)",
                       length, x->all->options->body_limit);
}

static void discard_rest(struct srv_exchange *x, int status, const char *detail)
{
    srv_exchange_refuse(x, status, detail);
    x->discard = true;
    srv_exchange_free_body(x);
}

/* Moves a body that outgrows SRV_FIRST_BODY into a block for the whole of it, if one lies in stock:
 * its pages are there whether this client sends the bytes or not. Returns false if none does. */
static bool move_to_stock(struct srv_exchange *x)
{
    if (x->declared == UINT64_MAX || x->body_capacity != SRV_FIRST_BODY)
        return false;
    char *body = obb_stock_take((size_t)x->declared, 1);
    if (body == NULL)
        return false;
    if (!obb_budget_take(x->all->options->budget, (size_t)x->declared - SRV_FIRST_BODY)) {
        obb_free(body);
        return false;
    }
    memcpy(body, x->body, x->body_length);
    obb_free(x->body);
    x->body = body;
    x->body_capacity = (size_t)x->declared;
    return true;
}

/* Makes room for `size` more bytes. The buffer begins with the declared length up to
 * SRV_FIRST_BODY, then doubles each time, so a client must send bytes to get memory. */
static bool grow(struct srv_exchange *x, size_t size)
{
    const size_t need = x->body_length + size;
    if (need <= x->body_capacity || move_to_stock(x))
        return true;
    size_t capacity = x->body_capacity < SRV_FIRST_BODY / 2 ? SRV_FIRST_BODY : x->body_capacity * 2;
    if (x->declared < capacity)
        capacity = (size_t)x->declared;
    if (capacity < need)
        capacity = need;
    struct obb_budget *budget = x->all->options->budget;
    if ((x->declared != UINT64_MAX ? x->declared : need) > budget->limit) {
        discard_rest(x, 413, "the body is longer than --memory-limit");
        return false;
    }
    const size_t more = obb_budget_beyond(capacity, SRV_OWN_BUFFER) -
                        obb_budget_beyond(x->body_capacity, SRV_OWN_BUFFER);
    const bool drawn = more == 0 || obb_budget_take(budget, more);
    char *body = drawn ? obb_realloc(x->body, capacity, 1) : NULL;
    if (body == NULL) {
        if (drawn && more != 0)
            obb_budget_give(budget, more);
        discard_rest(x, 503, "bodies in flight use up the memory set aside for them");
        return false;
    }
    x->body = body;
    x->body_capacity = capacity;
    return true;
}

void srv_body_take(struct srv_exchange *x, const char *bytes, size_t size)
{
    const srv_http_options *options = x->all->options;
    options->metrics->received_bytes += size;
    if (x->refused_with_body)
        x->refused = x->discard = true;
    if (x->discard)
        return;
    if (size > options->body_limit - x->body_length) {
        discard_rest(x, 413, srv_body_too_long(x, x->body_length + size));
        return;
    }
    if (!grow(x, size))
        return;
    memcpy(x->body + x->body_length, bytes, size);
    x->body_length += size;
}
