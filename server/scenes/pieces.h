/* Long answers in pieces: each is written by the pool when the client has taken the one before, so that no more than two
 * are in memory, and nobody writes for a client that has gone. */
#ifndef SRV_PIECES_H
#define SRV_PIECES_H

#include "server/scenes/work.h"

enum { SRV_PIECE = 65536 }; /* bytes after which a piece is long enough */

struct srv_pieces {
    struct srv_work work; /* first; zeroed, in the request's arena */
    struct srv_stream stream;
    struct wire_buf piece;
    bool last;
    bool cheap; /* the whole is short: written on the loop */

    /* The owner's. */
    size_t (*advance)(struct srv_pieces *pieces); /* before each `write`, as a job's; may be NULL */
    void (*chunk)(struct srv_pieces *pieces, size_t chunk);
    /* Any thread: appends to `piece`; false: that was the last. The stream is cut when piece.failed is set. */
    bool (*write)(struct srv_pieces *pieces);
    void (*closed)(struct srv_pieces *pieces); /* the loop: nothing is written any more */
};

/* Answers the request with what `write` writes. Who takes nothing, or is given nothing, for the time of --request-timeout is
 * cut. */
void srv_pieces_start(struct srv_pieces *pieces, struct srv_request *request, wire_media media);

#endif
