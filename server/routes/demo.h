/* The scene that --demo starts with: an arena to try queries on. */
#ifndef SRV_DEMO_H
#define SRV_DEMO_H

#include "core/obb.h"

#include <stdio.h>

#define SRV_DEMO_SCENE "demo"

/* Adds the scene to the store: a walled yard of 40 by 40 m with walls at angles, stacked crates, pillars, a door, and eight
 * players of six hitboxes each, about 200 boxes, some of which overlap. y is up, a unit is a metre. Always the same boxes, as
 * one commit at time 0. */
obb_status srv_demo_create(struct obb_store *store, const obb_settings *settings, double now_ms);

/* Three requests to try, as lines for a shell. url: as announced. */
void srv_demo_hints(FILE *out, const char *url);

#endif
