/* What the handlers of scenes, boxes, queries and commits share: from a request to its scene and to
 * a view of it. Loop only. */
#ifndef SRV_SCENES_H
#define SRV_SCENES_H

#include "server/scenes/lock.h"
#include "server/scenes/services.h"
#include "server/scenes/work.h"

/* Returns true if the request has no query parameters. Otherwise answers it. */
bool srv_no_params(struct srv_request *request);

/* Writes the name that stands in a part of the path. Returns false after answering the request if
 * the name is not valid. */
bool srv_path_name(struct srv_request *request, size_t part, obb_str *out);

/* Returns the scene that the path names, and sets request->epoch to its epoch. Returns NULL if the
 * request was answered, or if it waits because the scene is locked; then its handler is called anew
 * later. */
struct obb_scene *srv_path_scene(struct srv_request *request);

/* Returns the dimensions of the scene of that name, also while it is locked; 3 if there is no such
 * scene. */
int srv_scene_dimensions(const struct srv_services *services, obb_str name);

/* Returns the settings of the scene of that name, also while it is locked; three dimensions and
 * nothing else if there is no such scene. */
obb_settings srv_scene_settings(const struct srv_services *services, obb_str name);

/* Returns the settings that a new scene begins with: those of the options. */
obb_settings srv_default_settings(const struct srv_services *services);

/* Returns the longest history that a scene may be set to: that of the options. */
obb_settings srv_most_settings(const struct srv_services *services);

/* Opens a view of the scene, which is unlocked, at `at` (NULL: now). Close it with srv_view_close.
 * Returns NULL after answering the request. */
struct obb_view *srv_open_view(struct srv_request *request, struct obb_scene *scene,
                               const obb_at *at);

#endif
