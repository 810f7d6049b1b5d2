#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <time.h>

int test_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (run == 0)
        (void)fprintf(stderr, "no test ran\n");
    return run > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Each test is a process of its own, in which the C library remembers that a thread was started.
 * The thread sanitizer starts one itself. */
static void saw_no_thread(void)
{
#ifndef __SANITIZE_THREAD__
    ck_assert_msg(__libc_single_threaded, "the test has started a thread");
#endif
}

void test_starts_no_thread(TCase *tc)
{
    tcase_set_tags(tc, "one_thread");
    tcase_add_checked_fixture(tc, NULL, saw_no_thread);
}

static double number_from_environment(const char *name, double otherwise)
{
    const char *text = getenv(name);
    const double value = text != NULL ? strtod(text, NULL) : 0.0;
    return value > 0.0 ? value : otherwise;
}

size_t test_effort(size_t cases)
{
    return (size_t)((double)cases * number_from_environment("EFFORT", 1.0));
}

double test_timeout(double seconds)
{
    return seconds * number_from_environment("TIMEOUT_FACTOR", 1.0);
}

double test_patience(double seconds)
{
    const double effort = number_from_environment("EFFORT", 1.0);
    return test_timeout(seconds) * (effort > 1.0 ? effort : 1.0);
}

const char *test_folder(void)
{
    enum { LONGEST = 30 };
    const char *folder = getenv("TMPDIR");
    return folder != NULL && strlen(folder) < LONGEST ? folder : "/tmp";
}

bool test_same_bits(double x, double y)
{
    uint64_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return a == b;
}

void test_rest(long ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

double test_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double test_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t test_random(test_rng *rng)
{
    uint64_t z = rng->s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double test_uniform(test_rng *rng, double low, double high)
{
    return low + (high - low) * ((double)(test_random(rng) >> 11) * 0x1p-53);
}

size_t test_below(test_rng *rng, size_t n) { return (size_t)(test_random(rng) % n); }
