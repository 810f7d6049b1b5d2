#include "server/base/trash.h"

#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#define MIB ((size_t)1 << 20)

static struct srv_loop *loop;
static struct srv_pool *pool;
static struct srv_drain drain;
static struct obb_budget budget; /* of 8 MiB */
static struct srv_trash trash;
static struct srv_timer *timer;
static size_t waited, blocks, turns;
static atomic_bool looked; /* the loop has found the budget charged */

static void on_empty(void *context)
{
    (void)context;
    srv_loop_stop(loop);
}

static void setup(void)
{
    waited = blocks = turns = 0;
    atomic_store(&looked, false);
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, 2, 8, NULL, &pool));
    drain = (struct srv_drain){.on_empty = on_empty};
    obb_budget_init(&budget, 8 * MIB);
    trash = (struct srv_trash){.loop = loop, .pool = pool, .drain = &drain, .budget = &budget};
}

static void teardown(void)
{
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    srv_timer_destroy(timer);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
}

static void free_blocks(void *context)
{
    (void)context;
    for (size_t i = 0; i < blocks; i++)
        obb_free(obb_malloc(MIB, 1));
    waited = obb_trash_waiting();
}

START_TEST(what_the_loop_frees_goes_to_the_pool_in_one_job)
{
    blocks = 10;
    ck_assert(srv_timer_create(loop, free_blocks, NULL, &timer));
    srv_trash_start(&trash);
    srv_timer_start(timer, 0, 0);
    srv_loop_run(loop);
    ck_assert_uint_ge(waited, blocks * MIB);
    ck_assert_uint_lt(waited, (blocks + 1) * MIB);
    ck_assert_uint_eq(trash.jobs, 1);
    ck_assert_uint_eq(obb_trash_waiting(), 0);
    ck_assert(srv_drain_empty(&drain));
    obb_free(obb_malloc(MIB, 1));
    ck_assert_uint_ge(obb_trash_waiting(), MIB); /* after the loop */
    srv_trash_stop(&trash);
    ck_assert_uint_eq(obb_trash_waiting(), 0);
    obb_free(obb_malloc(MIB, 1));
    ck_assert_uint_eq(obb_trash_waiting(), 0);
}
END_TEST

/* The timer's second call ends the loop. */
static void free_without_memory(void *context)
{
    (void)context;
    if (turns++ > 0) {
        fault_arm(0);
        waited = obb_trash_waiting();
        srv_loop_stop(loop);
        return;
    }
    obb_free(obb_malloc(MIB, 1));
    fault_arm(1); /* the task of the pool */
}

/* The timer's first call frees more than the budget has, the later ones look. The workers are busy
 * until one has seen that the budget is charged. */
static void free_more_than_the_budget(void *context)
{
    (void)context;
    if (turns++ == 0) {
        obb_free(obb_malloc(48 * MIB, 1));
        return;
    }
    waited = obb_trash_waiting();
    if (waited > 0 && obb_budget_used(&budget) == waited && !obb_budget_take(&budget, 1))
        atomic_store(&looked, true);
    if (waited == 0 && srv_pool_jobs(pool) == 0)
        srv_loop_stop(loop);
}

/* If the budget is never charged, the test fails by its time limit. */
static size_t keep_busy(struct srv_job *job)
{
    (void)job;
    while (!atomic_load(&looked))
        ;
    return 0;
}

static void ignore(struct srv_job *job) { (void)job; }

START_TEST(the_budget_counts_what_waits)
{
    struct srv_job busy[2] = {{.advance = keep_busy, .done = ignore},
                              {.advance = keep_busy, .done = ignore}};
    drain.on_empty = NULL;
    ck_assert(srv_timer_create(loop, free_more_than_the_budget, NULL, &timer));
    srv_trash_start(&trash);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(srv_pool_submit(pool, &busy[i]), SRV_SUBMITTED);
    srv_timer_start(timer, 0, 1);
    srv_loop_run(loop);
    ck_assert(atomic_load(&looked));
    ck_assert_uint_eq(waited, 0);
    ck_assert_uint_eq(trash.jobs, 1);
    srv_trash_stop(&trash);
}
END_TEST

START_TEST(without_memory_for_a_job_the_loop_frees)
{
    ck_assert(srv_timer_create(loop, free_without_memory, NULL, &timer));
    srv_trash_start(&trash);
    srv_timer_start(timer, 0, 1);
    waited = 1;
    srv_loop_run(loop);
    ck_assert_uint_eq(waited, 0);
    ck_assert_uint_eq(trash.jobs, 0);
    srv_trash_stop(&trash);
}
END_TEST

/* The timer's first call frees blocks, which the stock keeps; the later ones wait until they have
 * gone. */
static void free_into_stock(void *context)
{
    (void)context;
    if (turns++ == 0) {
        for (size_t i = 0; i < blocks; i++)
            obb_free(obb_malloc(i + 1, MIB));
        waited = obb_stock_bytes();
        ck_assert_uint_eq(obb_trash_waiting(), 0);
    } else if (obb_stock_bytes() == 0 && trash.jobs > 0 && !trash.busy) {
        srv_loop_stop(loop);
    }
}

START_TEST(blocks_in_stock_that_nobody_takes_become_trash)
{
    blocks = 3;
    trash.stock = 8 * MIB;
    trash.age_ms = 2;
    drain.on_empty = NULL;
    ck_assert(srv_timer_create(loop, free_into_stock, NULL, &timer));
    srv_trash_start(&trash);
    srv_timer_start(timer, 0, 1);
    srv_loop_run(loop);
    ck_assert_uint_ge(waited, 6 * MIB);
    ck_assert(!trash.ages); /* the loop sleeps again */
    obb_free(obb_malloc(MIB, 1));
    ck_assert_uint_ge(obb_stock_bytes(), MIB);
    ck_assert(obb_budget_take(&budget, 4 * MIB + 1)); /* more than half */
    obb_free(obb_calloc(1, MIB));
    ck_assert_uint_eq(obb_stock_bytes(), 0);
    obb_budget_give(&budget, 4 * MIB + 1);
    obb_free(obb_calloc(1, MIB));
    ck_assert_uint_ge(obb_stock_bytes(), MIB);
    srv_trash_stop(&trash);
    ck_assert_uint_eq(obb_stock_bytes(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trash");
    TCase *tc = tcase_create("trash");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_the_loop_frees_goes_to_the_pool_in_one_job);
    tcase_add_test(tc, the_budget_counts_what_waits);
    tcase_add_test(tc, without_memory_for_a_job_the_loop_frees);
    tcase_add_test(tc, blocks_in_stock_that_nobody_takes_become_trash);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
