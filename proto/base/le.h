/* Reading little-endian numbers from unaligned bytes, on any machine. Compilers make one load of
 * each function. */
#ifndef WIRE_LE_H
#define WIRE_LE_H

#include <stdint.h>
#include <string.h>

static inline uint32_t wire_u32le(const void *bytes)
{
    const unsigned char *b = bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
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
    const uint64_t bits =
        (uint64_t)wire_u32le(bytes) | (uint64_t)wire_u32le((const char *)bytes + 4) << 32;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
