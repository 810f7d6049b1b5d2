/* Workers: what is queued runs once, or comes back without a run; threads are lent, and given
 * back. */
#include "server/base/workers.h"
#include "tests/support/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>

enum { THREADS = 2, ITEMS = 5000, SETS = 3 };

struct counted {
    struct srv_item item; /* first */
    struct srv_workers *workers;
    int set;
    _Atomic int runs;
    int backs, again; /* how often it is still to be queued */
};

static struct srv_loop *loop;
static struct counted items[ITEMS];
static _Atomic size_t runs;
static _Atomic size_t inside[SETS][THREADS]; /* runs under way, by worker */
static _Atomic size_t strangers;             /* workers whose number was wrong */
static _Atomic bool gate;                    /* while it is closed, items do not end */
static size_t backs;
static int order[ITEMS], ordered;

static void setup(void)
{
    ck_assert(srv_loop_create(&loop));
    gate = true;
}

static void teardown(void)
{
    srv_loop_destroy(loop);
    ck_assert_uint_eq(atomic_load(&strangers), 0);
}

static void run(struct srv_item *item)
{
    struct counted *c = (struct counted *)item;
    strangers += item->worker >= THREADS || atomic_fetch_add(&inside[c->set][item->worker], 1) != 0;
    while (!atomic_load(&gate))
        ;
    atomic_fetch_sub(&inside[c->set][item->worker % THREADS], 1);
    atomic_fetch_add(&c->runs, 1);
    atomic_fetch_add(&runs, 1);
}

static void back(struct srv_item *item)
{
    struct counted *c = (struct counted *)item;
    c->backs++;
    backs++;
    if (ordered < ITEMS)
        order[ordered++] = (int)(c - items);
    if (c->again > 0) {
        c->again--;
        srv_workers_queue(c->workers, item);
    }
}

static void queue(struct srv_workers *workers, int set, int from, int count, int again)
{
    for (int i = from; i < from + count; i++) {
        items[i] = (struct counted){
            .item = {.run = run, .back = back}, .workers = workers, .set = set, .again = again};
        srv_workers_queue(workers, &items[i].item);
    }
}

static void await(const size_t *count, size_t wanted)
{
    while (*count < wanted)
        srv_loop_step(loop, 1000);
}

START_TEST(each_item_runs_and_comes_back_as_often_as_it_is_queued)
{
    struct srv_workers *workers;
    ck_assert(srv_workers_create(loop, THREADS, &workers));
    queue(workers, 0, 0, ITEMS, 3);
    await(&backs, (size_t)4 * ITEMS);
    for (int i = 0; i < ITEMS; i++) {
        ck_assert_int_eq(items[i].backs, 4);
        ck_assert_int_eq(atomic_load(&items[i].runs), 4);
    }
    srv_workers_destroy(workers);
    printf("%zu runs\n", atomic_load(&runs));
}
END_TEST

START_TEST(one_worker_keeps_the_order)
{
    struct srv_workers *workers;
    ck_assert(srv_workers_create(loop, 1, &workers));
    queue(workers, 0, 0, ITEMS, 0);
    await(&backs, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        ck_assert_int_eq(order[i], i);
    srv_workers_destroy(workers);
}
END_TEST

START_TEST(an_item_that_nobody_has_begun_comes_back_without_a_run)
{
    struct srv_workers *workers;
    ck_assert(srv_workers_create(loop, THREADS, &workers));
    gate = false; /* the workers stay with their first items */
    queue(workers, 0, 0, ITEMS, 0);
    for (int i = 0; i < ITEMS; i += 2)
        srv_workers_withdraw(workers, &items[i].item);
    ck_assert_uint_eq(backs, 0); /* never inside a call */
    gate = true;
    await(&backs, ITEMS);
    int without = 0;
    for (int i = 0; i < ITEMS; i++) {
        const int own = atomic_load(&items[i].runs);
        ck_assert_int_eq(items[i].backs, 1);
        ck_assert(own == 1 || (own == 0 && i % 2 == 0));
        without += own == 0;
        srv_workers_withdraw(workers, &items[i].item); /* too late: does nothing */
    }
    ck_assert_int_ge(without, ITEMS / 2 - THREADS);
    srv_loop_step(loop, 0);
    ck_assert_uint_eq(backs, ITEMS);
    srv_workers_destroy(workers);
}
END_TEST

START_TEST(threads_that_have_nothing_to_do_go_back_to_libuv)
{
    enum { EACH = 100 };
    struct srv_workers *sets[SETS];
    for (int i = 0; i < SETS; i++)
        ck_assert(srv_workers_create(loop, THREADS, &sets[i]));
    for (int round = 0; round < 5; round++) { /* all have the same threads, in turn */
        backs = 0;
        for (int i = 0; i < SETS; i++)
            queue(sets[i], i, i * EACH, EACH, 0);
        await(&backs, (size_t)SETS * EACH);
    }
    for (int i = 0; i < SETS; i++) /* threads of the last one still wait */
        srv_workers_destroy(sets[i]);
}
END_TEST

START_TEST(as_many_threads_are_tried_as_are_asked_for_and_fewer_without_room)
{
    struct rlimit limit;
    ck_assert_uint_eq(srv_workers_try(0), 0);
    ck_assert_uint_eq(srv_workers_try(100), 100);
    ck_assert_int_eq(getrlimit(RLIMIT_STACK, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)1 << 40; /* 128 of them are all that a process has of addresses */
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &limit), 0);
    const size_t started = srv_workers_try(200);
    ck_assert_uint_lt(started, 200);
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &limit), 0);
    ck_assert_uint_eq(srv_workers_try(100), 100);
    printf("%zu threads of 1 TiB\n", started);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("workers");
    TCase *tests = tcase_create("workers");
    tcase_set_timeout(tests, test_timeout(60));
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_item_runs_and_comes_back_as_often_as_it_is_queued);
    tcase_add_test(tests, one_worker_keeps_the_order);
    tcase_add_test(tests, an_item_that_nobody_has_begun_comes_back_without_a_run);
    tcase_add_test(tests, threads_that_have_nothing_to_do_go_back_to_libuv);
    tcase_add_test(tests, as_many_threads_are_tried_as_are_asked_for_and_fewer_without_room);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
