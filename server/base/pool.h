/* Heavy work on libuv's threads: jobs in phases of independent chunks.
 *
 * The worker that finishes a phase calls `advance`, which does the sequential part of the job and
 * returns the number of chunks of the next phase. Idle workers then share the chunks. Each begins
 * with a share of its own, which is the same part of every phase: what it wrote in one phase is
 * mostly still in the caches of its processor in the next. Then it helps the others. After a slice
 * of time a worker gives way to other jobs, if there are any: so a short job does not wait for a
 * long one.
 *
 * Jobs that share the workers hold their memory at the same time. So while more than half of the
 * budget is in use, of the jobs that draw much only the oldest goes on, and the others are held:
 * otherwise each could take a part of the budget, and none could be done. Workers look after each
 * chunk.
 *
 * All functions except advance and chunk are called on the loop. */
#ifndef SRV_POOL_H
#define SRV_POOL_H

#include "server/base/loop.h"

#include <stdatomic.h>
#include <stddef.h>

struct obb_budget;
struct srv_pool;

#define SRV_SHARES 16 /* of the chunks of a phase, at most; more workers have some together */

/* A job lies in the owner's memory, zeroed except for the first group. From srv_pool_submit until
 * `done` the owner must not touch it. */
struct srv_job {
    /* The owner's. No two calls of advance overlap, and no call of advance overlaps a chunk. Each
     * call sees the writes of all calls of earlier phases. */

    /* Runs on any worker. Returns the number of chunks of the next phase, or 0 at the end of the
     * job. */
    size_t (*advance)(struct srv_job *job);

    /* Runs on any worker. May be NULL if advance never asks for chunks. */
    void (*chunk)(struct srv_job *job, size_t chunk);

    /* The job is over. It may be submitted again or freed in here. */
    void (*done)(struct srv_job *job);

    /* Upkeep that no client waits for: neither counted nor refused for a full queue. */
    bool background;

    /* May draw much from the budget: it is held while memory is short. Nobody may wait for it
     * except its client. */
    bool draws;

    /* Once true, no call of advance or chunk begins any more. NULL: never cancelled. */
    const atomic_bool *cancelled;

    /* The pool's. */
    struct srv_pool *pool;
    struct srv_task *tasks; /* queued or running */
    size_t task_count;
    /* Of each share: the next chunk in the low half, where it ends in the high half. */
    _Atomic uint64_t claims[SRV_SHARES];
    _Atomic size_t unfinished; /* chunks of this phase that have not ended */
    /* Only the loop's. */
    bool finished; /* advance returned 0, or the job was cancelled */
    bool started;  /* a worker has it, or had it */
    bool held;     /* no task is under way, and `spare` is for the next one */
    struct srv_task *spare;
    struct srv_job *older, *younger; /* of the jobs that draw */
    uint64_t ticket;                 /* their order; workers read it, too */
};

/* workers: threads of libuv's pool. The first pool of a process fixes their number. limit: jobs at
 * a time, background jobs not counted. budget: what jobs draw from, which must outlive the pool;
 * NULL: no job is held. Returns false without memory. */
bool srv_pool_create(struct srv_loop *loop, size_t workers, size_t limit,
                     const struct obb_budget *budget, struct srv_pool **out);

/* No job may be left. Accepts NULL. */
void srv_pool_destroy(struct srv_pool *pool);

/* Returns how many workers suit this machine: the processors that this process may use less one for
 * the loop, at least one. */
size_t srv_pool_default(void);

/* Returns the number of jobs under way, queued or held, background jobs not counted. */
size_t srv_pool_jobs(const struct srv_pool *pool);

/* Returns whether a job that is submitted now waits for others. */
bool srv_pool_busy(const struct srv_pool *pool);

typedef enum srv_submitted { SRV_SUBMITTED, SRV_QUEUE_FULL, SRV_NO_MEMORY } srv_submitted;

/* Queues the job. If SRV_SUBMITTED is returned, `done` is called later, never inside this call;
 * otherwise it is not called. */
srv_submitted srv_pool_submit(struct srv_pool *pool, struct srv_job *job);

/* Takes the waiting tasks of the job out of the queue, so that `done` comes soon. Called after
 * *job->cancelled was set. */
void srv_pool_cancelled(struct srv_job *job);

#endif
