#include "server/events/audience.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static obb_str copy(char **room, obb_str text)
{
    const obb_str copied = {.bytes = *room, .length = text.length};
    if (text.length > 0)
        memcpy(*room, text.bytes, text.length);
    *room += text.length;
    return copied;
}

struct srv_audience *srv_audience_create(struct obb_budget *budget, const wire_event_params *params)
{
    struct srv_audience *audience = obb_budget_malloc(
        budget, 1, sizeof *audience + params->prefix.length + params->entity.length);
    if (audience == NULL)
        return NULL;
    char *texts = (char *)(audience + 1);
    *audience = (struct srv_audience){.params = *params, .elder = audience};
    audience->params.prefix = copy(&texts, params->prefix);
    audience->params.entity = copy(&texts, params->entity);
    return audience;
}

void srv_audience_destroy(struct srv_audience *audience)
{
    assert(audience->subscribers == NULL && audience->now == NULL);
    srv_audience_move_on(audience);
    srv_batch_clear(&audience->sum);
    srv_feed_fini(&audience->feed);
    obb_budget_free(audience);
}

void srv_audience_add(struct srv_audience *audience, struct srv_subscriber *s)
{
    s->audience = audience;
    s->previous = NULL;
    s->next = audience->subscribers;
    if (s->next != NULL)
        s->next->previous = s;
    audience->subscribers = s;
}

void srv_audience_remove(struct srv_audience *audience, struct srv_subscriber *s)
{
    *(s->previous != NULL ? &s->previous->next : &audience->subscribers) = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
}

bool srv_audience_waits(const struct srv_audience *audience)
{
    return audience->subscribers != NULL && srv_batch_tells(&audience->sum, &audience->params);
}

bool srv_audience_takes(struct srv_audience *audience)
{
    if (srv_audience_waits(audience))
        return false;
    if (audience->subscribers == NULL)
        srv_batch_clear(&audience->sum);
    return true;
}

void srv_audience_sent(struct srv_audience *audience, double now)
{
    if (audience->params.rate > 0)
        audience->not_before = fmax(audience->not_before, now + 1 / audience->params.rate);
}

void srv_audience_merge(struct srv_audience *elder, struct srv_audience *younger)
{
    for (struct srv_subscriber *s = younger->subscribers, *next; s != NULL; s = next) {
        next = s->next;
        if (s->waiting != NULL)
            continue; /* these messages are of the younger one's feed */
        srv_audience_remove(younger, s);
        srv_audience_add(elder, s);
    }
    elder->not_before = fmax(elder->not_before, younger->not_before);
}

void srv_audience_move_on(struct srv_audience *audience)
{
    srv_message_unref(audience->present);
    srv_message_unref(audience->missed);
    audience->present = audience->missed = NULL;
    audience->has_missed = false;
}
