#include "core/base/alloc.h"

#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdint.h>
#include <string.h>

START_TEST(blocks_of_lines_begin_at_a_line_and_hold_what_was_written)
{
    enum { BLOCKS = 64 };
    unsigned char *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        void *between = obb_malloc(i, 3); /* so that the heap has blocks of many sizes */
        blocks[i] = obb_malloc_lines(i * 37, 5);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % OBB_LINE, 0);
        memset(blocks[i], (int)i, i * 37 * 5);
        obb_free(between);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        for (size_t k = 0; k < i * 37 * 5; k++)
            if (blocks[i][k] != i)
                ck_abort_msg("block %zu, byte %zu", i, k);
        obb_free(blocks[i]);
    }
}
END_TEST

START_TEST(no_block_of_lines_without_memory_or_if_the_product_overflows)
{
    ck_assert_ptr_null(obb_malloc_lines(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(obb_malloc_lines(PTRDIFF_MAX, 1));
    ck_assert_ptr_null(obb_malloc_lines(PTRDIFF_MAX - OBB_LINE + 1, 1));
    fault_arm(1);
    void *block = obb_malloc_lines(1, 1);
    const size_t seen = fault_seen();
    fault_arm(0);
    ck_assert_ptr_null(block);
    ck_assert_uint_eq(seen, 1); /* the tests of failing allocations know this one, too */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alloc");
    TCase *tc = tcase_create("alloc");
    tcase_add_test(tc, blocks_of_lines_begin_at_a_line_and_hold_what_was_written);
    tcase_add_test(tc, no_block_of_lines_without_memory_or_if_the_product_overflows);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
