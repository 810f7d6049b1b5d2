#include "server/events/audience.h"

#include <assert.h>

struct srv_audience *srv_audience_create(struct obb_budget *budget, const wire_event_params *params)
{
    struct srv_audience *audience = obb_budget_calloc(budget, 1, sizeof *audience);
    if (audience != NULL)
        audience->params = *params;
    return audience;
}

void srv_audience_destroy(struct srv_audience *audience)
{
    assert(audience->subscribers == NULL && audience->now == NULL);
    srv_audience_move_on(audience);
    srv_feed_fini(&audience->feed);
    obb_budget_free(audience);
}

void srv_audience_move_on(struct srv_audience *audience)
{
    srv_message_unref(audience->present);
    srv_message_unref(audience->missed);
    audience->present = audience->missed = NULL;
    audience->has_missed = false;
}
