#include "server/events/subscriber.h"

#include "server/scenes/work.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { BACKLOG = 256 * 1024 }; /* bytes a subscriber may be behind */

static struct srv_subscriber *subscriber_of(struct srv_stream *stream)
{
    return (struct srv_subscriber *)(void *)((char *)stream -
                                             offsetof(struct srv_subscriber, stream));
}

/* Reads a revision of the scene, as in "17" or "17.<epoch>". Any other text, and an id of another
 * epoch, gives UINT64_MAX, which is no revision that ever was. */
static uint64_t read_last(const char *text, uint64_t epoch)
{
    enum { ROOM = 24 };
    char mine[ROOM];
    const size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 16)
        return UINT64_MAX;
    (void)snprintf(mine, sizeof mine, ".%016" PRIx64, epoch);
    if (text[length] != '\0' && strcmp(text + length, mine) != 0)
        return UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < length; i++)
        last = last * 10 + (uint64_t)(text[i] - '0');
    return last;
}

void srv_subscriber_init(struct srv_subscriber *s, struct srv_request *request,
                         const wire_event_params *params)
{
    s->request = request;
    s->params = *params;
    s->returns = request->last_event_id != NULL;
    if (s->returns)
        s->last = read_last(request->last_event_id, request->epoch);
}

static void leave(struct srv_subscriber *s)
{
    void (*left)(struct srv_subscriber *) = s->left;
    s->left = NULL;
    if (left != NULL)
        left(s);
}

static void send_next(struct srv_subscriber *s)
{
    struct srv_message *message = s->waiting;
    if (message != NULL) {
        s->waiting = srv_message_ref(message->next);
    } else {
        message = s->last_message;
        s->last_message = NULL;
    }
    s->sending = message;
    if (message != NULL)
        srv_stream_lend(&s->stream, message->text.bytes, message->text.length);
    else if (s->finished)
        srv_stream_end(&s->stream);
}

static void on_drained(struct srv_stream *stream)
{
    struct srv_subscriber *s = subscriber_of(stream);
    srv_message_unref(s->sending);
    send_next(s);
}

static void forget_waiting(struct srv_subscriber *s)
{
    srv_message_unref(s->waiting);
    s->waiting = NULL;
}

static void on_closed(struct srv_stream *stream)
{
    struct srv_subscriber *s = subscriber_of(stream);
    srv_message_unref(s->sending);
    srv_message_unref(s->last_message);
    forget_waiting(s);
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
    s->stream.endless = true;
    s->request->work = s;
    s->request->on_cancel = on_cancel;
    srv_reply_stream(s->request, 200, wire_media_type(WIRE_EVENTS), &s->stream);
    s->waiting = srv_message_ref(s->first);
    send_next(s);
}

void srv_subscriber_refuse(struct srv_subscriber *s)
{
    s->request->on_cancel = NULL;
    if (atomic_load(&s->request->cancelled) || s->status == OBB_CANCELLED)
        srv_reply_cancelled(s->request);
    else
        srv_reply_status(s->request, s->status);
}

/* Returns how many bytes the client would be behind after the message. */
static uint64_t behind(const struct srv_subscriber *s, const struct srv_message *message)
{
    const struct srv_message *first = s->waiting != NULL ? s->waiting : message;
    const uint64_t queued = message->end - first->end + first->text.length;
    return queued + (s->sending->end > 0 ? srv_stream_waiting(&s->stream) : 0);
}

bool srv_subscriber_send(struct srv_subscriber *s, struct srv_message *message)
{
    const bool idle = s->waiting == NULL && srv_stream_waiting(&s->stream) == 0;
    if (!idle && behind(s, message) > BACKLOG)
        return false;
    if (s->waiting == NULL)
        s->waiting = srv_message_ref(message);
    if (s->sending == NULL)
        send_next(s);
    return true;
}

void srv_subscriber_keep_alive(struct srv_subscriber *s, struct srv_message *comment)
{
    if (s->sending != NULL)
        return;
    s->waiting = srv_message_ref(comment);
    send_next(s);
}

void srv_subscriber_finish(struct srv_subscriber *s, struct srv_message *last_message)
{
    leave(s);
    s->finished = true;
    s->last_message = srv_message_ref(last_message);
    if (last_message == NULL)
        srv_stream_cut(&s->stream);
    else if (s->sending == NULL)
        send_next(s);
}

void srv_subscriber_overrun(struct srv_subscriber *s, struct srv_message *last_message)
{
    forget_waiting(s);
    srv_subscriber_finish(s, last_message);
}
