/* The steps of a channel: what it does on the pool, one after the other, so that no commit waits
 * for it. Each step belongs to one thing that happened to the scene. */
#ifndef SRV_CHANNEL_STEPS_H
#define SRV_CHANNEL_STEPS_H

#include "server/events/replay.h"
#include "server/events/subscriber.h"

typedef enum srv_step_kind {
    SRV_STEP_JOIN,   /* a subscriber joins */
    SRV_STEP_COMMIT, /* a commit was made */
    SRV_STEP_REMOVED /* the scene was removed; this step never runs on the pool */
} srv_step_kind;

/* Something that happened to a scene, in a channel's queue. */
struct srv_step {
    srv_step_kind kind;
    struct srv_step *next;
    struct srv_subscriber *subscriber; /* of SRV_STEP_JOIN */
    struct obb_view *after;            /* of SRV_STEP_COMMIT: the state that the commit led to */
    obb_committed committed; /* of SRV_STEP_COMMIT: its lists are part of the step's block */
    size_t
        put; /* of SRV_STEP_COMMIT: as many of `made` were put, the others posed or transformed */
};

/* What the steps of a channel work on. While a step runs, only `cancelled` may be touched by
 * others. */
struct srv_channel_state {
    struct obb_view *view;         /* the state that the steps so far led to */
    struct obb_contacts *contacts; /* of that state; NULL unless somebody follows collisions */
    struct srv_message *present;   /* that state as a message, shared; NULL: nobody needed it */
    struct obb_budget *budget;     /* all of this draws from it; NULL: no limit */
    struct obb_arena arena;        /* of the running step */
    atomic_bool cancelled;         /* the running step is given up */
    obb_status status;             /* of the running commit */
    struct srv_messages
        now; /* the messages of the running commit; `covered` is set before each step */
    uint64_t
        seen[SRV_TOPIC_SETS];  /* 1 + the newest revision at which the set was covered; 0: none */
    bool lost[SRV_TOPIC_SETS]; /* there was no room for the messages of these covered sets */
    struct srv_replay replay;  /* those of the commits before */
};

/* Runs a step. Any thread.
 *
 * SRV_STEP_JOIN    writes subscriber->first and subscriber->status. `first` is what a returning client
 *                  missed first, or else state->present, which is written once for all who join
 *                  before the next commit. The set also tells a returning client, whatever it
 *                  follows, that it must read the scene anew.
 * SRV_STEP_COMMIT  writes state->now, state->lost and state->status, and moves the contacts on to
 *                  step->after. Without room for them, drops the contacts: then all covered sets of
 *                  topics with collisions are lost.
 *
 * Statuses: OBB_OK, OBB_CANCELLED, and OBB_NO_MEMORY only of a join. */
void srv_step_run(struct srv_channel_state *state, const struct srv_step *step);

#endif
