#include "proto/codec/walk.h"

#include "proto/base/number.h"
#include "proto/codec/out.h"
#include "proto/problem/detail.h"
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
    bool shows;  /* writes for people: has words for values that JSON does not have */
    bool counts; /* goes on when the text is full, so that `length` is that of the whole value */
    char text[OBB_MAX_DATA];
    size_t room, length;
    bool seeks;
    size_t place, item;
    bool found;
    obb_str key;            /* of the found value; length 0 if it is not a member */
    struct wire_cursor *at; /* where to keep a cursor at the found value */
    struct wire_pointer pointer;
};

static bool put(struct walk *w, const char *bytes, size_t length)
{
    if (!w->writes)
        return true;
    if (w->length < w->room) {
        const size_t left = w->room - w->length;
        memcpy(w->text + w->length, bytes, length < left ? length : left);
    }
    w->length += length;
    return w->length <= w->room || w->counts ||
           wire_fail_at(w->c, WIRE_TOO_LONG, w->place,
                        "data takes at most 1024 bytes as compact JSON");
}

static bool put_words(struct walk *w, const char *words) { return put(w, words, strlen(words)); }

static bool put_string(struct walk *w, obb_str text)
{
    bool fits = put(w, "\"", 1);
    for (size_t i = 0; i < text.length && fits; i++) {
        if (i % WIRE_POLLED_BYTES == WIRE_POLLED_BYTES - 1 && !wire_goes_on(w->c))
            return false;
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
    *w->at = *w->c;
    if (step != NULL && step->is_key)
        w->key = step->key;
    name_step(&w->pointer, step);
    if (w->item < WIRE_ITS_TEXT)
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

static bool is_data(obb_str key) { return obb_str_equal(key, obb_str_of("data")); }

/* Walks the value of a member. Within data that is captured there is no other data. */
static bool walk_member(struct walk *w, const struct step *member)
{
    if ((w->writes && !w->shows) || !is_data(member->key))
        return walk_value(w, member);
    const unsigned before = wire_data_begin(w->c);
    const bool sound = walk_value(w, member);
    wire_data_end(w->c, before);
    return sound;
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
            !put(w, ":", 1) || !walk_member(w, &member))
            return false;
    }
    return !c->failed && wire_check_keys(c, place, keys, count, sizeof *keys) && put(w, "}", 1);
}

