#include "proto/base/crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* bit 31 is the coefficient of x^0 */

/* The remainder with one bit, or four, shifted in. */
#define BIT(c)    ((c) >> 1 ^ (POLYNOMIAL & (0u - ((c)&1u))))
#define NIBBLE(c) BIT(BIT(BIT(BIT(c))))

/* The remainders of all nibbles. */
static const uint32_t remainders[16] = {NIBBLE(0u),  NIBBLE(1u),  NIBBLE(2u),  NIBBLE(3u),
                                        NIBBLE(4u),  NIBBLE(5u),  NIBBLE(6u),  NIBBLE(7u),
                                        NIBBLE(8u),  NIBBLE(9u),  NIBBLE(10u), NIBBLE(11u),
                                        NIBBLE(12u), NIBBLE(13u), NIBBLE(14u), NIBBLE(15u)};

static uint32_t by_nibbles(uint32_t crc, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ remainders[crc & 15u];
        crc = crc >> 4 ^ remainders[crc & 15u];
    }
    return crc;
}

#if defined(__x86_64__)

/* The instruction that SSE 4.2 has for this checksum takes eight bytes at a time. */
__attribute__((target("sse4.2"))) static uint32_t by_words(uint32_t crc, const unsigned char *bytes,
                                                           size_t length)
{
    uint64_t wide = crc;
    size_t i = 0;
    for (; length - i >= 8; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    return by_nibbles((uint32_t)wide, bytes + i, length - i);
}

uint32_t wire_crc32c(const void *bytes, size_t length)
{
    return ~(__builtin_cpu_supports("sse4.2") ? by_words : by_nibbles)(UINT32_MAX, bytes, length);
}

#else

uint32_t wire_crc32c(const void *bytes, size_t length)
{
    return ~by_nibbles(UINT32_MAX, bytes, length);
}

#endif

uint32_t wire_crc32c_plain(const void *bytes, size_t length)
{
    return ~by_nibbles(UINT32_MAX, bytes, length);
}
