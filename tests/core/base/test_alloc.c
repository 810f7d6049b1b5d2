#define _DEFAULT_SOURCE /* NOLINT: mincore */
#include "core/base/alloc.h"

#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)

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

/* Returns whether the kernel was asked for large pages at an address: the flag "hg" of the mapping
 * that holds it. */
static bool wants_large_pages(const void *at)
{
    char line[512];
    bool here = false, wants = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *dash, *end;
        const unsigned long first = strtoul(line, &dash, 16);
        if (dash > line && *dash == '-') {
            const unsigned long last = strtoul(dash + 1, &end, 16);
            here = first <= (uintptr_t)at && (uintptr_t)at < last;
        } else if (here && strncmp(line, "VmFlags:", 8) == 0) {
            wants = strstr(line, " hg") != NULL;
        }
    }
    if (file != NULL)
        ck_assert_int_eq(fclose(file), 0);
    return wants;
}

START_TEST(large_blocks_get_large_pages_in_them_and_not_beside)
{
    enum { BLOCKS = 4 };
    size_t asked = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        const size_t bytes = OBB_LARGE_PAGES + i * 777777;
        unsigned char *small = obb_malloc(OBB_LARGE_PAGES - 1, 1), *large = obb_malloc(bytes, 1);
        ck_assert(small != NULL && large != NULL);
        memset(small, 3, OBB_LARGE_PAGES - 1);
        obb_use_large_pages(small, OBB_LARGE_PAGES - 1);
        ck_assert(!wants_large_pages(small + OBB_LARGE_PAGES / 2));
        memset(large, 5, bytes); /* filled before, to see that nothing is lost */
        obb_use_large_pages(large, bytes);
        asked += wants_large_pages(large + bytes / 2);
        /* A mapping with the flag begins and ends in the block. */
        ck_assert(!wants_large_pages(large - 1));
        ck_assert(!wants_large_pages(large + bytes + 4096));
        for (size_t k = 0; k < bytes; k++)
            if (large[k] != 5 || (k < OBB_LARGE_PAGES - 1 && small[k] != 3))
                ck_abort_msg("block %zu, byte %zu", i, k);
        obb_free(large);
        obb_free(small);
    }
    (void)printf("large pages were asked for %zu of %d times\n", asked, BLOCKS);
    ck_assert(asked == BLOCKS || asked == 0); /* 0: the kernel has none */
}
END_TEST

/* Returns how many of the pages are in memory. */
static size_t resident(unsigned char *at, size_t pages)
{
    unsigned char each[1024];
    ck_assert_uint_le(pages, sizeof each);
    ck_assert_int_eq(mincore(at, pages * PAGE, each), 0);
    size_t sum = 0;
    for (size_t i = 0; i < pages; i++)
        sum += each[i] & 1;
    return sum;
}

START_TEST(whole_pages_of_a_block_are_given_at_once_and_none_beside)
{
    enum { PAGES = 300, BEYOND = 9 };
    static const size_t offsets[] = {0, 1, 16, 2000, PAGE - 1};
    size_t given = 0, wanted = 0;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        for (size_t length = 0; length < PAGES * PAGE / 4 * 3; length = 3 * length + 1234) {
            unsigned char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ck_assert_ptr_ne(pages, MAP_FAILED);
            unsigned char *block = pages + BEYOND * PAGE + offsets[i];
            block[length / 2] = 7; /* this page is there already */
            const size_t before = resident(pages, PAGES);
            ck_assert_uint_eq(before, 1);
            obb_fill_pages(block, length);
            /* counted page by page: those of which each byte is the block's, and the written one */
            size_t whole = 0;
            for (unsigned char *page = pages; page < pages + PAGES * PAGE; page += PAGE)
                whole += (page >= block && page + PAGE <= block + length) ||
                         (page <= block + length / 2 && block + length / 2 < page + PAGE);
            const size_t after = resident(pages, PAGES);
            ck_assert_msg(after == whole || after == before, "%zu at %zu: %zu", length, offsets[i],
                          after);
            given += after - before;
            wanted += whole - before;
            ck_assert_uint_eq(block[length / 2], 7);
            for (size_t k = 0; k < length; k++)
                if (block[k] != (k == length / 2 ? 7 : 0))
                    ck_abort_msg("%zu at %zu, byte %zu", length, offsets[i], k);
            ck_assert_int_eq(munmap(pages, PAGES * PAGE), 0);
        }
    (void)printf("%zu of %zu pages were given at once\n", given, wanted);
    ck_assert(given == wanted || given == 0); /* 0: the kernel does not do it */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alloc");
    TCase *tc = tcase_create("alloc");
    tcase_add_test(tc, blocks_of_lines_begin_at_a_line_and_hold_what_was_written);
    tcase_add_test(tc, no_block_of_lines_without_memory_or_if_the_product_overflows);
    tcase_add_test(tc, large_blocks_get_large_pages_in_them_and_not_beside);
    tcase_add_test(tc, whole_pages_of_a_block_are_given_at_once_and_none_beside);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
