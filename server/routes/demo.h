/* The scene that --demo starts with: an arena to try queries on. */
#ifndef SRV_DEMO_H
#define SRV_DEMO_H

#include "server/scenes/writer.h"

#include <stdbool.h>
#include <stdio.h>

#define SRV_DEMO_SCENE "demo"

/* Makes the scene through the writer's door, before the loop runs: a walled yard of 40 by 40 m with
 * walls at angles, stacked crates, pillars, a door, and eight players of six hitboxes each. It has
 * about 200 boxes, some of which overlap. y is up, a unit is a metre. Makes the same boxes each
 * time, as one commit at time 0. Errors: those of srv_write. */
obb_status srv_demo_create(struct srv_writer *writer, const obb_settings *settings);

/* Writes three requests to try, as lines for a shell. url: where the service listens, as
 * announced; tokens: whether it asks for one, which the lines then take from $TOKEN. */
void srv_demo_hints(FILE *out, const char *url, bool tokens);

#endif
