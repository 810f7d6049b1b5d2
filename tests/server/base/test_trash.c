#include "server/base/trash.h"

#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#define MIB ((size_t)1 << 20)

static struct srv_loop *loop;
static struct srv_pool *pool;
static struct srv_drain drain;
static struct srv_trash trash;
static struct srv_timer *timer;
static size_t waited, blocks, turns;

static void on_empty(void *context)
{
    (void)context;
    srv_loop_stop(loop);
}

static void setup(void)
{
    waited = blocks = turns = 0;
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, 2, 8, &pool));
    drain = (struct srv_drain){.on_empty = on_empty};
    trash = (struct srv_trash){.loop = loop, .pool = pool, .drain = &drain};
}

static void teardown(void)
{
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

int main(void)
{
    Suite *suite = suite_create("trash");
    TCase *tc = tcase_create("trash");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_the_loop_frees_goes_to_the_pool_in_one_job);
    tcase_add_test(tc, without_memory_for_a_job_the_loop_frees);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
