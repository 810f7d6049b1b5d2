/* libcbor as the oracle of our CBOR: it must take every document that our cursor takes. Used by
 * tests and fuzzers. */
#ifndef TEST_PROTO_ORACLE_CBOR_H
#define TEST_PROTO_ORACLE_CBOR_H

#include <cbor.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Puts a value that libcbor knows, of the same number of bytes and items, in place of one that is
 * well-formed (RFC 8949) but unknown to it. Returns false if it is neither. */
static inline bool oracle_cbor_replace(unsigned char *at, size_t left)
{
    if (left > 0 && at[0] >= 0xc6 && at[0] <= 0xd4) /* tags of one byte */
        at[0] = 0xc1;
    else if (left > 0 && at[0] >= 0xe0 && at[0] <= 0xf3) /* simple values of one byte */
        at[0] = 0xf6;
    else if (left > 1 && at[0] == 0xf8 && at[1] >= 32) /* and of two */
        at[0] = 0x18;
    else
        return false;
    return true;
}

/* Returns whether the bytes are one document of CBOR, and nothing follows. */
static inline bool oracle_cbor(const void *bytes, size_t length)
{
    unsigned char *copy = malloc(length + 1);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, length);
    struct cbor_load_result result;
    cbor_item_t *item;
    do {
        item = cbor_load(copy, length, &result);
    } while (item == NULL && result.error.code == CBOR_ERR_MALFORMATED &&
             oracle_cbor_replace(copy + result.error.position, length - result.error.position));
    free(copy);
    if (item == NULL)
        return false;
    cbor_decref(&item);
    return result.read == length;
}

#endif
