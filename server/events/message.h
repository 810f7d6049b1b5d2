/* Messages: written once, and shared by all subscribers that wait for them.
 *
 * The messages of one set of topics form a feed: each one refers to the next. So a subscriber needs
 * nothing but the message that it is sent and the next one, however far it is behind, and a message
 * lives as long as somebody may still need it. Made on any thread; from then on loop only. */
#ifndef SRV_MESSAGE_H
#define SRV_MESSAGE_H

#include "proto/wire.h"

struct srv_message {
    size_t references;
    struct srv_message *next; /* a reference to the next message of the feed; NULL: the newest */
    uint64_t end; /* bytes of the feed up to the end of this message; 0: it is in no feed */
    struct wire_buf text;
};

/* Makes a message without text, with one reference, which is the caller's. It and its text draw
 * from the budget. NULL: no room. */
struct srv_message *srv_message_create(struct obb_budget *budget);

/* Adds a reference and returns the message. NULL is fine. */
static inline struct srv_message *srv_message_ref(struct srv_message *message)
{
    if (message != NULL)
        message->references++;
    return message;
}

/* Gives a reference back, and frees what nobody needs any more. NULL is fine. */
void srv_message_unref(struct srv_message *message);

/* Zeroes are an empty feed. */
struct srv_feed {
    struct srv_message *newest; /* a reference, or NULL */
    uint64_t end;               /* bytes of all messages so far */
};

/* Appends a message that is in no feed. The caller keeps its reference. */
void srv_feed_append(struct srv_feed *feed, struct srv_message *message);

void srv_feed_fini(struct srv_feed *feed);

#endif
