#include "core/base/trash.h"

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/budget.h"
#include "tests/support/test.h"

#include <pthread.h>

#define MIB ((size_t)1 << 20)

static size_t noted;

static void note(void *context, size_t bytes)
{
    (void)context;
    noted += bytes;
}

/* Returns the bytes that began to wait when the block was freed. */
static size_t waits(void *block, void (*release)(void *block))
{
    const size_t before = obb_trash_waiting();
    ck_assert_ptr_nonnull(block);
    noted = 0;
    release(block);
    ck_assert_uint_eq(obb_trash_waiting() - before, noted);
    return noted;
}

static void *empty(void *blocks)
{
    obb_trash_empty(blocks);
    return NULL;
}

static void empty_elsewhere(void)
{
    size_t bytes;
    pthread_t thread;
    struct obb_trash_block *blocks = obb_trash_take(&bytes);
    ck_assert_ptr_nonnull(blocks);
    ck_assert_uint_eq(bytes, obb_trash_waiting());
    ck_assert_int_eq(pthread_create(&thread, NULL, empty, blocks), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(obb_trash_waiting(), bytes);
    obb_trash_emptied(bytes);
    ck_assert_uint_eq(obb_trash_waiting(), 0);
    ck_assert_ptr_null(obb_trash_take(&bytes));
    ck_assert_uint_eq(bytes, 0);
}

START_TEST(only_large_blocks_wait_and_only_where_they_are_collected)
{
    ck_assert_uint_eq(waits(obb_malloc(MIB, 1), obb_free), 0);
    obb_trash_collect(note, NULL);
    obb_free(NULL);
    ck_assert_uint_eq(waits(obb_malloc(OBB_TRASH_LARGE / 2, 1), obb_free), 0);
    ck_assert_uint_ge(waits(obb_malloc(MIB, 1), obb_free), MIB);
    ck_assert_uint_ge(waits(obb_calloc(MIB, 1), obb_free), MIB);
    ck_assert_uint_lt(obb_trash_waiting(), 3 * MIB);
    empty_elsewhere();
    obb_trash_collect(NULL, NULL);
    ck_assert_uint_eq(waits(obb_malloc(MIB, 1), obb_free), 0);
}
END_TEST

START_TEST(blocks_of_any_size_wait_until_they_are_gone)
{
    obb_trash_collect(note, NULL);
    ck_assert_uint_ge(waits(obb_malloc(48 * MIB, 1), obb_free), 48 * MIB);
    ck_assert_uint_ge(waits(obb_malloc(3 * MIB, 1), obb_free), 3 * MIB);
    size_t bytes;
    struct obb_trash_block *blocks = obb_trash_take(&bytes);
    ck_assert_uint_ge(waits(obb_malloc(MIB, 1), obb_free), MIB);
    ck_assert_uint_ge(obb_trash_waiting(), 52 * MIB); /* those on their way count */
    obb_trash_empty(blocks);
    obb_trash_emptied(bytes);
    ck_assert_uint_lt(obb_trash_waiting(), 2 * MIB);
    empty_elsewhere();
    obb_trash_collect(NULL, NULL);
}
END_TEST

/* The budget has the bytes back although the blocks wait. */
START_TEST(what_draws_from_a_budget_waits_too)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 8 * MIB);
    struct obb_arena arena = {.budget = &budget};
    obb_trash_collect(note, NULL);
    ck_assert_ptr_nonnull(obb_arena_alloc(&arena, MIB, 1));
    obb_arena_fini(&arena);
    ck_assert_uint_ge(obb_trash_waiting(), MIB);
    obb_budget_free(obb_budget_malloc(&budget, MIB, 1));
    ck_assert_uint_ge(obb_trash_waiting(), 2 * MIB);
    obb_budget_free(obb_budget_malloc(&budget, 5 * MIB, 1));
    ck_assert_uint_ge(obb_trash_waiting(), 7 * MIB);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    empty_elsewhere();
    obb_trash_collect(NULL, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trash");
    TCase *tc = tcase_create("trash");
    tcase_add_test(tc, only_large_blocks_wait_and_only_where_they_are_collected);
    tcase_add_test(tc, blocks_of_any_size_wait_until_they_are_gone);
    tcase_add_test(tc, what_draws_from_a_budget_waits_too);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
