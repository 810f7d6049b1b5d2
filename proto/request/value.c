#include "proto/request/value.h"

#include "proto/request/list.h"

#include <math.h>
#include <stdio.h>

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

bool wire_read_target(struct wire_cursor *c, obb_target *out)
{
    obb_str name;
    if (!wire_read_name(c, &name))
        return false;
    *out = (obb_target){.name = name};
    return true;
}

bool wire_read_targets(struct wire_cursor *c, const obb_target **out, size_t *out_count)
{
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(obb_target));
    while (wire_next_item(c)) {
        obb_target *target = wire_list_add(&list);
        if (target == NULL || !wire_read_target(c, target))
            return false;
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

const char *wire_matrix_detail(obb_status status)
{
    return status == OBB_BAD_VALUE  ? "the bottom row of the matrix is 0 0 0 1"
           : status == OBB_SINGULAR ? "at least two columns of the matrix have a length"
                                    : NULL;
}
