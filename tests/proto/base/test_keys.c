#include "proto/base/keys.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* Returns the index of the first key that an earlier one equals, by comparing each with each. */
static size_t second_of(const obb_str *keys, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (obb_str_equal(keys[i], keys[j]))
                return i;
    return SIZE_MAX;
}

static wire_key_status check_keys(const char *const *texts, size_t count)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_str *keys = malloc(count * sizeof *keys + 1);
    ck_assert_ptr_nonnull(keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = obb_str_of(texts[i]);
    size_t second = SIZE_MAX;
    const wire_key_status status =
        wire_keys_check(keys, count, sizeof *keys, NULL, &arena, &second);
    if (status == WIRE_KEYS_REPEAT)
        ck_assert_uint_eq(second, second_of(keys, count));
    ck_assert_int_eq(wire_keys_check(keys, count, sizeof *keys, NULL, &arena, NULL), status);
    free(keys);
    obb_arena_fini(&arena);
    return status;
}

START_TEST(one_repeated_key_among_any_number_is_found)
{
    enum { MOST = 3000 };
    static char texts[MOST][32];
    const char *keys[MOST];
    test_rng rng = {.s = 5};
    for (int i = 0; i < MOST; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%s%d", i % 3 == 0 ? "a longer name " : "n", i);
        keys[i] = texts[i];
    }
    size_t looked_at = 0;
    for (size_t count = 0; count <= MOST; count += count < 40 ? 1 : 97, looked_at++) {
        ck_assert_int_eq(check_keys(keys, count), WIRE_KEYS_DIFFER);
        if (count < 2)
            continue;
        const size_t i = test_below(&rng, count), j = (i + 1 + test_below(&rng, count - 1)) % count;
        const char *kept = keys[i];
        keys[i] = keys[j];
        ck_assert_int_eq(check_keys(keys, count), WIRE_KEYS_REPEAT);
        keys[i] = kept;
    }
    ck_assert_uint_gt(looked_at, 60);
}
END_TEST

static void swap_keys(const char **keys, size_t i, size_t j)
{
    const char *kept = keys[i];
    keys[i] = keys[j];
    keys[j] = kept;
}

/* Keys in one of the orders that are looked for, as they are, with one of them again, and with two
 * in disorder. */
START_TEST(keys_in_order_are_checked_as_others)
{
    enum { MOST = 300, ORDERS = 3 };
    static char texts[ORDERS][MOST][32];
    test_rng rng = {.s = 20261128};
    size_t differ = 0, repeat = 0;
    for (unsigned i = 0; i < MOST; i++) {
        (void)snprintf(texts[0][i], sizeof texts[0][i], "%u", i);   /* by length, then bytes */
        (void)snprintf(texts[1][i], sizeof texts[1][i], "%03u", i); /* by both */
        memset(texts[2][i], 'a' + (int)(i / 20), i % 20 + 1);       /* by bytes: a, aa, aaa ... b */
    }
    for (size_t order = 0; order < ORDERS; order++)
        for (size_t count = 9; count <= MOST; count += 1 + test_below(&rng, 5)) {
            const char *keys[MOST];
            for (size_t i = 0; i < count; i++)
                keys[i] = texts[order][i];
            ck_assert_int_eq(check_keys(keys, count), WIRE_KEYS_DIFFER);
            const size_t i = test_below(&rng, count), j = (i + 1) % count,
                         far = (i + 1 + test_below(&rng, count - 1)) % count;
            swap_keys(keys, i, far);
            ck_assert_int_eq(check_keys(keys, count), WIRE_KEYS_DIFFER);
            swap_keys(keys, i, far);
            keys[i] = keys[j]; /* beside itself, or the last one first */
            ck_assert_int_eq(check_keys(keys, count), WIRE_KEYS_REPEAT);
            keys[i] = texts[order][i];
            keys[j] = keys[far == j ? i : far];
            ck_assert_int_eq(check_keys(keys, count), WIRE_KEYS_REPEAT);
            differ += 2;
            repeat += 2;
        }
    printf("%zu lists without a repeated key, %zu with one\n", differ, repeat);
    ck_assert_uint_gt(differ, 200);
}
END_TEST

