#include "proto/request/request_import.h"

#include "proto/base/keys.h"
#include "proto/codec/walk.h"
#include "proto/problem/detail.h"
#include "proto/request/edit_groups_body.h"
#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/request_box_body.h"
#include "proto/request/request_import_body.h"
#include "proto/request/request_scene_body.h"
#include "proto/request/value.h"

#include <stdio.h>
#include <string.h>

/* Reads {"next","hash"}: what a log says of the ids. */
static bool read_ids(struct wire_cursor *c, struct wire_export_header *header)
{
    enum { NEXT, HASH, COUNT };
    static const obb_str fields[COUNT] = {[NEXT] = WIRE_FIELD("next"), [HASH] = WIRE_FIELD("hash")};
    struct wire_object o;
    double next = 0;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;)
        if (field == NEXT ? !wire_read_whole(c, 1, OBB_MAX_WHOLE, &next)
                          : !wire_read_hash(c, &header->exact))
            return false;
    header->next_id = (uint64_t)next;
    return !c->failed && wire_object_need(&o, NEXT) && wire_object_need(&o, HASH);
}

bool wire_read_export_header(struct wire_cursor *c, struct wire_export_header *out)
{
    enum {
        FORMAT,
        VERSION,
        SCENE,
        DIMENSIONS,
        HISTORY,
        RECORD,
        BOXES,
        REVISION,
        TIME,
        HASH,
        IDS,
        FRAMES,
        COUNT
    };
    static const obb_str fields[COUNT] = {
        [FORMAT] = WIRE_FIELD("format"),   [VERSION] = WIRE_FIELD("version"),
        [SCENE] = WIRE_FIELD("scene"),     [DIMENSIONS] = WIRE_FIELD("dimensions"),
        [HISTORY] = WIRE_FIELD("history"), [RECORD] = WIRE_FIELD("record"),
        [BOXES] = WIRE_FIELD("boxes"),     [REVISION] = WIRE_FIELD("revision"),
        [TIME] = WIRE_FIELD("time"),       [HASH] = WIRE_FIELD("hash"),
        [IDS] = WIRE_FIELD("ids"),         [FRAMES] = WIRE_FIELD("frames")};
    static const obb_str formats[] = {WIRE_FIELD("obbd-scene")};
    struct wire_object o;
    struct wire_export_header header = {.has_time = false};
    unsigned history = 0;
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        int word;
        double whole;
        bool read = false;
        switch (field) {
        case FORMAT:
            read = wire_read_word(c, formats, 1, &word);
            break;
        case VERSION:
            read = wire_read_whole(c, 1, 2, &whole);
            header.framed = read && whole > 1;
            break;
        case SCENE: /* the scene may be imported under another name */
            read = wire_read_name(c, &header.scene);
            break;
        case DIMENSIONS:
            read = wire_read_whole(c, 2, 3, &whole);
            header.settings.dimensions = read ? (int)whole : 0;
            break;
        case HISTORY:
            read = wire_read_history(c, NULL, &header.settings, &history);
            if (read && history != (WIRE_HISTORY_SPAN | WIRE_HISTORY_COMMITS))
                return wire_fail_at(c, WIRE_MISSING_FIELD, o.where[HISTORY],
                                    "\"span\" or \"commits\" is missing");
            break;
        case RECORD:
            read = wire_read_record_setting(c, &header.settings);
            break;
        case BOXES:
            read = header.has_boxes = wire_read_whole(c, 0, OBB_MAX_WHOLE, &header.boxes);
            break;
        case FRAMES:
            read = header.has_frames = wire_read_whole(c, 0, OBB_MAX_WHOLE, &header.frames);
            break;
        case REVISION: /* the revision of the exported scene */
            read = header.has_revision = wire_read_whole(c, 0, OBB_MAX_WHOLE, &whole);
            header.revision = read ? (uint64_t)whole : 0;
            break;
        case HASH: /* of a log, like the next one */
            read = header.has_hash = wire_read_hash(c, &header.hash);
            break;
        case IDS:
            read = header.has_ids = read_ids(c, &header);
            break;
        default:
            read = header.has_time = wire_read_real(c, WIRE_TIME, &header.time);
            break;
        }
        if (!read)
            return false;
    }
    if (c->failed || !wire_object_need(&o, FORMAT) || !wire_object_need(&o, VERSION) ||
        !wire_object_need(&o, DIMENSIONS) || !wire_object_need(&o, HISTORY))
        return false;
    if (header.has_frames && !header.framed)
        return wire_fail_at(c, WIRE_UNKNOWN_FIELD, o.where[FRAMES], "version 1 has no frames");
    *out = header;
    return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The body while it is read. The outer cursor reads nothing itself: it stands at the beginning of
 * the next line, so that lists grow by the bytes that are left. */
