/* Long answers in pieces: each is written by the pool when the client has taken the one before, so that no more than two
 * are in memory, and nobody writes for a client that has gone. */
#ifndef SRV_PAGED_ANSWER_H
#define SRV_PAGED_ANSWER_H

#include "server/scenes/work.h"

enum { SRV_PIECE = 65536 }; /* bytes after which a piece is long enough */

struct srv_paged_answer {
    struct srv_work work; /* first; zeroed, in the request's arena */
    struct srv_stream stream;
    struct wire_buf piece;
    bool last;
    bool cheap; /* the whole is short: written on the loop */

    /* The owner's. */
    size_t (*advance)(
        struct srv_paged_answer *answer); /* before each `write`, as a job's; may be NULL */
    void (*chunk)(struct srv_paged_answer *answer, size_t chunk);
    /* Any thread: appends to `piece`; false: that was the last. The stream is cut when piece.failed is set. */
    bool (*write)(struct srv_paged_answer *answer);
    void (*closed)(struct srv_paged_answer *answer); /* the loop: nothing is written any more */
};

/* Answers the request with what `write` writes. Who takes nothing, or is given nothing, for the time of --request-timeout is
 * cut. */
void srv_paged_answer_start(struct srv_paged_answer *answer, struct srv_request *request,
                            wire_media media);

#endif
