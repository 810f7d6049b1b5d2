#include "proto/base/bignum.h"
#include "tests/support/test.h"

#include <gmp.h>
#include <string.h>

START_TEST(digits_become_bytes_and_digits_again)
{
    test_rng rng = {.s = 20261122};
    mpz_t number, limit;
    mpz_init(number);
    mpz_init(limit);
    mpz_ui_pow_ui(limit, 2, 1024);
    size_t looked_at = 0, longest = 0;
    for (size_t i = 0; i < test_effort(20000); i++) {
        char digits[WIRE_BIGNUM_DIGITS + 1] = "";
        const size_t count = 1 + test_below(&rng, i % 2 == 0 ? WIRE_BIGNUM_DIGITS : 25);
        for (size_t k = 0; k < count; k++) {
            const size_t digit = i % 3 == 0 ? (k == 0) : test_below(&rng, 10); /* powers of ten */
            digits[k] = (char)('0' + digit);
        }
        if (digits[0] == '0')
            digits[0] = '7';
        digits[count] = '\0';
        ck_assert_int_eq(mpz_set_str(number, digits, 10), 0);
        if (mpz_cmp(number, limit) >= 0)
            continue;
        looked_at++;
        longest += count > 300;
        const bool negative = test_below(&rng, 2) == 1;
        if (negative)
            mpz_sub_ui(number, number, 1);
        unsigned char bytes[1 + WIRE_BIGNUM_BYTES] = {0}, expected[WIRE_BIGNUM_BYTES];
        const size_t length = wire_bignum_bytes((obb_str){digits, count}, negative, bytes + 1);
        size_t expected_length = 0;
        (void)mpz_export(expected, &expected_length, 1, 1, 1, 0, number);
        ck_assert_uint_eq(length, expected_length);
        ck_assert_int_eq(memcmp(bytes + 1, expected, length), 0);

        char back[WIRE_BIGNUM_DIGITS];
        const size_t zeros = test_below(&rng, 2); /* in front */
        const size_t back_count =
            wire_bignum_digits(bytes + 1 - zeros, length + zeros, negative, back);
        ck_assert_uint_eq(back_count, count);
        ck_assert_int_eq(memcmp(back, digits, count), 0);
    }
    ck_assert_uint_gt(looked_at, test_effort(20000) * 9 / 10);
    ck_assert_uint_gt(longest, test_effort(20000) / 200);
    mpz_clear(number);
    mpz_clear(limit);
}
END_TEST

START_TEST(numbers_beyond_every_double_have_no_digits)
{
    unsigned char bytes[WIRE_BIGNUM_BYTES + 2] = {0};
    char digits[WIRE_BIGNUM_DIGITS];
    ck_assert_uint_eq(wire_bignum_digits(bytes, 0, false, digits), 1);
    ck_assert(digits[0] == '0');
    ck_assert_uint_eq(wire_bignum_digits(bytes, sizeof bytes, true, digits), 1);
    ck_assert(digits[0] == '1');
    bytes[1] = 1; /* 2^1024 */
    ck_assert_uint_eq(wire_bignum_digits(bytes, sizeof bytes, false, digits), 0);
    bytes[1] = 0;
    memset(bytes + 2, 0xff, WIRE_BIGNUM_BYTES); /* 2^1024 - 1 */
    ck_assert_uint_eq(wire_bignum_digits(bytes, sizeof bytes, false, digits), WIRE_BIGNUM_DIGITS);
    ck_assert_int_eq(memcmp(digits, "179769313486231590772930519078902473361797697894230657", 54),
                     0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bignum");
    TCase *tc = tcase_create("bignum");
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, digits_become_bytes_and_digits_again);
    tcase_add_test(tc, numbers_beyond_every_double_have_no_digits);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
