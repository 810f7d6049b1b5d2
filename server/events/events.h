/* Following scenes: Server-Sent Events about collisions, boxes and commits.
 *
 * A scene that somebody follows has a channel: a queue of what happened to it, worked off in order, one step at a time,
 * on the pool, so that a commit waits for none of it. A follower joins at a place in that queue, gets the set of
 * collisions as it is there, and from then on what each commit changed. The channel remembers the latest messages for
 * followers that come back, and for a while after the last has left; who missed more gets the set anew, whatever it follows. */
#ifndef SRV_EVENTS_H
#define SRV_EVENTS_H

#include "server/state.h"

struct srv_events;

bool srv_events_create(struct srv_services *services, struct srv_events **out);

/* Ends all streams, and gives up what is under way; srv_events_idle soon. For the end of the service. */
void srv_events_stop(struct srv_events *events);
bool srv_events_idle(const struct srv_events *events); /* stopped, and no job is left */
void srv_events_destroy(struct srv_events *events);    /* when idle, or never used; NULL is fine */

/* A commit was made: edit is what it did, NULL where it changed settings alone; the arrays in committed are copied. Costs nothing
 * where nobody follows, else what the commit changed. */
void srv_events_commit(struct srv_events *events, struct obb_scene *scene, const obb_edit *edit,
                       const obb_committed *committed);

/* The scene is about to be removed. */
void srv_events_gone(struct srv_events *events, const struct obb_scene *scene);

#endif
