/* The steps of a channel: what it does on the pool, one after the other, so that no commit waits
 * for it. Each step belongs to one thing that happened to the scene. */
#ifndef SRV_CHANNEL_STEPS_H
#define SRV_CHANNEL_STEPS_H

#include "server/events/audience.h"

#include <stdatomic.h>

typedef enum srv_step_kind {
    SRV_STEP_JOIN,   /* a subscriber joins */
    SRV_STEP_COMMIT, /* a commit was made */
    SRV_STEP_SUMS,   /* sums are due, of audiences with a rate */
    SRV_STEP_REMOVED /* the scene was removed: all sums are sent */
} srv_step_kind;

/* The states that a returning client missed, from the one that it knows on, at most so many at a
 * time. The channel opens and closes the views. The rest is the steps': it goes on from one run of
 * the step to the next. */
enum { SRV_MISSED_VIEWS = 33 };
struct srv_missed {
    struct obb_view *views[SRV_MISSED_VIEWS]; /* of states that follow each other */
    size_t count;                             /* 0: the client missed nothing, or too much */
    struct obb_contacts *contacts;            /* of the last of these states, or NULL */
    struct srv_message *text;                 /* what was written so far, or NULL */
    struct srv_batch sum;                     /* or, with a rate, what is to be written */
};

/* Something that happened to a scene, in a channel's queue. */
struct srv_step {
    srv_step_kind kind;
    struct srv_step *next;
    struct srv_subscriber *subscriber; /* of SRV_STEP_JOIN */
    struct srv_missed missed;          /* of SRV_STEP_JOIN */
    struct obb_view *after;            /* of SRV_STEP_COMMIT: the state that the commit led to */
};

/* What the steps of a channel work on. While a step runs, only `cancelled` may be touched by
 * others. */
struct srv_channel_state {
    struct obb_view *view;         /* the state that the steps so far led to */
    struct obb_contacts *contacts; /* of that state; NULL unless somebody follows collisions */
    struct srv_audience *audiences;
    struct obb_budget *budget; /* all of this draws from it; NULL: no limit */
    struct obb_arena arena;    /* of the running step */
    atomic_bool cancelled;     /* the running step is given up */
    obb_status status;         /* of the running commit */
};

/* Runs a step. Any thread.
 *
 * SRV_STEP_JOIN    writes subscriber->first and subscriber->status. With views in step->missed,
 *                  appends what these commits told the subscriber's audience; when they lead to the
 *                  state's view, that is audience->missed and `first`. Otherwise `first` is NULL
 *                  for a client that missed nothing, and audience->present for all others that
 *                  follow collisions or come back: that tells a returning client that it must read
 *                  the scene anew.
 * SRV_STEP_COMMIT  writes `now` and `lost` of the covered audiences and state->status, and moves
 *                  the contacts on to step->after. Without room for them, drops the contacts: then
 *                  all audiences that follow collisions are lost. Joins the commit to the sums of
 *                  audiences with a rate, and tells them if they are due.
 * SRV_STEP_SUMS, SRV_STEP_REMOVED
 *                  write `now` and `lost` of the covered audiences that are due.
 *
 * Statuses: OBB_OK, OBB_CANCELLED, and OBB_NO_MEMORY only of a join. */
void srv_step_run(struct srv_channel_state *state, struct srv_step *step);

#endif
