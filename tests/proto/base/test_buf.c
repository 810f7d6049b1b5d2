#include "proto/base/buf.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <string.h>

START_TEST(bytes_are_appended_in_order)
{
    struct wire_buf buf = {0};
    for (size_t i = 0; i < 5000; i++) {
        const unsigned char byte = (unsigned char)i;
        if (i % 2 == 0) {
            wire_buf_append(&buf, &byte, 1);
            continue;
        }
        char *room = wire_buf_room(&buf, 7); /* more than is used */
        ck_assert_ptr_nonnull(room);
        *room = (char)byte;
        wire_buf_added(&buf, 1);
    }
    wire_buf_append(&buf, NULL, 0);
    ck_assert(!buf.failed && buf.length == 5000 && buf.capacity >= buf.length);
    for (size_t i = 0; i < buf.length; i++)
        ck_assert((unsigned char)buf.bytes[i] == (unsigned char)i);
    wire_buf_fini(&buf);
    ck_assert(buf.bytes == NULL && buf.length == 0 && buf.capacity == 0);
}
END_TEST

START_TEST(a_failed_buffer_stays_failed)
{
    struct wire_buf buf = {0};
    wire_buf_append(&buf, "kept", 4);
    fault_arm(1);
    char *room = wire_buf_room(&buf, 1000);
    fault_arm(0);
    ck_assert(room == NULL && buf.failed);
    wire_buf_append(&buf, "x", 1); /* it would fit */
    ck_assert(wire_buf_room(&buf, 1) == NULL && buf.length == 4);
    ck_assert_int_eq(memcmp(buf.bytes, "kept", 4), 0);
    wire_buf_fini(&buf);
    ck_assert(wire_buf_room(&buf, SIZE_MAX / 2) == NULL && buf.failed); /* no such memory */
    wire_buf_fini(&buf);
}
END_TEST

START_TEST(growth_draws_from_the_budget)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 20000);
    struct wire_buf buf = {.budget = &budget, .own = 1000};
    wire_buf_append(&buf, "small", 5);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_ptr_nonnull(wire_buf_room(&buf, 10000));
    ck_assert_uint_eq(obb_budget_used(&budget), buf.capacity - 1000);
    const size_t used = obb_budget_used(&budget);
    fault_arm(1);
    const bool grew = wire_buf_room(&buf, 16384 + 1) != NULL;
    fault_arm(0);
    ck_assert(!grew && buf.failed && obb_budget_used(&budget) == used);
    wire_buf_fini(&buf);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    ck_assert_ptr_null(wire_buf_room(&buf, 21001)); /* of the same budget */
    ck_assert(buf.failed);
    wire_buf_fini(&buf);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buf");
    TCase *tc = tcase_create("buf");
    tcase_add_test(tc, bytes_are_appended_in_order);
    tcase_add_test(tc, a_failed_buffer_stays_failed);
    tcase_add_test(tc, growth_draws_from_the_budget);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
