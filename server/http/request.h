/* A request as its handler sees it, from the end of its headers to the end of its answer. On the
 * loop's thread. */
#ifndef SRV_REQUEST_H
#define SRV_REQUEST_H

#include "server/http/route.h"

#include <stdatomic.h>

struct srv_await;
struct srv_exchange;
struct srv_services;

/* The token that a request was admitted by, so that options.admit_again can ask for it again. Set
 * and used by admission. */
typedef struct srv_grant {
    bool by_token;            /* false: no token was needed */
    unsigned char sha256[32]; /* of the token's text */
    uint64_t version;         /* of the tokens in which it was found last */
    int64_t expiry;           /* seconds since 1970, as wire_token.expiry; INT64_MAX: never */
} srv_grant;

struct srv_request {
    struct srv_services *services;
    const srv_route *route;
    srv_target target;
    wire_body body;
    wire_media accept;         /* the best of the media types that the route offers */
    const char *if_match;      /* the value of the field, or NULL */
    const char *if_none_match; /* likewise */
    const char *last_event_id; /* likewise */
    const char *if_epoch_sent; /* likewise: Obbd-If-Epoch */
    bool has_if_epoch;         /* it was sent and read, */
    uint64_t if_epoch;         /* as this number */
    uint64_t epoch;            /* srv_reply_… sends it as Obbd-Epoch; 0: no such field */
    struct obb_arena arena;    /* freed with the request; draws from options.budget */
    struct wire_buf reply;     /* the body that srv_reply sends; draws likewise */
    unsigned scopes;           /* WIRE_SCOPE_… that the sender has; set by options.admit */
    const wire_token *token;   /* of the sender, valid while the handler runs; NULL: no tokens */
    srv_grant grant;           /* likewise, valid until the request ends */
    const char *id;            /* X-Request-Id if sent and printable, for the log and the answer */
    uint64_t number;       /* counts the requests of this process; the id in the log without `id` */
    bool has_etag;         /* srv_reply sends `etag` and `epoch` as ETag */
    uint64_t etag;         /* a revision */
    const char *location;  /* srv_reply sends it as Location; NULL: no such field */
    bool has_tag;          /* of a query: problems and the log name `tag` */
    obb_str tag;           /* lives as long as the request */
    atomic_bool cancelled; /* the client is gone or the time is over; any thread may read it */

    /* Called once on the loop when `cancelled` turns true. The handler's side must then still
     * answer soon, with any answer. May be NULL. */
    void (*on_cancel)(struct srv_request *request);
    void *work;                    /* the handler's own */
    struct srv_await *await;       /* its wait for a state; NULL: it never waited */
    struct srv_exchange *exchange; /* private to server/http */
};

/* Returns true if the deadline cancelled the request, false if the client went or nothing cancelled
 * it. */
bool srv_request_late(const struct srv_request *request);

/* Returns the client as a number. All requests from one IPv4 address, one IPv6 network (/64) or one
 * of our unix sockets have the same number, and no others have it. */
uint64_t srv_request_peer(const struct srv_request *request);

#endif
