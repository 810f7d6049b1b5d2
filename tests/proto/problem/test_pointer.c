#include "proto/problem/pointer.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <string.h>

static struct obb_arena arena;

static void start(void) { obb_arena_init(&arena); }

static void stop(void) { obb_arena_fini(&arena); }

START_TEST(keys_are_escaped_and_indexes_are_decimal)
{
    struct wire_pointer pointer = {.length = 0};
    ck_assert_str_eq(wire_pointer_take(&pointer, &arena), "");
    wire_pointer_key(&pointer, obb_str_of("put"));
    wire_pointer_key(&pointer, obb_str_of("a/b~c~1"));
    wire_pointer_index(&pointer, 0);
    wire_pointer_key(&pointer, obb_str_of(""));
    wire_pointer_index(&pointer, SIZE_MAX);
    ck_assert_str_eq(wire_pointer_take(&pointer, &arena),
                     "/put/a~1b~0c~01/0//18446744073709551615");
    ck_assert(!pointer.full);
}
END_TEST

START_TEST(a_key_that_does_not_fit_ends_the_pointer_for_good)
{
    char long_key[2048];
    memset(long_key, '/', sizeof long_key);
    const size_t room = sizeof((struct wire_pointer *)NULL)->text;
    for (size_t length = 500; length < 530; length++) { /* each byte takes two */
        struct wire_pointer pointer = {.length = 0};
        wire_pointer_key(&pointer, obb_str_of("k"));
        wire_pointer_key(&pointer, (obb_str){long_key, length});
        const bool fits = 2 + 1 + 2 * length <= room;
        ck_assert_int_eq(pointer.full, !fits);
        ck_assert_uint_eq(pointer.length, fits ? 3 + 2 * length : 2);
        wire_pointer_index(&pointer, 7);
        ck_assert(fits || strcmp(wire_pointer_take(&pointer, &arena), "/k") == 0);
    }
    struct wire_pointer pointer = {.length = 0};
    wire_pointer_key(&pointer, (obb_str){"a\0b", 3}); /* no pointer has a zero byte */
    wire_pointer_index(&pointer, 1);
    ck_assert_str_eq(wire_pointer_take(&pointer, &arena), "");
}
END_TEST

START_TEST(without_memory_there_is_no_pointer)
{
    struct obb_arena empty;
    struct wire_pointer pointer = {.length = 0};
    wire_pointer_index(&pointer, 1);
    obb_arena_init(&empty);
    fault_arm(1);
    const char *text = wire_pointer_take(&pointer, &empty);
    const size_t seen = fault_seen();
    fault_arm(0);
    ck_assert(text == NULL && seen == 1);
    obb_arena_fini(&empty);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pointer");
    TCase *tc = tcase_create("pointer");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, keys_are_escaped_and_indexes_are_decimal);
    tcase_add_test(tc, a_key_that_does_not_fit_ends_the_pointer_for_good);
    tcase_add_test(tc, without_memory_there_is_no_pointer);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
