/* The base of every test program: Check, a main, effort, and random numbers with a fixed seed. */
#ifndef TEST_SUPPORT_TEST_H
#define TEST_SUPPORT_TEST_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Check records each assertion that holds with a system call, to know where a test was if it
 * crashes. Tests with millions of assertions spent most of their time there, so this version calls
 * Check only for an assertion that fails. The message of a failed assertion is the same. */
#ifdef CHECK_MAJOR_VERSION
#undef ck_assert_msg
/* NOLINTNEXTLINE(readability-identifier-naming): Check's name */
#define ck_assert_msg(expr, ...) \
    ((expr) ? (void)0            \
            : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", __VA_ARGS__))
#endif

/* Runs the suite and returns the exit status for main. */
int test_main(Suite *suite);

/* Says that no test of this case starts a thread. The thread sanitizer, which looks for races
 * between threads, leaves such tests out (tests/run.sh). In other builds each of them fails if it
 * starts one. */
void test_starts_no_thread(TCase *tc);

/* Returns `cases` times the environment variable EFFORT (1 by default). */
size_t test_effort(size_t cases);

/* Returns `seconds` times the environment variable TIMEOUT_FACTOR (1 by default). */
double test_timeout(double seconds);

/* Returns the timeout of a test that tries test_effort cases: EFFORT times as long as
 * test_timeout. */
double test_patience(double seconds);

/* Returns whether two numbers have the same bits. This tells 0 from -0. */
bool test_same_bits(double x, double y);

/* Returns the folder for temporary files: that of TMPDIR if its path is short, so that the path of
 * a socket below it is allowed. */
const char *test_folder(void);

/* Sleeps for so many milliseconds, or less if a signal comes. */
void test_rest(long ms);

/* Returns a clock that never goes back, in seconds. */
double test_now(void);

/* Returns the processor time of this thread in seconds. */
double test_seconds(void);

/* splitmix64: 2^64 period, every seed is good. */
typedef struct test_rng {
    uint64_t s;
} test_rng;
uint64_t test_random(test_rng *rng);
double test_uniform(test_rng *rng, double low, double high); /* [low, high) */
size_t test_below(test_rng *rng, size_t n);                  /* 0 .. n-1 */

#endif
