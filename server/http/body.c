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
    obb_free(x->body);
    x->body = NULL;
    x->body_length = x->body_capacity = 0;
}

/* Makes room for `more` bytes. The buffer begins with the declared length up to SRV_FIRST_BODY,
 * then doubles each time, so a client must send bytes to get memory. */
static bool grow(struct srv_exchange *x, size_t more)
{
    const size_t need = x->body_length + more;
    if (need <= x->body_capacity)
        return true;
    size_t capacity = x->body_capacity < SRV_FIRST_BODY / 2 ? SRV_FIRST_BODY : x->body_capacity * 2;
    if (x->declared < capacity)
        capacity = (size_t)x->declared;
    if (capacity < need)
        capacity = need;
    char *body = NULL;
    if (srv_request_reserve(&x->request, capacity - x->body_capacity))
        body = obb_realloc(x->body, capacity, 1);
    if (body == NULL) {
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
