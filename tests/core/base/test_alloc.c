#include "core/base/alloc.h"

#include "tests/support/test.h"

#include <stdint.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* Around the size from which a block asks for huge pages, and beyond. */
static const size_t sizes[] = {0,       1,           4096,        2 * MIB,     4 * MIB - 1,
                               4 * MIB, 4 * MIB + 1, 6 * MIB - 7, 9 * MIB + 5, 32 * MIB};
enum { SIZES = sizeof sizes / sizeof *sizes };

static unsigned char byte_of(size_t i) { return (unsigned char)(i * 31 >> 3); }

START_TEST(blocks_of_any_size_hold_what_was_written)
{
    for (size_t k = 0; k < SIZES; k++) {
        unsigned char *block = obb_malloc(sizes[k], 1);
        ck_assert_ptr_nonnull(block);
        for (size_t i = 0; i < sizes[k]; i++)
            block[i] = byte_of(i);
        for (size_t i = 0; i < sizes[k]; i++)
            if (block[i] != byte_of(i))
                ck_abort_msg("byte %zu", i);
        obb_free(block);
    }
}
END_TEST

START_TEST(zeroed_blocks_are_zeroed_also_where_others_were)
{
    for (int round = 0; round < 2; round++)
        for (size_t k = 0; k < SIZES; k++) {
            unsigned char *block = obb_calloc(1, sizes[k]);
            ck_assert_ptr_nonnull(block);
            size_t odd = 0;
            for (size_t i = 0; i < sizes[k]; i++)
                odd += block[i] != 0;
            ck_assert_uint_eq(odd, 0);
            memset(block, 0xff, sizes[k]);
            obb_free(block);
        }
}
END_TEST

START_TEST(a_block_that_grows_and_shrinks_keeps_its_bytes)
{
    unsigned char *block = NULL;
    size_t before = 0;
    for (size_t k = 0; k < (size_t)2 * SIZES; k++) {
        const size_t size = sizes[k < SIZES ? k : 2 * SIZES - 1 - k];
        block = obb_realloc(block, size, 1);
        ck_assert_ptr_nonnull(block);
        for (size_t i = 0; i < before && i < size; i++)
            if (block[i] != byte_of(i))
                ck_abort_msg("byte %zu", i);
        for (size_t i = before; i < size; i++)
            block[i] = byte_of(i);
        before = size;
    }
    obb_free(block);
}
END_TEST

START_TEST(a_product_that_overflows_gets_no_memory)
{
    ck_assert_ptr_null(obb_malloc(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(obb_calloc(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(obb_malloc(PTRDIFF_MAX, 2));
    unsigned char *block = obb_malloc(5 * MIB, 1);
    ck_assert_ptr_nonnull(block);
    memset(block, 7, 5 * MIB);
    ck_assert_ptr_null(obb_realloc(block, SIZE_MAX / 2, 3));
    ck_assert_uint_eq(block[5 * MIB - 1], 7); /* still there */
    obb_free(block);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alloc");
    TCase *tc = tcase_create("alloc");
    tcase_add_test(tc, blocks_of_any_size_hold_what_was_written);
    tcase_add_test(tc, zeroed_blocks_are_zeroed_also_where_others_were);
    tcase_add_test(tc, a_block_that_grows_and_shrinks_keeps_its_bytes);
    tcase_add_test(tc, a_product_that_overflows_gets_no_memory);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
