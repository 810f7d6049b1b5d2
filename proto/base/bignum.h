/* Whole numbers of any size that a double can have, as decimal digits and as bytes, big end first: what JSON says of
 * them, and what the bignums of CBOR say (RFC 8949, 3.4.3). */
#ifndef WIRE_BIGNUM_H
#define WIRE_BIGNUM_H

#include "core/obb.h"

#include <stdbool.h>

enum {
    WIRE_BIGNUM_BYTES = 128, /* doubles end below 2^1024 */
    WIRE_BIGNUM_DIGITS = 309
};

/* The number, less one where a negative one is to be written (CBOR counts those from -1), in as few bytes as it takes; returns
 * how many, 0 for the number 0. It is below 2^1024, and at least 1 where it is lessened. At most some 5 us. */
size_t wire_bignum_bytes(obb_str digits, bool less_one,
                         unsigned char out[static WIRE_BIGNUM_BYTES]);

/* The digits of the number, and one more where it is negative; returns how many. Zero bytes may come first. 0: it is 2^1024 or
 * more, so no double is near it. At most some 5 us, however many the bytes. */
size_t wire_bignum_digits(const void *bytes, size_t length, bool one_more,
                          char out[static WIRE_BIGNUM_DIGITS]);

#endif
