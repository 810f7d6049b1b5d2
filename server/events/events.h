/* Following scenes: Server-Sent Events about collisions, boxes and commits. Loop only. */
#ifndef SRV_EVENTS_H
#define SRV_EVENTS_H

#include "server/events/channel.h"
#include "server/scenes/writer.h"

struct srv_events;

/* Begins with no stream. collaborators: the first group of srv_channels. Returns false if there is
 * no memory. */
bool srv_events_create(struct srv_loop *loop, const struct srv_channels *collaborators,
                       struct srv_events **out);

/* Returns a listener for the writer, through which the streams hear of commits. Costs nothing for
 * scenes that nobody follows. */
srv_write_listener srv_events_listener(struct srv_events *events);

/* Lets the request follow the scene, which is unlocked. Answers it now or later. */
void srv_events_follow(struct srv_events *events, struct srv_request *request,
                       struct obb_scene *scene, const wire_event_params *params);

/* Tells a recorded query to those who follow the topic queries of the scene. O(followers). */
void srv_events_query(struct srv_events *events, const struct obb_scene *scene,
                      const wire_recorded_row *row);

/* For the end of the service: ends all streams and gives up what is under way. Each channel then
 * gives its hold of the drain back. */
void srv_events_stop(struct srv_events *events);

/* No channel may be left: the drain is empty after srv_events_stop, or nobody ever followed a
 * scene. NULL is fine. */
void srv_events_destroy(struct srv_events *events);

#endif
