#include "core/base/hash.h"

#include "core/base/word.h"

static uint64_t rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }

struct lanes {
    uint64_t v0, v1, v2, v3;
};

static struct lanes mixed(struct lanes s)
{
    s.v0 += s.v1;
    s.v1 = rotated(s.v1, 13) ^ s.v0;
    s.v0 = rotated(s.v0, 32);
    s.v2 += s.v3;
    s.v3 = rotated(s.v3, 16) ^ s.v2;
    s.v0 += s.v3;
    s.v3 = rotated(s.v3, 21) ^ s.v0;
    s.v2 += s.v1;
    s.v1 = rotated(s.v1, 17) ^ s.v2;
    s.v2 = rotated(s.v2, 32);
    return s;
}

static struct lanes absorbed(struct lanes s, uint64_t word)
{
    s.v3 ^= word;
    s = mixed(s);
    s.v0 ^= word;
    return s;
}

uint64_t obb_hash(obb_hash_key key, const void *bytes, size_t length)
{
    struct lanes s = {
        .v0 = key.k0 ^ 0x736f6d6570736575u,
        .v1 = key.k1 ^ 0x646f72616e646f6du,
        .v2 = key.k0 ^ 0x6c7967656e657261u,
        .v3 = key.k1 ^ 0x7465646279746573u,
    };
    const unsigned char *p = bytes;
    size_t left = length;
    for (; left >= 8; left -= 8, p += 8)
        s = absorbed(s, obb_word_at(p));
    uint64_t last = (uint64_t)(length & 0xff) << 56;
    if (length >= 8) /* one load, shifted past the bytes that were absorbed already */
        last |= left == 0 ? 0 : obb_word_at(p + left - 8) >> (64 - 8 * left);
    else
        last |= obb_word_of(p, left);
    s = absorbed(s, last);
    s.v2 ^= 0xff;
    s = mixed(mixed(mixed(s)));
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

obb_hash_key obb_hash_key_of_place(const void *place)
{
    const uint64_t address = (uint64_t)(uintptr_t)place;
    const obb_hash_key key = {.k0 = address, .k1 = rotated(address, 32)};
    return (obb_hash_key){.k0 = obb_hash(key, "k0", 2), .k1 = obb_hash(key, "k1", 2)};
}
