/* The part of Check's interface that tests of core use, for processors for which this machine has
 * no Check. Tests run one after the other in one process. The first failure ends the process. There
 * are no time limits. */
#ifndef TEST_CROSS_CHECK_H
#define TEST_CROSS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CK_ENV, CROSS_MOST = 64 };

typedef struct TCase {
    const char *names[CROSS_MOST];
    void (*tests[CROSS_MOST])(int);
    int from[CROSS_MOST], to[CROSS_MOST], count;
} TCase;
typedef struct Suite {
    const char *name;
    TCase *cases[CROSS_MOST];
    int count;
} Suite;
typedef struct SRunner {
    Suite *suite;
    int run;
} SRunner;

static inline void *cross_new(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        exit(EXIT_FAILURE);
    return memory;
}

static inline Suite *suite_create(const char *name)
{
    Suite *suite = cross_new(sizeof *suite);
    suite->name = name;
    return suite;
}

static inline TCase *tcase_create(const char *name)
{
    (void)name;
    return cross_new(sizeof(TCase));
}

static inline void tcase_set_timeout(TCase *tcase, double seconds)
{
    (void)tcase;
    (void)seconds;
}

static inline void tcase_set_tags(TCase *tcase, const char *tags)
{
    (void)tcase;
    (void)tags;
}

/* Nothing is called after a test. */
static inline void tcase_add_checked_fixture(TCase *tcase, void (*before)(void),
                                             void (*after)(void))
{
    (void)tcase;
    (void)after;
    if (before != NULL)
        exit(EXIT_FAILURE);
}

static inline void suite_add_tcase(Suite *suite, TCase *tcase)
{
    if (suite->count < CROSS_MOST)
        suite->cases[suite->count++] = tcase;
    else
        exit(EXIT_FAILURE);
}

static inline void cross_add(TCase *tcase, const char *name, void (*test)(int), int from, int to)
{
    if (tcase->count == CROSS_MOST)
        exit(EXIT_FAILURE);
    tcase->names[tcase->count] = name;
    tcase->from[tcase->count] = from;
    tcase->to[tcase->count] = to;
    tcase->tests[tcase->count++] = test;
}
#define tcase_add_test(tcase, test)                cross_add(tcase, #test, test, 0, 1)
#define tcase_add_loop_test(tcase, test, from, to) cross_add(tcase, #test, test, from, to)

static inline SRunner *srunner_create(Suite *suite)
{
    SRunner *runner = cross_new(sizeof *runner);
    runner->suite = suite;
    return runner;
}

static inline void srunner_run_all(SRunner *runner, int mode)
{
    (void)mode;
    (void)printf("Running suite(s): %s\n", runner->suite->name);
    for (int c = 0; c < runner->suite->count; c++) {
        const TCase *tcase = runner->suite->cases[c];
        for (int t = 0; t < tcase->count; t++)
            for (int i = tcase->from[t]; i < tcase->to[t]; i++, runner->run++) {
                tcase->tests[t](i);
                (void)printf("  %s\n", tcase->names[t]);
                (void)fflush(stdout);
            }
    }
    (void)printf("100%%: Checks: %d, Failures: 0, Errors: 0\n", runner->run);
}

static inline int srunner_ntests_run(const SRunner *runner) { return runner->run; }

static inline int srunner_ntests_failed(const SRunner *runner)
{
    (void)runner; /* a failure has ended the process */
    return 0;
}

static inline void srunner_free(SRunner *runner) { free(runner); }

#define START_TEST(name)     \
    static void name(int _i) \
    {                        \
        (void)_i;
#define END_TEST }

#define ck_assert_msg(holds, ...)                                            \
    do {                                                                     \
        if (!(holds)) {                                                      \
            (void)printf("%s:%d: failed: %s: ", __FILE__, __LINE__, #holds); \
            (void)printf(__VA_ARGS__);                                       \
            (void)printf("\n");                                              \
            exit(EXIT_FAILURE);                                              \
        }                                                                    \
    } while (0)
#define ck_assert(holds)  ck_assert_msg(holds, "it does not hold")
#define ck_abort_msg(...) ck_assert_msg(0, __VA_ARGS__)

#define CROSS_INT(a, op, b)                                                                 \
    do {                                                                                    \
        const long long cross_a = (long long)(a), cross_b = (long long)(b);                 \
        ck_assert_msg(cross_a op cross_b, "%s is %lld, %s %lld", #a, cross_a, #b, cross_b); \
    } while (0)
#define CROSS_UINT(a, op, b)                                                                \
    do {                                                                                    \
        const unsigned long long cross_a = (unsigned long long)(a),                         \
                                 cross_b = (unsigned long long)(b);                         \
        ck_assert_msg(cross_a op cross_b, "%s is %llu, %s %llu", #a, cross_a, #b, cross_b); \
    } while (0)
#define CROSS_DOUBLE(a, op, b)                                                          \
    do {                                                                                \
        const double cross_a = (a), cross_b = (b);                                      \
        ck_assert_msg(cross_a op cross_b, "%s is %g, %s %g", #a, cross_a, #b, cross_b); \
    } while (0)
#define ck_assert_int_eq(a, b)                   CROSS_INT(a, ==, b)
#define ck_assert_int_ge(a, b)                   CROSS_INT(a, >=, b)
#define ck_assert_int_gt(a, b)                   CROSS_INT(a, >, b)
#define ck_assert_int_lt(a, b)                   CROSS_INT(a, <, b)
#define ck_assert_uint_eq(a, b)                  CROSS_UINT(a, ==, b)
#define ck_assert_uint_ge(a, b)                  CROSS_UINT(a, >=, b)
#define ck_assert_uint_gt(a, b)                  CROSS_UINT(a, >, b)
#define ck_assert_uint_le(a, b)                  CROSS_UINT(a, <=, b)
#define ck_assert_uint_lt(a, b)                  CROSS_UINT(a, <, b)
#define ck_assert_double_eq(a, b)                CROSS_DOUBLE(a, ==, b)
#define ck_assert_double_ne(a, b)                CROSS_DOUBLE(a, !=, b)
#define ck_assert_double_ge(a, b)                CROSS_DOUBLE(a, >=, b)
#define ck_assert_double_gt(a, b)                CROSS_DOUBLE(a, >, b)
#define ck_assert_double_le(a, b)                CROSS_DOUBLE(a, <=, b)
#define ck_assert_double_lt(a, b)                CROSS_DOUBLE(a, <, b)
#define ck_assert_double_eq_tol(a, b, tolerance) CROSS_DOUBLE(fabs((a) - (b)), <, tolerance)
#define ck_assert_ptr_eq(a, b)                   ck_assert((const void *)(a) == (const void *)(b))
#define ck_assert_ptr_ne(a, b)                   ck_assert((const void *)(a) != (const void *)(b))
#define ck_assert_ptr_nonnull(a)                 ck_assert((a) != NULL)
#define ck_assert_ptr_null(a)                    ck_assert((a) == NULL)
#define ck_assert_str_eq(a, b)                   ck_assert(strcmp(a, b) == 0)
#define ck_assert_mem_eq(a, b, length)           ck_assert(memcmp(a, b, length) == 0)

#endif
