/* An audience: the subscribers of a channel that are sent the same messages, which are written once
 * for all of them. The channel finds, makes and ends audiences on the loop while no step runs. A step
 * on the pool reads `params` and `covered`, and writes the group that is its own. */
#ifndef SRV_AUDIENCE_H
#define SRV_AUDIENCE_H

#include "server/events/subscriber.h"

struct srv_audience {
    struct srv_audience *next; /* the channel's list */
    wire_event_params params;  /* what all of them asked for */
    struct srv_subscriber *subscribers;
    struct srv_feed feed;
    bool covered; /* the running step writes for it: somebody is there */

    /* The steps'. References, or NULL. */
    struct srv_message *now; /* what the running commit tells them */
    bool lost;               /* there was no room for it */
    struct srv_message
        *present; /* the channel's state, for those who join before the next commit */
    /* What those missed who come back to that state from revision `missed_since`. NULL: nobody came
     * back, or, with has_missed, nothing. */
    struct srv_message *missed;
    uint64_t missed_since;
    bool has_missed;
};

/* Returns an audience without subscribers, or NULL if the budget has no room. The caller destroys
 * it. */
struct srv_audience *srv_audience_create(struct obb_budget *budget,
                                         const wire_event_params *params);

/* The audience must have no subscribers. */
void srv_audience_destroy(struct srv_audience *audience);

/* Forgets `present` and `missed`. Subscribers that are sent one hold it. */
void srv_audience_move_on(struct srv_audience *audience);

#endif
