#include "server/lag.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

static struct srv_loop *loop;
static struct srv_metrics metrics;
static struct srv_lag *lag;
static struct srv_timer *block, *stop;

static void setup(void)
{
    metrics = (struct srv_metrics){0};
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_lag_create(loop, &metrics, &lag));
}

static void teardown(void)
{
    srv_timer_destroy(block);
    srv_timer_destroy(stop);
    srv_lag_destroy(lag);
    srv_loop_destroy(loop);
}

static void on_block(void *context)
{
    (void)context;
    const double end = srv_clock() + 0.25; /* over the measurement that is due after 0.1 s */
    while (srv_clock() < end)
        ;
}

static void on_stop(void *context) { srv_loop_stop(context); }

START_TEST(a_busy_loop_is_late)
{
    ck_assert(srv_timer_create(loop, on_block, NULL, &block));
    ck_assert(srv_timer_create(loop, on_stop, loop, &stop));
    srv_timer_start(block, 10, 0);
    srv_timer_start(stop, 450, 0);
    srv_lag_start(lag);
    srv_loop_run(loop);
    /* busy from 10 to 260 ms, so the measurement at 100 ms is 160 ms late; later ones do not hide
     * it */
    ck_assert_uint_gt(metrics.loop_lag_us, 140000);
    ck_assert_uint_lt(metrics.loop_lag_us, 5000000);
}
END_TEST

START_TEST(a_loop_that_does_not_run_is_not_measured)
{
    ck_assert_uint_eq(metrics.loop_lag_us, 0);
    srv_lag_destroy(NULL);
    for (size_t n = 1;; n++) {
        struct srv_lag *other;
        fault_arm(n);
        const bool made = srv_lag_create(loop, &metrics, &other);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        if (made)
            srv_lag_destroy(other);
        ck_assert(made != reached);
        if (!reached)
            break;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lag");
    TCase *tc = tcase_create("lag");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, a_busy_loop_is_late);
    tcase_add_test(tc, a_loop_that_does_not_run_is_not_measured);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
