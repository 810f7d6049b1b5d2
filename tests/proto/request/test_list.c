#include "proto/request/list.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>

enum { ITEMS = 20000 };

/* Reads an array of `count` numbers as a list of doubles; -1: the cursor failed. */
static long read_list(const char *text, size_t length, struct obb_arena *arena)
{
    struct wire_cursor c;
    wire_json_open(&c, text, length, arena);
    if (!wire_enter_array(&c))
        return -1;
    struct wire_list list = wire_list_begin(&c, sizeof(double));
    while (wire_next_item(&c)) {
        double *item = wire_list_add(&list);
        if (item == NULL || !wire_read_number(&c, item))
            return -1;
    }
    const double *items = (const double *)(const void *)list.items;
    for (size_t i = 0; i < list.count; i++)
        ck_assert(items[i] == (double)(i % 10));
    return (long)list.count;
}

static size_t make_list(char *text, int count)
{
    size_t length = (size_t)sprintf(text, "[");
    for (int i = 0; i < count; i++)
        length += (size_t)sprintf(text + length, "%s%d", i > 0 ? "," : "", i % 10);
    return length + (size_t)sprintf(text + length, "]");
}

START_TEST(items_are_kept_in_order_in_memory_that_fits_the_body)
{
    static char text[2 * ITEMS + 8];
    size_t looked_at = 0;
    for (int count = 0; count <= ITEMS; count += count < 600 ? 1 : 997, looked_at++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        const size_t length = make_list(text, count);
        ck_assert_int_eq(read_list(text, length, &arena), count);
        if (count > 4096) /* two bytes of the body an item, and 8 of the list */
            ck_assert_uint_lt(arena.total, length / 2 * 8 * 2);
        obb_arena_fini(&arena);
    }
    ck_assert_uint_gt(looked_at, 600);
}
END_TEST

START_TEST(a_failing_heap_fails_the_cursor)
{
    static char text[2 * ITEMS + 8];
    const size_t length = make_list(text, ITEMS);
    size_t failed = 0;
    for (size_t n = 1;; n++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        fault_arm(n);
        const long count = read_list(text, length, &arena);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        ck_assert_int_eq(count, reached ? -1 : ITEMS);
        obb_arena_fini(&arena);
        failed += reached;
        if (!reached)
            break;
    }
    ck_assert_uint_gt(failed, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("list");
    TCase *tc = tcase_create("list");
    tcase_add_test(tc, items_are_kept_in_order_in_memory_that_fits_the_body);
    tcase_add_test(tc, a_failing_heap_fails_the_cursor);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
