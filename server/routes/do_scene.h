/* Answering with a whole scene, as its own routes and imports do. */
#ifndef SRV_DO_SCENE_H
#define SRV_DO_SCENE_H

#include "core/obb.h"
#include "server/http/request.h"

/* Answers with the scene, which is unlocked, as GET gives it. If its bounds are unknown and slow to
 * measure, answers when they are measured, and the scene is locked meanwhile. */
void srv_reply_scene(struct srv_request *request, int status, struct obb_scene *scene);

#endif
