#include "server/base/pool.h"

#include "core/obb.h"
#include "server/base/workers.h"

#include <assert.h>
#include <uv.h>

/* A worker stays this long with one job while others wait. A hop through the queue and the loop
 * costs about 20 us, so 1 % is lost. If nothing waits, it stays. */
#define SLICE_NS 2000000u

enum outcome {
    IDLE,    /* no chunk was left to start */
    MORE,    /* the worker gives way */
    PAUSED,  /* memory is short; of a task that drives: the first phase has not begun */
    SPREAD,  /* a new phase has chunks for several workers */
    FINISHED /* the job is done */
};

/* One worker's share of a job, from queue to queue. */
struct srv_task {
    struct srv_item item; /* first */
    struct srv_job *job;
    bool drives; /* starts the first phase */
    enum outcome outcome;
    struct srv_task *previous, *next;
};

struct srv_pool {
    struct srv_workers *threads;
    size_t workers, limit;
    size_t shares;           /* of the chunks of a phase */
    size_t jobs, background; /* under way */
    struct srv_task *free_tasks;
    const struct obb_budget *budget;
    struct srv_job *oldest, *youngest; /* of the jobs that draw */
    uint64_t tickets;
    _Atomic uint64_t first; /* ticket of the oldest one; for workers */
    _Atomic size_t held;    /* how many are; for workers */
};

size_t srv_pool_default(void)
{
    const size_t cores = uv_available_parallelism();
    return cores > 1 ? cores - 1 : 1;
}
size_t srv_pool_jobs(const struct srv_pool *pool) { return pool->jobs; }

bool srv_pool_busy(const struct srv_pool *pool)
{
    return pool->jobs + pool->background >= pool->workers;
}

bool srv_pool_create(struct srv_loop *loop, size_t workers, size_t limit,
                     const struct obb_budget *budget, struct srv_pool **out)
{
    struct srv_pool *pool = obb_calloc(1, sizeof *pool);
    if (pool == NULL)
        return false;
    *pool = (struct srv_pool){.workers = workers,
                              .limit = limit,
                              .shares = workers < SRV_SHARES ? workers : SRV_SHARES,
                              .budget = budget};
    if (!srv_workers_create(loop, workers, &pool->threads)) {
        obb_free(pool);
        return false;
    }
    *out = pool;
    return true;
}

void srv_pool_destroy(struct srv_pool *pool)
{
    if (pool == NULL)
        return;
    assert(pool->jobs == 0 && pool->background == 0);
    for (struct srv_task *task = pool->free_tasks, *next; task != NULL; task = next) {
        next = task->next;
        obb_free(task);
    }
    srv_workers_destroy(pool->threads);
    obb_free(pool);
}

/* ---- On the workers -------------------------------------------------------------------------- */

static bool given_up(const struct srv_job *job)
{
    return job->cancelled != NULL && atomic_load_explicit(job->cancelled, memory_order_relaxed);
}

static bool memory_is_short(const struct srv_pool *pool)
{
    return pool->budget != NULL && obb_budget_used(pool->budget) > pool->budget->limit / 2;
}

/* Returns whether the job leaves the memory to an older one. Any thread. */
static bool must_wait(const struct srv_job *job)
{
    return job->draws && memory_is_short(job->pool) &&
           job->ticket != atomic_load_explicit(&job->pool->first, memory_order_relaxed);
}

/* Takes a chunk of a share. Returns false if none is left. A stale `claims` value is harmless: if
 * the compare-exchange succeeds, that chunk number is free in the present phase. */
static bool claim_of(_Atomic uint64_t *share, size_t *out_chunk)
{
    uint64_t claims = atomic_load(share);
    while ((uint32_t)claims < claims >> 32)
        if (atomic_compare_exchange_weak(share, &claims, claims + 1)) {
            *out_chunk = (uint32_t)claims;
            return true;
        }
    return false;
}

/* Takes a chunk of the present phase: of the worker's own share, then of those after it. Returns
 * false if none is left. */
static bool claim(struct srv_job *job, size_t worker, size_t *out_chunk)
{
    const size_t shares = job->pool->shares;
    for (size_t i = 0; i < shares; i++)
        if (claim_of(&job->claims[(worker + i) % shares], out_chunk))
            return true;
    return false;
}

