/* A string as a pointer and a length: not terminated, and it does not own the bytes. */
#ifndef OBB_STR_H
#define OBB_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct obb_str {
    const char *bytes;
    size_t length;
} obb_str;

/* Returns the string of a terminated text, which must outlive the string. */
static inline obb_str obb_str_of(const char *text)
{
    return (obb_str){.bytes = text, .length = strlen(text)};
}

/* Returns whether both strings have the same bytes. */
static inline bool obb_str_equal(obb_str a, obb_str b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

/* Returns whether the first bytes of `text` are those of `prefix`. Every text starts with "". */
static inline bool obb_str_starts_with(obb_str text, obb_str prefix)
{
    return text.length >= prefix.length &&
           obb_str_equal((obb_str){.bytes = text.bytes, .length = prefix.length}, prefix);
}

/* Returns less than, equal to or more than 0 as `a` is before, equal to or behind `b` in byte
 * order. */
static inline int obb_str_compare(obb_str a, obb_str b)
{
    const size_t shorter = a.length < b.length ? a.length : b.length;
    const int bytes = shorter == 0 ? 0 : memcmp(a.bytes, b.bytes, shorter);
    return bytes != 0 ? bytes : (a.length > b.length) - (a.length < b.length);
}

#endif
