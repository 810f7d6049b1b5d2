/* Bytes read and written as whole numbers, the first byte lowest, on every machine. */
#ifndef OBB_WORD_H
#define OBB_WORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns eight bytes as a number. */
static inline uint64_t obb_word_at(const void *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Writes a number as eight bytes. */
static inline void obb_word_put(void *bytes, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(bytes, &word, sizeof word);
}

/* Returns the first `count` bytes as a number, at most eight. Reads no byte behind them. A copy of
 * `count` bytes into a word takes a call and then waits for the word: 10 ns for a short name. */
static inline uint64_t obb_word_of(const void *bytes, size_t count)
{
    const unsigned char *p = bytes;
    if (count >= 8)
        return obb_word_at(p);
    if (count >= 4) { /* two halves, which overlap */
        uint32_t low, high;
        memcpy(&low, p, sizeof low);
        memcpy(&high, p + count - sizeof high, sizeof high);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        low = __builtin_bswap32(low);
        high = __builtin_bswap32(high);
#endif
        return low | (uint64_t)high << (8 * (count - sizeof high));
    }
    if (count == 0)
        return 0;
    return (uint64_t)p[0] | (uint64_t)p[count / 2] << (8 * (count / 2)) |
           (uint64_t)p[count - 1] << (8 * (count - 1));
}

#endif
