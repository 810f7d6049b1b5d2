#include "core/query/hits.h"

#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

enum { BOXES = 500, RANKS = 40 };

START_TEST(hits_are_listed_by_rank_and_id_up_to_the_limit)
{
    static struct obb_version boxes[BOXES];
    static obb_hit casts[BOXES];
    test_rng rng = {.s = 20261120};
    size_t ties = 0, cut = 0;
    for (size_t round = 0; round < 40; round++) {
        const bool is_cast = round % 2 == 0;
        const obb_query query = {.limit = 1 + test_below(&rng, (size_t)2 * BOXES)};
        struct obb_task task = {.query = &query};
        struct obb_hits hits = {0};
        const size_t count = 1 + test_below(&rng, BOXES);
        for (size_t i = 0; i < count; i++) {
            boxes[i].id = 1 + i * 7 % count * 1000 + i; /* all differ */
            casts[i] = (obb_hit){.box = &boxes[i], .distance = (double)test_below(&rng, RANKS)};
            ck_assert(obb_hits_add(&task, &hits, obb_sort_rank(casts[i].distance), &boxes[i],
                                   is_cast ? (const void *)&casts[i] : &boxes[i]));
        }
        ck_assert(obb_hits_sort(&task, &hits));
        obb_answer answer = {0};
        const obb_hit *list = obb_hits_answer(&task, &hits, is_cast, &answer);
        ck_assert_ptr_eq(list, answer.hits);
        ck_assert_uint_eq(answer.count, count);
        ck_assert_uint_eq(answer.hit_count, count < query.limit ? count : query.limit);
        ck_assert(answer.truncated == (answer.hit_count < count));
        cut += answer.truncated;
        for (size_t i = 0; i < answer.hit_count; i++) {
            const double distance = casts[list[i].box - boxes].distance;
            ck_assert_double_eq(list[i].distance, is_cast ? distance : 0.0);
            if (i == 0)
                continue;
            const double before = casts[list[i - 1].box - boxes].distance;
            ties += distance == before;
            ck_assert(before < distance ||
                      (before == distance && list[i - 1].box->id < list[i].box->id));
        }
        obb_task_end(&task);
    }
    ck_assert_uint_gt(ties, 1000);
    ck_assert(5 < cut && cut < 35);
}
END_TEST

START_TEST(without_memory_the_task_fails)
{
    const obb_query query = {.limit = 9};
    const struct obb_version box = {.id = 1};
    struct obb_task task = {.query = &query};
    struct obb_hits hits = {0};
    fault_arm(1);
    ck_assert(!obb_hits_add(&task, &hits, 0, &box, &box));
    fault_arm(0);
    ck_assert_int_eq(task.status, OBB_NO_MEMORY);
    ck_assert_uint_eq(hits.count, 0);
    obb_task_end(&task);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hits");
    TCase *tc = tcase_create("hits");
    tcase_add_test(tc, hits_are_listed_by_rank_and_id_up_to_the_limit);
    tcase_add_test(tc, without_memory_the_task_fails);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
