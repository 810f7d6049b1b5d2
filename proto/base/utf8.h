/* UTF-8 (RFC 3629): shortest forms alone, no surrogates, nothing beyond U+10FFFF. */
#ifndef WIRE_UTF8_H
#define WIRE_UTF8_H

#include "core/obb.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the sequence at the start of [at, end), 1 to 4; 0 when it is not valid. */
size_t wire_utf8_length(const char *at, const char *end);

bool wire_utf8_valid(obb_str text);

/* Writes a code point (no surrogate), returns its length. */
size_t wire_utf8_put(uint32_t code, char out[static 4]);

#endif
