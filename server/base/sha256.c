#include "server/base/sha256.h"

#include <stdint.h>
#include <string.h>

/* Fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void digest_block(uint32_t h[static 8], const unsigned char *bytes)
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++, bytes += 4)
        w[i] = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
               bytes[3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    uint32_t v[8];
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t sum1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t sum0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t t = v[7] + sum1 + choice + constants[i] + w[i];
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t;
        v[0] = t + sum0 + majority;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void srv_sha256(const void *bytes, size_t length, unsigned char out[static SRV_SHA256])
{
    /* fractional parts of the square roots of the first 8 primes (5.3.3) */
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *at = bytes;
    size_t left = length;
    for (; left >= 64; at += 64, left -= 64)
        digest_block(h, at);
    unsigned char last[128] = {0}; /* the rest, a one bit, zeroes, and the length in bits */
    if (left > 0)
        memcpy(last, at, left);
    last[left] = 0x80;
    const size_t size = left < 56 ? 64 : 128;
    const uint64_t bits = (uint64_t)length * 8;
    for (int i = 0; i < 8; i++)
        last[size - 1 - (size_t)i] = (unsigned char)(bits >> (8 * i));
    digest_block(h, last);
    if (size == 128)
        digest_block(h, last + 64);
    for (int i = 0; i < SRV_SHA256; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}
