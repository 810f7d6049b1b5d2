#include "core/base/budget.h"

#include "core/base/arena.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

START_TEST(nothing_is_drawn_beyond_the_limit)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1000);
    ck_assert(obb_budget_take(&budget, 600));
    ck_assert(!obb_budget_take(&budget, 401));
    ck_assert_uint_eq(obb_budget_used(&budget), 600);
    ck_assert(obb_budget_take(&budget, 400));
    ck_assert(!obb_budget_take(&budget, 1));
    ck_assert(obb_budget_take(&budget, 0));
    ck_assert(!obb_budget_take(&budget, SIZE_MAX));
    obb_budget_give(&budget, 1000);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert(!obb_budget_take(&budget, 1001));
}
END_TEST

START_TEST(a_part_draws_from_the_whole)
{
    struct obb_budget whole, part, other;
    obb_budget_init(&whole, 1000);
    obb_budget_init_part(&part, 600, &whole);
    obb_budget_init_part(&other, 900, &whole);
    ck_assert(obb_budget_take(&part, 500));
    ck_assert_uint_eq(obb_budget_used(&whole), 500);
    ck_assert(!obb_budget_take(&part, 101)); /* its own limit */
    ck_assert_uint_eq(obb_budget_refused(&part), 601);
    ck_assert(!obb_budget_take(&part, 200));
    ck_assert(!obb_budget_take(&part, 150));
    ck_assert_uint_eq(obb_budget_refused(&part), 700);
    ck_assert(!obb_budget_take(&part, SIZE_MAX));
    ck_assert_uint_eq(obb_budget_refused(&part), SIZE_MAX);
    ck_assert(!obb_budget_take(&other, 501)); /* that of the whole */
    ck_assert_uint_eq(obb_budget_refused(&other), 0);
    ck_assert_uint_eq(obb_budget_used(&other), 0);
    ck_assert(obb_budget_take(&other, 500));
    obb_budget_charge(&part, 300);
    ck_assert_uint_eq(obb_budget_used(&part), 800);
    ck_assert_uint_eq(obb_budget_used(&whole), 1300);
    obb_budget_give(&part, 800);
    obb_budget_give(&other, 500);
    ck_assert_uint_eq(obb_budget_used(&whole), 0);
    ck_assert_uint_eq(obb_budget_refused(&whole), 1001);
}
END_TEST

START_TEST(without_a_budget_there_is_no_limit)
{
    ck_assert(obb_budget_take(NULL, SIZE_MAX));
    obb_budget_give(NULL, SIZE_MAX);
    ck_assert_uint_eq(obb_budget_used(NULL), 0);
    void *block = obb_budget_calloc(NULL, 3, 100);
    ck_assert_ptr_nonnull(block);
    obb_budget_free(block);
    obb_budget_free(NULL);
}
END_TEST

START_TEST(blocks_keep_their_bytes_and_give_back_all_that_they_drew)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1 << 20);
    test_rng rng = {.s = 20261122};
    enum { BLOCKS = 64, STEPS = 20000 };
    unsigned char *blocks[BLOCKS] = {0};
    size_t sizes[BLOCKS] = {0}, refused = 0, grown = 0;
    for (int step = 0; step < STEPS; step++) {
        const size_t i = test_below(&rng, BLOCKS);
        if (blocks[i] != NULL && test_below(&rng, 3) == 0) {
            obb_budget_free(blocks[i]);
            blocks[i] = NULL;
            continue;
        }
        const size_t size = test_below(&rng, 40000), old = blocks[i] != NULL ? sizes[i] : 0;
        const size_t before = obb_budget_used(&budget);
        unsigned char *block = obb_budget_realloc(&budget, blocks[i], size, 1);
        if (block == NULL) {
            ck_assert_uint_eq(obb_budget_used(&budget), before);
            ck_assert_uint_gt(before + size - old + 16, budget.limit);
            refused++;
            continue;
        }
        ck_assert_uint_eq((uintptr_t)block % 16, 0);
        for (size_t k = 0; k < old && k < size; k++)
            ck_assert_uint_eq(block[k], i);
        grown += old > 0 && size > old;
        memset(block, (int)i, size);
        blocks[i] = block;
        sizes[i] = size;
        ck_assert_uint_le(obb_budget_used(&budget), budget.limit);
    }
    (void)printf("%d steps, %zu refused, %zu grown\n", STEPS, refused, grown);
    ck_assert_uint_gt(refused, STEPS / 100);
    ck_assert_uint_gt(grown, STEPS / 10);
    for (size_t i = 0; i < BLOCKS; i++)
        obb_budget_free(blocks[i]);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_ptr_null(obb_budget_malloc(&budget, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(obb_budget_malloc(&budget, SIZE_MAX, 1));
}
END_TEST

START_TEST(a_heap_that_fails_draws_nothing)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1 << 20);
    struct obb_arena arena = {.budget = &budget};
    void *block = obb_budget_malloc(&budget, 100, 1);
    ck_assert_ptr_nonnull(block);
    const size_t used = obb_budget_used(&budget);
    bool gone = true;
    fault_arm(1);
    gone = gone && obb_budget_malloc(&budget, 100, 1) == NULL;
    fault_arm(1);
    gone = gone && obb_budget_calloc(&budget, 100, 1) == NULL;
    fault_arm(1);
    gone = gone && obb_budget_realloc(&budget, block, 2000, 1) == NULL;
    fault_arm(1);
    gone = gone && obb_arena_alloc(&arena, 100, 1) == NULL;
    fault_arm(0);
    ck_assert(gone);
    ck_assert_uint_eq(obb_budget_used(&budget), used);
    obb_budget_free(block);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}
