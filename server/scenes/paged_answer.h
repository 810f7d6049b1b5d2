/* Long answers, piece by piece. The next piece is written when the client has taken the one before,
 * so at most two pieces are in memory, and none is written for a client that has gone. */
#ifndef SRV_PAGED_ANSWER_H
#define SRV_PAGED_ANSWER_H

#include "server/http/stream.h"
#include "server/scenes/work.h"

enum { SRV_PIECE = 65536 }; /* bytes after which a piece is long enough */

/* In the request's arena, zeroed except for the last group. */
struct srv_paged_answer {
    struct srv_work work; /* first */
    struct srv_stream stream;
    struct wire_buf piece; /* what `write` appends to */
    bool last, asleep;
    double
        until; /* srv_clock: afterwards the view is held only while its history keeps the state */

    /* The owner's. */
    const struct obb_view *view; /* the state that it tells of; open until `closed` */
    bool cheap; /* the next piece, or the whole answer, is short: it is written on the loop */
    /* Called on the loop before each piece; may be NULL. May set `cheap`, and `view` by
     * srv_paged_answer_move. Returns false if there is nothing to write yet: then the answer
     * sleeps until srv_paged_answer_wake. */
    bool (*next)(struct srv_paged_answer *answer);
    /* Called before each `write`, as a job's advance: while it returns chunks, these are run and it
     * is called again. May be NULL. */
    size_t (*advance)(struct srv_paged_answer *answer);
    void (*chunk)(struct srv_paged_answer *answer, size_t chunk);
    /* Appends to `piece`, on any thread. Returns false if this was the last piece. If piece.failed
     * is set, the stream is cut. */
    bool (*write)(struct srv_paged_answer *answer);
    /* Called on the loop when nothing will be written any more. */
    void (*closed)(struct srv_paged_answer *answer);
};

/* Answers the request with the bytes that `write` writes. The stream is cut if the client takes
 * nothing, or if it is given nothing, for the time of --request-timeout. After that time it is also
 * cut before the next piece if the scene is removed or its history has given the state up. */
void srv_paged_answer_start(struct srv_paged_answer *answer, struct srv_request *request,
                            wire_media media);

/* Gives the answer a newer state to tell of, which it may hold for a time of its own. */
void srv_paged_answer_move(struct srv_paged_answer *answer, const struct obb_view *view);

/* Lets a sleeping answer go on; does nothing for one that is awake. The state that it holds has
 * been the newest one until now. */
void srv_paged_answer_wake(struct srv_paged_answer *answer);

#endif
