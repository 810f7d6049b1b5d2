/* A request that changes a scene: an op through the writer's door, with what a request adds to it.
 * The client may cancel it, its refusal becomes a problem, and the metrics count it. */
#ifndef SRV_CHANGE_H
#define SRV_CHANGE_H

#include "server/scenes/work.h"
#include "server/scenes/writer.h"

/* In the request's arena, zeroed except for the first group. */
struct srv_change {
    struct srv_work work;      /* first; work.request is set. Free for decoding the body before */
    srv_op op;                 /* without its if_match, which is the request's */
    const wire_commit *commit; /* what op.edit was decoded from; NULL: from something else */
    const wire_problem
        *flaw; /* what is wrong with the part of the commit behind op.edit; NULL: nothing */
    /* What the scene must have reached, beside the revisions that its conditions name. */
    wire_freshness freshness;
    void (*applied)(struct srv_change *change); /* answers; the results are in `write` */
    /* Called on the loop before an edit that makes a state is applied, again if the edit begins
     * anew. Returns false to refuse it with *out_problem. May be NULL. */
    bool (*makes)(struct srv_change *change, wire_problem *out_problem);

    struct srv_write write;
    wire_problem unmade; /* why `makes` has refused the edit */
};

/* Does the op and then calls `applied` on the loop, now or later. If the op is refused, answers the
 * request instead. Over a log of many processes, an op whose conditions name a revision of the
 * future waits until that is there (await.h): the request's handler is called anew then. With a
 * `flaw`, only checks the op: answers with its refusal or else with the flaw, and never calls
 * `applied`. */
void srv_change_start(struct srv_change *change);

#endif
