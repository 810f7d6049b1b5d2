/* Engines: the daemons of libmicrohttpd, driven by the event loop.
 *
 * There is one for plain connections and one for secure ones. libmicrohttpd cannot change the
 * certificate of a daemon, so the engines of earlier certificates stay until their last connection
 * has gone. */
#ifndef SRV_ENGINE_H
#define SRV_ENGINE_H

#include "server/http/exchange.h"

#include <sys/socket.h>

enum { SRV_ACCEPTS = 64 }; /* connections that a listener adds in one go at most */

struct srv_engine;

struct srv_engines {
    const srv_http_options *options;
    struct srv_connections *connections;
    struct srv_exchanges *exchanges;
    struct srv_lingerers *lingerers;
    struct srv_engine *all;
    struct srv_engine *plain, *secure;   /* for new connections; secure: NULL without certificate */
    const struct srv_engine *running;    /* inside MHD_run */
    const struct srv_endpoint *endpoint; /* of the connection that is being added */
};

/* Starts the engine for plain connections. `engines` has its first four members, and zeroes
 * elsewhere. Returns false without memory or descriptors, or if libmicrohttpd refuses to start. */
bool srv_engines_start(struct srv_engines *engines);

/* Stops all engines and closes their connections. No exchange may be suspended. Accepts zeroes. */
void srv_engines_stop(struct srv_engines *engines);

/* Uses this certificate chain and key (PEM) for new secure connections. Connections that are open
 * keep theirs. Returns false if the two are not valid; the engine in use then stays. */
bool srv_engines_use_certificate(struct srv_engines *engines, const char *certificate,
                                 const char *key);

/* Adds an accepted connection, to the secure engine or the plain one. Takes over the descriptor.
 * endpoint: must outlive the connection. */
void srv_engines_add(struct srv_engines *engines, bool secure, int descriptor,
                     const struct sockaddr *from, socklen_t length,
                     const struct srv_endpoint *endpoint);

/* Runs each engine once, and stops engines of earlier certificates without connections. Returns
 * true to be called again before the loop sleeps. */
bool srv_engines_run(struct srv_engines *engines);

#endif
