#include "proto/base/number.h"

#include "proto/base/powers.h"
#include "proto/base/wide.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "a product of two doubles must be rounded once");

/* significand * 10^exponent. If `truncated`, the digits did not fit in 64 bits and the significand
 * holds the first 19. */
struct decimal {
    const char *first, *last; /* the digits as written, and the point among them */
    uint64_t significand;
    int64_t exponent;
    bool truncated;
};

static inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* ---- Up to eight digits at once -------------------------------------------------------------- */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Appends to *value the digits that the next eight bytes begin with. Returns how many there are. */
static inline unsigned some_digits(const char *at, uint64_t *value)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    uint64_t v;
    memcpy(&v, at, sizeof v);
    v ^= 0x3030303030303030u; /* digits are 0 to 9 now, others more */
    const uint64_t others =
        (((v & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | v) & 0x8080808080808080u;
    const unsigned count = others == 0 ? 8 : (unsigned)__builtin_ctzll(others) / 8;
    if (count == 0)
        return 0;
    v <<= 64 - 8 * count;  /* drop the bytes after the digits; zeros come in front */
    v = v * 10 + (v >> 8); /* pairs in the even bytes */
    v = (((v & 0x000000ff000000ffu) * 0x000f424000000064u) +
         (((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
        32;
    *value = *value * powers[count] + (uint32_t)v;
    return count;
}
#else
static inline unsigned some_digits(const char *at, uint64_t *value)
{
    (void)at;
    (void)value;
    return 0;
}
#endif

/* ---- Grammar --------------------------------------------------------------------------------- */

/* Returns the end of the exponent that follows the letter e, or NULL if there is none. */
static const char *past_exponent(const char *at, const char *end)
{
    at += at < end && (*at == '-' || *at == '+');
    if (at == end || !is_digit(*at))
        return NULL;
    while (at < end && is_digit(*at))
        at++;
    return at;
}

static int64_t exponent_of(const char *at, const char *end)
{
    const bool minus = *at == '-';
    int64_t exponent = 0;
    for (at += *at == '-' || *at == '+'; at < end; at++)
        if (exponent < INT64_MAX / 100) /* beyond what any number of digits could bring back */
            exponent = exponent * 10 + (*at - '0');
    return minus ? -exponent : exponent;
}

/* Keeps 19 of `count` > 19 digits. The significand has wrapped unless the surplus digits are
 * leading zeros. */
static void keep_leading_digits(struct decimal *d, ptrdiff_t count)
{
    const char *p = d->first;
    for (; p < d->last && (*p == '0' || *p == '.'); p++)
        count -= *p == '0';
    if (count <= 19)
        return;
    d->truncated = true;
    d->significand = 0;
    d->exponent += count - 19;
    for (int kept = 0; kept < 19; p++) {
        if (*p == '.')
            continue;
        d->significand = d->significand * 10 + (uint64_t)(*p - '0');
        kept++;
    }
}

/* ---- Doubles --------------------------------------------------------------------------------- */

/* mantissa * 2^exponent. The mantissa is at most 2^53, the exponent at least -1074; a mantissa
 * below 2^52 has the exponent -1074. */
struct binary {
    uint64_t mantissa;
    int exponent;
};

#define MANTISSA_END ((uint64_t)1 << 53)
#define HIDDEN_BIT   ((uint64_t)1 << 52)

static double assembled(struct binary b)
{
    if (b.mantissa == MANTISSA_END) {
        b.mantissa = HIDDEN_BIT;
        b.exponent++;
    }
    if (b.exponent > 971)
        return (double)INFINITY;
    const uint64_t bits = b.mantissa < HIDDEN_BIT ? b.mantissa
                                                  : (uint64_t)(b.exponent + 1075) << 52 |
                                                        (b.mantissa & (HIDDEN_BIT - 1));
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- One product ----------------------------------------------------------------------------- */

/* Computes w * 10^q with w > 0, rounded to nearest. Returns false if 128 bits of 10^q cannot decide
 * the rounding. */
static bool one_product(uint64_t w, int q, double *out)
{
    const uint64_t *power = wire_powers[q - WIRE_POWER_MIN];
    const int shift = __builtin_clzll(w);
    w <<= shift;
    wire_product p = wire_multiply(w, power[0]);
    /* The lower half of the power adds less than w. It matters only if it can carry into the
     * rounding bit. */
    if ((p.high & 0x1ff) == 0x1ff && p.low + w < w) {
        const wire_product lower = wire_multiply(w, power[1]);
        p.low += lower.high;
        p.high += p.low < lower.high;
        if ((p.high & 0x1ff) == 0x1ff && p.low == UINT64_MAX && lower.low + w < w)
            return false;
    }
    /* Keep 53 bits and one to round by. The bits after them were cut off, so a one rounds up,
     * unless it may be a tie. */
    const int top = (int)(p.high >> 63);
    uint64_t m = p.high >> (top + 9);
    if (p.low == 0 && (p.high & 0x1ff) == 0 && (m & 3) == 1)
        return false;
    int exponent = wire_power_log2(q) + 11 - shift + top;
    if (exponent < -1074) { /* no tie is possible here: 19 digits end long before */
        const int below = -1074 - exponent;
        m = below < 64 ? m >> below : 0;
        exponent = -1074;
    }
    *out = assembled((struct binary){.mantissa = (m + (m & 1)) >> 1, .exponent = exponent});
    return true;
}

/* ---- Integers of any size -------------------------------------------------------------------- */

/* An integer; the lowest limb first. The largest are 801 digits or 5^1150 * 2^54, below 2^2800. */
struct big {
    uint64_t limb[48];
    int count;
};

static void big_multiply_add(struct big *a, uint64_t factor, uint64_t addend)
{
    for (int i = 0; i < a->count; i++) {
        const wire_product p = wire_multiply(a->limb[i], factor);
        a->limb[i] = p.low + addend;
        addend = p.high + (a->limb[i] < addend);
    }
    if (addend != 0) {
        assert(a->count < (int)(sizeof a->limb / sizeof *a->limb));
        a->limb[a->count++] = addend;
    }
}

static void big_multiply_pow5(struct big *a, int exponent)
{
    const uint64_t pow5_27 = 7450580596923828125u; /* the largest power of five in 64 bits */
    for (; exponent >= 27; exponent -= 27)
        big_multiply_add(a, pow5_27, 0);
    uint64_t rest = 1;
    for (; exponent > 0; exponent--)
        rest *= 5;
    big_multiply_add(a, rest, 0);
}

static void big_shift_left(struct big *a, int bits)
{
    const int limbs = bits / 64;
    assert(a->count + limbs <= (int)(sizeof a->limb / sizeof *a->limb));
    memmove(a->limb + limbs, a->limb, (size_t)a->count * sizeof *a->limb);
    memset(a->limb, 0, (size_t)limbs * sizeof *a->limb);
    a->count += limbs;
    big_multiply_add(a, (uint64_t)1 << (bits % 64), 0);
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* Compares digits * 10^q with m * 2^e. */
static int compare(const struct big *number, int q, uint64_t m, int e)
{
    struct big left = *number, right = {.limb = {m}, .count = m != 0};
    if (q >= 0)
        big_multiply_pow5(&left, q);
    else
        big_multiply_pow5(&right, -q);
    if (q > e)
        big_shift_left(&left, q - e);
    else
        big_shift_left(&right, e - q);
    return big_compare(&left, &right);
}

/* Returns all digits of the text as an integer, to be multiplied by 10^*out_q. A tie of two doubles
 * has at most 767 digits, so of the digits beyond 800 it only matters whether one is not zero: a
 * single digit 1 then stands for them. */
static struct big all_digits(const struct decimal *d, int *out_q)
{
    struct big number = {.count = 0};
    /* the exponent belongs to the 19th digit if the significand was truncated, otherwise to the
     * last digit */
    int64_t exponent = d->exponent + (d->truncated ? 19 : 0);
    int kept = 0, written = 0;
    bool rest = false;
    for (const char *p = d->first; p < d->last; p++) {
        if (*p == '.' || (written == 0 && *p == '0'))
            continue;
        written++;
        if (kept < 800) {
            big_multiply_add(&number, 10, (uint64_t)(*p - '0'));
            kept++;
        } else {
            rest = rest || *p != '0';
        }
    }
    if (d->truncated)
        exponent -= kept;
    if (rest) {
        big_multiply_add(&number, 10, 1);
        exponent--;
    }
    *out_q = (int)exponent;
    return number;
}

/* Starts at a double below or at the number, made of the leading digits, and goes upwards by exact
 * comparisons. */
static double by_comparison(const struct decimal *d)
{
    const int shift = __builtin_clzll(d->significand), q19 = (int)d->exponent;
    const wire_product p =
        wire_multiply(d->significand << shift, wire_powers[q19 - WIRE_POWER_MIN][0]);
    const int top = (int)(p.high >> 63);
    struct binary b = {.mantissa = p.high >> (top + 10),
                       .exponent = wire_power_log2(q19) + 11 - shift + top};
    if (b.exponent < -1074) {
        const int below = -1074 - b.exponent;
        b = (struct binary){.mantissa = below < 64 ? b.mantissa >> below : 0, .exponent = -1074};
    }
    int q;
    const struct big number = all_digits(d, &q);
    for (;;) {
        const int order = compare(&number, q, 2 * b.mantissa + 1, b.exponent - 1);
        if (order < 0 || (order == 0 && b.mantissa % 2 == 0))
            return assembled(b);
        b.mantissa++;
        if (b.mantissa == MANTISSA_END)
            b = (struct binary){.mantissa = HIDDEN_BIT, .exponent = b.exponent + 1};
        if (order == 0)
            return assembled(b);
    }
}

/* Returns the nearest double of a number that is not a quotient or product of two exact doubles.
 * Not inlined, so that the common way needs no stack memory. */
__attribute__((noinline)) static double nearest(const char *first, const char *last,
                                                uint64_t significand, int64_t exponent,
                                                ptrdiff_t count)
{
    struct decimal d = {
        .first = first, .last = last, .significand = significand, .exponent = exponent};
    if (count > 19)
        keep_leading_digits(&d, count);
    if (d.significand == 0 || d.exponent < WIRE_POWER_MIN)
        return 0.0;
    if (d.exponent > WIRE_POWER_MAX)
        return (double)INFINITY;
    double value, above;
    if (one_product(d.significand, (int)d.exponent, &value) &&
        (!d.truncated ||
         (one_product(d.significand + 1, (int)d.exponent, &above) && value == above)))
        return value;
    return by_comparison(&d);
}

const char *wire_number_read(const char *at, const char *end, double *out)
{
    const bool negative = at < end && *at == '-';
    at += negative;
    const char *const first = at;
    uint64_t w = 0;
    for (; at < end && is_digit(*at); at++)
        w = w * 10 + (uint64_t)(*at - '0');
    ptrdiff_t count = at - first; /* of digits */
    if (count == 0 || (count > 1 && *first == '0'))
        return NULL;
    int64_t exponent = 0;
    if (at < end && *at == '.') {
        const char *const fraction = ++at;
        for (unsigned some = 8; some == 8 && end - at >= 8;)
            at += some = some_digits(at, &w);
        for (; at < end && is_digit(*at); at++)
            w = w * 10 + (uint64_t)(*at - '0');
        if (at == fraction)
            return NULL;
        count += at - fraction;
        exponent = fraction - at;
    }
    const char *const last = at;
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *const power = at + 1;
        at = past_exponent(power, end);
        if (at == NULL)
            return NULL;
        exponent += exponent_of(power, at);
    }

    /* Two exact doubles and one rounding (Clinger). */
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value;
    if (count <= 19 && w <= MANTISSA_END && exponent >= -22 && exponent <= 22) {
        value = (double)w;
        value = exponent < 0 ? value / exact[-exponent] : value * exact[exponent];
    } else {
        value = nearest(first, last, w, exponent, count);
    }
    *out = negative ? -value : value;
    return at;
}
