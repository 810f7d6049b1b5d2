#include "server/base/workers.h"

#include "core/obb.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <uv.h>

/* A thread without an item waits so long for one: longer than from tick to tick of a game, of which
 * the slowest has 20 a second. To come back from libuv at each tick costs 0.2 ms of processor. */
#define LINGER_NS 100000000

/* Workers are nicer than the loop by this much. So the loop goes first if all processors are busy.
 * Linux counts niceness by thread, and weighs ten steps as about ten times. */
#define NICER 10

/* A thread of libuv, while it works here. */
struct worker {
    uv_work_t uv;
    struct srv_workers *workers;
    struct worker *next_free;
};

struct srv_workers {
    struct srv_loop *loop;
    struct srv_bell *bell;
    int niceness; /* of workers */

    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* Under the lock. */
    struct srv_item *first, *last; /* the queue */
    atomic_size_t queued;          /* items in it; read without the lock, too */
    size_t idle;                   /* threads that wait for an item */
    bool ending;

    /* Items on their way back to the loop, the last one first. Not under the lock: the loop would
     * wait whenever it wakes up before the worker that has called it has given the lock back. */
    _Atomic(struct srv_item *) done;

    /* The loop's. */
    struct worker *free; /* whose threads are back at libuv */
    size_t out;          /* workers that are not free */
    struct worker all[];
};

/* ---- The queue and the way back -------------------------------------------------------------- */

/* Under the lock. */
static void take_out(struct srv_workers *w, struct srv_item *item)
{
    *(item->before != NULL ? &item->before->behind : &w->first) = item->behind;
    *(item->behind != NULL ? &item->behind->before : &w->last) = item->before;
    item->queued = false;
    w->queued--;
}

/* Any thread. */
static void give_back(struct srv_workers *w, struct srv_item *item)
{
    item->behind = atomic_load(&w->done);
    while (!atomic_compare_exchange_weak(&w->done, &item->behind, item))
        ;
    srv_bell_ring(w->bell);
}

/* ---- On the workers -------------------------------------------------------------------------- */

/* Waits for an item. Under the lock. Returns false if none came. */
static bool await_item(struct srv_workers *w)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += LINGER_NS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    w->idle++;
    int late = 0;
    while (w->first == NULL && !w->ending && late == 0)
        late = pthread_cond_timedwait(&w->wake, &w->lock, &end);
    w->idle--;
    return w->first != NULL;
}

