/* A followed scene. Its channel is a queue of what happened to the scene, worked off in order, one
 * step at a time, on the pool, so that no commit waits for it. A subscriber joins at a place in
 * that queue. A client that comes back is told what it missed, which the scene's history holds; any
 * other is told the set of collisions as it is there. From then on it is told of each commit. A
 * channel that is too slow is given up, and its subscribers must start anew. Loop only. */
#ifndef SRV_CHANNEL_H
#define SRV_CHANNEL_H

#include "server/base/drain.h"
#include "server/base/metrics.h"
#include "server/events/subscriber.h"
#include "server/scenes/lock.h"

struct srv_channel;

/* All channels of a service. Zeroed except for the first group. */
struct srv_channels {
    struct srv_loop *loop;       /* timers for audiences with a rate */
    struct srv_pool *pool;       /* runs the steps */
    struct obb_budget *budget;   /* messages and sets draw from it; NULL: no limit */
    struct srv_locks *locks;     /* opens and closes the views of the channels */
    struct srv_drain *drain;     /* each channel holds it */
    struct srv_metrics *metrics; /* counts subscribers and messages */

    struct srv_channel *first;
    bool stopped; /* the service ends */
};

/* Returns the channel of the scene, or NULL if nobody follows it. */
struct srv_channel *srv_channel_find(const struct srv_channels *channels,
                                     const struct obb_scene *scene);

/* Makes a channel for the scene, which is unlocked and has none. It lives until nobody follows it.
 * NULL: no memory. */
struct srv_channel *srv_channel_create(struct srv_channels *channels, struct obb_scene *scene);

/* Lets the request follow the channel's scene, which is unlocked. Answers it now or later: with a
 * stream, or with a problem. */
void srv_channel_join(struct srv_channel *channel, struct obb_scene *scene,
                      struct srv_request *request, const wire_event_params *params);

/* A commit has raised the revision of the channel's scene. O(1). */
void srv_channel_commit(struct srv_channel *channel, struct obb_scene *scene);

/* Sends a recorded query at once, ahead of commits in the queue, to the audiences that follow the
 * topic queries. Without room for the message they are sent away with `overrun`. */
void srv_channel_query(struct srv_channel *channel, const wire_recorded_row *row);

/* The scene is about to be removed. The subscribers of its channel, if it has one, are told when
 * the queue comes to it. */
void srv_channels_remove(struct srv_channels *channels, const struct obb_scene *scene);

/* Every 5 s: forgets messages for those who join, and ends channels that nobody wants any more.
 * comment: to send to all idle subscribers; NULL: none. */
void srv_channels_tick(struct srv_channels *channels, struct srv_message *comment);

/* The service ends: ends all streams and gives up the steps that are under way. All channels are
 * gone soon. */
void srv_channels_stop(struct srv_channels *channels);

#endif