/* Returns how many chunks of the present phase no worker has taken. */
static size_t unclaimed(const struct srv_job *job)
{
    size_t left = 0;
    for (size_t i = 0; i < job->pool->shares; i++) {
        const uint64_t claims = atomic_load(&job->claims[i]);
        left += (size_t)((claims >> 32) - (uint32_t)claims);
    }
    return left;
}

/* Runs phases until one has chunks. Returns false if the job is done. */
static bool drive(struct srv_job *job, size_t *out_chunks)
{
    if (given_up(job))
        return false;
    const size_t chunks = job->advance(job);
    assert(chunks < UINT32_MAX);
    *out_chunks = chunks;
    if (chunks == 0)
        return false;
    atomic_store(&job->unfinished, chunks);
    const size_t shares = job->pool->shares;
    for (size_t i = 0; i < shares; i++)
        atomic_store(&job->claims[i],
                     (uint64_t)(chunks * (i + 1) / shares) << 32 | chunks * i / shares);
    return true;
}

/* Returns whether a worker that began at `start` leaves the job to the queue. Held jobs come into
 * the queue by the loop, as a task comes back to it. */
static bool gives_way(const struct srv_job *job, uint64_t start)
{
    const struct srv_pool *pool = job->pool;
    if (must_wait(job))
        return true;
    return uv_hrtime() - start > SLICE_NS &&
           (srv_workers_queued(pool->threads) > 0 ||
            atomic_load_explicit(&pool->held, memory_order_relaxed) > 0);
}

/* A phase of several chunks is shared, unless there is nobody to share it with. */
static enum outcome work(struct srv_job *job, size_t worker, bool drives)
{
    const bool alone = job->pool->workers == 1;
    const uint64_t start = uv_hrtime();
    size_t chunks = 0, chunk;
    if (must_wait(job))
        return PAUSED;
    if (drives && !drive(job, &chunks))
        return FINISHED;
    if (chunks > 1 && !alone)
        return SPREAD;
    while (claim(job, worker, &chunk)) {
        if (!given_up(job))
            job->chunk(job, chunk);
        if (atomic_fetch_sub(&job->unfinished, 1) == 1) {
            if (!drive(job, &chunks))
                return FINISHED;
            if (chunks > 1 && !alone)
                return SPREAD;
        }
        if (gives_way(job, start))
            return MORE;
    }
    return IDLE;
}

static void on_worker(struct srv_item *item)
{
    struct srv_task *task = (struct srv_task *)item;
    task->outcome = work(task->job, item->worker, task->drives);
}

/* ---- On the loop ----------------------------------------------------------------------------- */

static void on_loop(struct srv_item *item);

static struct srv_task *task_take(struct srv_pool *pool)
{
    struct srv_task *task = pool->free_tasks;
    if (task == NULL)
        return obb_calloc(1, sizeof *task);
    pool->free_tasks = task->next;
    return task;
}

static void task_queue(struct srv_task *task, struct srv_job *job, bool drives)
{
    task->job = job;
    task->drives = drives;
    task->previous = NULL;
    task->next = job->tasks;
    if (task->next != NULL)
        task->next->previous = task;
    job->tasks = task;
    job->task_count++;
    task->item.run = on_worker;
    task->item.back = on_loop;
    srv_workers_queue(job->pool->threads, &task->item);
}

static void task_give(struct srv_task *task)
{
    struct srv_job *job = task->job;
    *(task->previous != NULL ? &task->previous->next : &job->tasks) = task->next;
    if (task->next != NULL)
        task->next->previous = task->previous;
    job->task_count--;
    task->next = job->pool->free_tasks;
    job->pool->free_tasks = task;
}

/* Takes the tasks that no worker has begun out of the queue. They come back without a run. */
static void withdraw(struct srv_job *job)
{
    for (struct srv_task *task = job->tasks; task != NULL; task = task->next)
        srv_workers_withdraw(job->pool->threads, &task->item);
}

static size_t *counter(const struct srv_job *job)
{
    return job->background ? &job->pool->background : &job->pool->jobs;
}

/* ---- Jobs that are held ---------------------------------------------------------------------- */

