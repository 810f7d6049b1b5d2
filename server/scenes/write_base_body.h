/* What all kinds of ops stand on: scenes made and removed, and how an op ends or begins once more.
 * Of the writer; everything on the loop. */
#ifndef SRV_WRITE_BASE_BODY_H
#define SRV_WRITE_BASE_BODY_H

#include "server/scenes/write.h"

/* Tells the listeners that the op was applied: see srv_write_listener. */
void srv_write_tell_commit(const struct srv_write *w);

/* Tells the listeners that the scene is about to be removed. */
void srv_write_tell_remove(const struct srv_write *w);

/* Makes the scene of the op. If it shall be durable, w->number and w->made_base are set. Errors:
 * those of obb_store_add; OBB_SCENE_MEMORY, and w->fault.bytes says how much was needed;
 * OBB_NO_MEMORY if there is no randomness for an epoch. */
obb_status srv_write_make_scene(struct srv_write *w, const obb_settings *settings);

/* Takes the scene of the op out of the store and destroys it, on the pool unless w->at_once.
 * Returns OBB_NO_SCENE if there is none. */
obb_status srv_write_remove_scene(struct srv_write *w);

/* Removes the scene in whose place another one comes. The journal says already that it is gone. */
void srv_write_remove_replaced(struct srv_write *w);

/* Describes an op without an edit as a commit that changed no box. */
void srv_write_describe(struct srv_write *w);

/* Returns what the journal calls the scene of the op; 0: it is not durable. */
uint64_t srv_write_number(const struct srv_write *w);

/* Gives a scene that the op has made a tail, behind the record of its making, if it has one.
 * Returns false without memory. */
bool srv_write_make_tail(struct srv_write *w, struct obb_scene *scene);

/* Takes the tail from a copy, if it has one: the copy will not be durable. */
void srv_write_forsake_copy(struct srv_write *w, const struct obb_scene *copy);

/* Closes the view of a copy, and destroys a copy that is in no store. */
void srv_write_drop_copy(struct srv_write *w);

/* Frees the record of the op and its outcome, if the journal does not have them. */
void srv_write_drop_record(struct srv_write *w);

/* Remembers the prepared edit as pending, if it has an id. Returns false without memory. */
bool srv_write_remember(struct srv_write *w);

/* Publishes what srv_write_remember has remembered, or takes it back. */
void srv_write_settle_remembered(struct srv_write *w, bool published);

/* Submits w->job. If the pool gives the job up before its first step, w->status is
 * OBB_CANCELLED. */
srv_submitted srv_write_submit(struct srv_write *w);

/* Ends the op: applied. */
void srv_write_succeed(struct srv_write *w);

/* Does the same, and tells the listeners first unless an op without an edit changed nothing. A
 * commit that made its scene smaller, or took more than was estimated, may be over --scene-memory:
 * then histories give up states. The queries of the commit have their views by then. */
void srv_write_succeed_and_shed(struct srv_write *w);

/* Ends the op: refused, or only checked if `by` is SRV_REFUSED_BY_NONE. A scene that it has made is
 * removed, and its copy and its record are freed. */
void srv_write_refuse(struct srv_write *w, srv_refused by, obb_status status);

/* Refuses an op whose record could not be written. */
void srv_write_refuse_by_journal(struct srv_write *w, srv_journal_status status);

/* Refuses an op that was prepared, for want of memory. */
void srv_write_refuse_prepared(struct srv_write *w);

/* Refuses an op for what it found in its scene: once that is durable. */
void srv_write_refuse_after(struct srv_write *w, srv_refused by, obb_status status);

/* Begins an op once more that rested on a change which was taken back. */
void srv_write_begin_anew(struct srv_write *w);

/* Begins an op once more that had made or locked a scene, after another process came first. */
void srv_write_begin_behind(struct srv_write *w);

/* Returns the op of an item of its tail. */
struct srv_write *srv_write_of(struct srv_tail_item *item);

#endif
