#include "server/http/linger.h"

#include "core/obb.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 64, MOST_MS = 2000, MOST_BYTES = 1 << 20 };

struct srv_lingerer {
    struct srv_lingerers *all;
    int socket; /* owned */
    size_t left;
    struct srv_watch *watch;
    struct srv_timer *timer;
    struct srv_lingerer *previous, *next;
};

static void release(struct srv_lingerer *l)
{
    srv_watch_destroy(l->watch);
    srv_timer_destroy(l->timer);
    if (l->socket >= 0)
        (void)close(l->socket);
    obb_free(l);
}

static void end(struct srv_lingerer *l)
{
    *(l->previous != NULL ? &l->previous->next : &l->all->first) = l->next;
    if (l->next != NULL)
        l->next->previous = l->previous;
    l->all->count--;
    release(l);
}

static void on_time(void *context) { end(context); }

static void on_bytes(void *context, unsigned events)
{
    (void)events;
    struct srv_lingerer *l = context;
    char bytes[16384];
    const ssize_t n = recv(l->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0 && (size_t)n < l->left)
        l->left -= (size_t)n;
    else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        end(l);
}

void srv_linger(struct srv_lingerers *lingerers, int socket)
{
    if (lingerers->count == MOST)
        return;
    struct srv_lingerer *l = obb_calloc(1, sizeof *l);
    if (l == NULL)
        return;
    *l = (struct srv_lingerer){.all = lingerers, .socket = dup(socket), .left = MOST_BYTES};
    if (l->socket < 0 || !srv_timer_create(lingerers->loop, on_time, l, &l->timer) ||
        !srv_watch_create(lingerers->loop, l->socket, SRV_READABLE, on_bytes, l, &l->watch)) {
        release(l);
        return;
    }
    srv_timer_start(l->timer, MOST_MS, 0);
    l->next = lingerers->first;
    if (l->next != NULL)
        l->next->previous = l;
    lingerers->first = l;
    lingerers->count++;
}

void srv_linger_stop(struct srv_lingerers *lingerers)
{
    while (lingerers->first != NULL)
        end(lingerers->first);
}
