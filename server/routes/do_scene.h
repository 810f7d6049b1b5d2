/* Answering with a whole scene, as its own routes and imports do. */
#ifndef SRV_DO_SCENE_H
#define SRV_DO_SCENE_H

#include "core/obb.h"
#include "server/http/request.h"
#include "server/scenes/change.h"

/* Answers with the scene, which is unlocked, as GET gives it. If its bounds are unknown and slow to
 * measure, answers when they are measured, and the scene is locked meanwhile. */
void srv_reply_scene(struct srv_request *request, int status, struct obb_scene *scene);

/* Does so once a change has put the scene: with 201 if the change made it, otherwise with 200. An
 * `applied` of srv_change. */
void srv_reply_put_scene(struct srv_change *change);

#endif
