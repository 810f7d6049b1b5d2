#include "server/http/stream.h"

#include "server/http/answer_body.h"
#include "server/http/stream_body.h"

#include <assert.h>
#include <microhttpd.h>
#include <string.h>

enum { BLOCK = 65536 }; /* bytes of a stream that are sent in one go */

/* Lets the owner of a stream that has drained give more. Returns how many bytes wait then. */
static size_t refill(struct srv_stream *stream)
{
    if (srv_stream_waiting(stream) == 0 && !stream->ended && !stream->broken) {
        stream->moving = true; /* all bytes are taken, and the next ones have their own time */
        stream->on_drained(stream);
    }
    return stream->broken ? 0 : srv_stream_waiting(stream);
}

/* Copies waiting bytes, and returns how many: at most `room`. */
static size_t take(struct srv_stream *stream, char *out, size_t room)
{
    const size_t waiting = srv_stream_waiting(stream);
    const size_t size = waiting < room ? waiting : room;
    memcpy(out, (stream->lent != NULL ? stream->lent : stream->pending.bytes) + stream->taken,
           size);
    stream->taken += size;
    if (size == waiting) {
        stream->taken = stream->pending.length = 0;
        stream->lent = NULL;
    }
    stream->moving = true;
    return size;
}

/* Copies waiting bytes for libmicrohttpd. Short pieces that wait one behind the other, as messages
 * do, are sent together: to send takes much longer than to copy them. */
static ssize_t read_stream(void *context, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct srv_exchange *x = context;
    struct srv_stream *stream = x->stream;
    size_t size = 0;
    while (size < room && (size == 0 || x->endless) && refill(stream) > 0)
        size += take(stream, out + size, room - size);
    if (size > 0) {
        x->all->busy += x->endless && size == room;
        x->answer_bytes += size;
        x->all->options->metrics->sent_bytes += size;
        return (ssize_t)size;
    }
    if (stream->broken) {
        /* An error returned here would end the request, but libmicrohttpd 0.9.75 then forgets the
         * connection until all older ones have gone. So the socket is shut down, and libmicrohttpd
         * gets a byte to send, which fails. */
        srv_connection_cut(x->connection);
        *out = '\n';
        return 1;
    }
    if (stream->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    srv_exchange_suspend(x);
    return 0;
}

void srv_reply_stream(struct srv_request *request, int status, const char *content_type,
                      struct srv_stream *stream)
{
    struct srv_exchange *x = request->exchange;
    stream->request = request;
    x->stream = stream;
    x->endless = stream->endless;
    if (x->endless)
        srv_connection_unwatch(x->connection); /* what made the answer was watched otherwise */
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, x, NULL);
    if (response == NULL) {
        srv_answer_out_of_memory(x);
        return;
    }
    /* libmicrohttpd 0.9.75 sends the end of a chunked body in answer to HEAD, where no body may
     * be */
    if (strcmp(x->method, "HEAD") == 0)
        (void)MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    srv_answer_finish(x, status, response, content_type);
}

/* A stream that rested has the whole time for what it is given now. */
static void begin_to_move(struct srv_stream *stream)
{
    stream->moving = stream->moving || stream->request->exchange->suspended;
}

void srv_stream_give(struct srv_stream *stream, struct wire_buf *buf)
{
    struct wire_buf *pending = &stream->pending;
    assert(stream->lent == NULL);
    if (srv_stream_waiting(stream) == 0) {
        struct wire_buf empty = *pending;
        empty.length = 0;
        *pending = *buf;
        *buf = empty;
        stream->taken = 0;
    } else {
        wire_buf_append(pending, buf->bytes, buf->length);
        buf->length = 0;
    }
    stream->broken = stream->broken || buf->failed || pending->failed;
    begin_to_move(stream);
    srv_exchange_wake(stream->request->exchange);
}

void srv_stream_take_back(struct srv_stream *stream, struct wire_buf *buf)
{
    assert(srv_stream_waiting(stream) == 0);
    const struct wire_buf drained = stream->pending;
    stream->pending = *buf;
    *buf = drained;
    stream->pending.length = buf->length = stream->taken = 0;
}

void srv_stream_lend(struct srv_stream *stream, const char *bytes, size_t size)
{
    assert(srv_stream_waiting(stream) == 0);
    stream->lent = bytes;
    stream->lent_size = size;
    stream->taken = 0;
    begin_to_move(stream);
    srv_exchange_wake(stream->request->exchange);
}

void srv_stream_end(struct srv_stream *stream)
{
    stream->ended = true;
    srv_exchange_wake(stream->request->exchange);
}

void srv_stream_cut(struct srv_stream *stream)
{
    stream->broken = true;
    srv_exchange_wake(stream->request->exchange);
}

bool srv_stream_check(struct srv_exchange *x)
{
    struct srv_stream *stream = x->stream;
    /* The kernel holds megabytes for a client that reads slowly, and takes the next block only once
     * a third of them is gone. So what the client takes of them is a movement, too. */
    const bool taken = srv_connection_takes(x->connection, stream->moving);
    /* A connection that is awake has bytes that the client does not take, even if the stream has
     * none left: libmicrohttpd holds a block of them. */
    const bool good = x->suspended ? !stream->working || stream->moving : taken || stream->moving;
    stream->moving = false;
    return good && (stream->may_go_on == NULL || stream->may_go_on(stream));
}

void srv_stream_close(struct srv_stream *stream)
{
    wire_buf_fini(&stream->pending);
    stream->on_closed(stream);
}
