#include "proto/request/request.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Bodies ---------------------------------------------------------------------------------------- */

void wire_body_open(struct wire_cursor *c, const wire_body *body, struct obb_arena *arena)
{
    if (body->length == 0)
        wire_json_open(c, "{}", 2, arena);
    else if (body->media == WIRE_CBOR)
        wire_cbor_open(c, body->bytes, body->length, arena);
    else
        wire_json_open(c, body->bytes, body->length, arena);
    c->postponed = body->postponed;
}

bool wire_body_close(struct wire_cursor *c, bool ok, wire_problem *problem)
{
    if (ok && wire_finish(c))
        return true;
    assert(c->failed);
    *problem = wire_cursor_explain(c);
    return false;
}

/* ---- Objects of known fields ----------------------------------------------------------------------- */

bool wire_object_enter(struct wire_object *object, struct wire_cursor *c, const obb_str *fields,
                       int count)
{
    assert(count <= WIRE_FIELDS);
    object->c = c;
    object->fields = fields;
    object->count = count;
    object->likely = 0;
    object->seen = 0;
    object->place = wire_place(c);
    return wire_enter_object(c);
}

static int find_field(const struct wire_object *object, obb_str key)
{
    const int likely = object->likely;
    if (likely < object->count && obb_str_equal(object->fields[likely], key))
        return likely;
    for (int i = 0; i < object->count; i++)
        if (obb_str_equal(object->fields[i], key))
            return i;
    return -1;
}

int wire_object_next(struct wire_object *object)
{
    struct wire_cursor *c = object->c;
    const size_t before = (size_t)(c->at - c->start);
    obb_str key;
    if (!wire_next_key(c, &key))
        return -1;
    const int field = find_field(object, key);
    const size_t place = wire_place(c);
    if (field < 0) {
        (void)wire_fail_at(c, WIRE_UNKNOWN_FIELD, place, NULL);
        return -1;
    }
    if (wire_object_has(object, field)) {
        (void)wire_fail_at(c, WIRE_MALFORMED, before, "an object has the same key twice");
        return -1;
    }
    object->seen |= (uint32_t)1 << field;
    object->where[field] = place;
    object->likely = field + 1;
    return field;
}

bool wire_object_need(const struct wire_object *object, int field)
{
    if (wire_object_has(object, field))
        return true;
    enum { ROOM = 64 };
    char *detail = obb_arena_alloc(object->c->arena, ROOM, 1);
    if (detail == NULL)
        return wire_fail_memory(object->c);
    (void)snprintf(detail, ROOM, "\"%s\" is missing", object->fields[field].bytes);
    return wire_fail_at(object->c, WIRE_MISSING_FIELD, object->place, detail);
}

/* ---- Lists ----------------------------------------------------------------------------------------- */

static bool grow(struct wire_list *list)
{
    enum { FIRST = 4, MANY = 256, SPARE = 32 };
    struct wire_cursor *c = list->c;
    size_t room = list->room == 0 ? FIRST : list->room * 2;
    if (list->room >= MANY) {
        /* how many more items of this size the body has room for, and a few */
        const double used = (double)(wire_place(c) - list->start), left = (double)(c->end - c->at);
        const double more = (double)list->count * (left / used * 1.03) + SPARE;
        if (more < (double)list->room)
            room = list->room + (size_t)more;
    }
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

/* ---- Scalars and vectors --------------------------------------------------------------------------- */

obb_status wire_range_check(wire_range range, double value)
{
    switch (range) {
    case WIRE_ANY:
        return isfinite(value) ? OBB_OK : OBB_BAD_NUMBER;
    case WIRE_COORDINATE:
        return fabs(value) <= OBB_MAX_COORDINATE ? OBB_OK : OBB_BAD_NUMBER;
    case WIRE_LENGTH:
        return value < 0 ? OBB_BAD_EXTENT : value <= OBB_MAX_COORDINATE ? OBB_OK : OBB_BAD_NUMBER;
    case WIRE_TIME:
        return fabs(value) <= OBB_MAX_WHOLE ? OBB_OK : OBB_BAD_NUMBER;
    }
    return OBB_BAD_NUMBER;
}

static const char *range_detail(wire_range range, obb_status status)
{
    if (status == OBB_BAD_EXTENT)
        return NULL;
    switch (range) {
    case WIRE_ANY:
        break;
    case WIRE_COORDINATE:
    case WIRE_LENGTH:
        return "coordinates and lengths are at most 1e9 in magnitude";
    case WIRE_TIME:
        return "times are at most 2^53 in magnitude";
    }
    return NULL;
}

bool wire_read_real(struct wire_cursor *c, wire_range range, double *out)
{
    const size_t place = wire_place(c);
    double value;
    if (!wire_read_number(c, &value))
        return false;
    const obb_status status = wire_range_check(range, value);
    if (status != OBB_OK)
        return wire_fail_at(c, (wire_cause)status, place, range_detail(range, status));
    *out = value;
    return true;
}

bool wire_read_whole(struct wire_cursor *c, double low, double high, double *out)
{
    const size_t place = wire_place(c);
    double value;
    if (!wire_read_number(c, &value))
        return false;
    if (value < low || value > high || value != floor(value)) {
        enum { ROOM = 96 };
        char *detail = obb_arena_alloc(c->arena, ROOM, 1);
        if (detail == NULL)
            return wire_fail_memory(c);
        if (low < high)
            (void)snprintf(detail, ROOM, "a whole number from %.0f to %.0f is needed here", low,
                           high);
        else
            (void)snprintf(detail, ROOM, "%.0f is needed here", low);
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, detail);
    }
    *out = value;
    return true;
}

