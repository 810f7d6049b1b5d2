/* Recalling: a state of a scene that its history has given up, and the states after it, made once
 * more from the journal of one process, in a scene of their own beside the scene.
 *
 * The journal holds a scene from its last snapshot on, or from its making. That is read slice by
 * slice on the journal's thread, and applied slice by slice on the pool. A snapshot is applied as a
 * whole, so a large one keeps a worker for as long as at a start of the daemon.
 *
 * What it takes draws from the budget: the slices, and then the scene that is made. Loop only. */
#ifndef SRV_RECALL_H
#define SRV_RECALL_H

#include "server/journal/journal.h"
#include "server/scenes/scene_loader.h"
#include "server/scenes/work.h"

/* In the request's arena. Zeroed except for the second group. */
struct srv_recall {
    struct srv_job job; /* first */

    struct srv_request *request;
    uint64_t from, upto; /* revisions: of the first state that is made, and of the last one */
    obb_moment newest;   /* of the scene, for the problem of a state that is not kept */
    void (*then)(struct srv_recall *recall); /* called once, not within the call that begins */
    void *context;                           /* of `then` */

    /* A view of the state `from`, with all states after it. NULL: `problem` says why. */
    struct obb_view *view;
    wire_problem problem;

    struct srv_excerpt excerpt;
    struct srv_scene_loader loader;
    size_t row;      /* of the slice, which is applied next */
    bool failed;     /* what was read does not fit together, or there was no memory */
    bool under_way;  /* the job, and not the journal */
    size_t drawn;    /* bytes for the scene */
    size_t expected; /* bytes that the scene will take, by the pieces of its snapshot */
};

/* Returns whether states of the scene can be recalled: it is in a journal that has excerpts. */
bool srv_recall_can(const struct srv_services *services, const struct obb_scene *scene);

/* Begins to recall states of that scene. Until `then` the request waits, and can be cancelled. The
 * caller ends it with srv_recall_fini. */
void srv_recall_begin(struct srv_recall *recall, const struct obb_scene *scene);

/* Closes the view, and destroys the scene that was made. Not before `then`. Zeroes are fine. */
void srv_recall_fini(struct srv_recall *recall);

#endif
