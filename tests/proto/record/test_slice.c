#include "proto/record/slice.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static test_rng rng = {9};

static wire_slice random_slice(char *room, size_t most)
{
    wire_slice slice = {.kind = (wire_record_kind)test_below(&rng, WIRE_RECORD_KINDS),
                        .id = {test_random(&rng), test_random(&rng)},
                        .base = {test_random(&rng), test_random(&rng)},
                        .number = test_below(&rng, 100)};
    slice.count = slice.number + 1 + test_below(&rng, 100);
    slice.bytes = (obb_str){.bytes = room, .length = test_below(&rng, most)};
    for (size_t i = 0; i < slice.bytes.length; i++)
        room[i] = (char)test_random(&rng);
    return slice;
}

START_TEST(what_is_written_is_read)
{
    static char room[2000];
    struct wire_buf out = {0};
    size_t looked = 0;
    for (; looked < test_effort(1000); looked++) {
        const wire_slice slice = random_slice(room, sizeof room);
        wire_slice again;
        out.length = 0;
        wire_slice_write(&slice, &out);
        ck_assert(!out.failed);
        ck_assert_uint_eq(out.length, WIRE_SLICE_HEAD + slice.bytes.length);
        obb_str rest = {.bytes = out.bytes, .length = out.length}, one;
        ck_assert(wire_record_next(&rest, &one) && rest.length == 0 && wire_slice_is(one));
        ck_assert_int_eq(wire_slice_read(one, &again), OBB_OK);
        ck_assert(again.kind == slice.kind && wire_record_id_equal(again.id, slice.id) &&
                  wire_record_id_equal(again.base, slice.base) && again.number == slice.number &&
                  again.count == slice.count && obb_str_equal(again.bytes, slice.bytes));
        wire_record record;
        ck_assert_int_eq(wire_record_head(one, &record), OBB_BAD_VALUE); /* it is no record */
    }
    printf("%zu slices\n", looked);
    wire_buf_fini(&out);
}
END_TEST

START_TEST(damage_is_found)
{
    char room[40];
    size_t looked = 0;
    for (size_t i = 0; i < 20; i++) {
        struct wire_buf out = {0};
        const wire_slice slice = random_slice(room, sizeof room);
        wire_slice again;
        wire_slice_write(&slice, &out);
        for (size_t cut = 0; cut < out.length; cut++, looked++)
            ck_assert_int_eq(wire_slice_read((obb_str){.bytes = out.bytes, .length = cut}, &again),
                             OBB_BAD_VALUE);
        for (size_t bit = 0; bit < 8 * out.length; bit++, looked++) {
            out.bytes[bit / 8] = (char)(out.bytes[bit / 8] ^ (1 << bit % 8));
            ck_assert_int_eq(
                wire_slice_read((obb_str){.bytes = out.bytes, .length = out.length}, &again),
                OBB_BAD_VALUE);
            out.bytes[bit / 8] = (char)(out.bytes[bit / 8] ^ (1 << bit % 8));
        }
        wire_buf_fini(&out);
    }
    printf("%zu damaged slices\n", looked);
    ck_assert_uint_gt(looked, 1000);
}
END_TEST

START_TEST(a_slice_behind_the_last_one_is_refused)
{
    struct wire_buf out = {0};
    wire_slice again;
    const wire_slice slice = {.kind = WIRE_RECORD_MADE, .number = 3, .count = 3};
    wire_slice_write(&slice, &out);
    ck_assert_int_eq(wire_slice_read((obb_str){.bytes = out.bytes, .length = out.length}, &again),
                     OBB_BAD_VALUE);
    wire_buf_fini(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slice");
    TCase *tests = tcase_create("slice");
    tcase_add_test(tests, what_is_written_is_read);
    tcase_add_test(tests, damage_is_found);
    tcase_add_test(tests, a_slice_behind_the_last_one_is_refused);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