bool wire_read_word(struct wire_cursor *c, const obb_str *words, int count, int *out)
{
    const size_t place = wire_place(c);
    obb_str text;
    if (!wire_read_string(c, &text))
        return false;
    for (int i = 0; i < count; i++)
        if (obb_str_equal(words[i], text)) {
            *out = i;
            return true;
        }
    size_t room = sizeof "one of  is needed here";
    for (int i = 0; i < count; i++)
        room += words[i].length + 2;
    char *detail = obb_arena_alloc(c->arena, room, 1);
    if (detail == NULL)
        return wire_fail_memory(c);
    size_t length = (size_t)snprintf(detail, room, "one of ");
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(detail + length, room - length, "%s%s", i > 0 ? ", " : "",
                                   words[i].bytes);
    (void)snprintf(detail + length, room - length, " is needed here");
    return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, detail);
}

bool wire_read_name(struct wire_cursor *c, obb_str *out)
{
    const size_t place = wire_place(c);
    obb_str name;
    if (!wire_read_string(c, &name))
        return false;
    if (!obb_name_valid(name))
        return wire_fail_at(c, WIRE_OBB_BAD_NAME, place, NULL);
    *out = name;
    return true;
}

bool wire_next_name(struct wire_cursor *c, obb_str *out_key)
{
    return wire_next_key(c, out_key) &&
           (obb_name_valid(*out_key) || wire_fail_at(c, WIRE_OBB_BAD_NAME, wire_place(c), NULL));
}

bool wire_read_reals(struct wire_cursor *c, wire_range range, double *out, size_t count)
{
    const size_t place = wire_place(c);
    size_t given = 0;
    if (!wire_read_numbers(c, out, count, &given))
        return false;
    if (given != count)
        return wire_fail_at(c, WIRE_BAD_LENGTH, place, NULL);
    for (size_t i = 0; i < count; i++) {
        const obb_status status = wire_range_check(range, out[i]);
        if (status != OBB_OK)
            return wire_fail_item(c, (wire_cause)status, place, i, range_detail(range, status));
    }
    return true;
}

bool wire_read_vector(struct wire_cursor *c, int dimensions, wire_range range, obb_vec3 *out)
{
    const size_t place = wire_place(c);
    double v[3] = {0.0, 0.0, 0.0};
    if (!wire_read_reals(c, range, v, (size_t)dimensions)) {
        if (c->fault.cause == WIRE_BAD_LENGTH && c->fault.place == place)
            c->fault.detail = dimensions == 2 ? "this scene has 2 dimensions, and so has a vector"
                                              : "this scene has 3 dimensions, and so has a vector";
        return false;
    }
    *out = (obb_vec3){v[0], v[1], v[2]};
    return true;
}

bool wire_read_targets(struct wire_cursor *c, const obb_target **out, size_t *out_count)
{
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_target));
    while (wire_next_item(c)) {
        obb_target *target = wire_list_add(&list);
        obb_str name;
        if (target == NULL || !wire_read_name(c, &name))
            return false;
        *target = (obb_target){.name = name};
    }
    *out = (const obb_target *)(const void *)list.items;
    *out_count = list.count;
    return !c->failed;
}

static inline bool read_texts(struct wire_cursor *c,
                              bool (*read)(struct wire_cursor *c, obb_str *out),
                              const obb_str **out, size_t *out_count)
{
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_str));
    while (wire_next_item(c)) {
        obb_str *text = wire_list_add(&list);
        if (text == NULL || !read(c, text))
            return false;
    }
    *out = (const obb_str *)(const void *)list.items;
    *out_count = list.count;
    return !c->failed;
}

bool wire_read_strings(struct wire_cursor *c, const obb_str **out, size_t *out_count)
{
    return read_texts(c, wire_read_string, out, out_count);
}

bool wire_read_names(struct wire_cursor *c, const obb_str **out, size_t *out_count)
{
    return read_texts(c, wire_read_name, out, out_count);
}

/* ---- Small requests -------------------------------------------------------------------------------- */

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
            const size_t place = o.where[SPAN];
            if (!wire_read_real(c, WIRE_TIME, &settings->history_span))
                return false;
            if (settings->history_span < 0)
                return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, "a span is not negative");
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
