/* Copies of exactly their size, so that a sanitizer sees one byte too many being read. */
#ifndef TEST_PROTO_EXACT_H
#define TEST_PROTO_EXACT_H

#include <stdlib.h>
#include <string.h>

/* The caller frees it. */
static inline char *exact_copy(const void *bytes, size_t length)
{
    char *copy = length > 0 ? malloc(length) : calloc(1, 1);
    if (copy == NULL)
        abort();
    if (length > 0)
        memcpy(copy, bytes, length);
    return length > 0 ? copy : copy + 1; /* an empty one ends where it begins */
}

static inline void exact_free(char *copy, size_t length) { free(length > 0 ? copy : copy - 1); }

#endif
