/* Reading and writing little-endian numbers at unaligned bytes, on any machine. Compilers make one
 * load or one store of each function. */
#ifndef WIRE_LE_H
#define WIRE_LE_H

#include <stdint.h>
#include <string.h>

static inline uint32_t wire_u32le(const void *bytes)
{
    const unsigned char *b = bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t wire_u64le(const void *bytes)
{
    return (uint64_t)wire_u32le(bytes) | (uint64_t)wire_u32le((const char *)bytes + 4) << 32;
}

static inline double wire_f32le(const void *bytes)
{
    const uint32_t bits = wire_u32le(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static inline double wire_f64le(const void *bytes)
{
    const uint64_t bits = wire_u64le(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Both return the byte behind the number. (Of a loop over the bytes the compiler makes no single
 * store.) */
static inline unsigned char *wire_put_u32le(unsigned char *at, uint32_t number)
{
    at[0] = (unsigned char)number;
    at[1] = (unsigned char)(number >> 8);
    at[2] = (unsigned char)(number >> 16);
    at[3] = (unsigned char)(number >> 24);
    return at + 4;
}

static inline unsigned char *wire_put_u64le(unsigned char *at, uint64_t number)
{
    return wire_put_u32le(wire_put_u32le(at, (uint32_t)number), (uint32_t)(number >> 32));
}

#endif
