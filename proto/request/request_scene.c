#include "proto/request/request_scene.h"

#include "proto/request/object.h"
#include "proto/request/request_body.h"
#include "proto/request/request_scene_body.h"
#include "proto/request/value.h"

#include <stdio.h>

static bool too_much(struct wire_cursor *c, size_t place, const char *option, double most)
{
    enum { ROOM = 96 };
    char *detail = obb_arena_alloc(c->arena, ROOM, 1);
    if (detail == NULL)
        return wire_fail_memory(c);
    (void)snprintf(detail, ROOM, "0 to %.15g, as %s says", most, option);
    return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, detail);
}

bool wire_read_history(struct wire_cursor *c, const obb_settings *most, obb_settings *settings,
                       unsigned *out_fields)
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
            if (most != NULL && settings->history_span > most->history_span)
                return too_much(c, o.where[SPAN], "--history-max", most->history_span);
        } else {
            if (!wire_read_whole(c, 0, (double)UINT32_MAX, &whole))
                return false;
            settings->history_commits = (uint32_t)whole;
            if (most != NULL && settings->history_commits > most->history_commits)
                return too_much(c, o.where[COMMITS], "--history-commits-max",
                                (double)most->history_commits);
        }
    }
    *out_fields = o.seen;
    return !c->failed;
}

bool wire_read_record_setting(struct wire_cursor *c, obb_settings *settings)
{
    double whole;
    if (!wire_read_whole(c, 0, OBB_MAX_RECORD, &whole))
        return false;
    settings->record = (uint32_t)whole;
    return true;
}

static bool read_settings(struct wire_cursor *c, const obb_settings *most, wire_settings *out)
{
    enum { DIMENSIONS, HISTORY, RECORD, DURABLE, COUNT };
    static const obb_str fields[COUNT] = {[DIMENSIONS] = WIRE_FIELD("dimensions"),
                                          [HISTORY] = WIRE_FIELD("history"),
                                          [RECORD] = WIRE_FIELD("record"),
                                          [DURABLE] = WIRE_FIELD("durable")};
    struct wire_object o;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    double whole;
    unsigned history = 0;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        if (field == DIMENSIONS) {
            if (!wire_read_whole(c, 2, 3, &whole))
                return false;
            out->settings.dimensions = (int)whole;
        } else if (field == DURABLE) {
            if (!wire_read_bool(c, &out->durable))
                return false;
        } else if (field == RECORD ? !wire_read_record_setting(c, &out->settings)
                                   : !wire_read_history(c, most, &out->settings, &history)) {
            return false;
        }
    }
    out->has_dimensions = wire_object_has(&o, DIMENSIONS);
    out->has_record = wire_object_has(&o, RECORD);
    out->has_durable = wire_object_has(&o, DURABLE);
    out->has_span = (history & WIRE_HISTORY_SPAN) != 0;
    out->has_commits = (history & WIRE_HISTORY_COMMITS) != 0;
    return !c->failed;
}

bool wire_read_settings(const wire_body *body, const obb_settings *most, struct obb_arena *arena,
                        wire_settings *out, wire_problem *problem)
{
    struct wire_cursor c;
    wire_settings sent = {.has_dimensions = false};
    wire_body_open(&c, body, arena);
    if (!wire_body_close(&c, read_settings(&c, most, &sent), problem))
        return false;
    *out = sent;
    return true;
}

obb_settings wire_settings_over(const wire_settings *sent, obb_settings current)
{
    if (sent->has_dimensions)
        current.dimensions = sent->settings.dimensions;
    if (sent->has_span)
        current.history_span = sent->settings.history_span;
    if (sent->has_commits)
        current.history_commits = sent->settings.history_commits;
    if (sent->has_record)
        current.record = sent->settings.record;
    return current;
}
