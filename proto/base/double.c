#include "proto/base/double.h"

#include "proto/base/powers.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

/* digits * 10^exponent */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

/* Returns the high 64 bits of the 192-bit product g * c. The last bit is also set if any lower bit
 * is. Such a number compares with multiples of 2 without error (Giulietti's "round to odd"). */
static uint64_t round_to_odd(uint64_t high, uint64_t low, uint64_t c)
{
    const uint64_t carried = (uint64_t)((uint128)low * c >> 64);
    const uint128 sum = (uint128)high * c + carried;
    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

/* Schubfach. The value is c * 2^q with c != 0. `even`: the borders of its rounding interval round
 * to it. `narrow`: the interval is only half as wide below the value, which is a power of two. */
static decimal shortest(uint64_t c, int q, bool even, bool narrow)
{
    /* The borders and the value in units of 2^(q-2). */
    const uint64_t left = 4 * c - 2 + narrow, middle = 4 * c, right = 4 * c + 2;

    /* k = floor(log10 of the interval's width): then 10^k is at most the width and 10^(k+1) is
     * more. */
    const int k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22;

    /* 10^-k to 128 bits, rounded up; h scales it so that the products are the borders in units of
     * 10^k / 4. */
    const int h = q + wire_power_log2(-k) + 1;
    uint64_t high = wire_powers[-k - WIRE_POWER_MIN][0], low = wire_powers[-k - WIRE_POWER_MIN][1];
    if (!wire_power_exact(-k)) {
        low++;
        high += low == 0;
    }
    const uint64_t lower = round_to_odd(high, low, left << h) + !even;
    const uint64_t value = round_to_odd(high, low, middle << h);
    const uint64_t upper = round_to_odd(high, low, right << h) - !even;

    /* Try one digit less: at most one of the two neighbours in units of 10^(k+1) lies within the
     * interval. */
    const uint64_t s = value / 4;
    if (s >= 10) {
        const uint64_t t = s / 10;
        const bool below = lower <= 40 * t, above = 40 * t + 40 <= upper;
        if (below != above)
            return (decimal){t + above, k + 1};
    }
    const bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above)
        return (decimal){s + above, k};
    const uint64_t half = 4 * s + 2;
    const bool up = value > half || (value == half && (s & 1) != 0);
    return (decimal){s + up, k};
}

static const char pairs[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

/* Writes n < 10^8 as eight digits. */
static void write_eight(uint32_t n, char *out)
{
    const uint32_t high = n / 10000, low = n % 10000;
    memcpy(out, pairs + (size_t)(high / 100) * 2, 2);
    memcpy(out + 2, pairs + (size_t)(high % 100) * 2, 2);
    memcpy(out + 4, pairs + (size_t)(low / 100) * 2, 2);
    memcpy(out + 6, pairs + (size_t)(low % 100) * 2, 2);
}

static int digit_count(uint64_t n)
{
    /* 1233 / 4096 is just above log10(2). The guess may be one too small, which the table
     * corrects. */
    static const uint64_t tens[] = {0,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    100000,
                                    1000000,
                                    10000000,
                                    100000000,
                                    1000000000,
                                    10000000000,
                                    100000000000,
                                    1000000000000,
                                    10000000000000,
                                    100000000000000,
                                    1000000000000000,
                                    10000000000000000,
                                    100000000000000000,
                                    1000000000000000000,
                                    10000000000000000000u};
    const int guess = ((64 - __builtin_clzll(n | 1)) * 1233) >> 12;
    return guess + (n >= tens[guess]);
}

size_t wire_integer_write(uint64_t value, char out[static WIRE_INTEGER_ROOM])
{
    const int length = digit_count(value);
    char *end = out + length;
    while (value >= 100000000) {
        end -= 8;
        write_eight((uint32_t)(value % 100000000), end);
        value /= 100000000;
    }
    uint32_t rest = (uint32_t)value;
    while (rest >= 100) {
        end -= 2;
        memcpy(end, pairs + (size_t)(rest % 100) * 2, 2);
        rest /= 100;
    }
    if (rest >= 10)
        memcpy(end - 2, pairs + (size_t)rest * 2, 2);
    else
        end[-1] = (char)('0' + rest);
    return (size_t)length;
}

static decimal without_trailing_zeros(decimal d)
{
    if (d.digits % 100000000 == 0) {
        d.digits /= 100000000;
        d.exponent += 8;
    }
    if (d.digits % 10000 == 0) {
        d.digits /= 10000;
        d.exponent += 4;
    }
    if (d.digits % 100 == 0) {
        d.digits /= 100;
        d.exponent += 2;
    }
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    return d;
}

/* Returns the shortest decimal of a positive value. */
static decimal decimal_of(double value)
{
    /* Numbers that people write have few decimals. Of the decimals of at most 15 digits only one
     * rounds to a given double, and the quotient of two exact doubles is the nearest double. So if
     * the division gives the value back, these digits are the shortest. */
    if (value < 1e9) {
        const uint64_t millionths = (uint64_t)(value * 1e6 + 0.5);
        if ((double)millionths / 1e6 == value)
            return without_trailing_zeros((decimal){millionths, -6});
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int biased = (int)(bits >> 52);
    const bool even = (fraction & 1) == 0;
    const decimal d = biased == 0 ? shortest(fraction, -1074, even, false)
                                  : shortest(fraction | UINT64_C(1) << 52, biased - 1075, even,
                                             fraction == 0 && biased > 1);
    return without_trailing_zeros(d);
}

size_t wire_double_write(double value, char out[static WIRE_DOUBLE_ROOM])
{
    static const char negative_zero[4] = {'-', '0', '.', '0'};
    static const char small[8] = {'0', '.', '0', '0', '0', '0', '0', '0'};
    char *at = out;
    if (signbit(value)) {
        if (value == 0.0) {
            memcpy(out, negative_zero, sizeof negative_zero);
            return sizeof negative_zero;
        }
        *at++ = '-';
        value = -value;
    }
    assert(value <= DBL_MAX); /* not infinite, not NaN */

    if (value < 0x1p53) {
        const uint64_t whole = (uint64_t)value;
        if ((double)whole == value)
            return (size_t)(at - out) + wire_integer_write(whole, at);
    }
    const decimal d = decimal_of(value);
    char digits[32] = {0};
    const int count = (int)wire_integer_write(d.digits, digits); /* at most 17 */
    const int point = count + d.exponent; /* the value is 0.digits * 10^point */

    if (0 < point && point < count) {
        memcpy(at, digits, 16);
        at[point] = '.';
        memcpy(at + point + 1, digits + point, 16);
        return (size_t)(at - out) + (size_t)count + 1;
    }
    if (-6 < point && point <= 0) {
        memcpy(at, small, sizeof small);
        memcpy(at + 2 - point, digits, 17);
        return (size_t)(at - out) + 2 + (size_t)(count - point);
    }
    if (0 < point && point <= 16) {
        memcpy(at, digits, 16);
        memset(at + count, '0', (size_t)(point - count));
        return (size_t)(at - out) + (size_t)point;
    }
    at[0] = digits[0];
    if (count > 1) {
        at[1] = '.';
        memcpy(at + 2, digits + 1, 16);
        at += count + 1;
    } else {
        at++;
    }
    *at++ = 'e';
    int exponent = point - 1;
    if (exponent < 0) {
        *at++ = '-';
        exponent = -exponent;
    }
    at += wire_integer_write((uint64_t)exponent, at);
    return (size_t)(at - out);
}
