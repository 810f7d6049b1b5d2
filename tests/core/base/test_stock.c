#include "core/base/stock.h"

#include "core/base/alloc.h"
#include "core/base/trash.h"
#include "tests/support/test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static void no_stock(void) { obb_stock_set_limit(0, NULL, NULL); }

START_TEST(in_the_beginning_nothing_is_kept)
{
    void *block = malloc(MIB);
    ck_assert(!obb_stock_put(block, malloc_usable_size(block)));
    ck_assert_uint_eq(obb_stock_bytes(), 0);
    ck_assert_ptr_null(obb_stock_take(MIB, 1));
    free(block);
}
END_TEST

/* ---- Against a list -------------------------------------------------------------------------- */

/* What the stock should hold, in the order of the puts. Freed blocks go to the trash of
 * this thread, which keeps their addresses apart from those of new blocks. */
static struct {
    struct {
        void *block;
        size_t bytes, ages;
    } list[64];
    size_t count;
    size_t freed; /* bytes */
} model;

static size_t model_bytes(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < model.count; i++)
        sum += model.list[i].bytes;
    return sum;
}

static void model_remove(size_t i)
{
    for (model.count--; i < model.count; i++)
        model.list[i] = model.list[i + 1];
}

static void model_free(size_t i)
{
    model.freed += model.list[i].bytes;
    model_remove(i);
}

static size_t trashed;

static void note(void *context, size_t bytes)
{
    (void)context;
    trashed += bytes;
}

static void put_block(size_t wanted, size_t alignment, size_t limit)
{
    void *block = aligned_alloc(alignment, wanted / alignment * alignment);
    const size_t bytes = malloc_usable_size(block);
    const bool fits = bytes >= OBB_STOCK_LEAST && bytes <= limit / 2;
    ck_assert_ptr_nonnull(block);
    ck_assert(obb_stock_put(block, bytes) == fits);
    if (!fits) {
        free(block);
        return;
    }
    while (model.count == 32 || model_bytes() + bytes > limit)
        model_free(0);
    model.list[model.count].block = block;
    model.list[model.count].ages = 0;
    model.list[model.count++].bytes = bytes;
}

/* Returns whether a block was there. */
static bool take_block(size_t bytes, size_t alignment)
{
    size_t best = model.count;
    for (size_t i = 0; i < model.count; i++)
        if (bytes >= OBB_STOCK_LEAST && model.list[i].bytes >= bytes &&
            32 * model.list[i].bytes <= 33 * bytes &&
            (uintptr_t)model.list[i].block % alignment == 0 &&
            (best == model.count || model.list[i].bytes < model.list[best].bytes))
            best = i;
    void *block = obb_stock_take(bytes, alignment);
    if (best == model.count) {
        ck_assert_ptr_null(block);
        return false;
    }
    size_t taken = 0; /* of equal blocks any will do */
    while (taken < model.count && model.list[taken].block != block)
        taken++;
    ck_assert_uint_lt(taken, model.count);
    ck_assert_uint_eq(model.list[taken].bytes, model.list[best].bytes);
    ck_assert_uint_eq((uintptr_t)block % alignment, 0);
    memset(block, 1, bytes);
    model_remove(taken);
    free(block);
    return true;
}

static void age_all(void)
{
    obb_stock_age();
    for (size_t i = 0; i < model.count;)
        if (model.list[i].ages++ == OBB_STOCK_AGES)
            model_free(i);
        else
            i++;
}

