#include "server/http/accept.h"

#include <errno.h>
#include <string.h>

enum { RETRY_MS = 100 }; /* pause before the next try when out of descriptors */

static void pause_listeners(struct srv_acceptor *a)
{
    a->full = true;
    for (size_t i = 0; i < a->count; i++)
        srv_watch_pause(a->listeners[i].watch);
}

static void accept_again(struct srv_acceptor *a)
{
    a->full = false;
    for (size_t i = 0; i < a->count; i++)
        srv_watch_go(a->listeners[i].watch);
}

static void on_retry(void *context) { accept_again(context); }

static void on_closed(void *context)
{
    struct srv_acceptor *a = context;
    if (a->full)
        accept_again(a);
}

static void on_listener(void *context, unsigned events)
{
    (void)events;
    const struct srv_accept_listener *l = context;
    struct srv_acceptor *a = l->acceptor;
    for (int i = 0; i < SRV_ACCEPTS; i++) {
        if (a->connections->count >= a->options->connection_limit) {
            pause_listeners(a);
            return;
        }
        struct sockaddr_storage from;
        socklen_t length = sizeof from;
        const int descriptor = accept(l->descriptor, (struct sockaddr *)&from, &length);
        if (descriptor >= 0) {
            srv_engines_add(a->engines, l->secure, descriptor, (struct sockaddr *)&from, length,
                            &l->endpoint);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN) { /* out of descriptors or memory */
            SRV_LOG(a->options->log, SRV_WARN, "accept", srv_text("error", strerror(errno)));
            pause_listeners(a);
            srv_timer_start(a->retry, RETRY_MS, 0);
        }
        return;
    }
}

bool srv_acceptor_init(struct srv_acceptor *acceptor)
{
    acceptor->connections->on_closed = on_closed;
    acceptor->connections->on_closed_context = acceptor;
    return srv_timer_create(acceptor->options->loop, on_retry, acceptor, &acceptor->retry);
}

void srv_acceptor_fini(struct srv_acceptor *acceptor)
{
    srv_acceptor_stop(acceptor);
    srv_timer_destroy(acceptor->retry);
    acceptor->retry = NULL;
}

bool srv_acceptor_listen(struct srv_acceptor *acceptor, const srv_listener *listener, bool secure)
{
    if (acceptor->count == SRV_LISTENERS)
        return false;
    const bool check_host =
        acceptor->options->check_host && listener->address.loopback && !listener->address.is_unix;
    struct srv_accept_listener *l = &acceptor->listeners[acceptor->count];
    *l = (struct srv_accept_listener){
        .acceptor = acceptor,
        .descriptor = listener->descriptor,
        .endpoint = {.host = check_host ? listener->host : NULL, .number = acceptor->count},
        .secure = secure};
    if (!srv_watch_create(acceptor->options->loop, l->descriptor, SRV_READABLE, on_listener, l,
                          &l->watch))
        return false;
    acceptor->count++;
    return true;
}

void srv_acceptor_stop(struct srv_acceptor *acceptor)
{
    for (size_t i = 0; i < acceptor->count; i++)
        srv_watch_destroy(acceptor->listeners[i].watch);
    acceptor->count = 0;
}
