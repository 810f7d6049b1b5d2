#include "server/events/message.h"

#include <assert.h>

struct srv_message *srv_message_create(struct obb_budget *budget)
{
    struct srv_message *message = obb_budget_malloc(budget, 1, sizeof *message);
    if (message != NULL)
        *message = (struct srv_message){.references = 1, .text = {.budget = budget}};
    return message;
}

void srv_message_unref(struct srv_message *message)
{
    while (message != NULL && --message->references == 0) {
        struct srv_message *next = message->next;
        wire_buf_fini(&message->text);
        obb_budget_free(message);
        message = next;
    }
}

void srv_feed_append(struct srv_feed *feed, struct srv_message *message)
{
    assert(message->end == 0 && message->text.length > 0);
    feed->end += message->text.length;
    message->end = feed->end;
    if (feed->newest != NULL)
        feed->newest->next = srv_message_ref(message);
    srv_message_unref(feed->newest);
    feed->newest = srv_message_ref(message);
}

void srv_feed_fini(struct srv_feed *feed)
{
    srv_message_unref(feed->newest);
    *feed = (struct srv_feed){0};
}
