/* Escapes in JSON strings (RFC 8259, 7). */
#ifndef WIRE_UNESCAPE_H
#define WIRE_UNESCAPE_H

#include <stddef.h>

/* Reads the escape whose backslash stands before `at`, and writes its code point to out as UTF-8. A
 * pair of surrogates is one code point. Returns the first byte after the escape, or NULL if [at,
 * end) begins with no escape or with half of a pair. */
const char *wire_json_unescape(const char *at, const char *end, char out[static 4],
                               size_t *out_length);

#endif
