#include "proto/base/buf.h"

#include "core/obb.h"

#include <stdint.h>
#include <string.h>

void wire_buf_fini(struct wire_buf *buf)
{
    obb_free(buf->bytes);
    *buf = (struct wire_buf){0};
}

void wire_buf_restart(struct wire_buf *buf, size_t capacity)
{
    assert(capacity <= buf->capacity);
    if (capacity < buf->capacity) {
        char *bytes = obb_realloc(buf->bytes, capacity, 1);
        buf->bytes = bytes != NULL ? bytes : buf->bytes;
        buf->capacity = capacity;
    }
    buf->length = 0;
    buf->failed = false;
}

char *wire_buf_grow(struct wire_buf *buf, size_t size)
{
    if (buf->failed)
        return NULL;
    size_t capacity = buf->capacity < 256 ? 256 : buf->capacity;
    while (capacity - buf->length < size) {
        if (capacity > SIZE_MAX / 4) {
            buf->failed = true;
            return NULL;
        }
        capacity *= 2;
    }
    char *bytes = obb_realloc(buf->bytes, capacity, 1);
    if (bytes == NULL) {
        buf->failed = true;
        return NULL;
    }
    buf->bytes = bytes;
    buf->capacity = capacity;
    return bytes + buf->length;
}

void wire_buf_append(struct wire_buf *buf, const void *bytes, size_t size)
{
    char *room = wire_buf_room(buf, size);
    if (room == NULL)
        return;
    if (size != 0)
        memcpy(room, bytes, size);
    buf->length += size;
}
