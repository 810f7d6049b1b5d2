#include "server/base/drain.h"
#include "tests/support/test.h"

static void count(void *context) { (*(int *)context)++; }

START_TEST(the_last_release_calls_back)
{
    int calls = 0;
    struct srv_drain drain = {.on_empty = count, .context = &calls};
    ck_assert(srv_drain_empty(&drain));
    for (int round = 1; round <= 3; round++) {
        srv_drain_hold(&drain);
        srv_drain_hold(&drain);
        ck_assert(!srv_drain_empty(&drain));
        srv_drain_release(&drain);
        ck_assert(!srv_drain_empty(&drain));
        ck_assert_int_eq(calls, round - 1);
        srv_drain_release(&drain);
        ck_assert(srv_drain_empty(&drain));
        ck_assert_int_eq(calls, round);
    }
}
END_TEST

START_TEST(nobody_needs_to_be_called)
{
    struct srv_drain drain = {0};
    srv_drain_hold(&drain);
    srv_drain_release(&drain);
    ck_assert(srv_drain_empty(&drain));
}
END_TEST

static void hold_again(void *context)
{
    static int calls;
    if (++calls < 5)
        srv_drain_hold(context);
}

START_TEST(the_callback_may_hold_again)
{
    struct srv_drain drain = {.on_empty = hold_again};
    drain.context = &drain;
    int releases = 0;
    for (srv_drain_hold(&drain); !srv_drain_empty(&drain); releases++)
        srv_drain_release(&drain);
    ck_assert_int_eq(releases, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drain");
    TCase *tc = tcase_create("drain");
    tcase_add_test(tc, the_last_release_calls_back);
    tcase_add_test(tc, nobody_needs_to_be_called);
    tcase_add_test(tc, the_callback_may_hold_again);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
