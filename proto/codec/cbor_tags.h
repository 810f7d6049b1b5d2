/* The tags of CBOR that both directions use. */
#ifndef WIRE_CBOR_TAGS_H
#define WIRE_CBOR_TAGS_H

enum {
    WIRE_TAG_BIGNUM = 2,          /* RFC 8949, 3.4.3: a whole number, big-endian bytes */
    WIRE_TAG_NEGATIVE_BIGNUM = 3, /* -1 minus such a number */
    WIRE_TAG_U8 = 64,             /* RFC 8746: an array of unsigned 8-bit integers */
    WIRE_TAG_U32LE = 70, /* RFC 8746: an array of unsigned 32-bit integers, little-endian */
    WIRE_TAG_F32LE = 85, /* RFC 8746: an array of float32, little-endian */
    WIRE_TAG_F64LE = 86  /* RFC 8746: an array of float64, little-endian */
};

#endif
