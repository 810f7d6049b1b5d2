/* UTF-8 (RFC 3629): shortest forms only, no surrogates, no code point beyond U+10FFFF. */
#ifndef OBB_UTF8_H
#define OBB_UTF8_H

#include "core/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the sequence at the start of [at, end): 1 to 4 bytes, or 0 if the bytes
 * are not a valid sequence. An empty range returns 0. */
size_t obb_utf8_length(const char *at, const char *end);

/* Returns whether all of `text` is valid. O(length); ASCII is checked eight bytes at a time. */
bool obb_utf8_valid(obb_str text);

/* Writes the UTF-8 form of a code point to `out` and returns its length: 1 to 4 bytes. The code
 * point must not be a surrogate, and must be at most U+10FFFF. */
size_t obb_utf8_put(uint32_t code, char out[static 4]);

#endif