START_TEST(keys_made_to_collide_are_sorted_instead)
{
    /* 4,000 keys of one slot among 8,192: without the way out, 8 million steps; with it, about
     * 32,000 and a sort */
    enum { COUNT = 4000 };
    static char texts[COUNT][16];
    const char *keys[COUNT];
    size_t found = 0;
    for (unsigned n = 0; found < COUNT; n++) {
        (void)snprintf(texts[found], sizeof texts[found], "k%u", n);
        if ((wire_key_hash(obb_str_of(texts[found])) & 8191) == 77) {
            keys[found] = texts[found];
            found++;
        }
    }
    swap_keys(keys, 0, 1); /* in no order */
    ck_assert_int_eq(check_keys(keys, COUNT), WIRE_KEYS_DIFFER);
    keys[COUNT - 1] = keys[17];
    ck_assert_int_eq(check_keys(keys, COUNT), WIRE_KEYS_REPEAT);
    keys[3] = keys[4];
    keys[2000] = keys[1000];
    ck_assert_int_eq(check_keys(keys, COUNT), WIRE_KEYS_REPEAT); /* at 4, the first of the three */
}
END_TEST

/* Checks the keys with each poll of some telling that the work is cancelled, and then with none.
 * Returns the number of polls of a whole check. */
static size_t cancel_at_polls(const obb_str *keys, size_t count)
{
    const atomic_bool cancel = false;
    size_t polls = 0, cancelled = 0;
    wire_key_status status = WIRE_KEYS_CANCELLED;
    for (size_t n = 1; status == WIRE_KEYS_CANCELLED; n += n / 2 + 1) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        size_t second = 12345;
        fault_cancel(n);
        status = wire_keys_check(keys, count, sizeof *keys, &cancel, &arena, &second);
        polls = fault_polls();
        fault_cancel(0);
        obb_arena_fini(&arena);
        ck_assert(status == WIRE_KEYS_DIFFER || (status == WIRE_KEYS_CANCELLED && polls == n));
        ck_assert_uint_eq(second, 12345);
        cancelled += status == WIRE_KEYS_CANCELLED;
    }
    ck_assert_uint_gt(cancelled, 3);
    return polls;
}

/* Puts the first two out of order. */
static void swap_strings(obb_str *keys)
{
    const obb_str kept = keys[0];
    keys[0] = keys[1];
    keys[1] = kept;
}

START_TEST(a_check_polls_at_least_every_few_thousand_keys)
{
    enum { MANY = 200000, LONG = 9, BYTES = 1 << 20 };
    char(*texts)[16] = malloc(MANY * sizeof *texts);
    obb_str *keys = malloc(MANY * sizeof *keys);
    char *bytes = malloc((size_t)LONG * BYTES);
    ck_assert(texts != NULL && keys != NULL && bytes != NULL);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "n%u", i);
        keys[i] = obb_str_of(texts[i]);
    }
    /* one pass over keys in order */
    ck_assert_uint_ge(cancel_at_polls(keys, MANY), MANY / 4096);
    /* two passes over all keys */
    swap_strings(keys);
    /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
    ck_assert_uint_ge(cancel_at_polls(keys, MANY), 2 * (MANY / 4096));

    /* Keys of one slot among 4,096 are sorted: eleven passes and more. */
    size_t found = 0;
    for (unsigned n = 0; found < 2000; n++) {
        (void)snprintf(texts[found], sizeof texts[found], "k%u", n);
        if ((wire_key_hash(obb_str_of(texts[found])) & 4095) == 77) {
            keys[found] = obb_str_of(texts[found]);
            found++;
        }
    }
    for (size_t i = 0; i < found / 2; i++) {
        const obb_str key = keys[i];
        keys[i] = keys[found - 1 - i];
        keys[found - 1 - i] = key;
    }
    ck_assert_uint_ge(cancel_at_polls(keys, found), found * 11 / 32);

    /* Few long keys, compared or hashed: after each. */
    memset(bytes, 'x', (size_t)LONG * BYTES);
    for (size_t i = 0; i < LONG; i++) {
        keys[i] = (obb_str){.bytes = bytes + i * BYTES, .length = BYTES};
        bytes[(i + 1) * BYTES - 1] = (char)('a' + i);
    }
    ck_assert_uint_ge(cancel_at_polls(keys, LONG), LONG - 1);
    swap_strings(keys);
    ck_assert_uint_ge(cancel_at_polls(keys, LONG), LONG);
    ck_assert_uint_ge(cancel_at_polls(keys, 8), 28);
    free(texts);
    free(keys);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys");
    TCase *tc = tcase_create("keys");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, one_repeated_key_among_any_number_is_found);
    tcase_add_test(tc, keys_in_order_are_checked_as_others);
    tcase_add_test(tc, keys_made_to_collide_are_sorted_instead);
    tcase_add_test(tc, a_check_polls_at_least_every_few_thousand_keys);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
