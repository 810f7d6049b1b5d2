/* The drain counts the work that goes on outside of requests, such as destroying a scene or
 * rebuilding an index. That work holds the drain from its start to its end, and the service ends
 * once nothing holds it. The drain does not know who its holders are. On the loop only. */
#ifndef SRV_DRAIN_H
#define SRV_DRAIN_H

#include "server/base/loop.h"

#include <stddef.h>

/* Zeroed except for the first group. */
struct srv_drain {
    srv_callback
        *on_empty; /* called by srv_drain_release whenever the last hold goes; may be NULL */
    void *context; /* of on_empty */

    size_t holds;
};

/* Takes a hold, which srv_drain_release gives back. */
void srv_drain_hold(struct srv_drain *drain);

/* Gives one hold back. The caller must have taken one. on_empty runs inside of this call. */
void srv_drain_release(struct srv_drain *drain);

/* Returns true while nobody holds the drain. */
bool srv_drain_empty(const struct srv_drain *drain);

#endif
