#include "server/scenes/starved.h"

#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>

#define MIB ((size_t)1 << 20)
enum { WAITERS = 4, LIMIT_MIB = 16 };

static struct srv_loop *loop;
static struct obb_budget budget;
static struct srv_starved starved;

/* What happened, in its order. */
static char story[64];
static size_t told;

struct waiter {
    struct srv_starving starving; /* first */
    char name;
    size_t hunger; /* tries that find nothing */
    size_t takes;  /* bytes that the last try draws */
};

static struct waiter waiters[WAITERS];
static size_t left; /* waiters until the loop stops */

static void again(struct srv_starving *starving)
{
    struct waiter *w = (struct waiter *)starving;
    ck_assert(!starving->waits);
    if (w->hunger > 0) {
        w->hunger--;
        story[told++] = (char)(w->name - 'a' + 'A');
        srv_starved_wait(&starved, starving);
        return;
    }
    story[told++] = w->name;
    ck_assert(obb_budget_take(&budget, w->takes));
    srv_starved_fed(starving);
    if (--left == 0)
        srv_loop_stop(loop);
}

static void setup(void)
{
    told = 0;
    left = WAITERS;
    memset(story, 0, sizeof story);
    obb_budget_init(&budget, LIMIT_MIB * MIB);
    starved = (struct srv_starved){.budget = NULL};
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_starved_init(&starved, loop, &budget));
    for (size_t i = 0; i < WAITERS; i++)
        waiters[i] = (struct waiter){.starving = {.again = again}, .name = (char)('a' + i)};
}

static void teardown(void)
{
    ck_assert_ptr_null(starved.first);
    ck_assert_ptr_null(starved.last);
    srv_starved_fini(&starved);
    srv_loop_destroy(loop);
}

static void all_wait(void)
{
    for (size_t i = 0; i < WAITERS; i++) {
        srv_starved_wait(&starved, &waiters[i].starving);
        ck_assert(waiters[i].starving.waits);
    }
}

START_TEST(who_came_first_goes_on_first)
{
    all_wait();
    srv_loop_run(loop);
    ck_assert_str_eq(story, "abcd");
    ck_assert_uint_eq(left, 0);
}
END_TEST

START_TEST(who_finds_nothing_keeps_its_place)
{
    ck_assert(obb_budget_take(&budget, (LIMIT_MIB - 2) * MIB)); /* room for two at a time */
    waiters[1].hunger = 2;
    all_wait();
    srv_loop_run(loop);
    /* b stands before c and d until it is fed */
    ck_assert_str_eq(story, "aBBbcd");
}
END_TEST

START_TEST(who_was_fed_has_a_new_place)
{
    all_wait();
    srv_loop_run(loop);
    left = 2;
    told = 0;
    srv_starved_wait(&starved, &waiters[3].starving);
    srv_starved_wait(&starved, &waiters[0].starving);
    srv_loop_run(loop);
    ck_assert_mem_eq(story, "da", 2);
}
END_TEST

static void give_back(void *context)
{
    (void)context;
    story[told++] = '+';
    obb_budget_give(&budget, MIB);
}

START_TEST(nobody_tries_without_room_and_each_share_lets_one_try)
{
    struct srv_timer *timer;
    ck_assert(obb_budget_take(&budget, LIMIT_MIB * MIB));
    ck_assert(srv_timer_create(loop, give_back, NULL, &timer));
    for (size_t i = 0; i < WAITERS; i++)
        waiters[i].takes = MIB;
    all_wait();
    srv_timer_start(timer, 100, 100);
    srv_loop_run(loop);
    ck_assert_str_eq(story, "+a+b+c+d");
    srv_timer_destroy(timer);
}
END_TEST

START_TEST(who_leaves_is_not_asked)
{
    all_wait();
    srv_starved_leave(&starved, &waiters[1].starving);
    srv_starved_leave(&starved, &waiters[3].starving);
    srv_starved_leave(&starved, &waiters[3].starving);
    ck_assert(!waiters[3].starving.waits);
    left = 2;
    srv_loop_run(loop);
    ck_assert_str_eq(story, "ac");
    all_wait();
    for (size_t i = 0; i < WAITERS; i++)
        srv_starved_leave(&starved, &waiters[i].starving);
    srv_loop_step(loop, 50); /* nothing is due */
    ck_assert_str_eq(story, "ac");
}
END_TEST

START_TEST(a_small_limit_has_shares_too)
{
    obb_budget_init(&budget, 7);
    all_wait();
    srv_loop_run(loop);
    ck_assert_str_eq(story, "abcd");
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    struct srv_starved none = {.budget = NULL};
    srv_starved_fini(&none);
    fault_arm(1);
    const bool made = srv_starved_init(&none, loop, &budget);
    fault_arm(0);
    ck_assert(!made);
    srv_starved_fini(&none);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("starved");
    TCase *tc = tcase_create("starved");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_patience(20));
    tcase_add_test(tc, who_came_first_goes_on_first);
    tcase_add_test(tc, who_finds_nothing_keeps_its_place);
    tcase_add_test(tc, who_was_fed_has_a_new_place);
    tcase_add_test(tc, nobody_tries_without_room_and_each_share_lets_one_try);
    tcase_add_test(tc, who_leaves_is_not_asked);
    tcase_add_test(tc, a_small_limit_has_shares_too);
    tcase_add_test(tc, without_memory_there_is_none);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
