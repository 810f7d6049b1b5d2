#include "proto/request/request.h"

#include "proto/codec/walk.h"
#include "proto/request/request_body.h"

#include <assert.h>

void wire_body_open(struct wire_cursor *c, const wire_body *body, struct obb_arena *arena)
{
    if (body->length == 0)
        wire_json_open(c, "{}", 2, arena);
    else if (body->media == WIRE_CBOR)
        wire_cbor_open(c, body->bytes, body->length, arena);
    else
        wire_json_open_for(c, body->bytes, body->length, arena, body->cancel);
    c->postponed = body->postponed;
    c->cancel = body->cancel;
}

bool wire_body_close(struct wire_cursor *c, bool ok, wire_problem *problem)
{
    if (ok && wire_finish(c))
        return true;
    assert(c->failed);
    *problem = wire_cursor_explain(c);
    return false;
}
