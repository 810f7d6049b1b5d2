#include "tests/bench/core/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_WORKERS = 64,
    /* Looks at the next phase before a worker sleeps: about 500 us. That is more than what one
     * worker does alone before the first phase of a build of 100,000 boxes, 100 us. */
    SPINS = 500000
};

struct crew {
    unsigned workers;
    pthread_t threads[MOST_WORKERS];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    const crew_work *work;
    size_t chunks;
    atomic_size_t taken[MOST_WORKERS]; /* of each worker's share */
    atomic_uint begun;                 /* threads */
    atomic_uint phase, busy;           /* phases begun; workers that are still in the last one */
    atomic_int status;
    bool over;
};

static size_t share_begins(const struct crew *crew, unsigned worker)
{
    return crew->chunks * worker / crew->workers;
}

/* Runs the chunks of the worker's own share, then helps the others. */
static void run_chunks(struct crew *crew, unsigned self)
{
    for (unsigned i = 0; i < crew->workers; i++) {
        const unsigned worker = (self + i) % crew->workers;
        const size_t end = share_begins(crew, worker + 1);
        for (;;) {
            const size_t chunk =
                share_begins(crew, worker) + atomic_fetch_add(&crew->taken[worker], 1);
            if (chunk >= end)
                break;
            const obb_status status = crew->work->chunk(crew->work->work, chunk);
            if (status != OBB_OK)
                atomic_store(&crew->status, (int)status);
        }
    }
}

/* Spins for a while, then sleeps: a core that is taken must not be waited for by burning
 * another. */
static void await_phase(struct crew *crew, unsigned seen)
{
    for (int i = 0; i < SPINS; i++)
        if (atomic_load(&crew->phase) != seen)
            return;
    (void)pthread_mutex_lock(&crew->lock);
    while (atomic_load(&crew->phase) == seen)
        (void)pthread_cond_wait(&crew->wake, &crew->lock);
    (void)pthread_mutex_unlock(&crew->lock);
}

static void *labour(void *context)
{
    struct crew *crew = context;
    const unsigned self = atomic_fetch_add(&crew->begun, 1) + 1; /* 0 is the caller */
    for (unsigned seen = 0;; seen++) {
        await_phase(crew, seen);
        if (crew->over)
            return NULL;
        run_chunks(crew, self);
        if (atomic_fetch_sub(&crew->busy, 1) == 1) {
            (void)pthread_mutex_lock(&crew->lock);
            (void)pthread_cond_broadcast(&crew->wake);
            (void)pthread_mutex_unlock(&crew->lock);
        }
    }
}

static void begin_phase(struct crew *crew)
{
    (void)pthread_mutex_lock(&crew->lock);
    atomic_store(&crew->busy, crew->workers - 1);
    atomic_fetch_add(&crew->phase, 1);
    (void)pthread_cond_broadcast(&crew->wake);
    (void)pthread_mutex_unlock(&crew->lock);
}

static void await_others(struct crew *crew)
{
    for (int i = 0; i < SPINS; i++)
        if (atomic_load(&crew->busy) == 0)
            return;
    (void)pthread_mutex_lock(&crew->lock);
    while (atomic_load(&crew->busy) != 0)
        (void)pthread_cond_wait(&crew->wake, &crew->lock);
    (void)pthread_mutex_unlock(&crew->lock);
}

struct crew *crew_create(unsigned workers)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL || workers > MOST_WORKERS || pthread_mutex_init(&crew->lock, NULL) != 0 ||
        pthread_cond_init(&crew->wake, NULL) != 0)
        exit(EXIT_FAILURE);
    crew->workers = workers;
    for (unsigned i = 1; i < workers; i++)
        if (pthread_create(&crew->threads[i], NULL, labour, crew) != 0) {
            perror("pthread_create");
            exit(EXIT_FAILURE);
        }
    return crew;
}

void crew_destroy(struct crew *crew)
{
    if (crew->workers > 1) {
        crew->over = true;
        begin_phase(crew);
    }
    for (unsigned i = 1; i < crew->workers; i++)
        (void)pthread_join(crew->threads[i], NULL);
    (void)pthread_cond_destroy(&crew->wake);
    (void)pthread_mutex_destroy(&crew->lock);
    free(crew);
}

obb_status crew_run(struct crew *crew, const crew_work *work)
{
    obb_status status = OBB_OK;
    crew->work = work;
    atomic_store(&crew->status, (int)OBB_OK);
    for (;;) {
        crew->chunks = work->advance(work->work, &status);
        if (crew->chunks == 0 || status != OBB_OK)
            return status;
        for (unsigned i = 0; i < crew->workers; i++)
            atomic_store(&crew->taken[i], 0);
        if (crew->workers > 1)
            begin_phase(crew);
        run_chunks(crew, 0);
        if (crew->workers > 1)
            await_others(crew);
        if (atomic_load(&crew->status) != (int)OBB_OK)
            return (obb_status)atomic_load(&crew->status);
    }
}
