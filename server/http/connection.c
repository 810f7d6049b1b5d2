#include "server/http/connection.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

/* ---- The list by since_ms -------------------------------------------------------------------- */

static void list_remove(struct srv_connection *c)
{
    struct srv_connections *all = c->all;
    *(c->older != NULL ? &c->older->newer : &all->oldest) = c->newer;
    *(c->newer != NULL ? &c->newer->older : &all->newest) = c->older;
}

static void list_append(struct srv_connection *c)
{
    struct srv_connections *all = c->all;
    c->since_ms = srv_loop_now_ms(all->options->loop);
    c->newer = NULL;
    c->older = all->newest;
    *(c->older != NULL ? &c->older->newer : &all->oldest) = c;
    all->newest = c;
    if (!all->deadline_set) {
        all->deadline_set = true;
        srv_timer_start(all->deadline, all->options->request_timeout_ms, 0);
    }
}

void srv_connection_enter(struct srv_connection *c, srv_phase phase)
{
    list_remove(c);
    c->phase = phase;
    list_append(c);
}

static void on_deadline(void *context)
{
    struct srv_connections *all = context;
    const uint64_t now = srv_loop_now_ms(all->options->loop);
    const uint64_t limit = all->options->request_timeout_ms;
    struct srv_connection *c;
    while ((c = all->oldest) != NULL && now - c->since_ms >= limit) {
        list_remove(c); /* to the end of the list: its next deadline is `limit` from now */
        all->deadline_set = true;
        list_append(c);
        all->on_expired(c);
    }
    all->deadline_set = all->oldest != NULL;
    if (all->deadline_set)
        srv_timer_start(all->deadline, all->oldest->since_ms + limit - now, 0);
}

/* ---- Arriving bodies ------------------------------------------------------------------------- */

enum { ARRIVING_MS = 250 };

bool srv_connection_half_closed(const struct srv_connection *c)
{
    char byte;
    return recv(c->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void on_half_closed(void *context, unsigned events)
{
    (void)events;
    struct srv_connection *c = context;
    if (!srv_connection_half_closed(c))
        return;                        /* bytes are left, which may complete the body */
    if (c->body_run == c->all->runs) { /* GnuTLS may hold more of them */
        srv_loop_due(c->all->options->loop);
        return;
    }
    srv_watch_pause(c->hangup);
    srv_connection_cut(c);
}

static void leave_arriving(struct srv_connection *c)
{
    if (c->arriving_at == NULL)
        return;
    *c->arriving_at = c->next_arriving;
    if (c->next_arriving != NULL)
        c->next_arriving->arriving_at = c->arriving_at;
    c->arriving_at = NULL;
}

static void on_arriving(void *context)
{
    struct srv_connections *all = context;
    all->arriving_set = false;
    while (all->arriving != NULL) {
        struct srv_connection *c = all->arriving;
        leave_arriving(c);
        /* if the watch fails, the deadline ends the body */
        (void)srv_watch_create(all->options->loop, c->descriptor, SRV_HALF_CLOSED, on_half_closed,
                               c, &c->hangup);
    }
}

void srv_connection_expect_body(struct srv_connection *c)
{
    struct srv_connections *all = c->all;
    c->next_arriving = all->arriving;
    c->arriving_at = &all->arriving;
    if (c->next_arriving != NULL)
        c->next_arriving->arriving_at = &c->next_arriving;
    all->arriving = c;
    if (!all->arriving_set) {
        all->arriving_set = true;
        srv_timer_start(all->arriving_timer, ARRIVING_MS, 0);
    }
}

void srv_connection_unwatch(struct srv_connection *c)
{
    leave_arriving(c);
    srv_watch_destroy(c->hangup);
    c->hangup = NULL;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

bool srv_connections_init(struct srv_connections *connections)
{
    return srv_timer_create(connections->options->loop, on_deadline, connections,
                            &connections->deadline) &&
           srv_timer_create(connections->options->loop, on_arriving, connections,
                            &connections->arriving_timer);
}

void srv_connections_fini(struct srv_connections *connections)
{
    srv_timer_destroy(connections->deadline);
    srv_timer_destroy(connections->arriving_timer);
    connections->deadline = connections->arriving_timer = NULL;
}

struct srv_connection *srv_connection_open(struct srv_connections *all, struct MHD_Connection *mhd,
                                           int descriptor, const struct srv_endpoint *endpoint,
                                           bool secure)
{
    struct srv_connection *c = obb_calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->all = all;
    c->mhd = mhd;
    c->descriptor = descriptor;
    c->endpoint = endpoint;
    c->secure = secure;
    list_append(c);
    all->count++;
    all->options->metrics->connections = all->count;
    all->options->metrics->connections_total++;
    return c;
}

void srv_connection_close(struct srv_connection *c)
{
    struct srv_connections *all = c->all;
    list_remove(c);
    obb_free(c);
    all->count--;
    all->options->metrics->connections = all->count;
    all->on_closed(all->on_closed_context);
}

bool srv_connection_takes(struct srv_connection *c, bool sent)
{
    struct tcp_info info = {.tcpi_bytes_acked = 0};
    socklen_t size = sizeof info;
    int waiting = 0;
    uint64_t mark;
    bool tells = true;
    if (getsockopt(c->descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        mark = info.tcpi_bytes_acked;
    } else {
        tells = ioctl(c->descriptor, SIOCOUTQ, &waiting) == 0 && !sent;
        mark = (uint64_t)waiting;
    }
    const bool taken = !tells || mark != c->mark;
    c->mark = mark;
    return taken;
}
