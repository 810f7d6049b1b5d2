#include "proto/codec/walk.h"

#include "proto/base/number.h"
#include "proto/problem/pointer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The way from the document to a value: a step for each container. */
struct step {
    const struct step *up;
    bool is_key;
    obb_str key;
    size_t index;
};

/* A walk checks everything. It may also write the value as compact JSON, or look for a place. */
struct walk {
    struct wire_cursor *c;
    bool writes;
    char text[OBB_MAX_DATA];
    size_t length;
    bool seeks;
    size_t place, item;
    bool found;
    struct wire_pointer pointer;
};

static bool put(struct walk *w, const char *bytes, size_t length)
{
    if (!w->writes)
        return true;
    if (length > sizeof w->text - w->length)
        return wire_fail_at(w->c, WIRE_TOO_LONG, w->place,
                            "data takes at most 1024 bytes as compact JSON");
    memcpy(w->text + w->length, bytes, length);
    w->length += length;
    return true;
}

static bool put_string(struct walk *w, obb_str text)
{
    bool fits = put(w, "\"", 1);
    for (size_t i = 0; i < text.length && fits; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        const char *const shorts = "\bb\tt\nn\ff\rr\"\"\\\\";
        const char *escape = c == '\0' ? NULL : strchr(shorts, c);
        char long_form[8];
        if (escape != NULL && (escape - shorts) % 2 == 0)
            fits = put(w, "\\", 1) && put(w, escape + 1, 1);
        else if (c < 0x20)
            fits = put(w, long_form,
                       (size_t)snprintf(long_form, sizeof long_form, "\\u%04x", (unsigned)c));
        else
            fits = put(w, (const char *)&c, 1);
    }
    return fits && put(w, "\"", 1);
}

static void name_step(struct wire_pointer *pointer, const struct step *step)
{
    if (step == NULL)
        return;
    name_step(pointer, step->up);
    if (step->is_key)
        wire_pointer_key(pointer, step->key);
    else
        wire_pointer_index(pointer, step->index);
}

static void look_for_place(struct walk *w, const struct step *step)
{
    if (!w->seeks || w->found || wire_place(w->c) != w->place)
        return;
    w->found = true;
    name_step(&w->pointer, step);
    if (w->item != WIRE_NO_ITEM)
        wire_pointer_index(&w->pointer, w->item);
}

static bool walk_value(struct walk *w, const struct step *step);

static bool walk_array(struct walk *w, const struct step *step)
{
    struct wire_cursor *c = w->c;
    struct step item = {.up = step};
    if (!wire_enter_array(c) || !put(w, "[", 1))
        return false;
    for (; wire_next_item(c); item.index++)
        if ((item.index > 0 && !put(w, ",", 1)) || !walk_value(w, &item))
            return false;
    return !c->failed && put(w, "]", 1);
}

static bool walk_object(struct walk *w, const struct step *step)
{
    struct wire_cursor *c = w->c;
    struct step member = {.up = step, .is_key = true};
    const size_t place = wire_place(c);
    enum { FEW = 8 };
    obb_str few[FEW], *keys = few;
    size_t count = 0, room = FEW;
    if (!wire_enter_object(c) || !put(w, "{", 1))
        return false;
    for (; wire_next_key(c, &member.key); count++) {
        if (count == room) {
            obb_str *more = obb_arena_grow(c->arena, keys == few ? NULL : keys,
                                           keys == few ? 0 : room, room * 4, sizeof *more);
            if (more == NULL)
                return wire_fail_memory(c);
            if (keys == few)
                memcpy(more, few, sizeof few);
            keys = more;
            room *= 4;
        }
        keys[count] = member.key;
        if ((count > 0 && !put(w, ",", 1)) || (w->writes && !put_string(w, member.key)) ||
            !put(w, ":", 1) || !walk_value(w, &member))
            return false;
    }
    return !c->failed && wire_check_keys(c, place, keys, count, sizeof *keys) && put(w, "}", 1);
}

