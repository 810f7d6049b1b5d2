/* Lists: the items of an array or object, collected in the arena while they are read. */
#ifndef WIRE_LIST_H
#define WIRE_LIST_H

#include "proto/codec/cursor.h"

struct wire_list {
    struct wire_cursor *c;
    size_t size;  /* bytes of an item */
    size_t start; /* place of the first item */
    size_t count, room;
    char *items; /* in the arena; NULL while the list is empty */
};

/* Begins a list. The cursor stands before the first item. */
static inline struct wire_list wire_list_begin(struct wire_cursor *c, size_t item_size)
{
    return (struct wire_list){.c = c, .size = item_size, .start = wire_place(c)};
}

/* Returns room for one more item, not zeroed. Returns NULL if there is no memory, which fails the
 * cursor.
 *
 * Memory   short lists double. Long ones grow by as many items as the rest of the body has room
 *          for, judged by the items so far. A list takes at most a constant times the bytes that
 *          its items take in the body. */
void *wire_list_add(struct wire_list *list);

#endif
