#include "proto/request/request_scene.h"

#include "proto/request/object.h"
#include "proto/request/request_body.h"
#include "proto/request/request_scene_body.h"
#include "proto/request/value.h"

bool wire_read_history(struct wire_cursor *c, obb_settings *settings, unsigned *out_fields)
{
    enum { SPAN, COMMITS, COUNT };
    static const obb_str fields[COUNT] = {
        [SPAN] = WIRE_FIELD("span"), [COMMITS] = WIRE_FIELD("commits")};
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    double whole;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        if (field == SPAN) {
            if (!wire_read_real(c, WIRE_SPAN, &settings->history_span))
                return false;
        } else {
            if (!wire_read_whole(c, 0, (double)UINT32_MAX, &whole))
                return false;
            settings->history_commits = (uint32_t)whole;
        }
    }
    *out_fields = o.seen;
    return !c->failed;
}

static bool read_settings(struct wire_cursor *c, obb_settings *settings)
{
    enum { DIMENSIONS, HISTORY, COUNT };
    static const obb_str fields[COUNT] = {
        [DIMENSIONS] = WIRE_FIELD("dimensions"), [HISTORY] = WIRE_FIELD("history")};
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    double whole;
    unsigned unused;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        if (field == DIMENSIONS) {
            if (!wire_read_whole(c, 2, 3, &whole))
                return false;
            settings->dimensions = (int)whole;
        } else if (!wire_read_history(c, settings, &unused)) {
            return false;
        }
    }
    return !c->failed;
}

bool wire_read_settings(const wire_body *body, const obb_settings *current, struct obb_arena *arena,
                        obb_settings *out, wire_problem *problem)
{
    struct wire_cursor c;
    obb_settings settings = *current;
    wire_body_open(&c, body, arena);
    if (!wire_body_close(&c, read_settings(&c, &settings), problem))
        return false;
    *out = settings;
    return true;
}
