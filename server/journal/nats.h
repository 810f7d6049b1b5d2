/* The log of many daemons in NATS JetStream: the stream OBBD, whose subjects are
 * obbd.commit.<token>. The token is the name of a scene in base64url. The stream keeps whatever is
 * not purged, and allows nobody to delete a single message. Pieces lie in a stream of their own,
 * OBBDS, whose subjects are obbd.snap.<key>: in the same stream they would delay commits. Any
 * replica may answer for a piece.
 *
 * Threads of its own connect, send, get pieces and look after the connection. They wait for the
 * servers as long as it takes; the loop never does.
 *
 * Source   "JetStream", https://docs.nats.io/nats-concepts/jetstream; nats.c 3.4. */
#ifndef SRV_NATS_H
#define SRV_NATS_H

#include "server/base/log.h"
#include "server/base/loop.h"
#include "server/journal/stream.h"

typedef struct srv_nats_options {
    struct srv_loop *loop;
    const struct srv_log *log;
    /* Messages to send draw from it. Messages that wait for the loop count against it in any case.
     * NULL: no limit. */
    struct obb_budget *budget;
    const char *const *urls; /* nats://host:port or tls://host:port, without user and password */
    size_t url_count;        /* 1 to SRV_NATS_URLS */
    uint64_t replicas;       /* of the stream, if it is made */
    const char *credentials; /* a file, or NULL */
    const char *ca, *certificate, *key; /* files, or NULL */
} srv_nats_options;

enum { SRV_NATS_URLS = 16 };

/* Opens the client library. The options must live as long as the stream. Returns false if that is
 * impossible, or a file cannot be read; error then holds one line, in which no URL stands. */
bool srv_nats_open(const srv_nats_options *options, struct srv_stream **out, char *error,
                   size_t error_size);

#endif
