#include "proto/request/request_merge.h"

#include "proto/request/object.h"
#include "proto/request/request_body.h"
#include "proto/request/value.h"

static bool read_merge(struct wire_cursor *c, obb_merge *merge)
{
    static const obb_str fields[] = {WIRE_FIELD("with")};
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, 1))
        return false;
    while (wire_object_next(&o) >= 0) {
        const size_t place = wire_place(c);
        if (!wire_read_targets(c, &merge->with, &merge->with_count))
            return false;
        if (merge->with_count == 0)
            return wire_fail_at(c, WIRE_OBB_BAD_COUNT, place, "a merge needs another box");
    }
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
