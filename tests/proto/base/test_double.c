#include "proto/base/double.h"
#include "proto/base/powers.h"
#include "tests/support/test.h"

#include <float.h>
#include <gmp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The oracle: libc's exact %e, one digit more at a time ----------------------------------- */

/* Adds one to a decimal of `count` digits; true when it overflowed to 10...0 with one digit fewer
 * before it. */
static bool increment(char *digits, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        if (digits[i] != '9') {
            digits[i]++;
            return false;
        }
        digits[i] = '0';
    }
    digits[0] = '1';
    return true;
}

static bool reads_back(const char *digits, int exponent, double value)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%c.%se%d", digits[0], digits + 1, exponent);
    return strtod(text, NULL) == value;
}

/* The shortest digits of a positive value, d.ddd * 10^exponent, and of those the closest. Where the
 * interval that rounds to the value is narrower below (powers of two) the closest may miss it while
 * the next one above does not. */
static void oracle(double value, char out_digits[static 32], int *out_exponent)
{
    for (int count = 1; count <= 17; count++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%.*e", count - 1, value);
        char *e = strchr(text, 'e');
        int exponent = (int)strtol(e + 1, NULL, 10);
        *e = '\0';
        (void)snprintf(out_digits, 32, "%c%.30s", text[0], count > 1 ? text + 2 : "");
        bool found = reads_back(out_digits, exponent, value);
        if (!found) {
            exponent += increment(out_digits, count);
            found = reads_back(out_digits, exponent, value);
        }
        if (found) {
            *out_exponent = exponent;
            return;
        }
    }
    ck_abort_msg("17 digits did not read back: %a", value);
}

/* What wire_double_write promises, spelt out the slow way. */
static void oracle_text(double value, char out[static 64])
{
    char digits[32], *at = out;
    int exponent;
    if (value == 0.0) {
        (void)snprintf(out, 64, "%s", signbit(value) ? "-0.0" : "0");
        return;
    }
    if (value < 0.0) {
        *at++ = '-';
        value = -value;
    }
    oracle(value, digits, &exponent);
    const int count = (int)strlen(digits);
    if (value >= 1e16 || value < 1e-6) {
        (void)sprintf(at, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1, exponent);
        return;
    }
    if (exponent < 0) {
        at += sprintf(at, "0.");
        for (int i = -1; i > exponent; i--)
            *at++ = '0';
        (void)snprintf(at, 32, "%s", digits);
        return;
    }
    for (int i = 0; i <= exponent; i++)
        at += sprintf(at, "%c", i < count ? digits[i] : '0');
    if (count > exponent + 1)
        at += sprintf(at, ".%s", digits + exponent + 1);
    *at = '\0';
}

static size_t seen_plain, seen_point, seen_exponent;

