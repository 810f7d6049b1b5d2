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

    /* Only of a list with a limit (see wire_list_begin_limited). */
    size_t place, most;
    const char *too_many;
};

/* Begins a list. The cursor stands before the first item. */
static inline struct wire_list wire_list_begin(struct wire_cursor *c, size_t item_size)
{
    return (struct wire_list){.c = c, .size = item_size, .start = wire_place(c), .most = SIZE_MAX};
}

/* Enters the array at the cursor and begins a list of its items that holds at most `most` items.
 * wire_list_add refuses one more: WIRE_OBB_BAD_COUNT at the array, with the detail `too_many`,
 * which is constant. Returns false if the cursor failed. */
static inline bool wire_list_begin_limited(struct wire_list *list, struct wire_cursor *c,
                                           size_t item_size, size_t most, const char *too_many)
{
    const size_t place = wire_place(c);
    if (!wire_enter_array(c))
        return false;
    *list = wire_list_begin(c, item_size);
    list->place = place;
    list->most = most;
    list->too_many = too_many;
    return true;
}

/* Returns room for one more item, not zeroed. Returns NULL if there is no memory or the list is at
 * its limit; both fail the cursor.
 *
 * Memory   short lists double. Long ones grow by as many items as the rest of the body has room
 *          for, judged by the items so far. A list takes at most a constant times the bytes that
 *          its items take in the body. */
void *wire_list_add(struct wire_list *list);

/* Returns room for further items of a list without a limit, not zeroed, and sets *out_room to their
 * number, at least 1. wire_list_keep adds the first ones to the list. Returns NULL where
 * wire_list_add does. */
void *wire_list_room(struct wire_list *list, size_t *out_room);

/* Adds `count` items that were written into the room of wire_list_room. */
static inline void wire_list_keep(struct wire_list *list, size_t count) { list->count += count; }

#endif
