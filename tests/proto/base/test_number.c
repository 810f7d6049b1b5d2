#include "proto/base/number.h"
#include "tests/proto/exact.h"
#include "tests/support/test.h"

#include <gmp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Reads a text that is a number and nothing more, from a block of exactly its size. */
static double read_all(const char *text)
{
    const size_t length = strlen(text);
    char *block = exact_copy(text, length);
    double value = 0.0;
    const char *end = wire_number_read(block, block + length, &value);
    const bool whole = end == block + length;
    exact_free(block, length);
    ck_assert_msg(whole, "%s: not read to its end", text);
    return value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* libc rounds any decimal correctly: its strtod is the oracle. */
static void check_against_libc(const char *text)
{
    const double expected = strtod(text, NULL), got = read_all(text);
    ck_assert_msg(bits_of(expected) == bits_of(got), "%.80s: expected %a, got %a", text, expected,
                  got);
}

START_TEST(numbers_end_where_their_grammar_ends)
{
    static const struct {
        const char *text;
        int length; /* of the number at its start; -1: none */
    } cases[] = {
        {"0", 1},           {"-0", 2},         {"10", 2},           {"1.5", 3},
        {"1e5", 3},         {"1E+05", 5},      {"1e-05", 5},        {"0.0", 3},
        {"0e0", 3},         {"-1.25e-3,", 8},  {"1 2", 1},          {"1]", 1},
        {"1..2", -1},       {"1.", -1},        {".5", -1},          {"+1", -1},
        {"-", -1},          {"", -1},          {"01", -1},          {"-01", -1},
        {"00", -1},         {"1e", -1},        {"1e+", -1},         {"1e-", -1},
        {"e5", -1},         {"NaN", -1},       {"Infinity", -1},    {"-Infinity", -1},
        {"0x10", 1},        {"1.e5", -1},      {"- 1", -1},         {"1,5", 1},
        {"1.5.5", 3},       {"1e5.5", 3},      {"12345678", 8},     {"0.123456789x", 11},
        {"0.12345678", 10}, {"1.1234567/", 9}, {"1.12345678:", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value;
        const char *text = cases[i].text,
                   *end = wire_number_read(text, text + strlen(text), &value);
        const int length = end == NULL ? -1 : (int)(end - text);
        ck_assert_msg(length == cases[i].length, "%s: %d", text, length);
    }
}
END_TEST

START_TEST(known_values_and_limits_are_right)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0.0},
        {"-0", -0.0},
        {"-0.0e10", -0.0},
        {"-0e999999999999999999999", -0.0},
        {"0.1", 0.1},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740995", 9007199254740996.0},
        {"9007199254740993.00000000000000000000000000000000000000000000000001", 9007199254740994.0},
        {"1.7976931348623157e308", 0x1.fffffffffffffp1023},
        {"1.7976931348623158e308", 0x1.fffffffffffffp1023},
        {"1.7976931348623159e308", HUGE_VAL},
        {"-1e309", -HUGE_VAL},
        {"1e99999999999999999999999999999999", HUGE_VAL},
        {"1e-99999999999999999999999999999999", 0.0},
        {"2.2250738585072014e-308", 0x1p-1022},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"4.9406564584124654e-324", 0x1p-1074},
        {"2.4703282292062328e-324", 0x1p-1074},
        {"2.4703282292062327e-324", 0.0},
        {"18446744073709551616", 0x1p64},
        {"18446744073709551615.5", 0x1p64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = read_all(cases[i].text);
        ck_assert_msg(bits_of(got) == bits_of(cases[i].value), "%s: %a", cases[i].text, got);
    }
}
END_TEST

START_TEST(zeros_before_behind_and_far_exponents_cancel)
{
    enum { ZEROS = 2000 };
    char text[3 * ZEROS];
    char zeros[ZEROS + 1];
    memset(zeros, '0', ZEROS);
    zeros[ZEROS] = '\0';
    (void)snprintf(text, sizeof text, "0.%s125e%d", zeros, ZEROS + 3);
    ck_assert_double_eq(read_all(text), 125.0);
    (void)snprintf(text, sizeof text, "125%s.%se-%d", zeros, zeros, ZEROS);
    ck_assert_double_eq(read_all(text), 125.0);
    (void)snprintf(text, sizeof text, "0.%s", zeros);
    ck_assert_double_eq(read_all(text), 0.0);
    (void)snprintf(text, sizeof text, "9007199254740993.%s1", zeros); /* above the tie by a hair */
    ck_assert_double_eq(read_all(text), 9007199254740994.0);
    (void)snprintf(text, sizeof text, "9007199254740993.%s", zeros);
    ck_assert_double_eq(read_all(text), 9007199254740992.0);
}
END_TEST

START_TEST(random_doubles_read_back_from_any_number_of_digits)
{
    test_rng rng = {.s = 20261120};
    const size_t cases = test_effort(200000);
    size_t subnormal = 0, same = 0;
    for (size_t i = 0; i < cases; i++) {
        uint64_t bits = test_random(&rng);
        if (i % 8 == 0) /* the few that have the least exponent */
            bits &= 0x800fffffffffffffu;
        const double value = double_of(bits);
        if (!isfinite(value))
            continue;
        const int digits = (int)test_below(&rng, 30);
        char text[64];
        (void)snprintf(text, sizeof text, "%.*e", digits, value);
        check_against_libc(text);
        subnormal += fabs(value) < 0x1p-1022;
        same += read_all(text) == value;
    }
    ck_assert_uint_gt(subnormal, cases / 10);
    ck_assert_uint_gt(same, cases / 4); /* 17 digits or more */
    ck_assert_uint_lt(same, cases * 3 / 4);
    printf("%zu doubles, %zu of them subnormal, %zu read back equal\n", cases, subnormal, same);
}
END_TEST

