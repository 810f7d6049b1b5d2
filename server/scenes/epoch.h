/* Epochs. Revisions and ids of a scene begin anew when the scene is deleted and made again. Each
 * making draws a random number, the scene's epoch, so that a client sees which of them it speaks
 * to.
 *
 * Every answer about a scene carries Obbd-Epoch: handlers set request->epoch, and srv_epoch_find
 * does so for problems. A request that carries Obbd-If-Epoch is refused if the scene has another
 * epoch: srv_epoch_check does that before the body is looked at, and srv_path_scene and the writer
 * do it once more when they have the scene in hand. Loop only. */
#ifndef SRV_EPOCH_H
#define SRV_EPOCH_H

#include "server/http/request.h"

/* What a request does if the scene that its path names is not there. */
typedef enum srv_makes {
    SRV_MAKES_NO_SCENE,
    SRV_MAKES_SCENE,
    SRV_MAKES_SCENE_BY_BODY, /* the body decides */
    SRV_MAKES_NONE_YET       /* it may wait for a scene of that epoch (await.h) */
} srv_makes;

/* Draws the epoch of a new scene, which is not 0. Returns false if the system has no randomness. */
bool srv_epoch_draw(uint64_t *out);

/* Sets request->epoch to that of the scene that the path names; to 0 if it names none, or if there
 * is none that others may see. */
void srv_epoch_find(struct srv_request *request);

/* Reads Obbd-If-Epoch into request->if_epoch, and compares it with the scene that the path names.
 * Returns true if the request may go on: the field is not there, the epochs are equal, the path
 * names no scene, there is none and the body decides whether one is made, or the request may wait:
 * then srv_path_scene compares. Otherwise fills
 * *problem: 400 if the field is malformed; 412 if the epoch is another one, or if the request would
 * make the scene; 404 if there is no scene. */
bool srv_epoch_check(struct srv_request *request, srv_makes makes, wire_problem *problem);

/* Returns the problem of a request to a scene of another epoch than request->if_epoch, which is
 * set. found: the epoch of the scene; 0: there is no scene. */
wire_problem srv_problem_of_epoch(struct srv_request *request, uint64_t found);

#endif
