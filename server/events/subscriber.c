#include "server/events/subscriber.h"

#include "server/scenes/work.h"

#include <stddef.h>
#include <string.h>

enum { BACKLOG = 256 * 1024 }; /* bytes a subscriber may be behind */

static struct srv_subscriber *subscriber_of(struct srv_stream *stream)
{
    return (struct srv_subscriber *)(void *)((char *)stream -
                                             offsetof(struct srv_subscriber, stream));
}

/* Reads a revision, as in "17". Any other text gives UINT64_MAX, which is no revision that ever
 * was. */
static uint64_t read_last(const char *text)
{
    const size_t length = strlen(text);
    if (length == 0 || length > 16)
        return UINT64_MAX;
    uint64_t last = 0;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return UINT64_MAX;
        last = last * 10 + (uint64_t)(*text - '0');
    }
    return last;
}

void srv_subscriber_init(struct srv_subscriber *s, struct srv_request *request, unsigned topics)
{
    s->request = request;
    s->topics = topics;
    s->returns = request->last_event_id != NULL;
    if (s->returns)
        s->last = read_last(request->last_event_id);
}

static void leave(struct srv_subscriber *s)
{
    void (*left)(struct srv_subscriber *) = s->left;
    s->left = NULL;
    if (left != NULL)
        left(s);
}

static void on_drained(struct srv_stream *stream) { (void)stream; } /* it gets what comes up */

static void on_closed(struct srv_stream *stream)
{
    struct srv_subscriber *s = subscriber_of(stream);
    wire_buf_fini(&s->first);
    leave(s);
}

/* The client is gone, or the service ends. */
static void on_cancel(struct srv_request *request)
{
    struct srv_subscriber *s = request->work;
    srv_stream_cut(&s->stream);
}

void srv_subscriber_start(struct srv_subscriber *s, void (*left)(struct srv_subscriber *subscriber))
{
    s->left = left;
    s->stream.on_drained = on_drained;
    s->stream.on_closed = on_closed;
    s->request->work = s;
    s->request->on_cancel = on_cancel;
    srv_reply_stream(s->request, 200, wire_media_type(WIRE_EVENTS), &s->stream);
    srv_stream_give(&s->stream, &s->first);
}

void srv_subscriber_refuse(struct srv_subscriber *s)
{
    s->request->on_cancel = NULL;
    wire_buf_fini(&s->first);
    if (atomic_load(&s->request->cancelled) || s->status == OBB_CANCELLED)
        srv_reply_cancelled(s->request);
    else
        srv_reply_status(s->request, s->status);
}

bool srv_subscriber_send(struct srv_subscriber *s, const struct wire_buf *messages)
{
    const size_t waiting = srv_stream_waiting(&s->stream);
    if (waiting > 0 && waiting + messages->length > BACKLOG)
        return false;
    srv_stream_append(&s->stream, messages->bytes, messages->length);
    return true;
}

void srv_subscriber_keep_alive(struct srv_subscriber *s, const struct wire_buf *comment)
{
    if (srv_stream_waiting(&s->stream) == 0)
        srv_stream_append(&s->stream, comment->bytes, comment->length);
}

void srv_subscriber_finish(struct srv_subscriber *s, const struct wire_buf *last_message)
{
    leave(s);
    srv_stream_append(&s->stream, last_message->bytes, last_message->length);
    srv_stream_end(&s->stream);
}