static void on_worker(uv_work_t *uv)
{
    const struct worker *worker = uv->data;
    struct srv_workers *w = worker->workers;
    (void)uv_os_setpriority(0, w->niceness); /* of this thread; libuv has no hook for its start */
    (void)pthread_mutex_lock(&w->lock);
    while (w->first != NULL || await_item(w)) {
        struct srv_item *item = w->first;
        take_out(w, item);
        (void)pthread_mutex_unlock(&w->lock);
        item->worker = (size_t)(worker - w->all);
        item->run(item);
        give_back(w, item);
        (void)pthread_mutex_lock(&w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

/* ---- On the loop ----------------------------------------------------------------------------- */

static void free_workers(struct srv_workers *w)
{
    srv_bell_destroy(w->bell);
    (void)pthread_cond_destroy(&w->wake);
    (void)pthread_mutex_destroy(&w->lock);
    obb_free(w);
}

static void on_loop(uv_work_t *uv, int status);

/* Sends for a thread. There is a free worker. */
static void call_worker(struct srv_workers *w)
{
    struct worker *worker = w->free;
    w->free = worker->next_free;
    w->out++;
    const int status = uv_queue_work(srv_loop_uv(w->loop), &worker->uv, on_worker, on_loop);
    assert(status == 0); /* fails only without a callback */
    (void)status;
}

/* Sends for another thread, if there are more items than threads that wait. */
static void call_if_needed(struct srv_workers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const bool needed = w->free != NULL && w->queued > w->idle;
    (void)pthread_mutex_unlock(&w->lock);
    if (needed)
        call_worker(w);
}

static void on_loop(uv_work_t *uv, int status)
{
    (void)status;
    struct worker *worker = uv->data;
    struct srv_workers *w = worker->workers;
    worker->next_free = w->free;
    w->free = worker;
    w->out--;
    if (!w->ending)
        call_if_needed(w);
    else if (w->out == 0)
        free_workers(w);
}

static void on_bell(void *context)
{
    struct srv_workers *w = context;
    struct srv_item *last = atomic_exchange(&w->done, NULL), *item = NULL;
    for (struct srv_item *before; last != NULL; last = before) { /* the first one first */
        before = last->behind;
        last->behind = item;
        item = last;
    }
    for (struct srv_item *behind; item != NULL; item = behind) {
        behind = item->behind;
        item->back(item);
    }
}

void srv_workers_queue(struct srv_workers *w, struct srv_item *item)
{
    (void)pthread_mutex_lock(&w->lock);
    item->queued = true;
    item->before = w->last;
    item->behind = NULL;
    *(w->last != NULL ? &w->last->behind : &w->first) = item;
    w->last = item;
    w->queued++;
    if (w->idle > 0)
        (void)pthread_cond_signal(&w->wake);
    (void)pthread_mutex_unlock(&w->lock);
    call_if_needed(w);
}

void srv_workers_withdraw(struct srv_workers *w, struct srv_item *item)
{
    (void)pthread_mutex_lock(&w->lock);
    const bool queued = item->queued;
    if (queued)
        take_out(w, item);
    (void)pthread_mutex_unlock(&w->lock);
    if (queued)
        give_back(w, item);
}

size_t srv_workers_queued(const struct srv_workers *w)
{
    return atomic_load_explicit(&w->queued, memory_order_relaxed);
}

/* ---- The beginning --------------------------------------------------------------------------- */

static void stay(void *context)
{
    pthread_mutex_t *gate = context;
    (void)pthread_mutex_lock(gate);
    (void)pthread_mutex_unlock(gate);
}

size_t srv_workers_try(size_t count)
{
    assert(count <= SRV_MOST_THREADS);
    uv_thread_t threads[SRV_MOST_THREADS];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    size_t started = 0;
    (void)pthread_mutex_lock(&gate);
    while (started < count && uv_thread_create(&threads[started], stay, &gate) == 0)
        started++;
    (void)pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < started; i++)
        (void)uv_thread_join(&threads[i]);
    (void)pthread_mutex_destroy(&gate);
    return started;
}

static bool init_lock(struct srv_workers *w)
{
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&w->lock, NULL) != 0)
        return false;
    if (pthread_condattr_init(&attributes) == 0) {
        const bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                          pthread_cond_init(&w->wake, &attributes) == 0;
        (void)pthread_condattr_destroy(&attributes);
        if (made)
            return true;
    }
    (void)pthread_mutex_destroy(&w->lock);
    return false;
}

bool srv_workers_create(struct srv_loop *loop, size_t count, struct srv_workers **out)
{
    char size[24];
    (void)snprintf(size, sizeof size, "%zu", count);
    struct srv_workers *w = obb_calloc(1, sizeof *w + count * sizeof *w->all);
    if (w == NULL)
        return false;
    w->loop = loop;
    if (uv_os_getpriority(0, &w->niceness) != 0)
        w->niceness = 0;
    w->niceness = w->niceness + NICER < UV_PRIORITY_LOW ? w->niceness + NICER : UV_PRIORITY_LOW;
    for (size_t i = 0; i < count; i++) {
        w->all[i] = (struct worker){.workers = w, .next_free = w->free};
        w->all[i].uv.data = &w->all[i];
        w->free = &w->all[i];
    }
    /* libuv has no other way to be told */
    if (setenv("UV_THREADPOOL_SIZE", size, 1) == 0 && init_lock(w)) {
        if (srv_bell_create(loop, on_bell, w, &w->bell)) {
            call_worker(w); /* libuv starts all its threads at the first call */
            *out = w;
            return true;
        }
        free_workers(w);
        return false;
    }
    obb_free(w);
    return false;
}

void srv_workers_destroy(struct srv_workers *w)
{
    if (w == NULL)
        return;
    (void)pthread_mutex_lock(&w->lock);
    assert(w->first == NULL && atomic_load(&w->done) == NULL);
    w->ending = true;
    (void)pthread_cond_broadcast(&w->wake);
    (void)pthread_mutex_unlock(&w->lock);
    if (w->out == 0)
        free_workers(w);
}
