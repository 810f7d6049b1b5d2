#include "proto/request/object.h"

#include "proto/problem/detail.h"

#include <assert.h>

bool wire_object_enter(struct wire_object *object, struct wire_cursor *c, const obb_str *fields,
                       int count)
{
    assert(count <= WIRE_FIELDS);
    object->c = c;
    object->fields = fields;
    object->count = count;
    object->kinds_with = NULL;
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

/* Apart from wire_object_next, to keep that small: it runs for every field. */
static void refuse_field(const struct wire_object *object, obb_str key, size_t place)
{
    struct obb_arena *arena = object->c->arena;
    obb_str fit[WIRE_FIELDS];
    int count = 0;
    for (int i = 0; i < object->count; i++)
        if (object->kinds_with == NULL || (object->kinds_with[i] & object->kinds) != 0)
            fit[count++] = object->fields[i];
    const obb_str nearest = wire_nearest(key, fit, count);
    (void)wire_fail_at(object->c, WIRE_UNKNOWN_FIELD, place,
                       wire_detail(arena, "the nearest known one is \"%s\"", nearest.bytes));
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
        refuse_field(object, key, place);
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
    return wire_fail_at(
        object->c, WIRE_MISSING_FIELD, object->place,
        wire_detail(object->c->arena, "\"%s\" is missing", object->fields[field].bytes));
}
