/* An audience: the subscribers of a channel that are sent the same messages, which are written once
 * for all of them. The channel finds, makes and ends audiences on the loop while no step runs. A
 * step on the pool reads `params`, `covered` and `due`, and writes the group that is its own.
 *
 * With a rate, the commits of an interval are joined in `sum`. Who joins meanwhile cannot share the
 * sum, which began before. It gets an audience of its own, a younger one, with the same params. The
 * sums of both are sent at the same time, and then the subscribers of the younger one move to the
 * elder one. */
#ifndef SRV_AUDIENCE_H
#define SRV_AUDIENCE_H

#include "server/events/batch.h"
#include "server/events/subscriber.h"

struct srv_audience {
    struct srv_audience *next;  /* the channel's list, in the order in which they were made */
    struct srv_audience *elder; /* the eldest audience with these params; itself if it is that */
    size_t younger;             /* of the eldest: how many others there are */
    wire_event_params params;   /* what all of them asked for */
    struct srv_subscriber *subscribers;
    struct srv_feed feed;
    double not_before; /* srv_clock: with a rate, the next message may be sent then */
    bool covered;      /* the running step writes for it: somebody is there */
    bool due;          /* the running step sends the sum */

    /* The steps'. References, or NULL. */
    struct srv_message *now; /* what the running step tells them */
    bool lost;               /* there was no room for it */
    struct srv_batch sum;    /* with a rate: what they are not told yet */
    struct srv_message
        *present; /* the channel's state, for those who join before the next commit */
    /* What those missed who come back to that state from revision `missed_since`. NULL: nobody came
     * back, or, with has_missed, nothing. */
    struct srv_message *missed;
    uint64_t missed_since;
    bool has_missed;
};

/* Returns an audience without subscribers, with copies of the texts of `params`, or NULL if the
 * budget has no room. The caller destroys it. */
struct srv_audience *srv_audience_create(struct obb_budget *budget,
                                         const wire_event_params *params);

/* The audience must have no subscribers. */
void srv_audience_destroy(struct srv_audience *audience);

/* Adds a subscriber, or takes one out. */
void srv_audience_add(struct srv_audience *audience, struct srv_subscriber *subscriber);
void srv_audience_remove(struct srv_audience *audience, struct srv_subscriber *subscriber);

/* Returns whether a sum waits to be sent. */
bool srv_audience_waits(const struct srv_audience *audience);

/* Returns whether subscribers may join who know of all commits so far: no sum waits. A sum that
 * nobody follows is dropped, for it was not told of every commit since. */
bool srv_audience_takes(struct srv_audience *audience);

/* Notes that a message was sent to some of its subscribers: with a rate, the next one is sent an
 * interval later. now: srv_clock. */
void srv_audience_sent(struct srv_audience *audience, double now);

/* Moves the subscribers that have taken all messages from `younger` to `elder`. Both have the same
 * params and no sum (srv_audience_takes). */
void srv_audience_merge(struct srv_audience *elder, struct srv_audience *younger);

/* Forgets `present` and `missed`. Subscribers that are sent one hold it. */
void srv_audience_move_on(struct srv_audience *audience);

#endif
