#include "proto/request/request_copy.h"

#include "proto/request/object.h"
#include "proto/request/request_body.h"
#include "proto/request/request_query_body.h"
#include "proto/request/value.h"

static bool read_copy(struct wire_cursor *c, wire_copy *copy)
{
    enum { TO, AT, REPLACE, COUNT };
    static const obb_str fields[COUNT] = {
        [TO] = WIRE_FIELD("to"), [AT] = WIRE_FIELD("at"), [REPLACE] = WIRE_FIELD("replace")};
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == TO        ? !wire_read_name(c, &copy->to)
            : field == REPLACE ? !wire_read_bool(c, &copy->replace)
                               : !(copy->has_at = wire_read_at(c, &copy->at)))
            return false;
    return !c->failed && wire_object_need(&o, TO);
}

bool wire_read_copy(const wire_body *body, struct obb_arena *arena, wire_copy *out,
                    wire_problem *problem)
{
    struct wire_cursor c;
    wire_copy copy = {.has_at = false};
    wire_body_open(&c, body, arena);
    if (!wire_body_close(&c, read_copy(&c, &copy), problem))
        return false;
    *out = copy;
    return true;
}
