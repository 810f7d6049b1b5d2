#include "server/journal/excerpt.h"

void srv_excerpt_clear(struct srv_excerpt *e)
{
    for (size_t i = 0; i < e->count; i++)
        wire_buf_fini(&e->rows[i].bytes);
    e->count = e->bytes = 0;
}