START_TEST(blocks_are_kept_taken_and_freed_as_in_a_list)
{
    const size_t limits[] = {MIB, 5 * MIB, 40 * MIB};
    const size_t steps = test_effort(3000), limit = limits[_i];
    test_rng rng = {.s = 31 + (uint64_t)_i};
    size_t found = 0, missing = 0, bytes;
    model.count = model.freed = trashed = 0;
    obb_stock_set_limit(limit, NULL, NULL);
    obb_trash_collect(note, NULL);
    for (size_t i = 0; i < steps; i++) {
        const size_t size = 200000 + limit / 16 * test_below(&rng, 10);
        const size_t what = test_below(&rng, 20), alignment = what % 2 == 0 ? 4096 : 16;
        if (what < 10) {
            put_block(size, alignment, limit);
        } else if (what < 18) {
            const bool there = take_block(size, alignment);
            found += there;
            missing += !there;
        } else if (what == 18) {
            age_all();
        }
        ck_assert_uint_eq(obb_stock_bytes(), model_bytes());
        ck_assert_uint_le(obb_stock_bytes(), limit);
        ck_assert_uint_eq(trashed, model.freed);
        obb_trash_empty(obb_trash_take(&bytes));
        obb_trash_emptied(bytes);
    }
    obb_trash_collect(NULL, NULL);
    (void)printf("limit %zu: %zu takes found a block, %zu none, %zu bytes were freed\n", limit,
                 found, missing, model.freed);
    ck_assert(found > steps / 100 && missing > steps / 100 && model.freed > 10 * limit);
    obb_stock_set_limit(0, NULL, NULL);
    ck_assert_uint_eq(obb_stock_bytes(), 0);
    ck_assert_ptr_null(obb_stock_take(MIB, 1));
}
END_TEST

static bool tell(const void *scarce) { return *(const bool *)scarce; }

START_TEST(nothing_is_kept_while_memory_is_short)
{
    bool scarce = false;
    obb_stock_set_limit(16 * MIB, tell, &scarce);
    for (size_t i = 0; i < 3; i++)
        obb_free(obb_malloc(i + 1, MIB));
    ck_assert_uint_ge(obb_stock_bytes(), 6 * MIB);
    scarce = true;
    obb_free(obb_calloc(1, MIB)); /* takes the others with it */
    ck_assert_uint_eq(obb_stock_bytes(), 0);
    scarce = false;
    obb_free(obb_calloc(1, MIB));
    ck_assert_uint_ge(obb_stock_bytes(), MIB);
    obb_stock_set_limit(0, NULL, NULL);
}
END_TEST

/* ---- Through the heap ------------------------------------------------------------------------ */

START_TEST(a_freed_block_is_the_next_one_of_its_size)
{
    obb_stock_set_limit(16 * MIB, NULL, NULL);
    char *block = obb_malloc(MIB, 3);
    obb_free(block);
    ck_assert_uint_ge(obb_stock_bytes(), 3 * MIB);
    obb_free(obb_malloc(OBB_STOCK_LEAST / 2, 1)); /* too small */
    ck_assert_uint_ge(obb_stock_bytes(), 3 * MIB);
    ck_assert_ptr_eq(obb_malloc(MIB - MIB / 40, 3), block);
    ck_assert_uint_eq(obb_stock_bytes(), 0);
    memset(block, 7, 3 * MIB - MIB / 2);
    obb_free(block);
    char *zeroed = obb_calloc(MIB, 3);
    for (size_t i = 0; i < 3 * MIB; i++)
        ck_assert_int_eq(zeroed[i], 0);
    obb_free(zeroed);
}
END_TEST

START_TEST(blocks_of_lines_begin_at_a_line_in_stock_too)
{
    obb_stock_set_limit(16 * MIB, NULL, NULL);
    for (size_t i = 0; i < 4; i++)
        obb_free(obb_malloc(MIB, 1)); /* glibc: 16 bytes behind a page */
    char *lines = obb_malloc_lines(MIB, 1);
    ck_assert_uint_eq((uintptr_t)lines % OBB_LINE, 0);
    obb_free(lines);
    ck_assert_ptr_eq(obb_malloc_lines(MIB, 1), lines);
    obb_free(lines);
}
END_TEST

/* Grows a block from `from` to `to` bytes, beside a block of `kept` bytes in stock, and checks what
 * it holds. Returns whether it moved into the block in stock. */
static bool grows_into_stock(size_t from, size_t to, size_t kept)
{
    test_rng rng = {.s = from};
    unsigned char *in_stock = obb_malloc(kept, 1), *block = obb_malloc(from, 1);
    memset(in_stock, 0xee, kept);
    obb_free(in_stock);
    for (size_t i = 0; i < from; i++)
        block[i] = (unsigned char)test_random(&rng);
    block = obb_realloc(block, to, 1);
    ck_assert_ptr_nonnull(block);
    rng.s = from;
    for (size_t i = 0; i < from; i++)
        if (block[i] != (unsigned char)test_random(&rng))
            ck_abort_msg("%zu to %zu: byte %zu", from, to, i);
    memset(block, 1, to);
    const bool moved = block == in_stock;
    obb_free(block);
    obb_stock_set_limit(0, NULL, NULL);
    obb_stock_set_limit(16 * MIB, NULL, NULL);
    return moved;
}