END_TEST

START_TEST(an_arena_draws_what_its_chunks_take)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1 << 20);
    struct obb_arena arena = {.budget = &budget};
    char *list = NULL;
    size_t capacity = 0, refused_at = 0;
    while (refused_at == 0) {
        char *longer = obb_arena_grow(&arena, list, capacity, capacity + 10000, 1);
        if (longer == NULL) {
            refused_at = capacity;
        } else {
            list = longer;
            capacity += 10000;
        }
        ck_assert_uint_ge(obb_budget_used(&budget), arena.total);
        ck_assert_uint_le(obb_budget_used(&budget), budget.limit);
    }
    ck_assert_uint_gt(refused_at, budget.limit / 2);
    obb_arena_reset(&arena);
    ck_assert_uint_ge(obb_budget_used(&budget), arena.total);
    obb_arena_fini(&arena);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 10, 1)); /* of the same budget */
    ck_assert_uint_gt(obb_budget_used(&budget), 0);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(an_arena_does_not_draw_its_own_bytes)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1 << 20);
    struct obb_arena arena = {.budget = &budget, .own = 10000};
    ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 8000, 1));
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 50000, 1));
    ck_assert_uint_eq(obb_budget_used(&budget), arena.total - 10000);
    obb_arena_reset(&arena);
    ck_assert_uint_eq(obb_budget_used(&budget), arena.total - 10000);
    obb_arena_fini(&arena);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_uint_eq(arena.own, 10000);
}
END_TEST

static void *draw(void *context)
{
    struct obb_budget *budget = context;
    size_t taken = 0;
    for (size_t i = 0; i < 200000; i++)
        if (obb_budget_take(budget, i % 700)) {
            taken++;
            obb_budget_give(budget, i % 700);
        }
    return (void *)(uintptr_t)taken;
}

START_TEST(threads_draw_at_the_same_time)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1000);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, draw, &budget), 0);
    size_t taken = 0;
    for (size_t i = 0; i < 4; i++) {
        void *result;
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        taken += (size_t)(uintptr_t)result;
    }
    (void)printf("%zu of 800000 drawn\n", taken);
    ck_assert_uint_gt(taken, 100000);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget");
    TCase *tc = tcase_create("budget");
    tcase_add_test(tc, nothing_is_drawn_beyond_the_limit);
    tcase_add_test(tc, a_part_draws_from_the_whole);
    tcase_add_test(tc, without_a_budget_there_is_no_limit);
    tcase_add_test(tc, blocks_keep_their_bytes_and_give_back_all_that_they_drew);
    tcase_add_test(tc, a_heap_that_fails_draws_nothing);
    tcase_add_test(tc, an_arena_draws_what_its_chunks_take);
    tcase_add_test(tc, an_arena_does_not_draw_its_own_bytes);
    tcase_add_test(tc, threads_draw_at_the_same_time);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