static void check(double value)
{
    char expected[64], got[WIRE_DOUBLE_ROOM + 1];
    oracle_text(value, expected);
    const size_t length = wire_double_write(value, got);
    got[length <= 25 ? length : 25] = '\0';
    const double back = strtod(got, NULL);
    /* Check notes every assertion in a pipe; millions of them would be what this test spends its
     * time on */
    if (length > 25 || strcmp(got, expected) != 0 || back != value ||
        signbit(back) != signbit(value))
        ck_abort_msg("%a: %s (%a) instead of %s", value, got, back, expected);
    if (strpbrk(got, "e") != NULL)
        seen_exponent++;
    else if (strpbrk(got, ".") != NULL)
        seen_point++;
    else
        seen_plain++;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(known_values_are_written_as_people_expect)
{
    static const struct {
        double value;
        const char *text;
    } known[] = {
        {0.0, "0"},
        {-0.0, "-0.0"},
        {3.0, "3"},
        {-42.0, "-42"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {-1.5, "-1.5"},
        {1e-6, "0.000001"},
        {9.5e-7, "9.5e-7"},
        {-1.2345678901234567e-6, "-0.0000012345678901234567"},
        {1e15, "1000000000000000"},
        {9007199254740992.0, "9007199254740992"},
        {9999999999999998.0, "9999999999999998"},
        {1e16, "1e16"},
        {1e23, "1e23"},
        {1.0000000000000001e23, "1.0000000000000001e23"},
        {0x1p-44, "5.684341886080802e-14"}, /* the closest of 16 digits, ...801, is not it */
        {DBL_MIN, "2.2250738585072014e-308"},
        {DBL_MAX, "1.7976931348623157e308"},
        {DBL_TRUE_MIN, "5e-324"},
        {999999999.9999999, "999999999.9999999"},
        {1000000000.0, "1000000000"},
        {0.7071067811865476, "0.7071067811865476"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char got[WIRE_DOUBLE_ROOM + 1];
        got[wire_double_write(known[i].value, got)] = '\0';
        ck_assert_str_eq(got, known[i].text);
        check(known[i].value);
    }
}
END_TEST

START_TEST(every_power_of_two_and_of_ten_and_their_neighbours_agree_with_the_oracle)
{
    size_t looked_at = 0;
    for (int e = -1074; e <= 1023; e++) {
        const double v = ldexp(1.0, e);
        check(v);
        check(nextafter(v, 0.0) == 0.0 ? v : nextafter(v, 0.0));
        check(nextafter(v, HUGE_VAL));
        looked_at += 3;
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        (void)snprintf(text, sizeof text, "1e%d", e);
        const double v = strtod(text, NULL);
        check(v);
        check(-nextafter(v, 0.0));
        check(nextafter(v, HUGE_VAL));
        looked_at += 3;
    }
    ck_assert_uint_eq(looked_at, (size_t)3 * (2098 + 632));
    ck_assert_uint_gt(seen_exponent, 5000);
}
END_TEST

START_TEST(random_doubles_agree_with_the_oracle)
{
    test_rng rng = {.s = 20261121};
    const size_t cases = test_effort(10000);
    for (size_t i = 0; i < cases; i++) {
        uint64_t bits = test_random(&rng);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v))
            check(v);
        check(test_uniform(&rng, -1.0, 1.0));                /* quaternions */
        check(test_uniform(&rng, -1e9, 1e9));                /* coordinates */
        check(floor(test_uniform(&rng, -1e6, 1e6)) / 1e3);   /* what people write */
        check((double)(float)test_uniform(&rng, -1e3, 1e3)); /* what engines send */
        check(floor(test_uniform(&rng, -9007199254740992.0, 9007199254740992.0)));
        /* around the limits of the short path: six decimals, fifteen digits */
        check(floor(test_uniform(&rng, 0.0, 1.1e15)) / 1e6);
        check(nextafter(floor(test_uniform(&rng, 0.0, 1e12)) / 1e6, 1e9));
        check(floor(test_uniform(&rng, 0.0, 1e10)) / 1e7);
    }
    ck_assert_uint_gt(seen_exponent, cases / 2);
    ck_assert_uint_gt(seen_point, cases * 5);
    ck_assert_uint_gt(seen_plain, cases / 2);
}
END_TEST

START_TEST(integers_of_every_length_are_written)
{
    test_rng rng = {.s = 7};
    size_t lengths[21] = {0};
    for (size_t i = 0; i < test_effort(100000); i++) {
        const uint64_t value = test_random(&rng) >> test_below(&rng, 64);
        char got[WIRE_INTEGER_ROOM + 1], expected[32];
        const size_t length = wire_integer_write(value, got);
        (void)snprintf(expected, sizeof expected, "%" PRIu64, value);
        got[length] = '\0';
        if (strcmp(got, expected) != 0)
            ck_abort_msg("%s instead of %s", got, expected);
        lengths[length]++;
    }
    for (size_t i = 1; i <= 20; i++)
        ck_assert_uint_gt(lengths[i], 0);
    uint64_t ten = 1;
    for (int i = 0; i < 20; i++, ten *= 10) {
        char got[WIRE_INTEGER_ROOM];
        ck_assert_uint_eq(wire_integer_write(ten, got), (size_t)i + 1);
        ck_assert_uint_eq(wire_integer_write(ten - 1, got), i == 0 ? 1 : (size_t)i);
    }
    char got[WIRE_INTEGER_ROOM];
    ck_assert_uint_eq(wire_integer_write(UINT64_MAX, got), 20);
}
END_TEST

START_TEST(the_table_holds_the_first_128_bits_of_each_power)
{
    mpz_t power, quotient, scale;
    mpz_inits(power, quotient, scale, NULL);
    size_t exact = 0;
    for (int e = WIRE_POWER_MIN; e <= WIRE_POWER_MAX; e++) {
        mpz_ui_pow_ui(power, 10, (unsigned long)abs(e));
        /* floor(10^e * 2^shift) with shift such that it has 128 bits */
        const int shift = 127 - wire_power_log2(e);
        mpz_set_ui(scale, 1);
        mpz_mul_2exp(scale, scale, shift > 0 ? (mp_bitcnt_t)shift : 0);
        bool rest;
        if (e >= 0) {
            mpz_mul(quotient, power, scale);
            const mp_bitcnt_t down = shift < 0 ? (mp_bitcnt_t)-shift : 0;
            rest = !mpz_divisible_2exp_p(quotient, down);
            mpz_fdiv_q_2exp(quotient, quotient, down);
        } else {
            rest = !mpz_divisible_p(scale, power);
            mpz_fdiv_q(quotient, scale, power);
        }
        ck_assert_uint_eq(mpz_sizeinbase(quotient, 2), 128);
        uint64_t words[2];
        mpz_export(words, NULL, 1, sizeof words[0], 0, 0, quotient);
        ck_assert_uint_eq(words[0], wire_powers[e - WIRE_POWER_MIN][0]);
        ck_assert_uint_eq(words[1], wire_powers[e - WIRE_POWER_MIN][1]);
        ck_assert_int_eq(wire_power_exact(e), !rest);
        exact += !rest;
    }
    ck_assert_uint_eq(exact, 56);
    mpz_clears(power, quotient, scale, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("double");
    TCase *tc = tcase_create("double");
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, known_values_are_written_as_people_expect);
    tcase_add_test(tc, every_power_of_two_and_of_ten_and_their_neighbours_agree_with_the_oracle);
    tcase_add_test(tc, random_doubles_agree_with_the_oracle);
    tcase_add_test(tc, integers_of_every_length_are_written);
    tcase_add_test(tc, the_table_holds_the_first_128_bits_of_each_power);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