START_TEST(a_block_that_grows_moves_into_stock_with_what_it_holds)
{
    obb_stock_set_limit(16 * MIB, NULL, NULL);
    ck_assert(grows_into_stock(100000, MIB, MIB));
    ck_assert(grows_into_stock(MIB / 2, MIB, MIB + MIB / 40));
    ck_assert(!grows_into_stock(MIB / 2, MIB, MIB + MIB / 20)); /* too large */
    ck_assert(!grows_into_stock(MIB / 2, MIB, MIB - 8192));     /* too small */
    ck_assert(grows_into_stock(2 * MIB - 8192, 4 * MIB, 4 * MIB));
    ck_assert(!grows_into_stock(3 * MIB, 4 * MIB, 4 * MIB)); /* moves without a copy */
    char *block = obb_malloc(MIB, 1);
    obb_free(block);
    ck_assert_ptr_eq(obb_realloc(NULL, MIB, 1), block);
    obb_free(block);
}
END_TEST

/* ---- Threads --------------------------------------------------------------------------------- */

static atomic_size_t reused;

/* Fills blocks with a pattern of this thread's own, and finds it there again. */
static void *use_blocks(void *context)
{
    test_rng rng = {.s = (uint64_t)(uintptr_t)context};
    unsigned char *blocks[4] = {NULL};
    size_t sizes[4];
    for (size_t round = 0; round < test_effort(2000); round++) {
        const size_t k = test_below(&rng, 4), size = OBB_STOCK_LEAST + 65536 * test_below(&rng, 3);
        const unsigned char mine = (unsigned char)((uintptr_t)context + k);
        for (size_t i = 0; blocks[k] != NULL && i < sizes[k]; i += 4096)
            if (blocks[k][i] != mine)
                abort();
        obb_free(blocks[k]);
        const size_t before = obb_stock_bytes();
        blocks[k] = obb_malloc(size, 1);
        reused += obb_stock_bytes() < before;
        for (size_t i = 0; i < size; i += 4096)
            blocks[k][i] = mine;
        sizes[k] = size;
        if (round % 64 == 0)
            obb_stock_age();
    }
    for (size_t k = 0; k < 4; k++)
        obb_free(blocks[k]);
    return NULL;
}

START_TEST(no_two_threads_get_one_block)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    reused = 0;
    obb_stock_set_limit(4 * MIB, NULL, NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_blocks, (void *)(i * 16 + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    (void)printf("%zu blocks came from stock\n", (size_t)reused);
    ck_assert_uint_gt(reused, (size_t)THREADS * 100);
    ck_assert_uint_le(obb_stock_bytes(), 4 * MIB);
    obb_stock_set_limit(0, NULL, NULL);
    ck_assert_uint_eq(obb_stock_bytes(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stock");
    TCase *tc = tcase_create("stock");
    tcase_add_checked_fixture(tc, NULL, no_stock);
    tcase_set_timeout(tc, test_patience(60));
    test_starts_no_thread(tc);
    tcase_add_test(tc, in_the_beginning_nothing_is_kept);
    tcase_add_loop_test(tc, blocks_are_kept_taken_and_freed_as_in_a_list, 0, 3);
    tcase_add_test(tc, nothing_is_kept_while_memory_is_short);
    tcase_add_test(tc, a_freed_block_is_the_next_one_of_its_size);
    tcase_add_test(tc, blocks_of_lines_begin_at_a_line_in_stock_too);
    tcase_add_test(tc, a_block_that_grows_moves_into_stock_with_what_it_holds);
    suite_add_tcase(suite, tc);
    TCase *threads = tcase_create("threads");
    tcase_add_checked_fixture(threads, NULL, no_stock);
    tcase_set_timeout(threads, test_patience(60));
    tcase_add_test(threads, no_two_threads_get_one_block);
    suite_add_tcase(suite, threads);
    return test_main(suite);
}
