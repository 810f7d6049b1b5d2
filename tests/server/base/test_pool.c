#include "server/base/pool.h"

#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 4 };

static struct srv_loop *loop;
static struct srv_pool *pool;
static struct obb_budget budget; /* of 100 bytes */
static _Atomic size_t
    broken; /* rules that callbacks saw broken; they do not assert, as Check would allocate */

static void setup(void)
{
    obb_budget_init(&budget, 100);
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, WORKERS, 8, &budget, &pool));
}

static void teardown(void)
{
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_uint_eq(atomic_load(&broken), 0);
    ck_assert_uint_eq(srv_pool_jobs(pool), 0);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
}

static void spend_ms(double ms)
{
    const double end = srv_clock() + ms * 1e-3;
    while (srv_clock() < end)
        ;
}

/* Sums 1 to n in phases of `widths` chunks; a phase reads what the one before wrote, without any
 * lock of its own. */
struct sum {
    struct srv_job job;
    const size_t *widths;
    size_t phases, phase;
    uint64_t parts[1000], total;
    double chunk_ms;
    const atomic_bool *until; /* its last phase comes again until then; or NULL */
    bool shared;              /* a chunk does not end before two have run at the same time */
    atomic_bool cancelled;
    _Atomic size_t inside, most_inside, ran;
    size_t *left; /* jobs until the loop stops */
    size_t repeats;
    bool done;
    double ended; /* srv_clock */
};

static size_t sum_advance(struct srv_job *job)
{
    struct sum *s = (struct sum *)job;
    broken += atomic_load(&s->inside) != 0; /* alone */
    if (s->phase > 0)
        for (size_t i = 0; i < s->widths[s->phase - 1]; i++) {
            s->total += s->parts[i];
            s->parts[i] = 0;
        }
    if (s->phase == s->phases && s->until != NULL && !atomic_load(s->until)) {
        s->phase--;
        s->repeats++;
    }
    return s->phase == s->phases ? 0 : s->widths[s->phase++];
}

static void sum_chunk(struct srv_job *job, size_t chunk)
{
    struct sum *s = (struct sum *)job;
    const size_t inside = atomic_fetch_add(&s->inside, 1) + 1;
    size_t most = atomic_load(&s->most_inside);
    while (inside > most && !atomic_compare_exchange_weak(&s->most_inside, &most, inside))
        ;
    broken += s->parts[chunk] != 0; /* each chunk once */
    s->parts[chunk] = chunk + 1;
    if (s->chunk_ms > 0)
        spend_ms(s->chunk_ms);
    while (s->shared && atomic_load(&s->most_inside) < 2)
        spend_ms(0.1);
    atomic_fetch_add(&s->ran, 1);
    atomic_fetch_sub(&s->inside, 1);
}

static void sum_done(struct srv_job *job)
{
    struct sum *s = (struct sum *)job;
    broken += s->done;
    s->done = true;
    s->ended = srv_clock();
    if (--*s->left == 0)
        srv_loop_stop(loop);
}

static void sum_init(struct sum *s, const size_t *widths, size_t phases, size_t *left)
{
    memset(s, 0, sizeof *s);
    s->job.advance = sum_advance;
    s->job.chunk = sum_chunk;
    s->job.done = sum_done;
    s->job.cancelled = &s->cancelled;
    s->widths = widths;
    s->phases = phases;
    s->left = left;
}

static uint64_t sum_expected(const size_t *widths, size_t phases)
{
    uint64_t total = 0;
    for (size_t p = 0; p < phases; p++)
        total += widths[p] * (widths[p] + 1) / 2;
    return total;
}

