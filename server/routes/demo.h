/* The scene that --demo starts with: an arena to try queries on. */
#ifndef SRV_DEMO_H
#define SRV_DEMO_H

#include "server/scenes/writer.h"

#include <stdbool.h>
#include <stdio.h>

#define SRV_DEMO_SCENE "demo"

/* Returns the settings of a scene that moves: it keeps 30 s of history, or as much as it may, and
 * the last 200 shots. */
obb_settings srv_demo_settings(obb_settings most);

/* Makes the scene through the writer's door, before other jobs are under way: a walled yard of 40
 * by 40 m with walls at angles, stacked crates, pillars, doors, and eight players of six hitboxes
 * each. It has about 200 boxes, some of which overlap. y is up, a unit is a metre. Makes the same
 * boxes each time, as one commit at time 0. The scene is in memory, also with --data.
 *
 * settings  of the scene
 * moves     pairs without a player do not count, the players and the leaves of the doors stand in
 *           frames (demo_motion.h), and arms and legs can swing. Otherwise they stand where they
 *           are, and the door reaches into the post that it hangs on
 * Errors    those of srv_write */
obb_status srv_demo_create(struct srv_writer *writer, const obb_settings *settings, bool moves);

/* Writes the address of the web editor, and three requests to try, as lines for a shell.
 *
 * url     where the service listens, as announced. Behind unix: no browser finds the editor
 * tokens  whether it asks for one, which the lines then take from $TOKEN
 * page    whether the editor is in this program; if not, the line says how it comes there */
void srv_demo_hints(FILE *out, const char *url, bool tokens, bool page);

#endif
