#include "proto/base/bignum.h"

#include <assert.h>
#include <string.h>

/* Digits are handled in groups of nine: a byte times the value of a group, and the remainder of a
 * group followed by a byte, fit in 64 bits. */
enum { GROUP = 9, GROUP_VALUE = 1000000000 };

size_t wire_bignum_bytes(obb_str digits, bool less_one, unsigned char out[static WIRE_BIGNUM_BYTES])
{
    unsigned char bytes[WIRE_BIGNUM_BYTES]; /* little-endian, so that the number can grow */
    size_t length = 0;
    for (size_t at = 0; at < digits.length;) {
        uint64_t factor = 1, carry = 0;
        for (; at < digits.length && factor < GROUP_VALUE; at++) {
            factor *= 10;
            carry = carry * 10 + (uint64_t)(digits.bytes[at] - '0');
        }
        for (size_t i = 0; i < length || carry > 0; i++) {
            assert(i < WIRE_BIGNUM_BYTES);
            if (i == length)
                bytes[length++] = 0;
            carry += bytes[i] * factor;
            bytes[i] = (unsigned char)carry;
            carry >>= 8;
        }
    }
    for (size_t i = 0; i < length && less_one; i++)
        less_one = bytes[i]-- == 0;
    if (length > 0 && bytes[length - 1] == 0)
        length--;
    for (size_t i = 0; i < length; i++)
        out[i] = bytes[length - 1 - i];
    return length;
}

size_t wire_bignum_digits(const void *bytes, size_t length, bool one_more,
                          char out[static WIRE_BIGNUM_DIGITS])
{
    const unsigned char *given = bytes;
    for (; length > 0 && *given == 0; given++)
        length--;
    if (length > WIRE_BIGNUM_BYTES)
        return 0;
    unsigned char number[1 + WIRE_BIGNUM_BYTES] = {0}; /* adding 1 may need one more byte */
    unsigned char *const end = number + sizeof number, *first = end - length - 1;
    if (length > 0)
        memcpy(end - length, given, length);
    for (unsigned char *at = end; one_more;)
        one_more = ++*--at == 0;

    char digits[WIRE_BIGNUM_DIGITS + GROUP];
    size_t at = sizeof digits;
    do { /* the last digits come first */
        uint64_t rest = 0;
        for (unsigned char *byte = first; byte < end; byte++) {
            rest = rest << 8 | *byte;
            *byte = (unsigned char)(rest / GROUP_VALUE);
            rest %= GROUP_VALUE;
        }
        while (first < end && *first == 0)
            first++;
        for (int i = 0; i < GROUP; i++, rest /= 10)
            digits[--at] = (char)('0' + rest % 10);
    } while (first < end);
    while (at < sizeof digits - 1 && digits[at] == '0')
        at++;
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}
