/* Converts CBOR to and from jansson's values with libcbor. Tests compare proto's reader and writer
 * with it. */
#ifndef TEST_SUPPORT_CBOR_H
#define TEST_SUPPORT_CBOR_H

#include <jansson.h>
#include <stddef.h>

/* Returns the item that the bytes encode, with typed arrays (RFC 8746, tags 64, 70, 85 and 86) as
 * arrays of numbers; the caller owns it. NULL: the bytes are not well-formed, hold more than one
 * item, or hold a value that JSON does not have. */
json_t *cbor_read(const void *bytes, size_t length);

/* Returns the number of typed arrays in the bytes of this thread's last cbor_read. */
size_t cbor_typed_arrays(void);

/* Returns the value as CBOR without typed arrays; the caller frees it. NULL: no memory. */
char *cbor_written(const json_t *value, size_t *out_length);

#endif
