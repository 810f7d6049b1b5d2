/* What the server keeps beside a scene: its tail, if it is durable, and the commits that it
 * remembers. Most scenes have neither, and then no companion. Loop only. */
#ifndef SRV_COMPANION_H
#define SRV_COMPANION_H

#include "core/obb.h"

#include <stdint.h>

struct srv_remembered;
struct srv_tail;

struct srv_companion {
    struct obb_scene *scene;
    struct srv_tail *tail;             /* tail.h; NULL: the scene is not durable */
    struct srv_remembered *remembered; /* remembered.h; owned; NULL: no commit had an id */
    uint64_t used_ms;                  /* when somebody asked for the scene last; 0: nobody did */
    struct srv_companion *previous, *next;
};

/* All companions. Zeroed: none. */
struct srv_companions {
    struct srv_companion *first;
};

/* Returns the companion of the scene, or NULL. */
struct srv_companion *srv_companion_of(const struct obb_scene *scene);

/* Returns the companion of the scene, which is made if there is none; NULL without memory. */
struct srv_companion *srv_companion_make(struct srv_companions *all, struct obb_scene *scene);

/* Frees the companion of a scene that is about to go, if there is one. It has no tail any more. */
void srv_companion_drop(struct srv_companions *all, struct obb_scene *scene);

#endif
