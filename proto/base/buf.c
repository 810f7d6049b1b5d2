#include "proto/base/buf.h"

#include "core/obb.h"

#include <stdint.h>
#include <string.h>

void wire_buf_fini(struct wire_buf *buf)
{
    obb_free(buf->bytes);
    obb_budget_give(buf->budget, buf->capacity);
    *buf = (struct wire_buf){.budget = buf->budget};
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
    if (!obb_budget_take(buf->budget, capacity - buf->capacity)) {
        buf->failed = true;
        return NULL;
    }
    char *bytes = obb_realloc(buf->bytes, capacity, 1);
    if (bytes == NULL) {
        obb_budget_give(buf->budget, capacity - buf->capacity);
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
