/* Writes the table of proto/base/powers.c: the first 128 bits of the powers of ten, by exact long
 * arithmetic. */
#include "proto/base/powers.h"

#include <stdio.h>
#include <string.h>

enum { LIMBS = 40 }; /* 32 bits each, the lowest first: 10^324 has 1,077 bits, 5^342 has 795 */

typedef struct natural {
    uint32_t limb[LIMBS];
} natural;

static void multiply(natural *n, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)n->limb[i] * factor;
        n->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int compare(const natural *a, const natural *b)
{
    for (int i = LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void subtract(natural *a, const natural *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        const uint64_t difference = (uint64_t)a->limb[i] - b->limb[i] - borrow;
        a->limb[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
}

static int bit(const natural *n, int i) { return (int)(n->limb[i / 32] >> (i % 32) & 1u); }

static int bit_length(const natural *n)
{
    int length = LIMBS * 32;
    while (length > 0 && !bit(n, length - 1))
        length--;
    return length;
}

static void print(int exponent, const uint64_t first[static 2])
{
    (void)printf("    {0x%016llxu, 0x%016llxu}, /* %d */\n", (unsigned long long)first[0],
                 (unsigned long long)first[1], exponent);
}

int main(void)
{
    for (int exponent = WIRE_POWER_MIN; exponent <= WIRE_POWER_MAX; exponent++) {
        natural power = {.limb = {1}};
        for (int i = 0; i < (exponent < 0 ? -exponent : exponent); i++)
            multiply(&power, 10);

        uint64_t first[2] = {0, 0};
        int found = 0; /* bits of the result, the leading one included */
        if (exponent >= 0) {
            const int length = bit_length(&power);
            for (; found < 128; found++) {
                const int at = length - 1 - found;
                const uint64_t digit = at >= 0 ? (uint64_t)bit(&power, at) : 0;
                first[found / 64] |= digit << (63 - found % 64);
            }
        } else { /* the binary expansion of 1 / power, by long division */
            natural rest = {.limb = {1}};
            while (found < 128) {
                multiply(&rest, 2);
                const uint64_t digit = compare(&rest, &power) >= 0;
                if (digit)
                    subtract(&rest, &power);
                if (found > 0 || digit) {
                    first[found / 64] |= digit << (63 - found % 64);
                    found++;
                }
            }
        }
        print(exponent, first);
    }
    return 0;
}
