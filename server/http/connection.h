/* Connections: the phase of each, and the deadline of that phase.
 *
 * All phases have the same limit, --request-timeout. So all connections stand in one list in the
 * order in which their phases began, and one timer waits for the oldest. Entering a phase costs
 * O(1). */
#ifndef SRV_CONNECTION_H
#define SRV_CONNECTION_H

#include "server/http/options.h"

#include <sys/socket.h>

struct MHD_Connection;
struct srv_exchange;

typedef enum srv_phase {
    SRV_PHASE_READ,  /* idle, or a request is arriving */
    SRV_PHASE_WORK,  /* a handler has the request and will answer later */
    SRV_PHASE_WRITE, /* an answer of known length is being sent */
    SRV_PHASE_STREAM /* a stream is being sent */
} srv_phase;

/* The listening end through which a connection came. */
struct srv_endpoint {
    const char *host; /* served besides localhost and options.hosts; NULL: any name is served */
    size_t number;    /* counts the listeners from 0 */
};

struct srv_connection {
    struct srv_connections *all;
    struct MHD_Connection *mhd;
    int descriptor; /* libmicrohttpd's */
    const struct srv_endpoint *endpoint;
    bool secure;
    srv_phase phase;
    uint64_t since_ms; /* when the phase began, or its deadline was last extended */
    unsigned rounds;   /* further times of --request-timeout that the answer may take */
    uint64_t mark;     /* of how far the client had taken bytes, srv_connection_takes's */
    struct srv_connection *older, *newer; /* by since_ms */
    struct srv_exchange *exchange;        /* the request under way, or NULL */
    struct srv_watch *hangup; /* set while the connection sleeps, or its body takes long */
    uint64_t body_run;        /* the run in which the last bytes of the body came */
    struct srv_connection *next_arriving, **arriving_at; /* in the list of arriving bodies */
};

struct srv_connections {
    const srv_http_options *options;

    /* Hooks, set at the start. on_expired: a phase has lasted --request-timeout. on_closed: a
     * connection has gone. */
    void (*on_expired)(struct srv_connection *connection);
    srv_callback *on_closed;
    void *on_closed_context;

    struct srv_connection *oldest, *newest;
    size_t count;
    uint64_t runs; /* of libmicrohttpd, so far */
    bool closing;  /* no new connection comes, and each one ends with its present request */
    struct srv_timer *deadline;
    bool deadline_set;
    struct srv_connection *arriving; /* bodies of requests, not watched yet */
    struct srv_timer *arriving_timer;
    bool arriving_set;
};

/* `connections` has its options and hooks, and zeroes elsewhere. Returns false without memory. */
bool srv_connections_init(struct srv_connections *connections);

/* All connections must be closed. Accepts zeroes. */
void srv_connections_fini(struct srv_connections *connections);

/* Adds a connection, in SRV_PHASE_READ. The descriptor stays the caller's. Returns NULL without
 * memory. */
struct srv_connection *srv_connection_open(struct srv_connections *all, struct MHD_Connection *mhd,
                                           int descriptor, const struct srv_endpoint *endpoint,
                                           bool secure);

/* Removes and frees the connection, and calls on_closed. */
void srv_connection_close(struct srv_connection *c);

/* Begins a phase, or the same phase anew: its deadline is --request-timeout from now. */
void srv_connection_enter(struct srv_connection *c, srv_phase phase);

/* The body of a request has begun. If it takes longer than a quarter of a second, the connection is
 * watched until srv_connection_unwatch, and is cut if the client closes its sending half within the
 * body. (libmicrohttpd does not see that if the end came together with bytes.) */
void srv_connection_expect_body(struct srv_connection *c);

/* Stops to watch the connection. */
void srv_connection_unwatch(struct srv_connection *c);

/* Returns whether the client has closed its sending half, and all that it sent has been read. */
bool srv_connection_half_closed(const struct srv_connection *c);

/* Returns whether the client has taken bytes since the last call: by the bytes that it has
 * acknowledged, and on unix sockets by those that still wait in the kernel. sent: more bytes may
 * have gone to the kernel since then, where those that wait on a unix socket tell nothing: returns
 * true. */
bool srv_connection_takes(struct srv_connection *c, bool sent);

/* Shuts the socket down. libmicrohttpd then sees the end of the connection and closes it. */
static inline void srv_connection_cut(const struct srv_connection *c)
{
    (void)shutdown(c->descriptor, SHUT_RDWR);
}

#endif
