#include "server/http/exchange.h"

#include <microhttpd.h>
#include <netinet/in.h>

enum { KEPT_EXCHANGES = 256 }; /* in the pool; further ones are freed with their request */

/* ---- The pool -------------------------------------------------------------------------------- */

static struct srv_exchange *take(struct srv_exchanges *all)
{
    struct srv_exchange *x = all->free;
    if (x != NULL) {
        all->free = x->next;
        all->free_count--;
        x->next = NULL;
        return x;
    }
    x = obb_calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    x->request.arena.budget = all->options->budget;
    x->request.arena.own = SRV_OWN_BUFFER;
    return x;
}

void srv_exchange_free_body(struct srv_exchange *x)
{
    const size_t drawn = obb_budget_beyond(x->body_capacity, SRV_OWN_BUFFER);
    obb_free(x->body);
    if (drawn != 0)
        obb_budget_give(x->all->options->budget, drawn);
    x->body = NULL;
    x->body_length = x->body_capacity = 0;
}

static void free_exchange(struct srv_exchange *x)
{
    obb_arena_fini(&x->request.arena);
    wire_buf_fini(&x->request.reply);
    srv_exchange_free_body(x);
    obb_free(x);
}

/* Keeps buffers of ordinary size for the next request. */
static void give(struct srv_exchanges *all, struct srv_exchange *x)
{
    if (all->free_count == KEPT_EXCHANGES) {
        free_exchange(x);
        return;
    }
    if (x->request.arena.total > SRV_OWN_BUFFER)
        obb_arena_fini(&x->request.arena);
    obb_arena_reset(&x->request.arena);
    if (x->request.reply.capacity > SRV_OWN_BUFFER)
        wire_buf_fini(&x->request.reply);
    if (x->body_capacity > SRV_OWN_BUFFER)
        srv_exchange_free_body(x);
    struct srv_exchange kept = {.all = all,
                                .next = all->free,
                                .request.arena = x->request.arena,
                                .request.reply.bytes = x->request.reply.bytes,
                                .request.reply.capacity = x->request.reply.capacity,
                                .body = x->body,
                                .body_capacity = x->body_capacity};
    *x = kept;
    all->free = x;
    all->free_count++;
}

void srv_exchanges_fini(struct srv_exchanges *exchanges)
{
    for (struct srv_exchange *x = exchanges->free, *next; x != NULL; x = next) {
        next = x->next;
        free_exchange(x);
    }
    exchanges->free = NULL;
    exchanges->free_count = 0;
}

struct srv_exchange *srv_exchange_begin(struct srv_exchanges *all,
                                        struct srv_connection *connection)
{
    struct srv_exchange *x = take(all);
    if (x == NULL)
        return NULL;
    x->request.exchange = x;
    x->request.reply.budget = all->options->budget;
    x->request.reply.own = SRV_OWN_BUFFER;
    x->request.number = ++all->requests;
    x->request.services = all->options->services;
    x->all = all;
    x->connection = connection;
    connection->exchange = x;
    all->active++;
    return x;
}

void srv_exchange_end(struct srv_exchange *x)
{
    struct srv_exchanges *all = x->all;
    struct srv_connection *c = x->connection;
    c->exchange = NULL;
    all->active--;
    give(all, x);
    srv_connection_enter(c, SRV_PHASE_READ);
}

/* ---- Refused and cancelled ------------------------------------------------------------------- */

void srv_exchange_refuse(struct srv_exchange *x, int status, const char *detail)
{
    x->refused = true;
    x->refusal = wire_problem_http(status, detail);
    if (status == 503)
        x->refusal.retry_after = 1;
}

void srv_exchange_cancel(struct srv_exchange *x, bool late)
{
    if (atomic_load(&x->request.cancelled))
        return;
    x->late = late;
    atomic_store(&x->request.cancelled, true);
    if (!srv_exchange_endless(x)) /* else this is its ordinary end */
        x->all->options->metrics->cancelled_total++;
    if (x->request.on_cancel != NULL)
        x->request.on_cancel(&x->request);
}