START_TEST(phases_follow_each_other_and_every_chunk_runs_once)
{
    static const size_t widths[] = {1, 1000, 1, 1, 7, 2, 500, 3};
    enum { PHASES = sizeof widths / sizeof *widths };
    static struct sum jobs[8];
    const size_t rounds = test_effort(20);
    for (size_t round = 0; round < rounds; round++) {
        size_t left = 8;
        for (size_t i = 0; i < 8; i++) {
            sum_init(&jobs[i], widths, PHASES - i % 3, &left);
            ck_assert_int_eq(srv_pool_submit(pool, &jobs[i].job), SRV_SUBMITTED);
        }
        ck_assert_uint_eq(srv_pool_jobs(pool), 8);
        srv_loop_run(loop);
        for (size_t i = 0; i < 8; i++)
            ck_assert_uint_eq(jobs[i].total, sum_expected(widths, PHASES - i % 3));
    }
}
END_TEST

START_TEST(chunks_are_shared_by_the_workers)
{
    static const size_t widths[] = {64};
    static struct sum job;
    size_t left = 1;
    sum_init(&job, widths, 1, &left);
    job.shared = true;
    ck_assert_int_eq(srv_pool_submit(pool, &job.job), SRV_SUBMITTED);
    srv_loop_run(loop);
    ck_assert_uint_eq(job.total, 64 * 65 / 2);
    ck_assert_uint_gt(atomic_load(&job.most_inside), 1);
    ck_assert_uint_le(atomic_load(&job.most_inside), WORKERS);
}
END_TEST

/* A job whose phases are alike. The first chunk of a worker in a phase waits for those of all other
 * workers, so that each of them begins one; but not for ever, as a worker may be late. */
struct alike {
    struct srv_job job; /* first */
    size_t phase, same, other;
    pthread_t ran[64], before[64];
    _Atomic size_t begun; /* chunks of this phase */
};

static size_t alike_advance(struct srv_job *job)
{
    enum { PHASES = 100, SHARE = 64 / WORKERS };
    struct alike *a = (struct alike *)job;
    for (size_t i = 0; a->phase > 1 && i < 64; i += SHARE) {
        const bool same = pthread_equal(a->ran[i], a->before[i]) != 0;
        a->same += same;
        a->other += !same;
    }
    memcpy(a->before, a->ran, sizeof a->before);
    atomic_store(&a->begun, 0);
    return a->phase++ == PHASES ? 0 : 64;
}

static void alike_chunk(struct srv_job *job, size_t chunk)
{
    struct alike *a = (struct alike *)job;
    const double late = srv_clock() + 20e-3;
    a->ran[chunk] = pthread_self();
    atomic_fetch_add(&a->begun, 1);
    while (atomic_load(&a->begun) < WORKERS && srv_clock() < late)
        ;
}

static void alike_done(struct srv_job *job)
{
    (void)job;
    srv_loop_stop(loop);
}

START_TEST(a_worker_begins_with_the_same_share_of_every_phase)
{
    static struct alike a = {
        .job = {.advance = alike_advance, .chunk = alike_chunk, .done = alike_done}};
    ck_assert_int_eq(srv_pool_submit(pool, &a.job), SRV_SUBMITTED);
    srv_loop_run(loop);
    (void)printf("first chunks of shares: %zu by the same thread as before, %zu by another\n",
                 a.same, a.other);
    ck_assert_uint_eq(a.same + a.other, (size_t)99 * WORKERS);
    ck_assert_uint_gt(a.same, 3 * a.other);
}
END_TEST

START_TEST(a_job_without_chunks_is_one_step)
{
    static struct sum job;
    size_t left = 1;
    sum_init(&job, NULL, 0, &left);
    job.job.chunk = NULL;
    job.job.cancelled = NULL;
    ck_assert_int_eq(srv_pool_submit(pool, &job.job), SRV_SUBMITTED);
    srv_loop_run(loop);
    ck_assert(job.done);
}
END_TEST

