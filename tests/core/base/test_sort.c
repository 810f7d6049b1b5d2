#include "core/base/sort.h"

#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return p < q ? -1 : p > q;
}

static const size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000, 4097};
enum { SIZES = sizeof sizes / sizeof *sizes, LONGEST = 4097 };

/* Kinds of order that a list may come in. */
static uint64_t value_of(test_rng *rng, int kind, size_t i, size_t n)
{
    switch (kind) {
    case 0:
        return test_random(rng);
    case 1:
        return test_below(rng, 5); /* mostly equal */
    case 2:
        return i;
    case 3:
        return n - i;
    default:
        return i < n / 2 ? i : n - i;
    }
}

START_TEST(numbers_come_out_as_from_the_library)
{
    test_rng rng = {.s = 51};
    static uint64_t mine[LONGEST], other[LONGEST];
    size_t sorted = 0;
    for (size_t s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 5; kind++, sorted++) {
            for (size_t i = 0; i < sizes[s]; i++)
                mine[i] = other[i] = value_of(&rng, kind, i, sizes[s]);
            obb_sort_u64(mine, sizes[s]);
            qsort(other, sizes[s], sizeof *other, by_value);
            ck_assert(memcmp(mine, other, sizes[s] * sizeof *mine) == 0);
        }
    ck_assert_uint_eq(sorted, 65);
}
END_TEST

START_TEST(ranked_lists_come_out_in_order_and_stable)
{
    test_rng rng = {.s = 52};
    static struct obb_ranked list[LONGEST], spare[LONGEST];
    static char items[LONGEST];
    size_t compared = 0;
    for (size_t s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 5; kind++) {
            const size_t n = sizes[s];
            uint64_t sum = 0, sum_after = 0;
            for (size_t i = 0; i < n; i++) {
                list[i] = (struct obb_ranked){.major = value_of(&rng, kind, i, n),
                                              .minor = test_below(&rng, 3),
                                              .item = &items[i]};
                sum += list[i].major;
            }
            const struct obb_ranked *sorted = obb_sort_ranked(list, n, spare, NULL);
            ck_assert(sorted == list || sorted == spare);
            for (size_t i = 0; i < n; i++) {
                sum_after += sorted[i].major;
                if (i == 0)
                    continue;
                const struct obb_ranked *a = &sorted[i - 1], *b = &sorted[i];
                ck_assert(
                    a->major < b->major ||
                    (a->major == b->major &&
                     (a->minor < b->minor ||
                      (a->minor == b->minor && (const char *)a->item < (const char *)b->item))));
                compared++;
            }
            ck_assert_uint_eq(sum, sum_after);
        }
    ck_assert_uint_gt(compared, 20000);
}
END_TEST

START_TEST(a_sort_can_be_cancelled)
{
    static struct obb_ranked list[LONGEST], spare[LONGEST];
    atomic_bool cancel = true;
    for (size_t i = 0; i < LONGEST; i++)
        list[i] = (struct obb_ranked){.major = LONGEST - i};
    ck_assert_ptr_null(obb_sort_ranked(list, LONGEST, spare, &cancel));
    cancel = false;
    ck_assert_ptr_nonnull(obb_sort_ranked(list, LONGEST, spare, &cancel));
}
END_TEST

struct element {
    uint64_t key;
    uint32_t place;
    char rest[12];
};

static int by_key(const void *a, const void *b)
{
    return by_value(&((const struct element *)a)->key, &((const struct element *)b)->key);
}

START_TEST(elements_of_any_size_come_out_in_order_and_stable)
{
    test_rng rng = {.s = 53};
    static struct element list[LONGEST], spare[LONGEST];
    static uint64_t numbers[LONGEST], other[LONGEST], room[LONGEST];
    size_t compared = 0;
    for (size_t s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 5; kind++) {
            const size_t n = sizes[s];
            for (size_t i = 0; i < n; i++) {
                numbers[i] = other[i] = value_of(&rng, kind, i, n);
                list[i] = (struct element){.key = numbers[i], .place = (uint32_t)i};
            }
            ck_assert(obb_sort_by(list, n, sizeof *list, by_key, spare, NULL));
            ck_assert(obb_sort_by(numbers, n, sizeof *numbers, obb_compare_u64, room, NULL));
            qsort(other, n, sizeof *other, by_value);
            for (size_t i = 0; i < n; i++, compared++) {
                ck_assert_uint_eq(list[i].key, other[i]);
                ck_assert_uint_eq(numbers[i], other[i]);
                ck_assert(i == 0 || list[i - 1].key < list[i].key ||
                          list[i - 1].place < list[i].place);
            }
        }
    ck_assert_uint_gt(compared, 20000);
}
END_TEST

START_TEST(a_sort_of_elements_ends_at_the_poll_that_says_so)
{
    static uint64_t list[LONGEST], room[LONGEST];
    const atomic_bool cancel = false;
    size_t cancelled = 0, polls = 0;
    for (size_t n = 1; polls == 0; n++) {
        for (size_t i = 0; i < LONGEST; i++)
            list[i] = i * 0x9e3779b97f4a7c15u;
        fault_cancel(n);
        const bool sorted = obb_sort_by(list, LONGEST, sizeof *list, by_value, room, &cancel);
        const size_t seen = fault_polls();
        fault_cancel(0);
        ck_assert_uint_eq(seen, sorted ? n - 1 : n);
        cancelled += !sorted;
        polls = sorted ? seen : 0;
    }
    /* thirteen passes over the list */
    ck_assert_uint_ge(polls, (size_t)13 * LONGEST / 32);
    ck_assert_uint_eq(cancelled, polls);

    /* in order: copied pass by pass */
    static uint64_t many[1 << 16], other[1 << 16];
    for (size_t i = 0; i < 1 << 16; i++)
        many[i] = i;
    fault_cancel(0);
    ck_assert(obb_sort_by(many, 1 << 16, sizeof *many, by_value, other, &cancel));
    ck_assert_uint_ge(fault_polls(), (1 << 16) / 32 - 1 + 8 + 12 + 14 + 15);
}
END_TEST

START_TEST(ranks_order_as_their_numbers_do)
{
    const double ascending[] = {0.0, 5e-324, 1e-300, 0.1,     0.10000000000000002,
                                1.0, 1e9,    1e300,  HUGE_VAL};
    for (size_t i = 1; i < sizeof ascending / sizeof *ascending; i++)
        ck_assert(obb_sort_rank(ascending[i - 1]) < obb_sort_rank(ascending[i]));
    ck_assert(obb_sort_rank(-0.0) == obb_sort_rank(0.0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sort");
    TCase *tc = tcase_create("sort");
    tcase_add_test(tc, numbers_come_out_as_from_the_library);
    tcase_add_test(tc, ranked_lists_come_out_in_order_and_stable);
    tcase_add_test(tc, a_sort_can_be_cancelled);
    tcase_add_test(tc, elements_of_any_size_come_out_in_order_and_stable);
    tcase_add_test(tc, a_sort_of_elements_ends_at_the_poll_that_says_so);
    tcase_add_test(tc, ranks_order_as_their_numbers_do);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
