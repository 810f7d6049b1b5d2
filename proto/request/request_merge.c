#include "proto/request/request_merge.h"

#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/request_body.h"
#include "proto/request/value.h"

static bool read_with(struct wire_cursor *c, obb_merge *merge)
{
    const size_t place = wire_place(c);
    struct wire_list list;
    if (!wire_list_begin_limited(&list, c, sizeof(obb_target), WIRE_MERGE_NAMES,
                                 "a merge takes 1 to 1,000 names"))
        return false;
    while (wire_next_item(c)) {
        obb_target *target = wire_list_add(&list);
        if (target == NULL || !wire_read_target(c, target))
            return false;
    }
    if (c->failed)
        return false;
    merge->with = (const obb_target *)(const void *)list.items;
    merge->with_count = list.count;
    return list.count > 0 ||
           wire_fail_at(c, WIRE_OBB_BAD_COUNT, place, "a merge needs another box");
}

static bool read_merge(struct wire_cursor *c, obb_merge *merge)
{
    static const obb_str fields[] = {WIRE_FIELD("with")};
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, 1))
        return false;
    while (wire_object_next(&o) >= 0)
        if (!read_with(c, merge))
            return false;
    return !c->failed && wire_object_need(&o, 0);
}

bool wire_read_merge(const wire_body *body, obb_str name, struct obb_arena *arena, obb_merge *out,
                     wire_problem *problem)
{
    struct wire_cursor c;
    obb_merge merge = {.target = {.name = name}};
    wire_body_open(&c, body, arena);
    if (!wire_body_close(&c, read_merge(&c, &merge), problem))
        return false;
    *out = merge;
    return true;
}