START_TEST(the_queue_has_an_end)
{
    static const size_t widths[] = {1};
    static struct sum jobs[9];
    size_t left = 8;
    for (size_t i = 0; i < 9; i++)
        sum_init(&jobs[i], widths, 1, &left);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(srv_pool_submit(pool, &jobs[i].job), SRV_SUBMITTED);
    ck_assert_int_eq(srv_pool_submit(pool, &jobs[8].job), SRV_QUEUE_FULL);
    srv_loop_run(loop);
    ck_assert(!jobs[8].done);
    left = 1;
    ck_assert_int_eq(srv_pool_submit(pool, &jobs[8].job), SRV_SUBMITTED);
    srv_loop_run(loop);
    ck_assert(jobs[8].done);
}
END_TEST

struct cancel {
    struct srv_timer *timer;
    struct sum *jobs;
    size_t count, ran; /* chunks that had run when all were cancelled */
    double at;
};

static size_t chunks_run(const struct cancel *c)
{
    size_t ran = 0;
    for (size_t i = 0; i < c->count; i++)
        ran += atomic_load(&c->jobs[i].ran);
    return ran;
}

/* Called until some chunk has run: a busy machine may let the workers wait. */
static void cancel_all(void *context)
{
    struct cancel *c = context;
    if (chunks_run(c) == 0)
        return;
    srv_timer_stop(c->timer);
    c->at = srv_clock();
    for (size_t i = 0; i < c->count; i++) {
        atomic_store(&c->jobs[i].cancelled, true);
        srv_pool_cancelled(&c->jobs[i].job);
    }
    c->ran = chunks_run(c);
}

START_TEST(cancelled_jobs_end_soon_whether_they_run_or_wait)
{
    static const size_t widths[] = {1000};
    static struct sum jobs[8];
    size_t left = 8;
    for (size_t i = 0; i < 8; i++) {
        sum_init(&jobs[i], widths, 1, &left);
        jobs[i].chunk_ms = 0.5; /* 4 seconds of work in all */
        ck_assert_int_eq(srv_pool_submit(pool, &jobs[i].job), SRV_SUBMITTED);
    }
    struct cancel cancel = {.jobs = jobs, .count = 8};
    ck_assert(srv_timer_create(loop, cancel_all, &cancel, &cancel.timer));
    srv_timer_start(cancel.timer, 20, 20);
    srv_loop_run(loop);
    const size_t ran = chunks_run(&cancel);
    printf("8 jobs ended %.2f ms after they were cancelled, %zu of 8000 chunks had run\n",
           (srv_clock() - cancel.at) * 1e3, ran);
    ck_assert_uint_gt(ran, 0);
    ck_assert_uint_lt(ran, 7000);
    ck_assert_uint_le(ran - cancel.ran, WORKERS); /* those that had begun */
    srv_timer_destroy(cancel.timer);
}
END_TEST

/* A short job that comes after long ones must not wait for all of them: workers give way. The long
 * ones last until the short one is done, however slow the machine is. */
START_TEST(short_jobs_overtake_long_ones)
{
    static const size_t wide[] = {400}, narrow[] = {1};
    static struct sum jobs[WORKERS + 1];
    atomic_bool over = false;
    size_t left = WORKERS + 1;
    for (size_t i = 0; i < WORKERS; i++) {
        sum_init(&jobs[i], wide, 1, &left);
        jobs[i].chunk_ms = 0.25;
        jobs[i].until = &over;
        ck_assert_int_eq(srv_pool_submit(pool, &jobs[i].job), SRV_SUBMITTED);
    }
    size_t last = 1;
    sum_init(&jobs[WORKERS], narrow, 1, &last);
    ck_assert_int_eq(srv_pool_submit(pool, &jobs[WORKERS].job), SRV_SUBMITTED);
    srv_loop_run(loop); /* stops as the short one is done */
    ck_assert(jobs[WORKERS].done);
    for (size_t i = 0; i < WORKERS; i++)
        ck_assert(!jobs[i].done);
    atomic_store(&over, true);
    left = WORKERS;
    srv_loop_run(loop);
    for (size_t i = 0; i < WORKERS; i++)
        ck_assert_uint_eq(jobs[i].total, (1 + jobs[i].repeats) * (400 * 401 / 2));
}
END_TEST

