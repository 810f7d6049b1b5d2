/* Interned strings: one per text, for as long as it has references. */
#include "core/versions/interned.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>

START_TEST(equal_texts_are_one_string_until_the_last_reference_goes)
{
    struct obb_interned_table table;
    obb_interned_table_init(&table);
    struct obb_interned *retired = NULL;
    struct obb_interned unset = {.length = 0}, *a = NULL, *b = NULL, *c = NULL, *none = &unset;
    ck_assert_int_eq(obb_interned_table_take(&table, obb_str_of("player-1"), &a), OBB_OK);
    ck_assert_int_eq(obb_interned_table_take(&table, obb_str_of("player-1"), &b), OBB_OK);
    ck_assert_int_eq(obb_interned_table_take(&table, obb_str_of("player-2"), &c), OBB_OK);
    ck_assert_int_eq(obb_interned_table_take(&table, obb_str_of(""), &none), OBB_OK);
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_ne(a, c);
    ck_assert_ptr_null(none);
    ck_assert_ptr_eq(obb_interned_table_find(&table, obb_str_of("player-2")), c);
    obb_interned_ref(a);
    for (int i = 0; i < 2; i++)
        obb_interned_table_drop(&table, a, &retired);
    ck_assert_ptr_eq(obb_interned_table_find(&table, obb_str_of("player-1")), a);
    ck_assert_ptr_null(retired);
    obb_interned_table_drop(&table, a, &retired);
    obb_interned_table_drop(&table, NULL, &retired);
    ck_assert_ptr_null(obb_interned_table_find(&table, obb_str_of("player-1")));
    ck_assert_ptr_eq(retired, a); /* readers may still see it */
    ck_assert(obb_str_equal(obb_interned_text(retired), obb_str_of("player-1")));
    obb_interned_table_free(&table, retired);
    obb_interned_table_fini(&table);
    ck_assert_uint_eq(table.bytes, 0);
}
END_TEST

START_TEST(a_label_that_finds_no_memory_leaves_the_table_as_it_was)
{
    struct obb_interned_table table;
    obb_interned_table_init(&table);
    size_t refused = 0;
    for (int i = 0; i < 200; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "text %d", i);
        obb_status st = OBB_NO_MEMORY;
        struct obb_interned *interned = NULL;
        for (size_t n = 1; st != OBB_OK; n++) {
            fault_arm(n);
            st = obb_interned_table_take(&table, obb_str_of(text), &interned);
            fault_arm(0);
            refused += st == OBB_NO_MEMORY;
        }
        ck_assert_uint_eq(interned->references, 1);
        ck_assert(obb_hash_table_validate(&table.hash_table));
    }
    ck_assert_uint_gt(refused, 200); /* one a string, and one each time the table grew */
    obb_interned_table_fini(&table);
    ck_assert_uint_eq(table.bytes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interned");
    TCase *tc = tcase_create("interned");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, equal_texts_are_one_string_until_the_last_reference_goes);
    tcase_add_test(tc, a_label_that_finds_no_memory_leaves_the_table_as_it_was);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
