/* Whole numbers of any size that a double can have: from decimal digits (JSON) to big-endian bytes
 * (the bignums of CBOR, RFC 8949, 3.4.3) and back. */
#ifndef WIRE_BIGNUM_H
#define WIRE_BIGNUM_H

#include "core/obb.h"

#include <stdbool.h>

enum {
    WIRE_BIGNUM_BYTES = 128, /* doubles end below 2^1024 */
    WIRE_BIGNUM_DIGITS = 309
};

/* Writes the number that the digits say, or with `less_one` the number minus 1 (a negative bignum
 * counts from -1), in as few bytes as it takes.
 *
 * digits   a number below 2^1024; with `less_one` at least 1.
 * returns  how many bytes; 0 for the number 0.
 * Cost     at most about 5 us. */
size_t wire_bignum_bytes(obb_str digits, bool less_one,
                         unsigned char out[static WIRE_BIGNUM_BYTES]);

/* Writes the digits of the number, or with `one_more` of the number plus 1 (a negative bignum).
 * Leading zero bytes are allowed.
 *
 * returns  how many digits; 0 if the bytes say 2^1024 or more, so that no double is near.
 * Cost     at most about 5 us, however many bytes there are. */
size_t wire_bignum_digits(const void *bytes, size_t length, bool one_more,
                          char out[static WIRE_BIGNUM_DIGITS]);

#endif
