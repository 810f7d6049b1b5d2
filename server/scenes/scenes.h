/* What the handlers of scenes, boxes, queries and commits share: finding scenes and conditions. All of it runs on the loop,
 * which is the only writer of scenes. */
#ifndef SRV_SCENES_H
#define SRV_SCENES_H

#include "server/state.h"

/* The clock that scenes without stated times run by: monotonic milliseconds. */
double srv_now_ms(void);

enum { SRV_SCENE_PART = 2 }; /* of /v1/scenes/{scene} */

/* The query string is empty; false: it is not, and the request is answered. */
bool srv_no_params(struct srv_request *request);

/* The name in a part of the path; false: it is none, and the request is answered. */
bool srv_path_name(struct srv_request *request, size_t part, obb_str *out);

/* The scene that the path names; NULL: the request is answered, or waits for the scene and its handler is called anew. */
struct obb_scene *srv_path_scene(struct srv_request *request);

/* Dimensions of the scene of that name, 3 when there is none. */
int srv_scene_dimensions(const struct srv_services *services, obb_str name);

/* Answers with the problem of a scene that obb_store_add did not make. */
void srv_reply_store(struct srv_request *request, obb_status status);

obb_settings srv_default_settings(const struct srv_services *services);

/* Answers with the scene as GET gives it: now, or, where its bounds must be measured and that takes long, later. */
void srv_reply_scene(struct srv_request *request, int status, struct obb_scene *scene);

/* Sets the answer's ETag to `revision`. true: If-None-Match holds it, and 304 is sent. */
bool srv_not_modified(struct srv_request *request, uint64_t revision);

/* Does If-Match, where it was sent, hold the revision of `scene` (NULL: there is none)? false: 412 is sent. */
bool srv_if_match(struct srv_request *request, struct obb_scene *scene);

/* A view of `at` (NULL: now); NULL: the request is answered. */
struct obb_view *srv_open_view(struct srv_request *request, struct obb_scene *scene,
                               const obb_at *at);

/* ---- rebuild.c ---- */

/* Rebuilds the scene's broad phase on the pool when it has decayed and that is not already under way. */
void srv_rebuild_if_decayed(struct srv_services *services, struct obb_scene *scene);

/* Gives up rebuilds that are under way. */
void srv_rebuilds_cancel(struct srv_services *services);

#endif