/* If nothing waits, a worker stays with its job. If it is the only one, it does so from phase to
 * phase: the loop does not run. */
START_TEST(a_worker_gives_way_only_to_somebody)
{
    static const size_t widths[] = {1, 3, 2};
    static struct sum job;
    struct srv_pool *one;
    size_t left = 1;
    ck_assert(srv_pool_create(loop, 1, 8, NULL, &one));
    sum_init(&job, widths, 3, &left);
    job.chunk_ms = 3;
    ck_assert_int_eq(srv_pool_submit(one, &job.job), SRV_SUBMITTED);
    while (atomic_load(&job.ran) < 6)
        spend_ms(0.1);
    srv_loop_run(loop);
    ck_assert_uint_eq(job.total, sum_expected(widths, 3));
    srv_pool_destroy(one);
}
END_TEST

/* Jobs that draw, and how many of them are done. */
enum { DRAWING = WORKERS + 3 };
static struct sum drawing[DRAWING];
static _Atomic size_t drawn;

/* No chunk runs before all older jobs are done: `broken` counts those that do. */
static void held_chunk(struct srv_job *job, size_t chunk)
{
    const struct sum *s = (struct sum *)job;
    const size_t place = (size_t)(s - drawing);
    broken += atomic_load(&drawn) < place;
    sum_chunk(job, chunk);
}

static void drawing_done(struct srv_job *job)
{
    atomic_fetch_add(&drawn, 1);
    sum_done(job);
}

static void submit_drawing(const size_t *widths, size_t phases, size_t *left)
{
    atomic_store(&drawn, 0);
    for (size_t i = 0; i < DRAWING; i++) {
        sum_init(&drawing[i], widths, phases, left);
        drawing[i].job.draws = true;
        drawing[i].job.chunk = held_chunk;
        drawing[i].job.done = drawing_done;
        drawing[i].chunk_ms = 0.2;
        ck_assert_int_eq(srv_pool_submit(pool, &drawing[i].job), SRV_SUBMITTED);
    }
}

START_TEST(while_memory_is_short_the_oldest_jobs_go_first)
{
    static const size_t widths[] = {30, 1, 30}, narrow[] = {1};
    static struct sum other;
    atomic_bool over = false;
    size_t left = DRAWING, alone = 1;
    ck_assert(obb_budget_take(&budget, 51));
    submit_drawing(widths, 3, &left);
    ck_assert_uint_eq(srv_pool_jobs(pool), DRAWING);
    ck_assert(srv_pool_busy(pool));
    sum_init(&other, narrow, 1, &alone); /* draws nothing: it is not held */
    drawing[0].until = &over;
    ck_assert_int_eq(srv_pool_submit(pool, &other.job), SRV_SUBMITTED);
    srv_loop_run(loop);
    ck_assert(other.done);
    for (size_t i = 0; i < DRAWING; i++)
        ck_assert(!drawing[i].done);
    atomic_store(&over, true);
    srv_loop_run(loop);
    for (size_t i = 0; i < DRAWING; i++)
        ck_assert_uint_eq(drawing[i].total,
                          sum_expected(widths, 3) + drawing[i].repeats * (30 * 31 / 2));
    ck_assert(!srv_pool_busy(pool));
    obb_budget_give(&budget, 51);
}
END_TEST

static void give_back(void *context)
{
    (void)context;
    obb_budget_give(&budget, 51);
    atomic_store(&drawn, DRAWING); /* from here on all may go on */
}

START_TEST(held_jobs_go_on_when_memory_is_given_back)
{
    static const size_t widths[] = {400};
    size_t left = DRAWING;
    struct srv_timer *timer;
    ck_assert(srv_timer_create(loop, give_back, NULL, &timer));
    ck_assert(obb_budget_take(&budget, 51));
    submit_drawing(widths, 1, &left);
    srv_timer_start(timer, 10, 0);
    srv_loop_run(loop);
    for (size_t i = 0; i < DRAWING; i++)
        ck_assert_uint_eq(drawing[i].total, sum_expected(widths, 1));
    srv_timer_destroy(timer);
}
END_TEST

