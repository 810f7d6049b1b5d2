/* A growing run of bytes: what answers are written into. */
#ifndef WIRE_BUF_H
#define WIRE_BUF_H

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

/* Room for `size` more bytes, to be written at the returned place and then counted by wire_buf_added; NULL when failed. */
char *wire_buf_room(struct wire_buf *buf, size_t size);
void wire_buf_added(struct wire_buf *buf, size_t size);
void wire_buf_append(struct wire_buf *buf, const void *bytes, size_t size);

/* Takes the bytes out; the caller frees them with obb_free. */
char *wire_buf_take(struct wire_buf *buf, size_t *out_length);

#endif
