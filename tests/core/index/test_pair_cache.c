/* The cache of the pairs of an index with itself: who records, and what becomes of it. That joins
 * find the same with it is shown in test_join.c. */
#include "core/index/pair_cache.h"

#include "tests/support/fault.h"
#include "tests/support/test.h"

enum { CHUNKS = 3, PAIRS = 5000 };

/* Records `count` pairs in each chunk. Returns whether there was room for all. */
static bool record(struct obb_pair_lists *lists, size_t count)
{
    for (uint32_t c = 0; c < CHUNKS; c++) {
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t a = c * PAIRS + i, b = a + 1;
            if (!obb_pair_lists_add(lists, c, &a, &b, 1))
                return false;
        }
        obb_pair_lists_end(lists, c);
    }
    return true;
}

static void check_recorded(struct obb_pair_cache *cache, size_t count)
{
    const struct obb_pair_lists *lists = obb_pair_cache_read(cache);
    ck_assert_ptr_nonnull(lists);
    ck_assert_uint_eq(lists->chunks, CHUNKS);
    for (uint32_t c = 0; c < CHUNKS; c++) {
        ck_assert_uint_eq(lists->lists[c].count, count);
        for (uint32_t i = 0; i < count; i++) {
            ck_assert_uint_eq(lists->lists[c].pairs[i].a, c * PAIRS + i);
            ck_assert_uint_eq(lists->lists[c].pairs[i].b, c * PAIRS + i + 1);
        }
    }
}

START_TEST(the_second_join_of_an_index_that_outlived_a_commit_records)
{
    struct obb_pair_cache cache = {.counted = false};
    ck_assert_ptr_null(obb_pair_cache_read(&cache));
    ck_assert_ptr_null(obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX)); /* the first */
    ck_assert_ptr_null(obb_pair_cache_claim(&cache, false, CHUNKS, SIZE_MAX));
    struct obb_pair_lists *lists = obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX);
    ck_assert_ptr_nonnull(lists);
    ck_assert_ptr_null(obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX)); /* one at a time */
    ck_assert(record(lists, PAIRS));
    ck_assert_ptr_null(obb_pair_cache_read(&cache));
    ck_assert_uint_eq(obb_pair_cache_bytes(&cache), 0);
    obb_pair_cache_release(&cache, lists, true);
    check_recorded(&cache, PAIRS);
    ck_assert_ptr_null(obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX));
    /* No list keeps more than it needs. */
    const size_t pairs = (size_t)CHUNKS * PAIRS * sizeof(struct obb_entry_pair);
    ck_assert_uint_ge(obb_pair_cache_bytes(&cache), pairs);
    ck_assert_uint_le(obb_pair_cache_bytes(&cache), pairs + 512);
    obb_pair_cache_fini(&cache);
}
END_TEST

START_TEST(a_join_that_does_not_end_leaves_the_recording_to_another)
{
    struct obb_pair_cache cache = {.counted = false};
    struct obb_pair_lists *lists = NULL;
    (void)obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX);
    for (size_t i = 0; i < 3; i++) {
        fault_arm(i == 0 ? 1 : 0);
        lists = obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX);
        fault_arm(0);
        ck_assert(i == 0 ? lists == NULL : lists != NULL);
        if (lists == NULL)
            continue;
        ck_assert(record(lists, i));
        obb_pair_cache_release(&cache, lists, i == 2);
        ck_assert_int_eq(obb_pair_cache_read(&cache) != NULL, i == 2);
    }
    check_recorded(&cache, 2);
    obb_pair_cache_fini(&cache);
}
END_TEST

START_TEST(too_many_pairs_are_given_up_for_good)
{
    const size_t pairs = (size_t)CHUNKS * PAIRS * sizeof(struct obb_entry_pair);
    for (int room = 0; room < 2; room++) {
        struct obb_pair_cache cache = {.counted = false};
        const size_t most = room != 0 ? pairs * 2 : pairs - 1;
        (void)obb_pair_cache_claim(&cache, true, CHUNKS, most);
        struct obb_pair_lists *lists = obb_pair_cache_claim(&cache, true, CHUNKS, most);
        ck_assert_ptr_nonnull(lists);
        ck_assert_int_eq(record(lists, PAIRS), room);
        const uint32_t one = 1;
        ck_assert_int_eq(obb_pair_lists_add(lists, 0, &one, &one, 1), room);
        obb_pair_cache_release(&cache, lists, true);
        ck_assert_int_eq(obb_pair_cache_read(&cache) != NULL, room);
        ck_assert_ptr_null(obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX));
        obb_pair_cache_fini(&cache);
    }
}
END_TEST

START_TEST(what_finds_no_memory_is_not_read)
{
    struct obb_pair_cache cache = {.counted = false};
    (void)obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX);
    struct obb_pair_lists *lists = obb_pair_cache_claim(&cache, true, CHUNKS, SIZE_MAX);
    const uint32_t one = 1;
    ck_assert(obb_pair_lists_add(lists, 0, &one, &one, 1));
    fault_arm(1);
    ck_assert(!obb_pair_lists_add(lists, 1, &one, &one, 1));
    fault_arm(0);
    ck_assert(!obb_pair_lists_add(lists, 0, &one, &one, 1));
    obb_pair_cache_release(&cache, lists, true);
    ck_assert_ptr_null(obb_pair_cache_read(&cache));
    obb_pair_cache_fini(&cache);
}
END_TEST

START_TEST(an_index_takes_after_the_one_whose_place_it_takes)
{
    struct obb_pair_cache earlier = {.counted = false}, unread = {.counted = false};
    (void)obb_pair_cache_claim(&earlier, true, CHUNKS, SIZE_MAX);
    struct obb_pair_lists *lists = obb_pair_cache_claim(&earlier, true, CHUNKS, SIZE_MAX);
    obb_pair_cache_release(&earlier, lists, true);
    obb_pair_cache_succeed(&unread, &earlier); /* nobody has read it yet */
    ck_assert_ptr_null(obb_pair_cache_claim(&unread, false, CHUNKS, SIZE_MAX));
    ck_assert_ptr_nonnull(obb_pair_cache_read(&earlier));
    struct obb_pair_cache later = {.counted = false};
    obb_pair_cache_succeed(NULL, &earlier);
    obb_pair_cache_succeed(&later, NULL);
    ck_assert_ptr_null(obb_pair_cache_claim(&later, false, CHUNKS, SIZE_MAX));
    obb_pair_cache_succeed(&later, &earlier);
    lists = obb_pair_cache_claim(&later, false, CHUNKS, SIZE_MAX);
    ck_assert_ptr_nonnull(lists);
    obb_pair_cache_release(&later, lists, true);
    check_recorded(&later, 0);
    obb_pair_cache_fini(&later);
    obb_pair_cache_fini(&unread);
    obb_pair_cache_fini(&earlier);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pair_cache");
    TCase *tc = tcase_create("pair_cache");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, the_second_join_of_an_index_that_outlived_a_commit_records);
    tcase_add_test(tc, a_join_that_does_not_end_leaves_the_recording_to_another);
    tcase_add_test(tc, too_many_pairs_are_given_up_for_good);
    tcase_add_test(tc, what_finds_no_memory_is_not_read);
    tcase_add_test(tc, an_index_takes_after_the_one_whose_place_it_takes);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
