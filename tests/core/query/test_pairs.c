#include "core/query/pairs.h"

#include "core/obb.h"
#include "tests/support/test.h"

enum { BOXES = 60 };

START_TEST(pairs_are_kept_with_the_smaller_id_first_and_sorted_by_ids)
{
    static struct obb_version boxes[BOXES];
    static bool expected[BOXES][BOXES];
    for (size_t i = 0; i < BOXES; i++)
        boxes[i].id = i + 1;
    test_rng rng = {.s = 20261120};
    struct obb_task task = {0};
    struct obb_pairs pairs = {0}, counted = {.just_count = true};
    size_t added = 0, swapped = 0;
    for (size_t i = 0; i < 1000; i++) {
        const size_t a = test_below(&rng, BOXES), b = test_below(&rng, BOXES);
        if (a == b || expected[a][b])
            continue;
        expected[a][b] = expected[b][a] = true;
        swapped += b < a;
        added++;
        ck_assert(obb_pairs_add(&task, &pairs, &boxes[a], &boxes[b]));
        ck_assert(obb_pairs_add(&task, &counted, &boxes[a], &boxes[b]));
    }
    ck_assert(added / 4 < swapped && swapped < added * 3 / 4 && added > 300);
    ck_assert_uint_eq(pairs.count, added);
    ck_assert_uint_eq(counted.count, added);
    ck_assert_ptr_null(counted.list);
    obb_pairs_sort(&task, pairs.list, pairs.count);
    ck_assert_int_eq(task.status, OBB_OK);
    size_t at = 0;
    for (size_t a = 0; a < BOXES; a++)
        for (size_t b = a + 1; b < BOXES; b++)
            if (expected[a][b]) {
                ck_assert(pairs.list[at].a == &boxes[a] && pairs.list[at].b == &boxes[b]);
                at++;
            }
    ck_assert_uint_eq(at, added);
    obb_task_end(&task);
}
END_TEST

START_TEST(a_pair_must_pass_both_filters)
{
    const struct obb_version a = {.id = 1, .category = 1, .mask = 2};
    const struct obb_version b = {.id = 2, .category = 2, .mask = 1};
    const struct obb_version c = {.id = 3, .category = 4, .mask = 4};
    const uint64_t excluded[] = {2};
    const struct obb_compiled_filter open = {.open = true};
    const struct obb_compiled_filter without_b = {.ids = excluded, .id_count = 1};
    ck_assert(obb_pairs_admit(&open, &a, &b) && obb_pairs_admit(&open, &b, &a));
    ck_assert(!obb_pairs_admit(&open, &a, &c)); /* their own filters */
    ck_assert(!obb_pairs_admit(&without_b, &a, &b) && !obb_pairs_admit(&without_b, &b, &a));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairs");
    TCase *tc = tcase_create("pairs");
    tcase_add_test(tc, pairs_are_kept_with_the_smaller_id_first_and_sorted_by_ids);
    tcase_add_test(tc, a_pair_must_pass_both_filters);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