bool srv_request_late(const struct srv_request *request) { return request->exchange->late; }

/* ---- Asleep ---------------------------------------------------------------------------------- */

/* Sends a byte of urgent data, to which a client that has closed both directions answers with a
 * reset: over TCP the end of what a client sends looks the same whether it still reads or not. The
 * byte is no part of what the client reads, unless it asks for it with SO_OOBINLINE. */
static void probe(const struct srv_connection *c)
{
    struct sockaddr own = {.sa_family = AF_UNIX};
    socklen_t size = sizeof own;
    (void)getsockname(c->descriptor, &own, &size);
    if (own.sa_family != AF_UNIX) /* there the end of both directions shows by itself */
        (void)send(c->descriptor, "\n", 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_end(void *context, unsigned events)
{
    struct srv_connection *c = context;
    const struct srv_exchange *x = c->exchange;
    if (events == SRV_HALF_CLOSED && !x->endless) {
        srv_watch_change(c->hangup, SRV_HANGUP);
        probe(c);
        return;
    }
    srv_watch_pause(c->hangup);
    srv_exchange_cancel(c->exchange, false);
}

void srv_exchange_suspend(struct srv_exchange *x)
{
    struct srv_connection *c = x->connection;
    MHD_suspend_connection(c->mhd);
    x->suspended = x->sleeps = true;
    /* if the watch fails, a client that goes is noticed only when there is something to tell it */
    if (c->hangup == NULL)
        (void)srv_watch_create(x->all->options->loop, c->descriptor, SRV_HALF_CLOSED, on_end, c,
                               &c->hangup);
}

void srv_exchange_suspend_later(struct srv_exchange *x)
{
    x->suspended = true;
    x->next = x->all->tired;
    x->all->tired = x;
}

void srv_exchanges_suspend(struct srv_exchanges *all)
{
    for (struct srv_exchange *x = all->tired, *next; x != NULL; x = next) {
        next = x->next;
        x->next = NULL;
        if (x->suspended) /* no answer has come meanwhile */
            srv_exchange_suspend(x);
    }
    all->tired = NULL;
}

static void wake_now(struct srv_exchange *x)
{
    if (x->sleeps)
        MHD_resume_connection(x->connection->mhd);
    x->sleeps = false;
}

void srv_exchange_resume(struct srv_exchange *x)
{
    struct srv_exchanges *all = x->all;
    x->suspended = false;
    srv_loop_due(all->options->loop);
    if (!x->endless || !x->sleeps) {
        wake_now(x);
        return;
    }
    *(all->waking != NULL ? &all->last_waking->next : &all->waking) = x;
    all->last_waking = x;
}

bool srv_exchanges_wake(struct srv_exchanges *all)
{
    const int left = SRV_WOKEN - all->busy;
    const int most = left > SRV_WOKEN_AT_LEAST ? left : SRV_WOKEN_AT_LEAST;
    all->busy = 0;
    for (int i = 0; i < most && all->waking != NULL; i++) {
        struct srv_exchange *x = all->waking;
        all->waking = x->next;
        x->next = NULL;
        wake_now(x);
    }
    return all->waking != NULL;
}

/* ---- For handlers ---------------------------------------------------------------------------- */

/* The networks of IPv6 begin beyond 0::/8, so the smallest numbers are free for IPv4 and for our
 * sockets. */
uint64_t srv_request_peer(const struct srv_request *request)
{
    const struct srv_connection *c = request->exchange->connection;
    const struct sockaddr *from =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    const unsigned char *bytes;
    size_t size = 4;
    uint64_t peer = 0xffff;
    if (from->sa_family == AF_INET) {
        bytes = (const void *)&((const struct sockaddr_in *)(const void *)from)->sin_addr;
    } else if (from->sa_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
        bytes = v6->s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(v6)) {
            bytes += 12;
        } else {
            peer = 0;
            size = 8;
        }
    } else {
        return 1 + (uint64_t)c->endpoint->number;
    }
    for (size_t i = 0; i < size; i++)
        peer = peer << 8 | bytes[i];
    return peer;
}
