/* What every test program starts from: Check, a main, effort, and random numbers with a remembered seed. */
#ifndef TEST_SUPPORT_TEST_H
#define TEST_SUPPORT_TEST_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Check writes down each assertion that holds, with a call of the system, to know where a test was when it crashed; tests that make
 * millions of them spent most of their time there. What one that fails prints is the same. */
#ifdef CHECK_MAJOR_VERSION
#undef ck_assert_msg
/* NOLINTNEXTLINE(readability-identifier-naming): Check's name */
#define ck_assert_msg(expr, ...) \
    ((expr) ? (void)0            \
            : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", __VA_ARGS__))
#endif

/* Runs the suite; the exit status of main. */
int test_main(Suite *suite);

/* `cases` times the environment's EFFORT (1 by default). */
size_t test_effort(size_t cases);

/* TIMEOUT_FACTOR of the environment times `seconds`. */
double test_timeout(double seconds);

/* The same for tests that try test_effort cases: EFFORT times as long. */
double test_patience(double seconds);

bool test_same_bits(double x, double y); /* tells 0 from -0 */

/* Processor time of this thread. */
double test_seconds(void);

/* splitmix64: 2^64 period, every seed is good. */
typedef struct test_rng {
    uint64_t s;
} test_rng;
uint64_t test_random(test_rng *rng);
double test_uniform(test_rng *rng, double low, double high); /* [low, high) */
size_t test_below(test_rng *rng, size_t n);                  /* 0 .. n-1 */

#endif
