/* Heavy work on libuv's threads: jobs in phases of independent chunks.
 *
 * A job is driven by whichever worker finishes a phase: it calls `advance`, which does what must be done alone and says how many
 * chunks come next; idle workers then share the chunks. A worker gives way to other jobs after a slice of time, so that all jobs
 * get on, whatever they were queued behind. Everything but advance and chunk is called on the loop. */
#ifndef SRV_POOL_H
#define SRV_POOL_H

#include "server/base/loop.h"

#include <stdatomic.h>
#include <stddef.h>

struct srv_pool;

/* The owner's memory, zeroed but for the first group; untouched by the owner from srv_pool_submit until `done`. */
struct srv_job {
    /* The owner's. No two calls of advance overlap, and none overlaps a chunk; each sees what those before it wrote. */
    size_t (*advance)(struct srv_job *job); /* any worker: chunks of the next phase, 0: finished */
    void (*chunk)(struct srv_job *job,
                  size_t chunk); /* any worker; may be NULL when advance never asks for chunks */
    void (*done)(struct srv_job *job); /* the job is over; it may be submitted or freed in here */
    bool
        background; /* upkeep that no client waits for: neither counted nor refused for a full queue */
    const atomic_bool *cancelled; /* once true no advance and no chunk is begun any more */

    /* The pool's. */
    struct srv_pool *pool;
    struct srv_task *tasks; /* in libuv's queue or running */
    size_t task_count;
    _Atomic uint64_t claims;   /* next chunk in the low half, their number in the high */
    _Atomic size_t unfinished; /* chunks of this phase that are not done */
    bool finished;             /* the loop's: advance returned 0, or the job was given up */
};

/* workers: threads of libuv's pool, which is sized once a process, by the first pool. limit: jobs at a time. */
bool srv_pool_create(struct srv_loop *loop, size_t workers, size_t limit, struct srv_pool **out);

/* No job may be left. NULL is fine. */
void srv_pool_destroy(struct srv_pool *pool);

size_t srv_pool_cores(void); /* what this process may run on */
size_t srv_pool_jobs(const struct srv_pool *pool);

typedef enum srv_submitted { SRV_SUBMITTED, SRV_QUEUE_FULL, SRV_NO_MEMORY } srv_submitted;

/* Queues the job; `done` follows, never from within. Unless SRV_SUBMITTED it does not. */
srv_submitted srv_pool_submit(struct srv_pool *pool, struct srv_job *job);

/* After *job->cancelled was set: takes what waits out of the queue, so that `done` comes soon. */
void srv_pool_cancelled(struct srv_job *job);

#endif
