#include "proto/base/buf.h"

#include "core/obb.h"

#include <stdint.h>
#include <string.h>

void wire_buf_fini(struct wire_buf *buf)
{
    obb_free(buf->bytes);
    const size_t drawn = obb_budget_beyond(buf->capacity, buf->own);
    if (drawn != 0)
        obb_budget_give(buf->budget, drawn);
    *buf = (struct wire_buf){.budget = buf->budget, .own = buf->own};
}

void wire_buf_restart(struct wire_buf *buf, size_t capacity)
{
    assert(capacity <= buf->capacity);
    if (capacity < buf->capacity) {
        char *bytes = obb_realloc(buf->bytes, capacity, 1);
        buf->bytes = bytes != NULL ? bytes : buf->bytes;
        const size_t less =
            obb_budget_beyond(buf->capacity, buf->own) - obb_budget_beyond(capacity, buf->own);
        if (less != 0)
            obb_budget_give(buf->budget, less);
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
    const size_t more =
        obb_budget_beyond(capacity, buf->own) - obb_budget_beyond(buf->capacity, buf->own);
    if (more != 0 && !obb_budget_take(buf->budget, more)) {
        buf->failed = true;
        return NULL;
    }
    char *bytes = obb_realloc(buf->bytes, capacity, 1);
    if (bytes == NULL) {
        if (more != 0)
            obb_budget_give(buf->budget, more);
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
