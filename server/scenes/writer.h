/* The writer: the one door through which the store changes. Besides it and its parts (write_*.c),
 * no file of server/ makes, configures, edits or removes a scene of the store (see README.md).
 *
 * srv_write applies an op on the loop. A large edit is prepared on the pool, behind the lock of its
 * scene, and committed on the loop. Each op goes this way:
 *
 *   1. If the scene is locked, wait until it is not, and begin anew. If it sleeps, it is woken.
 *   2. Check Obbd-If-Epoch and If-Match.
 *   3. Find the scene, or make it for an edit that may.
 *      An edit for which --scene-memory leaves no room is refused before it is applied. Then the
 *      largest histories give up states, and the edit begins once more.
 *   4. Apply the op, all or nothing. The pool seals an edit that it prepared, so that the loop
 *      commits it in O(1).
 *   5. Tell the listeners.
 *   6. Call `done`.
 *
 * If the scene is durable, step 4 applies the op in memory and hands its record to the journal.
 * Steps 5 and 6 come when the record is durable, and until then only the writer sees the change.
 * Ops that follow need not wait: they build on it (tail.h). If the record fails, the op is taken
 * back and refused. An op that makes or removes its scene keeps the scene locked meanwhile. The
 * record of a very large edit comes in parts (parts.h), and ops that follow wait for them. */
#ifndef SRV_WRITER_H
#define SRV_WRITER_H

#include "server/scenes/write.h"

/* Adds a listener behind those that are there. For the start of the service: ops that are under way
 * may miss it. */
void srv_writer_listen(struct srv_writer *writer, srv_write_listener listener);

/* Applies write->op, or refuses it, and calls write->done. Errors (write->status):
 *   by the epoch and the condition   OBB_REVISION
 *   by the store       OBB_NO_SCENE; OBB_BAD_VALUE if a scene is in the place of a copy; those of
 *                      obb_store_add; OBB_SCENE_MEMORY; OBB_NO_MEMORY if there is no randomness for
 *                      an epoch
 *   by the scene       those of obb_edit_prepare; OBB_CANCELLED; OBB_NO_MEMORY
 *   by the queue       OBB_LIMIT; OBB_NO_MEMORY if the pool has no memory
 *   by the journal     OBB_NO_MEMORY, and write->journal says why
 *   by the id          OBB_BAD_VALUE
 * Of SRV_OP_FOLLOW: by the scene, OBB_NO_MEMORY, or those of obb_effects_prepare, or OBB_BAD_VALUE
 * if the record does not fit what is there; by the store, as for other ops that make a scene.
 * Cost: an edit is prepared on the loop if that is estimated to take at most SRV_LOOP_NS. */
void srv_write(struct srv_writer *writer, struct srv_write *write);

/* Returns whether the scene, which is durable, is at rest: nothing of it waits, is under way or is
 * being read, and no listener holds it. */
bool srv_writer_at_rest(const struct srv_writer *writer, struct obb_scene *scene);

/* Takes a scene at rest out of the store, which sleeps from now on (srv_shared_sleep). No listener
 * hears of it. */
void srv_writer_let_sleep(struct srv_writer *writer, struct obb_scene *scene);

/* Frees what the writer keeps beside the scenes, for the end of the service. */
void srv_writer_fini(struct srv_writer *writer);

/* After *write->cancelled has become true and before `done`: gives the op up if it waits. `done`
 * comes soon, perhaps within this call. An op that is already prepared is not committed. */
void srv_write_cancel(struct srv_write *write);

#endif
