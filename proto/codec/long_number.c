#include "proto/codec/long_number.h"

#include "proto/base/number.h"

#include <inttypes.h>
#include <stdio.h>

/* A tie of two doubles has at most 767 digits. Of the digits after these it only matters whether
 * one is not zero. */
enum { KEPT = 800 };

/* 0 or the kept digits as an integer, times 10^exponent. */
struct short_number {
    char digits[KEPT];
    size_t kept;
    bool rest; /* a digit that was not kept is not zero */
    int64_t exponent;
};

static bool is_digit(const struct wire_cursor *c, const char *at)
{
    return at < c->end && *at >= '0' && *at <= '9';
}

/* Returns true if it is not yet time to poll, or the work goes on. */
static bool polled(struct wire_cursor *c, const char *at, const char *first)
{
    return (at - first) % WIRE_POLLED_BYTES != WIRE_POLLED_BYTES - 1 || wire_goes_on(c);
}

/* Takes the digits at `at`, which stand before or after the point. Returns their end, or NULL if
 * there is none. */
static const char *take_digits(struct wire_cursor *c, const char *at, bool fraction,
                               struct short_number *n)
{
    const char *const first = at;
    for (; is_digit(c, at); at++) {
        if (!polled(c, at, first))
            return NULL;
        if (n->kept == KEPT) {
            n->rest = n->rest || *at != '0';
            n->exponent += !fraction;
            continue;
        }
        if (n->kept > 0 || *at != '0')
            n->digits[n->kept++] = *at;
        n->exponent -= fraction;
    }
    const bool leading_zero = !fraction && at - first > 1 && *first == '0';
    return at == first || leading_zero ? NULL : at;
}

/* Takes the exponent after the letter e. Returns its end, or NULL if there is none. */
static const char *take_exponent(struct wire_cursor *c, const char *at, struct short_number *n)
{
    const bool minus = at < c->end && *at == '-';
    at += at < c->end && (*at == '-' || *at == '+');
    const char *const first = at;
    int64_t exponent = 0;
    for (; is_digit(c, at); at++) {
        if (!polled(c, at, first))
            return NULL;
        if (exponent < INT64_MAX / 100) /* beyond what any number of digits could bring back */
            exponent = exponent * 10 + (*at - '0');
    }
    n->exponent += minus ? -exponent : exponent;
    return at == first ? NULL : at;
}

const char *wire_long_number_read(struct wire_cursor *c, const char *at, double *out)
{
    struct short_number n;
    n.kept = 0;
    n.rest = false;
    n.exponent = 0;
    const bool negative = at < c->end && *at == '-';
    at = take_digits(c, at + negative, false, &n);
    if (at != NULL && at < c->end && *at == '.')
        at = take_digits(c, at + 1, true, &n);
    if (at != NULL && at < c->end && (*at == 'e' || *at == 'E'))
        at = take_exponent(c, at + 1, &n);
    if (at == NULL)
        return NULL;
    if (n.kept == 0)
        n.digits[n.kept++] = '0';
    char text[KEPT + 32];
    const int length = snprintf(text, sizeof text, "%s%.*s%se%" PRId64, negative ? "-" : "",
                                (int)n.kept, n.digits, n.rest ? "1" : "", n.exponent - n.rest);
    (void)wire_number_read(text, text + length, out);
    return at;
}
