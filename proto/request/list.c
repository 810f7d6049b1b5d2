#include "proto/request/list.h"

#include <assert.h>

static bool grow(struct wire_list *list)
{
    enum { FIRST = 4, MANY = 256, SPARE = 32 };
    struct wire_cursor *c = list->c;
    if (list->count == list->most)
        return wire_fail_at(c, WIRE_OBB_BAD_COUNT, list->place, list->too_many);
    size_t room = list->room == 0 ? FIRST : list->room * 2;
    if (list->room >= MANY) {
        /* as many items of the average size as the rest of the body has room for, and a few more */
        const double used = (double)(wire_place(c) - list->start), left = (double)(c->end - c->at);
        const double more = (double)list->count * (left / used * 1.03) + SPARE;
        if (more < (double)list->room)
            room = list->room + (size_t)more;
    }
    room = room < list->most ? room : list->most;
    char *items = obb_arena_grow(c->arena, list->items, list->room, room, list->size);
    if (items == NULL)
        return wire_fail_memory(c);
    list->items = items;
    list->room = room;
    return true;
}

void *wire_list_add(struct wire_list *list)
{
    if (list->count == list->room && !grow(list))
        return NULL;
    return list->items + list->count++ * list->size;
}

void *wire_list_room(struct wire_list *list, size_t *out_room)
{
    assert(list->most == SIZE_MAX);
    if (list->count == list->room && !grow(list))
        return NULL;
    *out_room = list->room - list->count;
    return list->items + list->count * list->size;
}
