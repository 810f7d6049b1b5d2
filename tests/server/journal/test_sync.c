/* The bound of --sync MS in milliseconds, by a clock that stands still until the test moves it. The
 * clock of the journal and its waits are replaced here, so nothing depends on how fast the machine
 * is: after each millisecond, the test waits until the journal's thread has nothing left to do. */
#include "server/journal/backend.h"
#include "server/journal/grouped.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SYNC_MS = 7, MOST = 4000 };

static _Atomic uint64_t now_ms;

/* ---- Time ------------------------------------------------------------------------------------ */

uint64_t uv_hrtime(void); /* instead of that of libuv, for srv_clock */
uint64_t uv_hrtime(void) { return atomic_load(&now_ms) * 1000000; }

static struct {
    pthread_mutex_t *mutex; /* under itself, as all that follows */
    pthread_cond_t *cond;
    _Atomic uint64_t
        waits_since; /* the millisecond in which the thread began to wait; 0: it works */
} thread;

/* The journal's thread waits for company. It looks at the clock again after each millisecond. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    (void)until;
    thread.mutex = mutex;
    thread.cond = cond;
    atomic_store(&thread.waits_since, atomic_load(&now_ms));
    const int result = pthread_cond_wait(cond, mutex);
    atomic_store(&thread.waits_since, 0);
    return result;
}

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL); }

/* ---- A disk that takes its time -------------------------------------------------------------- */

static struct {
    struct srv_backend backend; /* first */
    size_t added;               /* entries of the group */
    _Atomic size_t durable;
    uint64_t takes_ms;
    _Atomic uint64_t until; /* a sync ends then; 0: there is none */
    size_t groups;
} disk;

static srv_journal_status disk_add(struct srv_backend *backend, struct srv_entry *entry,
                                   struct wire_buf *bytes)
{
    (void)backend;
    (void)bytes;
    entry->seq = ++disk.added;
    return SRV_JOURNAL_OK;
}

static void disk_undo(struct srv_backend *backend)
{
    (void)backend;
    disk.added = atomic_load(&disk.durable);
}

static srv_journal_status disk_commit(struct srv_backend *backend)
{
    (void)backend;
    const uint64_t until = atomic_load(&now_ms) + disk.takes_ms;
    atomic_store(&disk.until, until);
    while (atomic_load(&now_ms) < until)
        rest();
    atomic_store(&disk.until, 0);
    disk.groups++;
    atomic_store(&disk.durable, disk.added);
    return SRV_JOURNAL_OK;
}

static bool disk_tidy(struct srv_backend *backend, uint64_t edge)
{
    (void)backend;
    (void)edge;
    return false;
}

static void disk_close(struct srv_backend *backend) { (void)backend; }

/* ---- Entries --------------------------------------------------------------------------------- */

static struct srv_loop *loop;
static struct srv_journal *journal;
static struct srv_entry entries[MOST];
static uint64_t answered_ms[MOST];
static size_t appended, answered;

static void on_settled(struct srv_entry *entry, srv_journal_status status)
{
    ck_assert_int_eq(status, SRV_JOURNAL_OK);
    ck_assert_ptr_eq(entry, &entries[answered]);
    answered_ms[answered++] = atomic_load(&now_ms);
}

static void on_released(struct srv_entry *entry) { (void)entry; }

/* Appends an entry, which is answered within the same millisecond. */
static void append(void)
{
    ck_assert_uint_lt(appended, MOST);
    entries[appended] = (struct srv_entry){.kind = SRV_ENTRY_RECORD,
                                           .scene = 1,
                                           .number = appended,
                                           .settled = on_settled,
                                           .released = on_released};
    srv_journal_append(journal, &entries[appended++]);
    while (answered < appended)
        srv_loop_step(loop, 10);
}

/* Waits until the thread can do nothing more in this millisecond. */
static void settle(void)
{
    for (;;) {
        const uint64_t now = atomic_load(&now_ms);
        if (atomic_load(&thread.waits_since) == now || atomic_load(&disk.until) > now ||
            atomic_load(&disk.durable) == appended)
            return;
        rest();
    }
}

static void next_ms(void)
{
    settle();
    atomic_fetch_add(&now_ms, 1);
    if (atomic_load(&thread.waits_since) != 0) {
        (void)pthread_mutex_lock(thread.mutex);
        (void)pthread_cond_broadcast(thread.cond);
        (void)pthread_mutex_unlock(thread.mutex);
    }
    settle();
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static const uint64_t disks[] = {0, 3, 20}; /* milliseconds that a sync takes */

/* After each millisecond the power may fail: whatever was answered so long ago is durable then. */
START_TEST(what_was_answered_longer_ago_than_the_bound_is_durable)
{
    const uint64_t takes = disks[_i];
    const uint64_t bound = (takes > SYNC_MS ? takes : SYNC_MS) + takes;
    uint64_t longest = 0;
    size_t lost = 0, cuts = 0;
    test_rng rng = {17};
    atomic_store(&now_ms, 1000);
    memset(&disk, 0, sizeof disk);
    disk.takes_ms = takes;
    disk.backend = (struct srv_backend){.add = disk_add,
                                        .undo = disk_undo,
                                        .commit = disk_commit,
                                        .tidy = disk_tidy,
                                        .close = disk_close};
    appended = answered = 0;
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_grouped_create(loop, &disk.backend, SYNC_MS, &journal));
    while (appended + 10 < MOST / 2) {
        if (test_below(&rng, 40) == 0) /* it is quiet for a while */
            for (size_t i = 0; i < 40; i++)
                next_ms();
        for (size_t n = test_below(&rng, 3); n > 0; n--)
            append();
        next_ms();
        const uint64_t now = atomic_load(&now_ms);
        const size_t durable = atomic_load(&disk.durable);
        cuts++;
        lost += answered - durable;
        if (durable < answered) {
            const uint64_t waits = now - answered_ms[durable];
            longest = waits > longest ? waits : longest;
            ck_assert_msg(waits <= bound, "answered %llu ms ago, and not durable",
                          (unsigned long long)waits);
        }
    }
    printf("%llu ms a sync: %zu entries in %zu groups; of %zu cuts, each would lose %.1f, answered "
           "up to %llu ms before\n",
           (unsigned long long)takes, appended, disk.groups, cuts, (double)lost / (double)cuts,
           (unsigned long long)longest);
    ck_assert_uint_ge(longest + 1, bound);        /* the bound is what it takes */
    ck_assert_uint_lt(disk.groups, appended / 3); /* they share syncs */
    ck_assert_uint_gt(lost, cuts);
    for (size_t i = 0; i < 50; i++) /* time alone brings the last of them */
        next_ms();
    ck_assert_uint_eq(atomic_load(&disk.durable), appended);
    srv_journal_hurry(journal);
    disk.takes_ms = 0;
    srv_journal_destroy(journal);
    srv_loop_destroy(loop);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sync");
    TCase *tc = tcase_create("sync");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_loop_test(tc, what_was_answered_longer_ago_than_the_bound_is_durable, 0,
                        sizeof disks / sizeof *disks);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
