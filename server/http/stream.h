/* A stream: an answer of unknown length.
 *
 * The owner gives bytes when the stream has drained, so that only one piece is in memory, or gives
 * them as they come up. Between two pieces the connection sleeps. A client that takes nothing for
 * --request-timeout while bytes wait, neither from us nor from the kernel, is cut. */
#ifndef SRV_STREAM_H
#define SRV_STREAM_H

#include "server/http/request.h"

struct srv_stream {
    /* The owner's. All callbacks run on the loop. */

    /* The client's side has taken all given bytes. The owner gives more, ends or cuts the stream,
     * now or later. */
    void (*on_drained)(struct srv_stream *stream);

    /* The stream is over, for whatever reason. The request ends with it. */
    void (*on_closed)(struct srv_stream *stream);

    /* Called once each --request-timeout; may be NULL. If it returns false, the stream is cut. */
    bool (*may_go_on)(struct srv_stream *stream);
    bool endless; /* the answer has no end: a client that closes its sending half has gone */
    bool working; /* the owner makes the next piece, which must come within --request-timeout */

    /* Private to server/http. */
    struct srv_request *request;
    struct wire_buf pending;
    const char *lent; /* instead of `pending`; NULL: nothing is lent */
    size_t lent_size;
    size_t taken; /* bytes of `pending` or `lent` */
    bool ended, broken, moving;
};

/* Starts the answer. The stream must live until on_closed. When the client is gone or the service
 * ends, request->on_cancel is called, and the owner must then end or cut the stream soon. */
void srv_reply_stream(struct srv_request *request, int status, const char *content_type,
                      struct srv_stream *stream);

/* Gives the bytes of buf, which is empty afterwards. If buf has failed, cuts the stream. */
void srv_stream_give(struct srv_stream *stream, struct wire_buf *buf);

/* Exchanges the memory of a stream that has taken all its bytes for that of `buf`, which is empty
 * afterwards: the next piece can be written where the last one was. */
void srv_stream_take_back(struct srv_stream *stream, struct wire_buf *buf);

/* Lends bytes to the stream, which has taken all that it was given. They must stay until on_drained
 * or on_closed. */
void srv_stream_lend(struct srv_stream *stream, const char *bytes, size_t size);

/* Ends the answer after the client has taken the given bytes. */
void srv_stream_end(struct srv_stream *stream);

/* Closes the connection at once, so that the client sees that the answer is not complete. */
void srv_stream_cut(struct srv_stream *stream);

/* Returns the number of bytes given and not yet taken. */
static inline size_t srv_stream_waiting(const struct srv_stream *stream)
{
    return (stream->lent != NULL ? stream->lent_size : stream->pending.length) - stream->taken;
}

#endif