static void note_oldest(struct srv_pool *pool)
{
    atomic_store_explicit(&pool->first, pool->oldest != NULL ? pool->oldest->ticket : 0,
                          memory_order_relaxed);
}

static void join(struct srv_job *job)
{
    struct srv_pool *pool = job->pool;
    job->older = job->younger = NULL;
    if (!job->draws)
        return;
    job->ticket = ++pool->tickets;
    job->older = pool->youngest;
    *(pool->youngest != NULL ? &pool->youngest->younger : &pool->oldest) = job;
    pool->youngest = job;
    note_oldest(pool);
}

static void leave(struct srv_job *job)
{
    struct srv_pool *pool = job->pool;
    if (!job->draws)
        return;
    *(job->older != NULL ? &job->older->younger : &pool->oldest) = job->younger;
    *(job->younger != NULL ? &job->younger->older : &pool->youngest) = job->older;
    note_oldest(pool);
}

/* Holds a job, which has no task under way, with the task that will go on. */
static void hold(struct srv_job *job, struct srv_task *task)
{
    job->held = true;
    job->spare = task;
    job->pool->held++;
}

/* Queues a task of a job, and as many more as there are chunks and workers for. */
static void go_on(struct srv_job *job, struct srv_task *task, enum outcome outcome)
{
    struct srv_pool *pool = job->pool;
    size_t wanted = outcome == SPREAD ? unclaimed(job) : 1;
    task_queue(task, job, !job->started);
    job->started = true;
    for (wanted -= wanted > 0; wanted > 0 && job->task_count < pool->workers; wanted--) {
        struct srv_task *helper = task_take(pool);
        if (helper == NULL)
            break;
        task_queue(helper, job, false);
    }
}

static void release(struct srv_job *job)
{
    job->held = false;
    job->pool->held--;
    go_on(job, job->spare, job->started ? SPREAD : MORE);
}

/* Lets go on what need not be held any more. */
static void release_some(struct srv_pool *pool)
{
    for (struct srv_job *job = pool->oldest; job != NULL && pool->held > 0; job = job->younger)
        if (job->held && !must_wait(job))
            release(job);
}

/* ---- From task to task ----------------------------------------------------------------------- */

static void on_loop(struct srv_item *item)
{
    struct srv_task *task = (struct srv_task *)item;
    struct srv_job *job = task->job;
    struct srv_pool *pool = job->pool;
    const enum outcome outcome = task->outcome;
    task_give(task);

    if (job->finished) {
        ; /* a late helper */
    } else if (given_up(job) || outcome == FINISHED) {
        job->finished = true;
        withdraw(job);
    } else if (outcome != IDLE || job->task_count == 0) {
        /* nothing is withdrawn from jobs that go on */
        /* one task goes on for certain: the task just given back is taken first, and has left its
         * place free. An idle task is the last one if others were not queued again, to be held */
        if (task->drives && outcome == PAUSED)
            job->started = false;
        if (!must_wait(job))
            go_on(job, task_take(pool), outcome == IDLE ? SPREAD : outcome);
        else if (job->task_count == 0)
            hold(job, task_take(pool));
    }
    if (job->finished && job->task_count == 0) {
        *counter(job) -= 1;
        leave(job);
        job->done(job);
    }
    if (pool->held > 0)
        release_some(pool);
}

srv_submitted srv_pool_submit(struct srv_pool *pool, struct srv_job *job)
{
    if (!job->background && pool->jobs >= pool->limit)
        return SRV_QUEUE_FULL;
    struct srv_task *task = task_take(pool);
    if (task == NULL)
        return SRV_NO_MEMORY;
    job->pool = pool;
    job->tasks = NULL;
    job->task_count = 0;
    job->finished = job->started = job->held = false;
    for (size_t i = 0; i < SRV_SHARES; i++)
        atomic_init(&job->claims[i], 0);
    atomic_init(&job->unfinished, 0);
    *counter(job) += 1;
    join(job);
    if (!must_wait(job))
        go_on(job, task, MORE);
    else
        hold(job, task);
    return SRV_SUBMITTED;
}

void srv_pool_cancelled(struct srv_job *job)
{
    if (job->held)
        release(job);
    withdraw(job);
}