START_TEST(random_decimals_agree_with_libc)
{
    test_rng rng = {.s = 7};
    const size_t cases = test_effort(300000);
    size_t finite = 0, zero = 0;
    for (size_t i = 0; i < cases; i++) {
        char text[96];
        size_t length = 0;
        const size_t before = 1 + test_below(&rng, i % 3 == 0 ? 24 : 3);
        text[length] = (char)('0' + test_below(&rng, 10));
        length++;
        for (size_t k = 1; k < before && text[0] != '0'; k++)
            text[length++] = (char)('0' + test_below(&rng, 10));
        const size_t after = test_below(&rng, 25);
        if (after > 0)
            text[length++] = '.';
        for (size_t k = 0; k < after; k++)
            text[length++] = (char)('0' + (test_below(&rng, 3) == 0 ? 0 : test_below(&rng, 10)));
        const int exponent =
            i % 2 == 0 ? (int)test_below(&rng, 700) - 360 : (int)test_below(&rng, 60) - 30;
        (void)snprintf(text + length, sizeof text - length, "e%d", exponent);
        check_against_libc(text);
        finite += isfinite(read_all(text)) ? 1 : 0;
        zero += read_all(text) == 0.0;
    }
    ck_assert_uint_gt(finite, cases / 2);
    ck_assert_uint_gt(cases - finite, cases / 50);
    ck_assert_uint_gt(zero, cases / 100);
    printf("%zu decimals, %zu finite, %zu zero\n", cases, finite, zero);
}
END_TEST

/* All digits of (2 * mantissa + 1) * 2^(exponent - 1): halfway from mantissa * 2^exponent to the
 * next. */
static char *tie_after(uint64_t mantissa, int exponent)
{
    mpz_t n;
    mpz_init_set_ui(n, (unsigned long)mantissa);
    mpz_mul_ui(n, n, 2);
    mpz_add_ui(n, n, 1);
    const int power = exponent - 1;
    if (power >= 0) {
        mpz_mul_2exp(n, n, (mp_bitcnt_t)power);
    } else { /* 2^-p = 5^p / 10^p */
        mpz_t fives;
        mpz_init(fives);
        mpz_ui_pow_ui(fives, 5, (unsigned long)-power);
        mpz_mul(n, n, fives);
        mpz_clear(fives);
    }
    char *digits = mpz_get_str(NULL, 10, n);
    mpz_clear(n);
    char *text = malloc(strlen(digits) + 64);
    ck_assert_ptr_nonnull(text);
    (void)sprintf(text, "%c.%s", digits[0], digits[1] != '\0' ? digits + 1 : "0");
    (void)sprintf(text + strlen(text), "e%d", (int)strlen(digits) - 1 + (power < 0 ? power : 0));
    free(digits);
    return text;
}

START_TEST(ties_go_to_even_and_a_hair_beside_them_does_not)
{
    test_rng rng = {.s = 99};
    const size_t cases = test_effort(4000);
    size_t longest = 0;
    for (size_t i = 0; i < cases; i++) {
        const bool subnormal = i % 5 == 0;
        const uint64_t hidden = (uint64_t)1 << 52;
        const uint64_t mantissa = subnormal ? test_random(&rng) & (hidden - 1)
                                            : hidden | (test_random(&rng) & (hidden - 1));
        const int exponent = subnormal ? -1074 : (int)test_below(&rng, 2045) - 1074;
        char *tie = tie_after(mantissa, exponent);
        const double below = ldexp((double)mantissa, exponent);
        const double above = nextafter(below, HUGE_VAL);
        const double even = mantissa % 2 == 0 ? below : above;
        ck_assert_msg(read_all(tie) == even, "%s", tie);
        longest = strlen(tie) > longest ? strlen(tie) : longest;

        /* one more digit, far behind */
        char *e = strchr(tie, 'e');
        char power[32], *hair = malloc(strlen(tie) + 64);
        ck_assert_ptr_nonnull(hair);
        (void)snprintf(power, sizeof power, "%s", e);
        *e = '\0';
        (void)sprintf(hair, "%s%s1%s", tie, i % 2 == 0 ? "000000000000000" : "", power);
        ck_assert_msg(read_all(hair) == above, "%s", hair);
        /* and one less in the last place */
        for (char *last = e - 1;; last--) {
            if (*last == '.')
                continue;
            if (*last != '0') {
                (*last)--;
                break;
            }
            *last = '9';
        }
        (void)sprintf(hair, "%s9%s", tie, power);
        ck_assert_msg(read_all(hair) == below, "%s", hair);
        free(hair);
        free(tie);
    }
    ck_assert_uint_gt(longest, 700);
    printf("%zu ties, the longest of %zu bytes\n", cases, longest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number");
    TCase *tc = tcase_create("number");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, numbers_end_where_their_grammar_ends);
    tcase_add_test(tc, known_values_and_limits_are_right);
    tcase_add_test(tc, zeros_before_behind_and_far_exponents_cancel);
    tcase_add_test(tc, random_doubles_read_back_from_any_number_of_digits);
    tcase_add_test(tc, random_decimals_agree_with_libc);
    tcase_add_test(tc, ties_go_to_even_and_a_hair_beside_them_does_not);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
