/* A growing run of bytes: what answers are written into. */
#ifndef WIRE_BUF_H
#define WIRE_BUF_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory is an empty buffer. After a failed growth `failed` stays set and writes are ignored, so that writers
 * check once, at the end. */
struct wire_buf {
    char *bytes; /* owned, from the heap */
    size_t length, capacity;
    bool failed;
};

void wire_buf_fini(struct wire_buf *buf);

/* Grows the buffer until `size` more bytes fit; the end of what is written, or NULL when failed. */
char *wire_buf_grow(struct wire_buf *buf, size_t size);

/* Room for `size` more bytes, to be written at the returned place and then counted by wire_buf_added; NULL when failed. */
static inline char *wire_buf_room(struct wire_buf *buf, size_t size)
{
    return !buf->failed && size <= buf->capacity - buf->length && buf->bytes != NULL
               ? buf->bytes + buf->length
               : wire_buf_grow(buf, size);
}

static inline void wire_buf_added(struct wire_buf *buf, size_t size)
{
    assert(size <= buf->capacity - buf->length);
    buf->length += size;
}

void wire_buf_append(struct wire_buf *buf, const void *bytes, size_t size);

#endif
