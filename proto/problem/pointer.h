/* JSON pointers (RFC 6901): the place in a request body that a problem names. */
#ifndef WIRE_POINTER_H
#define WIRE_POINTER_H

#include "core/obb.h"

#include <stdbool.h>
#include <stddef.h>

/* A pointer that grows by one reference token at a time. Zeroed memory is the pointer to the whole
 * document. If a key does not fit or holds a zero byte, `full` is set and later tokens are ignored,
 * so the pointer ends at the enclosing value. */
struct wire_pointer {
    char text[1024]; /* not terminated */
    size_t length;
    bool full;
};

/* Appends an object's key. Escapes ~ and / as ~0 and ~1. */
void wire_pointer_key(struct wire_pointer *pointer, obb_str key);

/* Appends an array's index, from 0. */
void wire_pointer_index(struct wire_pointer *pointer, size_t index);

/* Returns the text of the pointer, terminated, in the arena. Returns NULL if there is no memory. */
const char *wire_pointer_take(const struct wire_pointer *pointer, struct obb_arena *arena);

#endif
