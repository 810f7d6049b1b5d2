/* Growing buffers: answers are written into one. */
#ifndef WIRE_BUF_H
#define WIRE_BUF_H

#include "core/obb.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory is an empty buffer. If growth fails once, for want of memory
 * or because the budget is empty, `failed` stays set and later writes are
 * ignored, so a writer checks once, at the end. */
struct wire_buf {
    char *bytes; /* owned, from the heap */
    size_t length, capacity;
    bool failed;
    struct obb_budget *budget; /* growth draws from it; NULL: no limit */
    size_t own;                /* bytes of `capacity` that are not drawn: the owner bounds them */
};

/* Frees the bytes and gives back what they drew. The buffer is empty again, and keeps its budget
 * and `own`. */
void wire_buf_fini(struct wire_buf *buf);

/* Empties the buffer, also one that failed, and gives back what it holds beyond `capacity` bytes,
 * which it must have had before. Cannot fail. */
void wire_buf_restart(struct wire_buf *buf, size_t capacity);

/* Grows the buffer until `size` more bytes fit. Returns the end of the written bytes, or NULL if
 * the buffer failed. */
char *wire_buf_grow(struct wire_buf *buf, size_t size);

/* Returns room for `size` more bytes, or NULL if the buffer failed. The caller writes there and
 * counts the bytes with wire_buf_added. */
static inline char *wire_buf_room(struct wire_buf *buf, size_t size)
{
    return !buf->failed && size <= buf->capacity - buf->length && buf->bytes != NULL
               ? buf->bytes + buf->length
               : wire_buf_grow(buf, size);
}

/* Counts bytes that were written into the room. */
static inline void wire_buf_added(struct wire_buf *buf, size_t size)
{
    assert(size <= buf->capacity - buf->length);
    buf->length += size;
}

/* Appends a copy of the bytes. */
void wire_buf_append(struct wire_buf *buf, const void *bytes, size_t size);

#endif
