/* Scenes that other processes have made, and that are not held here: they sleep, wake when somebody
 * wants them, and may end unseen. */
#ifndef SRV_SLEEPING_H
#define SRV_SLEEPING_H

#include "server/journal/strand_body.h"

/* Returns where the first name behind this one stands among those of scenes that sleep. */
size_t srv_sleeping_behind(const struct srv_shared *j, obb_str name);

/* Returns whether a scene need not be held here that another process has made. */
bool srv_sleeping_may(const struct srv_shared *j, const struct srv_strand *s);

/* The scene is there, and is not held here. Returns false without memory. O(scenes that sleep). */
bool srv_sleeping_begin(struct srv_shared *j, struct srv_strand *s);

/* Says what is known of a scene that sleeps. */
void srv_sleeping_tell(const struct srv_strand *s, srv_asleep *out);

/* Puts somebody behind those who wait. */
void srv_sleeping_add_waker(struct srv_wake_waits *waits, struct srv_wake_wait *wait);

/* The scene is held here, or is no more. */
void srv_sleeping_end(struct srv_shared *j, struct srv_strand *s);

/* A foreign record counts, which is the newest one now. Returns false if it is to be applied: also
 * the end of a scene that sleeps and is there. */
bool srv_sleeping_meet(struct srv_shared *j, struct srv_strand *s, const srv_link *link,
                       obb_str one);

/* What was got is of no use. It is tried again a few times: a newer snapshot may have come. */
void srv_sleeping_fail(struct srv_shared *j, struct srv_strand *s, const char *why);

/* Begins to wake scenes that somebody wants, as many as may be woken at a time. */
void srv_sleeping_wake(struct srv_shared *j);

/* Puts a scene that sleeps among those that are woken. */
void srv_sleeping_enlist(struct srv_shared *j, struct srv_strand *s);

/* Lets what is being got go on. While the log is away for long, nobody waits for it. */
void srv_sleeping_look(struct srv_shared *j, uint64_t now);

/* A message was delivered that was asked for: of the scene that is woken with this tag. */
void srv_sleeping_read(void *context, uint64_t tag, uint64_t seq, obb_str bytes);

/* Calls those whose scenes are there. */
void srv_sleeping_call_woken(struct srv_shared *j);

/* What was asked for with this tag is answered. Returns false if that was something else. */
bool srv_sleeping_prove(struct srv_shared *j, uint64_t tag, srv_stream_found found);

/* Asks whether a scene is still in the log, if that is not sure, and ends one that is not. */
void srv_sleeping_look_if_ended(struct srv_shared *j, struct srv_strand *s);

#endif
