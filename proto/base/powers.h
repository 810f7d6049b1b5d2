/* The powers of ten to 128 bits, for reading and writing doubles. proto/contract/tools/powers.c
 * computes the table at build time. */
#ifndef WIRE_POWERS_H
#define WIRE_POWERS_H

#include <stdbool.h>
#include <stdint.h>

enum { WIRE_POWER_MIN = -342, WIRE_POWER_MAX = 324 };

/* wire_powers[e - WIRE_POWER_MIN] is the first 128 bits of 10^e, high word first, rounded towards
 * zero: 10^e = (p + d) * 2^(floor(log2(10^e)) - 127) with 2^127 <= p < 2^128 and 0 <= d < 1. */
extern const uint64_t wire_powers[WIRE_POWER_MAX - WIRE_POWER_MIN + 1][2];

/* Tells whether d is 0. 5^55 is the largest power of five below 2^128. */
static inline bool wire_power_exact(int exponent) { return 0 <= exponent && exponent <= 55; }

/* Returns floor(log2(10^e)), for -1650 <= e <= 1650. */
static inline int wire_power_log2(int exponent) { return (exponent * 1741647) >> 19; }

#endif
