/* A pool of two workers that stand still, so that what runs on it can only go on when the test lets
 * it. For the programs of server/: each includes it once. */
#ifndef TEST_SERVER_STILL_POOL_H
#define TEST_SERVER_STILL_POOL_H

#include "server/base/pool.h"
#include "tests/support/test.h"

#include <pthread.h>

enum { STILL_WORKERS = 2 };

static size_t still_ended; /* of the jobs that keep the workers still */
static pthread_mutex_t still_guard = PTHREAD_MUTEX_INITIALIZER;

static size_t still_advance(struct srv_job *job)
{
    (void)job;
    (void)pthread_mutex_lock(&still_guard);
    (void)pthread_mutex_unlock(&still_guard);
    return 0;
}

static void still_done(struct srv_job *job)
{
    (void)job;
    still_ended++;
}

/* Lets all workers stand still until still_end. Jobs that wait already go before. */
static void still_begin(struct srv_pool *pool)
{
    static struct srv_job jobs[STILL_WORKERS];
    still_ended = 0;
    (void)pthread_mutex_lock(&still_guard);
    for (size_t i = 0; i < STILL_WORKERS; i++) {
        jobs[i] = (struct srv_job){.advance = still_advance, .done = still_done};
        ck_assert_int_eq(srv_pool_submit(pool, &jobs[i]), SRV_SUBMITTED);
    }
}

static void still_end(void) { (void)pthread_mutex_unlock(&still_guard); }

#endif
