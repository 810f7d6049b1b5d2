/* Products of 128 bits, as two words. */
#ifndef WIRE_WIDE_H
#define WIRE_WIDE_H

#include <stdint.h>

typedef struct wire_product {
    uint64_t high, low;
} wire_product;

static inline wire_product wire_multiply(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (wire_product){.high = (uint64_t)(product >> 64), .low = (uint64_t)product};
}

#endif