START_TEST(jobs_that_began_before_memory_was_short_are_held_too)
{
    static const size_t widths[] = {200, 200};
    size_t left = DRAWING;
    submit_drawing(widths, 2, &left);
    for (size_t i = 0; i < DRAWING; i++)
        drawing[i].job.chunk = sum_chunk; /* each may have had some */
    ck_assert(obb_budget_take(&budget, 51));
    srv_loop_run(loop);
    size_t early = 0;
    for (size_t i = 0; i < DRAWING; i++) {
        ck_assert_uint_eq(drawing[i].total, sum_expected(widths, 2));
        early += i > 0 && drawing[i].ended < drawing[0].ended;
    }
    ck_assert_uint_eq(early, 0);
    obb_budget_give(&budget, 51);
}
END_TEST

START_TEST(held_jobs_can_be_cancelled)
{
    static const size_t widths[] = {100};
    size_t left = DRAWING;
    ck_assert(obb_budget_take(&budget, 51));
    submit_drawing(widths, 1, &left);
    for (size_t i = 1; i < DRAWING; i++) {
        atomic_store(&drawing[i].cancelled, true);
        srv_pool_cancelled(&drawing[i].job);
    }
    srv_loop_run(loop);
    for (size_t i = 0; i < DRAWING; i++) {
        ck_assert(drawing[i].done);
        ck_assert_uint_eq(atomic_load(&drawing[i].ran), i == 0 ? 100 : 0);
    }
    obb_budget_give(&budget, 51);
}
END_TEST

START_TEST(without_memory_nothing_is_queued_and_with_little_all_is_done)
{
    static const size_t widths[] = {100, 1, 50};
    static struct sum job;
    size_t left = 1;
    sum_init(&job, widths, 3, &left);
    fault_arm(1);
    const srv_submitted refused = srv_pool_submit(pool, &job.job);
    fault_arm(2); /* the first helper */
    const srv_submitted queued = srv_pool_submit(pool, &job.job);
    srv_loop_run(loop);
    fault_arm(0);
    ck_assert_int_eq(refused, SRV_NO_MEMORY);
    ck_assert_int_eq(queued, SRV_SUBMITTED);
    ck_assert_uint_eq(job.total, sum_expected(widths, 3));
}
END_TEST

START_TEST(by_default_the_loop_has_a_core)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    ck_assert_uint_ge(srv_pool_default(), 1);
    ck_assert(cores == 1 || srv_pool_default() < (size_t)cores);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tc = tcase_create("pool");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, phases_follow_each_other_and_every_chunk_runs_once);
    tcase_add_test(tc, chunks_are_shared_by_the_workers);
    tcase_add_test(tc, a_worker_begins_with_the_same_share_of_every_phase);
    tcase_add_test(tc, a_job_without_chunks_is_one_step);
    tcase_add_test(tc, the_queue_has_an_end);
    tcase_add_test(tc, cancelled_jobs_end_soon_whether_they_run_or_wait);
    tcase_add_test(tc, short_jobs_overtake_long_ones);
    tcase_add_test(tc, a_worker_gives_way_only_to_somebody);
    tcase_add_test(tc, by_default_the_loop_has_a_core);
    tcase_add_test(tc, while_memory_is_short_the_oldest_jobs_go_first);
    tcase_add_test(tc, held_jobs_go_on_when_memory_is_given_back);
    tcase_add_test(tc, jobs_that_began_before_memory_was_short_are_held_too);
    tcase_add_test(tc, held_jobs_can_be_cancelled);
    tcase_add_test(tc, without_memory_nothing_is_queued_and_with_little_all_is_done);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
