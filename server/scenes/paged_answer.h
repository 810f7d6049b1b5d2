/* Long answers, piece by piece. The next piece is written when the client has taken the one before,
 * so one piece is in memory at a time, and none is written for a client that has gone.
 *
 * An answer that has begun goes on as far as that is possible. While the workers are busy, short
 * pieces are written on the loop. If --memory-limit leaves no room for the next piece, the answer
 * waits for room (starved.h), and holds no piece meanwhile. */
#ifndef SRV_PAGED_ANSWER_H
#define SRV_PAGED_ANSWER_H

#include "server/http/stream.h"
#include "server/scenes/starved.h"
#include "server/scenes/work.h"

/* In the request's arena, zeroed except for the last group. */
struct srv_paged_answer {
    struct srv_work work; /* first */
    struct srv_stream stream;
    struct wire_buf piece; /* what `write` appends to */
    size_t enough;         /* bytes after which the piece is long enough */
    bool last, starved;    /* whoever writes: that was all; there was no memory to go on writing */
    struct srv_starving starving;
    /* The loop's, in no word with what a worker writes. */
    bool asleep, over; /* over: `closed` was called */
    double
        until; /* srv_clock: afterwards the view is held only while its history keeps the state */

    /* The owner's. */
    const struct obb_view *view; /* the state that it tells of; open until `closed` */
    bool cheap; /* the next piece, or the whole answer, is short: it is written on the loop */
    bool light; /* the next piece needs no `advance`, and at most about 20 ns a byte */
    /* Called on the loop before each piece; may be NULL. May set `cheap` and `light`, and `view` by
     * srv_paged_answer_move. Returns false if there is nothing to write yet: then the answer
     * sleeps until srv_paged_answer_wake. */
    bool (*next)(struct srv_paged_answer *answer);
    /* Called before each `write`, as a job's advance: while it returns chunks, these are run and it
     * is called again. May be NULL. */
    size_t (*advance)(struct srv_paged_answer *answer);
    void (*chunk)(struct srv_paged_answer *answer, size_t chunk);
    /* Appends to `piece`, on any thread, as long as srv_paged_answer_has_room says so. Returns
     * false if this was the last piece. It may set `starved`, if it finds no memory, and is called
     * again later. If piece.failed is set, the stream is cut. */
    bool (*write)(struct srv_paged_answer *answer);
    /* Called on the loop when nothing will be written any more. */
    void (*closed)(struct srv_paged_answer *answer);
};

/* For `write`: returns whether it goes on, with room in the piece for at most `line` bytes more.
 * Otherwise the piece is long enough, or there is no memory. */
bool srv_paged_answer_has_room(struct srv_paged_answer *answer, size_t line);

/* Answers the request with the bytes that `write` writes. The stream is cut if the client takes
 * nothing, or if it is given nothing, for the time of --request-timeout. After that time it is also
 * cut if the scene is removed or its history has given the state up, in the middle of a piece, too:
 * the sockets hold megabytes for a client that reads slowly, and the view is open meanwhile. */
void srv_paged_answer_start(struct srv_paged_answer *answer, struct srv_request *request,
                            wire_media media);

/* Gives the answer a newer state to tell of, which it may hold for a time of its own: in the middle
 * of a piece, for less than twice --request-timeout. */
void srv_paged_answer_move(struct srv_paged_answer *answer, const struct obb_view *view);

/* Lets a sleeping answer go on; does nothing for one that is awake. The state that it holds has
 * been the newest one until now. */
void srv_paged_answer_wake(struct srv_paged_answer *answer);

#endif
