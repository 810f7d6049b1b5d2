/* CBOR from and to jansson's values, by libcbor: what tests hold our reader and our writer against. */
#ifndef TEST_SUPPORT_CBOR_H
#define TEST_SUPPORT_CBOR_H

#include <jansson.h>
#include <stddef.h>

/* The one item that the bytes are, typed arrays (RFC 8746, tags 70, 85 and 86) as arrays of numbers. NULL when it is not
 * well-formed, is not all of the bytes, or holds what JSON has not. */
json_t *cbor_read(const void *bytes, size_t length);

/* How many typed arrays the last cbor_read of this thread met. */
size_t cbor_typed_arrays(void);

/* The value as CBOR without typed arrays; the caller frees it. NULL: no memory. */
char *cbor_written(const json_t *value, size_t *out_length);

#endif