struct import {
    struct wire_cursor outer;
    struct obb_arena *arena;
    size_t line; /* of the line that is read, from 0 */
    wire_problem *problem;
};

/* Returns the line at the outer cursor, without its newline, and moves the cursor past it. */
static obb_str next_line(struct import *import)
{
    const char *at = import->outer.at;
    const size_t left = (size_t)(import->outer.end - at);
    const char *newline = left > 0 ? memchr(at, '\n', left) : NULL;
    const char *end = newline != NULL ? newline : import->outer.end;
    import->outer.at = newline != NULL ? newline + 1 : end;
    return (obb_str){.bytes = at, .length = (size_t)(end - at)};
}

/* Notes the problem. The number of the line goes before the pointer, or into the detail if there is
 * no pointer. */
static bool refuse(struct import *import, wire_problem problem, const char *pointer)
{
    enum { ROOM = 1200 };
    char *text = pointer != NULL ? obb_arena_alloc(import->arena, ROOM, 1) : NULL;
    if (text != NULL) {
        (void)snprintf(text, ROOM, "/%zu%s", import->line, pointer);
        problem.pointer = text;
    } else {
        problem.detail =
            wire_detail(import->arena, "line %zu: %s", import->line + 1, problem.detail);
    }
    *import->problem = problem;
    return false;
}

/* Ends a line. Nothing may follow its value. */
static bool finish_line(struct import *import, struct wire_cursor *c, bool ok)
{
    import->outer.effort = c->effort;
    if (ok && wire_finish(c))
        return true;
    const bool malformed = c->fault.cause == WIRE_MALFORMED;
    const wire_problem problem = wire_cursor_explain(c);
    return refuse(import, problem, malformed || problem.pointer == NULL ? NULL : problem.pointer);
}

/* Checks that the names of `count` lines differ, of which the first is line `first`. Each name is
 * in an item of `size` bytes. */
static bool check_names(struct import *import, const obb_str *name, size_t count, size_t size,
                        size_t first, const char *what, const char *pointer)
{
    size_t repeated = 0;
    switch (count == 0 ? WIRE_KEYS_DIFFER
                       : wire_keys_check(name, count, size, import->outer.cancel, import->arena,
                                         &repeated)) {
    case WIRE_KEYS_DIFFER:
        return true;
    case WIRE_KEYS_CANCELLED:
        *import->problem = wire_problem_of(OBB_CANCELLED);
        return false;
    case WIRE_KEYS_NO_MEMORY:
        *import->problem = wire_problem_of(OBB_NO_MEMORY);
        return false;
    case WIRE_KEYS_REPEAT:
        break;
    }
    wire_problem problem = wire_problem_of(OBB_BAD_NAME);
    const obb_str *again = (const obb_str *)(const void *)((const char *)name + repeated * size);
    problem.detail = wire_detail(import->arena, "found %s; a line before has a %s of this name",
                                 wire_show(*again).text, what);
    import->line = repeated + first;
    return refuse(import, problem, pointer);
}

/* Returns whether the line is that of a frame: it has a member "frame" and none "name". Lines of
 * boxes that were exported begin with their name, so that one look decides. */
static bool is_frame_line(struct wire_cursor *c)
{
    const struct wire_mark mark = wire_mark(c);
    bool has_frame = false, has_name = false;
    obb_str key;
    for (bool inside = wire_enter_object(c); inside && !has_name && wire_next_key(c, &key);
         inside = wire_skip_member(c, key)) {
        has_name = obb_str_equal(key, obb_str_of("name"));
        has_frame = has_frame || obb_str_equal(key, obb_str_of("frame"));
        if (has_name)
            break;
    }
    const bool sound = !c->failed;
    c->failed = false; /* whoever reads the line finds the fault again */
    wire_rewind(c, &mark);
    return sound && has_frame && !has_name;
}

