#include "server/base/drain.h"

#include <assert.h>

void srv_drain_hold(struct srv_drain *drain) { drain->holds++; }

void srv_drain_release(struct srv_drain *drain)
{
    assert(drain->holds > 0);
    if (--drain->holds == 0 && drain->on_empty != NULL)
        drain->on_empty(drain->context);
}

bool srv_drain_empty(const struct srv_drain *drain) { return drain->holds == 0; }