static bool walk_value(struct walk *w, const struct step *step)
{
    struct wire_cursor *c = w->c;
    look_for_place(w, step);
    wire_kind kind = wire_peek(c);
    while (kind == WIRE_KIND_OTHER && !c->failed) {
        if (w->writes)
            return wire_fail_at(c, WIRE_WRONG_TYPE, wire_place(c), "JSON has no such value");
        bool value_follows = false;
        if (!c->ops->enter_other(c, &value_follows) || !value_follows)
            return !c->failed;
        look_for_place(w, step);
        kind = wire_peek(c);
    }
    bool truth = false;
    obb_str text = {0};
    const size_t place = wire_place(c);
    double number = 0.0;
    switch (kind) {
    case WIRE_KIND_NULL:
        return wire_read_null(c) && put(w, "null", 4);
    case WIRE_KIND_BOOL:
        return wire_read_bool(c, &truth) && (truth ? put(w, "true", 4) : put(w, "false", 5));
    case WIRE_KIND_NUMBER:
        if (!w->writes)
            return c->ops->read_number_text(c, NULL);
        if (!c->ops->read_number_text(c, &text))
            return false;
        if (text.length == 0 ||
            wire_number_read(text.bytes, text.bytes + text.length, &number) == NULL ||
            !isfinite(number))
            return wire_fail_at(c, WIRE_OBB_BAD_NUMBER, place, NULL);
        return put(w, text.bytes, text.length);
    case WIRE_KIND_STRING:
        if (!w->writes)
            return c->ops->read_string(c, NULL);
        return wire_read_string(c, &text) && put_string(w, text);
    case WIRE_KIND_ARRAY:
        return walk_array(w, step);
    case WIRE_KIND_OBJECT:
        return walk_object(w, step);
    case WIRE_KIND_NONE:
    case WIRE_KIND_OTHER:
        break;
    }
    return wire_fail_at(c, WIRE_MALFORMED, place, "a value is missing");
}

bool wire_skip(struct wire_cursor *c)
{
    struct walk w; /* not initialised: its buffers are not used */
    w.c = c;
    w.writes = w.seeks = false;
    return walk_value(&w, NULL);
}

bool wire_capture(struct wire_cursor *c, obb_str *out)
{
    struct walk w;
    w.c = c;
    w.writes = true;
    w.seeks = false;
    w.length = 0;
    w.place = wire_place(c);
    if (!walk_value(&w, NULL))
        return false;
    char *text = obb_arena_alloc(c->arena, w.length, 1);
    if (text == NULL)
        return wire_fail_memory(c);
    memcpy(text, w.text, w.length);
    *out = (obb_str){.bytes = text, .length = w.length};
    return true;
}

/* ---- Explaining ------------------------------------------------------------------------------ */

static const char *detail_with_place(const struct wire_fault *fault, struct obb_arena *arena)
{
    enum { ROOM = 128 };
    char *text = obb_arena_alloc(arena, ROOM, 1);
    if (text == NULL)
        return fault->detail;
    (void)snprintf(text, ROOM, "%s, at byte %zu", fault->detail, fault->place);
    return text;
}

/* Returns true for faults that say nothing about the document. */
static bool ended_early(const struct wire_fault *fault)
{
    return fault->cause == WIRE_OBB_NO_MEMORY || fault->cause == (wire_cause)OBB_CANCELLED;
}

static wire_problem problem_of_end(const struct wire_fault *fault)
{
    wire_problem problem = wire_problem_of_cause(fault->cause);
    if (fault->cause == WIRE_OBB_NO_MEMORY)
        problem.detail = "there is no room at present for what this body says";
    return problem;
}

wire_problem wire_cursor_explain(struct wire_cursor *c)
{
    struct wire_fault fault = c->fault;
    if (ended_early(&fault))
        return problem_of_end(&fault);

    struct wire_cursor again = *c;
    again.at = again.first;
    again.depth = 0;
    again.failed = false;
    struct walk w = {.c = &again, .seeks = true, .place = fault.place, .item = fault.item};
    if (!walk_value(&w, NULL) || !wire_finish(&again))
        fault = again.fault;
    if (ended_early(&fault))
        return problem_of_end(&fault);
    wire_problem problem = wire_problem_of_cause(fault.cause);
    if (fault.cause == WIRE_MALFORMED) {
        problem.detail = detail_with_place(&fault, c->arena);
        return problem;
    }
    problem.detail = fault.detail;
    if (w.found)
        problem.pointer = wire_pointer_take(&w.pointer, c->arena);
    return problem;
}
