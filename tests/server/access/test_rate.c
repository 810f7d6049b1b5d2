/* How often each client may send, in time that the test makes. */
#include "server/access/rate.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>

enum { PLACES = 16384 };
#define SECOND UINT64_C(1000000000)
#define BEGIN  (1000 * SECOND) /* no time is special */

static struct srv_rate *rate;

static void make(uint64_t per_second)
{
    ck_assert(srv_rate_create(per_second, 0x0123456789abcdef, &rate));
}

/* How many of so many requests at one time are admitted. */
static uint64_t burst(uint64_t client, uint64_t now_ns, uint64_t count)
{
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < count; i++)
        admitted += srv_rate_admit(rate, client, now_ns);
    return admitted;
}

START_TEST(so_many_at_once_and_the_next_to_the_nanosecond)
{
    static const uint64_t rates[] = {1, 2, 3, 10, 60, 1000, 999999, 1000000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        const uint64_t n = rates[i], period = SECOND / n;
        make(n);
        ck_assert_uint_eq(burst(7, BEGIN, n + 5), n);
        ck_assert(!srv_rate_admit(rate, 7, BEGIN + period - 1));
        ck_assert(srv_rate_admit(rate, 7, BEGIN + period));
        ck_assert(!srv_rate_admit(rate, 7, BEGIN + period));
        ck_assert(!srv_rate_admit(rate, 7, BEGIN + 2 * period - 1));
        ck_assert(srv_rate_admit(rate, 7, BEGIN + 2 * period));
        /* a pause of k periods gives k back, one beyond the whole bucket no more than that */
        const uint64_t later = BEGIN + 2 * period + n / 2 * period;
        ck_assert_uint_eq(burst(7, later, n + 5), n / 2);
        ck_assert_uint_eq(burst(7, later + 3 * SECOND, n + 5), n);
        srv_rate_destroy(rate);
    }
}
END_TEST

/* The same said in another way: a bucket of tokens that are counted, in periods. */
START_TEST(it_is_a_bucket_of_tokens)
{
    test_rng r = {.s = 20261122};
    const uint64_t n = 8, period = SECOND / n;
    uint64_t now = BEGIN, filled = BEGIN, admitted = 0;
    double tokens = (double)n;
    make(n);
    for (int i = 0; i < 100000; i++) {
        now += test_random(&r) % (period * 2);
        tokens += (double)(now - filled) / (double)period;
        filled = now;
        if (tokens > (double)n)
            tokens = (double)n;
        if (fabs(tokens - 1) < 1e-6)
            continue; /* rounding would decide */
        const bool expected = tokens >= 1;
        ck_assert_msg(srv_rate_admit(rate, 1, now) == expected, "request %d, %g tokens", i, tokens);
        tokens -= expected;
        admitted += expected;
    }
    printf("%llu of 100000 admitted\n", (unsigned long long)admitted);
    ck_assert_uint_gt(admitted, 50000);
    ck_assert_uint_lt(admitted, 99999);
    srv_rate_destroy(rate);
}
END_TEST

START_TEST(who_keeps_to_the_rate_is_never_refused)
{
    for (uint64_t n = 1; n <= 1000; n++) {
        make(n);
        for (uint64_t i = 0; i < 5 * n; i++)
            ck_assert(srv_rate_admit(rate, n, BEGIN + i * SECOND / n));
        srv_rate_destroy(rate);
    }
}
END_TEST

START_TEST(clients_do_not_share)
{
    make(5);
    for (uint64_t client = 0; client < 1000; client++)
        ck_assert_uint_eq(burst(client, BEGIN, 6), 5);
    for (uint64_t client = 0; client < 1000; client++)
        ck_assert(!srv_rate_admit(rate, client, BEGIN + 1));
    srv_rate_destroy(rate);
}
END_TEST

/* A stranger with very many addresses: an old client keeps its place and what it has used of it,
 * newcomers share one bucket, and a second later nothing of it is left. */
START_TEST(very_many_clients_take_nothing_from_one_that_is_there)
{
    const uint64_t n = 10, old = UINT64_C(0x20010db800000001);
    make(n);
    ck_assert_uint_eq(burst(old, BEGIN, 4), 4);
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < UINT64_C(10) * PLACES; i++)
        admitted += srv_rate_admit(rate, 0xffff0a000000 + i, BEGIN);
    printf("%llu of %d addresses admitted at once\n", (unsigned long long)admitted, 10 * PLACES);
    ck_assert_uint_le(admitted, PLACES - 1 + n); /* a place each, and the shared bucket */
    ck_assert_uint_gt(admitted, PLACES * 9 / 10);
    ck_assert(!srv_rate_admit(rate, UINT64_C(0x20010db800000002), BEGIN));
    ck_assert_uint_eq(burst(old, BEGIN, n), n - 4);
    ck_assert_uint_eq(burst(UINT64_C(0x20010db800000002), BEGIN + SECOND, n + 5), n);
    srv_rate_destroy(rate);
}
END_TEST

/* Of half as many as there are places, whatever they are numbered like, none has to share. */
START_TEST(half_full_everybody_has_a_place)
{
    for (unsigned shift = 0; shift < 48; shift++) {
        make(2);
        uint64_t refused = 0;
        for (uint64_t i = 0; i < PLACES / 2; i++)
            refused += 2 - burst((i << shift) + 1, BEGIN, 2);
        ck_assert_msg(refused == 0, "%llu refused at shift %u", (unsigned long long)refused, shift);
        srv_rate_destroy(rate);
    }
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    fault_arm(1);
    const bool good = srv_rate_create(1, 0, &rate);
    fault_arm(0);
    ck_assert(!good);
    srv_rate_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rate");
    TCase *tc = tcase_create("rate");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, so_many_at_once_and_the_next_to_the_nanosecond);
    tcase_add_test(tc, it_is_a_bucket_of_tokens);
    tcase_add_test(tc, who_keeps_to_the_rate_is_never_refused);
    tcase_add_test(tc, clients_do_not_share);
    tcase_add_test(tc, very_many_clients_take_nothing_from_one_that_is_there);
    tcase_add_test(tc, half_full_everybody_has_a_place);
    tcase_add_test(tc, without_memory_there_is_none);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