static bool walk_value(struct walk *w, const struct step *step)
{
    enum { LONGEST_FLOAT = 9 }; /* bytes of CBOR */
    struct wire_cursor *c = w->c;
    look_for_place(w, step);
    wire_kind kind = wire_peek(c);
    for (unsigned level = c->depth; kind == WIRE_KIND_OTHER && !c->failed; level++) {
        if (w->shows)
            return put_words(w, "a value that JSON does not have") && wire_skip(c);
        if (w->writes)
            return wire_fail_at(c, WIRE_WRONG_TYPE, wire_place(c),
                                "data holds what JSON has: objects, arrays, strings, numbers, "
                                "true, false and null");
        if (!wire_level_left(c, level)) /* a tag is a level */
            return false;
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
        if (w->shows && text.length == 0)
            return put_words(w, wire_place(c) - place > LONGEST_FLOAT
                                    ? "a whole number of more than 1024 bits"
                                    : "NaN or infinity");
        if (w->shows)
            return put(w, text.bytes, text.length);
        if (text.length > OBB_MAX_DATA) /* too long in any case */
            return put(w, text.bytes, text.length);
        if (!wire_spend_digits(c, text.length))
            return false;
        if (text.length == 0 ||
            wire_number_read(text.bytes, text.bytes + text.length, &number) == NULL ||
            !isfinite(number))
            return wire_fail_at(c, WIRE_OBB_BAD_NUMBER, place,
                                "a number in data is in the range of a double");
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
    w.writes = w.shows = w.seeks = false;
    return walk_value(&w, NULL);
}

bool wire_skip_member(struct wire_cursor *c, obb_str key)
{
    const unsigned before = c->most;
    if (is_data(key))
        (void)wire_data_begin(c);
    const bool sound = wire_skip(c);
    wire_data_end(c, before);
    return sound;
}

bool wire_capture(struct wire_cursor *c, obb_str *out)
{
    struct walk w;
    w.c = c;
    w.writes = true;
    w.shows = w.counts = w.seeks = false;
    w.room = sizeof w.text;
    w.length = 0;
    w.place = wire_place(c);
    const unsigned before = wire_data_begin(c);
    const bool sound = walk_value(&w, NULL);
    wire_data_end(c, before);
    if (!sound)
        return false;
    char *text = obb_arena_alloc(c->arena, w.length, 1);
    if (text == NULL)
        return wire_fail_memory(c);
    memcpy(text, w.text, w.length);
    *out = (obb_str){.bytes = text, .length = w.length};
    return true;
}

static bool transcode_array(struct wire_cursor *c, struct wire_out *out);
static bool transcode_object(struct wire_cursor *c, struct wire_out *out);

static bool transcode_value(struct wire_cursor *c, struct wire_out *out)
{
    obb_str text = {0};
    bool truth = false;
    switch (wire_peek(c)) {
    case WIRE_KIND_NULL:
        wire_out_null(out);
        return wire_read_null(c);
    case WIRE_KIND_BOOL:
        if (!wire_read_bool(c, &truth))
            return false;
        wire_out_bool(out, truth);
        return true;
    case WIRE_KIND_NUMBER:
        if (!c->ops->read_number_text(c, &text))
            return false;
        wire_out_data(out, text);
        return text.length > 0;
    case WIRE_KIND_STRING:
        if (!wire_read_string(c, &text))
            return false;
        wire_out_string(out, text);
        return true;
    case WIRE_KIND_ARRAY:
        return transcode_array(c, out);
    case WIRE_KIND_OBJECT:
        return transcode_object(c, out);
    case WIRE_KIND_NONE:
    case WIRE_KIND_OTHER:
        break;
    }
    return false;
}

static bool transcode_array(struct wire_cursor *c, struct wire_out *out)
{
    if (!wire_enter_array(c))
        return false;
    wire_out_array(out, 0);
    while (wire_next_item(c))
        if (!transcode_value(c, out))
            return false;
    wire_out_array_end(out);
    return !c->failed && !out->buf->failed;
}

static bool transcode_object(struct wire_cursor *c, struct wire_out *out)
{
    obb_str key;
    if (!wire_enter_object(c))
        return false;
    wire_out_map(out, 0);
    while (wire_next_key(c, &key)) {
        const unsigned before = is_data(key) ? wire_data_begin(c) : c->most;
        wire_out_name_key(out, key);
        if (!transcode_value(c, out))
            return false;
        wire_data_end(c, before);
    }
    wire_out_map_end(out);
    return !c->failed && !out->buf->failed;
}

bool wire_transcode(struct wire_cursor *c, struct wire_buf *buf)
{
    struct wire_out out = wire_out_json(buf);
    return transcode_value(c, &out) && !c->failed && !buf->failed;
}

/* ---- Explaining ------------------------------------------------------------------------------ */

static const char *detail_with_place(const struct wire_fault *fault, struct obb_arena *arena)
{
    return wire_detail(arena, "%s, at byte %zu", fault->detail, fault->place);
}

/* Returns the number of elements of the array at the cursor. */
static size_t count_elements(struct wire_cursor *c)
{
    size_t count = 0;
    for (bool entered = wire_enter_array(c); entered && wire_next_item(c) && wire_skip(c);)
        count++;
    return count;
}

/* Returns the detail of a fault: the value at `c`, or its key, and the rule that it breaks. The
 * document is known to be well-formed. */
static const char *detail_with_value(struct wire_cursor *c, obb_str key,
                                     const struct wire_fault *fault, const char *rule)
{
    struct obb_arena *arena = c->arena;
    if (fault->cause == WIRE_UNKNOWN_FIELD || fault->cause == WIRE_FIELD_CONFLICT)
        return wire_detail(arena, "found the field %s; %s", wire_show(key).text, rule);
    if (fault->item == WIRE_ITS_KEY)
        return wire_detail(arena, "found %s; %s", wire_show(key).text, rule);
    obb_str text = {0};
    if (fault->item == WIRE_ITS_TEXT && wire_read_string(c, &text))
        return wire_detail(arena, "found %zu bytes; %s", text.length, rule);
    if (fault->item != WIRE_NO_ITEM && wire_enter_array(c))
        for (size_t i = 0; wire_next_item(c) && i < fault->item; i++)
            (void)wire_skip(c);
    if ((fault->cause == WIRE_BAD_LENGTH || fault->cause == WIRE_OBB_BAD_COUNT) &&
        wire_peek(c) == WIRE_KIND_ARRAY) {
        const size_t count = count_elements(c);
        return wire_detail(arena, "found %zu element%s; %s", count, count == 1 ? "" : "s", rule);
    }
    struct walk w;
    w.c = c;
    w.writes = w.shows = true;
    w.counts = fault->cause == WIRE_TOO_LONG;
    w.seeks = false;
    w.room = WIRE_SHOWN + 4; /* wire_shorten looks at the byte where it cuts */
    w.length = 0;
    w.place = fault->place;
    (void)walk_value(&w, NULL);
    if (w.counts)
        return wire_detail(arena, "found %zu bytes; %s", w.length, rule);
    wire_shorten(w.text, w.length);
    return wire_detail(arena, "found %s; %s", w.text, rule);
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

    struct wire_cursor again = *c, at;
    again.at = again.first;
    again.depth = 0;
    again.most = WIRE_DEPTH;
    again.failed = false;
    struct walk w = {
        .c = &again, .seeks = true, .place = fault.place, .item = fault.item, .at = &at};
    if (!walk_value(&w, NULL) || !wire_finish(&again))
        fault = again.fault;
    if (ended_early(&fault))
        return problem_of_end(&fault);
    wire_problem problem = wire_problem_of_cause(fault.cause);
    if (fault.cause == WIRE_MALFORMED) {
        problem.detail = detail_with_place(&fault, c->arena);
        return problem;
    }
    if (fault.detail != NULL)
        problem.detail = fault.detail;
    if (w.found) {
        problem.pointer = wire_pointer_take(&w.pointer, c->arena);
        if (problem.status == 422 && fault.cause != WIRE_MISSING_FIELD)
            problem.detail = detail_with_value(&at, w.key, &fault, problem.detail);
    }
    return problem;
}