static void open_line(struct import *import, struct wire_cursor *c)
{
    const obb_str text = next_line(import);
    wire_json_open_for(c, text.bytes, text.length, import->arena, import->outer.cancel);
    c->postponed = import->outer.postponed;
    c->effort = import->outer.effort;
}

/* Reads the lines of frames, up to the first that is none. */
static bool read_frames(struct import *import, int dimensions, const obb_pose **out,
                        size_t *out_count)
{
    struct wire_list list = wire_list_begin(&import->outer, sizeof(obb_pose));
    while (import->outer.at < import->outer.end) {
        const char *const begin = import->outer.at;
        struct wire_cursor c;
        open_line(import, &c);
        if (!is_frame_line(&c)) {
            import->outer.at = begin;
            break;
        }
        import->line++;
        obb_pose *pose = wire_list_add(&list);
        if (pose == NULL) {
            *import->problem = wire_problem_of(OBB_NO_MEMORY);
            return false;
        }
        if (!finish_line(import, &c, wire_read_named_frame(&c, dimensions, pose)))
            return false;
    }
    *out = (const obb_pose *)(const void *)list.items;
    *out_count = list.count;
    return check_names(import, list.count == 0 ? NULL : &(*out)->target.name, list.count,
                       sizeof **out, 1, "frame", "/frame");
}

static bool read_boxes(struct import *import, int dimensions, const obb_put **out,
                       size_t *out_count)
{
    struct wire_list list = wire_list_begin(&import->outer, sizeof(obb_put));
    while (import->outer.at < import->outer.end) {
        import->line++;
        obb_put *put = wire_list_add(&list);
        if (put == NULL) {
            *import->problem = wire_problem_of(OBB_NO_MEMORY);
            return false;
        }
        struct wire_cursor c;
        open_line(import, &c);
        if (!finish_line(import, &c, wire_read_named_put(&c, dimensions, put)))
            return false;
    }
    *out = (const obb_put *)(const void *)list.items;
    *out_count = list.count;
    return check_names(import, list.count == 0 ? NULL : &(*out)->target.name, list.count,
                       sizeof **out, import->line + 1 - list.count, "box", "/name");
}

/* Refuses a header that counts other lines than those that follow. */
static bool refuse_count(struct import *import, double said, size_t count, const char *pointer)
{
    import->line = 0;
    wire_problem refusal = wire_problem_of_cause(WIRE_BAD_LENGTH);
    refusal.detail =
        wire_detail(import->arena, "found %.0f; the lines that follow are %zu", said, count);
    return refuse(import, refusal, pointer);
}

bool wire_read_import(const wire_body *body, struct obb_arena *arena, obb_edit *out,
                      wire_problem *problem)
{
    struct import import = {.arena = arena, .problem = problem};
    wire_json_open_for(&import.outer, body->bytes, body->length, arena, body->cancel);
    import.outer.postponed = body->postponed;
    import.outer.at = body->bytes; /* a blank first line is a line too */

    struct wire_export_header header = {.has_time = false};
    struct wire_cursor c;
    const obb_str first = next_line(&import);
    wire_json_open_for(&c, first.bytes, first.length, arena, body->cancel);
    if (!finish_line(&import, &c, wire_read_export_header(&c, &header)))
        return false;
    obb_edit edit = {.dimensions = header.settings.dimensions,
                     .has_time = header.has_time,
                     .time = header.time,
                     .replace_all = true};
    if (header.framed && !read_frames(&import, edit.dimensions, &edit.frames, &edit.frame_count))
        return false;
    if (!read_boxes(&import, edit.dimensions, &edit.puts, &edit.put_count))
        return false;
    if (header.has_frames && header.frames != (double)edit.frame_count)
        return refuse_count(&import, header.frames, edit.frame_count, "/frames");
    if (header.has_boxes && header.boxes != (double)edit.put_count)
        return refuse_count(&import, header.boxes, edit.put_count, "/boxes");
    obb_settings *settings = obb_arena_alloc(arena, 1, sizeof *settings);
    if (settings == NULL) {
        *problem = wire_problem_of(OBB_NO_MEMORY);
        return false;
    }
    *settings = header.settings;
    edit.settings = settings;
    *out = edit;
    return true;
}
