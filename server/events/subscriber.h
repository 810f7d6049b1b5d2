/* One client that follows a scene: its request, and from the moment it has joined a channel its
 * stream. Loop only, except for `first` and `status`, which the step that joins it writes on the
 * pool. */
#ifndef SRV_SUBSCRIBER_H
#define SRV_SUBSCRIBER_H

#include "server/events/message.h"
#include "server/http/stream.h"

/* In its request's arena, zeroed. */
struct srv_audience;
struct srv_subscriber {
    struct srv_stream stream;
    struct srv_request *request;
    wire_event_params params;
    bool returns;  /* the client sent Last-Event-ID, */
    uint64_t last; /* which is this revision; UINT64_MAX: no revision that ever was */
    struct srv_audience *audience;
    struct srv_message *first; /* what it gets on joining; no reference. NULL: nothing */
    obb_status status;         /* of joining */

    /* Its place in the feed of its topics: references, or NULL. */
    struct srv_message *sending; /* lent to the stream */
    struct srv_message *waiting; /* the next one; those after it follow in the feed */
    struct srv_message *last_message;
    bool finished; /* the stream ends after last_message */

    void (*left)(
        struct srv_subscriber *subscriber); /* srv_subscriber_start's; NULL once it has left */
    void *channel;                          /* the channel's own */
    struct srv_subscriber *previous, *next; /* the audience's list */
};

/* Reads the request's Last-Event-ID. request->epoch is set. */
void srv_subscriber_init(struct srv_subscriber *subscriber, struct srv_request *request,
                         const wire_event_params *params);

/* Starts the stream with `first`, which must still be there. `left` is called once: when the client
 * goes, when the stream is cut, or from srv_subscriber_finish. The subscriber may be gone after
 * that. */
void srv_subscriber_start(struct srv_subscriber *subscriber,
                          void (*left)(struct srv_subscriber *subscriber));

/* Instead of starting: answers the request with `status`, or as cancelled if it was. */
void srv_subscriber_refuse(struct srv_subscriber *subscriber);

/* Sends a message that was just appended to the feed of its topics. Returns false, and sends
 * nothing, if the client has not taken what it was sent before and would be more than 256 KiB
 * behind. A state does not count: it is shared, and may be larger. */
bool srv_subscriber_send(struct srv_subscriber *subscriber, struct srv_message *message);

/* Sends a comment that keeps the connection alive, unless messages are on their way. */
void srv_subscriber_keep_alive(struct srv_subscriber *subscriber, struct srv_message *comment);

/* Lets it leave its channel, and ends its stream with this message. NULL: there is no memory for
 * it, and the stream is cut. */
void srv_subscriber_finish(struct srv_subscriber *subscriber, struct srv_message *last_message);

/* Does the same, and forgets the messages that wait, except for the one that is being sent. */
void srv_subscriber_overrun(struct srv_subscriber *subscriber, struct srv_message *last_message);

#endif
