/* An exchange: one request under way on a connection, with its answer. Exchanges come from a pool,
 * and keep their buffers in it. */
#ifndef SRV_EXCHANGE_H
#define SRV_EXCHANGE_H

#include "server/http/connection.h"
#include "server/http/request.h"

struct MHD_Response;
struct srv_constants;
struct srv_lingerers;
struct srv_stream;

/* Bytes. The arena, the reply and the body of each exchange may be as large without a draw from the
 * budget: small requests are always answered, a full budget among them, and the service holds at
 * most three of these for each connection. Kept in the pool; larger buffers draw the rest, and are
 * freed with their request. */
enum { SRV_OWN_BUFFER = 10240 };

/* Streams without end that are woken in one run of libmicrohttpd. To send a message takes 6 us, and
 * to end a stream 14 us, and one commit may wake thousands. */
enum {
    SRV_WOKEN = 32,
    SRV_WOKEN_AT_LEAST = 4 /* however many streams have more to send than one run sends */
};

struct srv_exchange {
    struct srv_request request;
    struct srv_exchanges *all;
    struct srv_connection *connection;
    /* In the list of free exchanges, of those to be suspended, or of those to be woken. */
    struct srv_exchange *next;

    /* The request line, and its progress. */
    obb_str target;     /* as sent; a copy */
    const char *line;   /* the target in libmicrohttpd's buffer */
    const char *method; /* libmicrohttpd's, valid until the answer is sent */
    double started;     /* srv_clock() at the end of the headers */
    srv_cost cost;
    bool no_memory;    /* for the request line or the headers */
    bool headers_seen; /* the headers are read */
    bool malformed;    /* libmicrohttpd refused the headers, see malformed.h */
    bool handled;      /* the handler has the request */
    bool suspended;    /* the connection sleeps, or will at the end of the run */
    bool sleeps;       /* libmicrohttpd knows it; also while it waits to be woken */
    bool late;         /* the deadline has cancelled the request */

    /* The verdict of admission. */
    bool admitted;          /* by options.admit: an answer may tell of what the path names */
    bool refused;           /* answer with `refusal` once the body has passed */
    bool refused_with_body; /* do so if the body has a byte */
    wire_problem refusal;
    const char *allow; /* answer OPTIONS with this Allow field */
    const char *cors;  /* Access-Control-Allow-Origin: the page may see the answer */
    bool preflight;    /* a browser asks which requests the page may send */

    /* The body. */
    uint64_t declared; /* Content-Length, or UINT64_MAX if chunked */
    char *body;
    size_t body_length, body_capacity; /* the capacity beyond SRV_OWN_BUFFER is drawn */
    bool discard;                      /* the bytes that still come are not kept */

    /* The answer. */
    struct srv_stream *stream;     /* if the answer is a stream */
    bool endless;                  /* the stream has no end by itself */
    struct MHD_Response *response; /* ready to be sent */
    bool constant;                 /* `response` is shared */
    int status;
    size_t answer_bytes;
};

struct srv_exchanges {
    const srv_http_options *options;
    struct srv_constants *constants; /* see answer_body.h */
    struct srv_lingerers *lingerers;
    struct srv_exchange *free;
    size_t free_count;
    struct srv_exchange *tired;                /* to be suspended at the end of the run */
    struct srv_exchange *waking, *last_waking; /* streams without end, to be woken */
    int busy;          /* streams without end that had more to send than the last run has sent */
    size_t active;     /* exchanges under way */
    uint64_t requests; /* so far */
};

/* Frees the pool. No exchange may be under way. Accepts zeroes. */
void srv_exchanges_fini(struct srv_exchanges *exchanges);

/* Takes an exchange from the pool for the next request of the connection. Returns NULL without
 * memory. */
struct srv_exchange *srv_exchange_begin(struct srv_exchanges *all,
                                        struct srv_connection *connection);

/* Gives the exchange and its memory back. The connection begins SRV_PHASE_READ. */
void srv_exchange_end(struct srv_exchange *x);

/* Frees the body and gives back what it drew. The exchange then has none. */
void srv_exchange_free_body(struct srv_exchange *x);

/* Decides that the answer is a problem of this status. detail: a sentence that lives as long as the
 * process, or NULL. */
void srv_exchange_refuse(struct srv_exchange *x, int status, const char *detail);

/* Cancels the request and tells its handler, at the first call. late: the deadline is the
 * reason. */
void srv_exchange_cancel(struct srv_exchange *x, bool late);

/* Returns whether an answer without end has begun. */
static inline bool srv_exchange_endless(const struct srv_exchange *x)
{
    return x->endless && x->status != 0 && x->response == NULL;
}

/* Puts the connection to sleep until srv_exchange_wake, and watches for a client that goes. Called
 * in one of libmicrohttpd's callbacks for this connection. */
void srv_exchange_suspend(struct srv_exchange *x);

/* Does the same at the end of the present run of libmicrohttpd, by srv_exchanges_suspend.
 *
 * libmicrohttpd 0.9.75 reads once from a connection that is resumed, and ends it if the client has
 * closed its sending half, unless the connection was blocked when it was suspended. It blocks a
 * connection without an answer when the callback has returned. */
void srv_exchange_suspend_later(struct srv_exchange *x);
void srv_exchanges_suspend(struct srv_exchanges *all);

void srv_exchange_resume(struct srv_exchange *x); /* for srv_exchange_wake */

/* Wakes connections of streams without end that srv_exchange_wake has queued, the first ones first:
 * as many as make SRV_WOKEN with those that go on to send. Returns whether some are left. Called
 * between two runs of libmicrohttpd. */
bool srv_exchanges_wake(struct srv_exchanges *all);

/* Wakes the connection if it sleeps: now, or, if its answer is a stream without end, when it is its
 * turn (srv_exchanges_wake). */
static inline void srv_exchange_wake(struct srv_exchange *x)
{
    if (x->suspended)
        srv_exchange_resume(x);
}

#endif
