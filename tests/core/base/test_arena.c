#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdint.h>
#include <string.h>

START_TEST(blocks_are_aligned_disjoint_and_keep_what_is_written)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    test_rng rng = {.s = 20261120};
    enum { BLOCKS = 2000 };
    unsigned char *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        sizes[i] = test_below(&rng, i % 100 == 0 ? 100000 : 100);
        blocks[i] = obb_arena_alloc(&arena, sizes[i], 1);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], i & 0xff, sizes[i]);
    }
    size_t looked_at = 0;
    for (int i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < sizes[i]; j++, looked_at++)
            ck_assert_uint_eq(blocks[i][j], (unsigned)i & 0xff);
    ck_assert_uint_gt(looked_at, 100000);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(growing_keeps_the_elements_in_place_or_moved)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    uint32_t *list = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 50000; i++) {
        if (i == capacity) {
            capacity = capacity == 0 ? 4 : capacity * 2;
            list = obb_arena_grow(&arena, list, i, capacity, sizeof *list);
            ck_assert_ptr_nonnull(list);
            if (i % 3 == 1) /* something else is newest now, so that the next growth must move */
                ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 1, 24));
        }
        list[i] = i;
    }
    for (uint32_t i = 0; i < 50000; i++)
        ck_assert_uint_eq(list[i], i);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(one_long_list_keeps_no_old_copies)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 1, 5000));
    uint64_t *list = NULL;
    size_t capacity = 0;
    const size_t count = 1000000;
    for (size_t i = 0; i < count; i++) {
        if (i == capacity) {
            capacity = capacity == 0 ? 100 : capacity + capacity / 4;
            list = obb_arena_grow(&arena, list, i, capacity, sizeof *list);
            ck_assert_ptr_nonnull(list);
        }
        list[i] = i;
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(list[i], i);
    ck_assert_uint_le(arena.total, capacity * sizeof *list + 32768);
    /* a growth that fails leaves list and arena as they are */
    const size_t total = arena.total;
    fault_arm(1);
    void *refused = obb_arena_grow(&arena, list, capacity, capacity * 2, sizeof *list);
    fault_arm(0);
    ck_assert_ptr_null(refused);
    ck_assert_uint_eq(list[count - 1], count - 1);
    ck_assert_uint_eq(arena.total, total);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(the_owner_chooses_the_first_chunk)
{
    struct obb_arena arena = {.first = 512};
    for (int round = 0; round < 2; round++) {
        ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 500, 1));
        ck_assert_uint_eq(arena.total, 512);
        ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 500, 1));
        ck_assert_uint_eq(arena.total, 512 + 1024);
        obb_arena_fini(&arena); /* keeps it */
    }
    struct obb_arena usual;
    obb_arena_init(&usual);
    ck_assert_ptr_nonnull(obb_arena_alloc(&usual, 1, 1));
    ck_assert_uint_eq(usual.total, 8192);
    obb_arena_fini(&usual);
}
END_TEST

START_TEST(reset_keeps_one_chunk_for_reuse)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (int i = 0; i < 100; i++)
        ck_assert_ptr_nonnull(obb_arena_alloc(&arena, 1000, 1));
    obb_arena_reset(&arena);
    const size_t kept = arena.total;
    ck_assert_uint_gt(kept, 0);
    fault_arm(1);
    void *block = obb_arena_alloc(&arena, kept, 1); /* no heap is asked */
    fault_arm(0);
    ck_assert_ptr_nonnull(block);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(absurd_sizes_and_a_failing_heap_give_null)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    ck_assert_ptr_null(obb_arena_alloc(&arena, SIZE_MAX, 2));
    ck_assert_ptr_null(obb_arena_alloc(&arena, SIZE_MAX / 2, 2));
    ck_assert_ptr_null(obb_malloc(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(obb_calloc(SIZE_MAX, SIZE_MAX));
    fault_arm(1);
    void *refused = obb_arena_alloc(&arena, 1, 1);
    void *granted = obb_arena_alloc(&arena, 1, 1);
    fault_arm(0);
    ck_assert_ptr_null(refused);
    ck_assert_ptr_nonnull(granted);
    obb_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tc = tcase_create("arena");
    tcase_add_test(tc, blocks_are_aligned_disjoint_and_keep_what_is_written);
    tcase_add_test(tc, growing_keeps_the_elements_in_place_or_moved);
    tcase_add_test(tc, one_long_list_keeps_no_old_copies);
    tcase_add_test(tc, the_owner_chooses_the_first_chunk);
    tcase_add_test(tc, reset_keeps_one_chunk_for_reuse);
    tcase_add_test(tc, absurd_sizes_and_a_failing_heap_give_null);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
