/* Accepting: new connections from all listeners, up to --connection-limit. At the limit the
 * listeners pause, and new clients wait in the backlog. */
#ifndef SRV_ACCEPT_H
#define SRV_ACCEPT_H

#include "server/http/engine.h"
#include "server/http/listen.h"

enum { SRV_LISTENERS = 16 };

struct srv_acceptor {
    const srv_http_options *options;
    struct srv_connections *connections;
    struct srv_engines *engines;
    struct srv_accept_listener {
        struct srv_acceptor *acceptor;
        int descriptor;
        struct srv_endpoint endpoint;
        bool secure;
        struct srv_watch *watch;
    } listeners[SRV_LISTENERS];
    size_t count;
    bool full;               /* at the limit or out of descriptors: the listeners are paused */
    struct srv_timer *retry; /* when out of descriptors */
};

/* Hooks the acceptor to the end of connections. `acceptor` has its first three members, and zeroes
 * elsewhere. Returns false without memory. */
bool srv_acceptor_init(struct srv_acceptor *acceptor);

/* Accepts zeroes. */
void srv_acceptor_fini(struct srv_acceptor *acceptor);

/* Starts to accept on a listener, which stays the caller's and must be open until
 * srv_acceptor_stop. Its host must outlive all connections. Returns false if there are
 * SRV_LISTENERS already, or no memory. */
bool srv_acceptor_listen(struct srv_acceptor *acceptor, const srv_listener *listener, bool secure);

/* Accepts no more connections. */
void srv_acceptor_stop(struct srv_acceptor *acceptor);

#endif
