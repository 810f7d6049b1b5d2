#include "proto/request/value.h"

#include "proto/problem/detail.h"
#include "proto/request/list.h"

#include <float.h>
#include <math.h>

const struct wire_limits wire_limits[] = {
    [WIRE_ANY] = {-DBL_MAX, DBL_MAX, OBB_BAD_NUMBER, "a number is finite"},
    [WIRE_COORDINATE] = {-OBB_MAX_COORDINATE, OBB_MAX_COORDINATE, OBB_BAD_NUMBER,
                         "a coordinate is -1e9 to 1e9"},
    [WIRE_FACTOR] = {-OBB_MAX_COORDINATE, OBB_MAX_COORDINATE, OBB_BAD_NUMBER,
                     "a factor is -1e9 to 1e9"},
    [WIRE_MARGIN] = {-OBB_MAX_COORDINATE, OBB_MAX_COORDINATE, OBB_BAD_NUMBER,
                     "a margin is -1e9 to 1e9"},
    [WIRE_HALF_EXTENT] = {0, OBB_MAX_COORDINATE, OBB_BAD_EXTENT, "a half extent is 0 to 1e9"},
    [WIRE_RADIUS] = {0, OBB_MAX_COORDINATE, OBB_BAD_EXTENT, "a radius is 0 to 1e9"},
    [WIRE_DISTANCE] = {0, OBB_MAX_COORDINATE, OBB_BAD_EXTENT, "a distance is 0 to 1e9"},
    [WIRE_TIME] = {-OBB_MAX_WHOLE, OBB_MAX_WHOLE, OBB_BAD_NUMBER, "a time is -2^53 to 2^53"},
    [WIRE_SPAN] = {0, OBB_MAX_WHOLE, OBB_BAD_VALUE, "a span of time is 0 to 2^53"},
    [WIRE_TTL] = {0, OBB_MAX_WHOLE, OBB_BAD_VALUE,
                  "a ttl is 0 to 2^53 milliseconds, or null for none"},
};

/* Says which numbers the range has, if the fault is a number beyond those of doubles. */
static bool fail_of_range(struct wire_cursor *c, wire_range range)
{
    if (wire_beyond_doubles(c))
        c->fault.detail = wire_limits[range].rule;
    return false;
}

/* Says how many numbers are needed, or which, if the fault is one of those. */
static bool fail_of_count(struct wire_cursor *c, wire_range range, size_t count)
{
    if (c->fault.cause == WIRE_BAD_LENGTH)
        c->fault.detail = wire_detail(c->arena, "%zu numbers are needed here", count);
    return fail_of_range(c, range);
}

bool wire_read_real(struct wire_cursor *c, wire_range range, double *out)
{
    const size_t place = wire_place(c);
    double value;
    if (!wire_read_number(c, &value))
        return fail_of_range(c, range);
    const obb_status status = wire_range_check(range, value);
    if (status != OBB_OK)
        return wire_fail_at(c, (wire_cause)status, place, wire_limits[range].rule);
    *out = value;
    return true;
}

static const char *whole_rule(struct wire_cursor *c, double low, double high)
{
    return low < high
               ? wire_detail(c->arena, "a whole number from %.0f to %.0f is needed here", low, high)
               : wire_detail(c->arena, "%.0f is needed here", low);
}

/* Returns whether the number at `place`, which was read as a double of 2^53 or -2^53, was written
 * as that number. Neighbours of it have no double of their own. The cursor stands after the number
 * and stays there. Returns false, too, if the cursor failed. */
static bool is_written_exactly(struct wire_cursor *c, size_t place)
{
    static const char limit[] = "9007199254740992";
    const char *const after = c->at;
    obb_str text;
    c->at = c->start + place;
    const bool read = c->ops->read_number_text(c, &text);
    c->at = after;
    if (!read)
        return false;
    size_t matched = 0;
    for (size_t i = 0; i < text.length && text.bytes[i] != 'e' && text.bytes[i] != 'E'; i++) {
        const char digit = text.bytes[i];
        if (i % WIRE_POLLED_BYTES == WIRE_POLLED_BYTES - 1 && !wire_goes_on(c))
            return false;
        if (digit == '-' || digit == '.' || (matched == 0 && digit == '0'))
            continue;
        /* the point is where it must be, because the double is right */
        if (matched < sizeof limit - 1 ? digit != limit[matched] : digit != '0')
            return false;
        matched++;
    }
    return matched >= sizeof limit - 1;
}

bool wire_read_whole(struct wire_cursor *c, double low, double high, double *out)
{
    const size_t place = wire_place(c);
    double value;
    if (!wire_read_number(c, &value)) {
        if (wire_beyond_doubles(c))
            c->fault.detail = whole_rule(c, low, high);
        return false;
    }
    if (value < low || value > high || value != floor(value) ||
        (fabs(value) == OBB_MAX_WHOLE && !is_written_exactly(c, place)))
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, whole_rule(c, low, high));
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
    return wire_fail_at(
        c, WIRE_OBB_BAD_VALUE, place,
        wire_detail(c->arena, "one of %s is needed here", wire_list_words(c->arena, words, count)));
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

bool wire_read_hash(struct wire_cursor *c, uint64_t *out)
{
    const size_t place = wire_place(c);
    obb_str text;
    if (!wire_read_string(c, &text))
        return false;
    bool good = text.length == 16;
    uint64_t hash = 0;
    for (size_t i = 0; i < text.length && good; i++) {
        const char digit = text.bytes[i];
        const int value = digit >= 'A' && digit <= 'F' ? -1 : obb_hex_digit(digit);
        good = value >= 0;
        hash = hash << 4 | (uint64_t)(good ? value : 0);
    }
    if (!good)
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, place,
                            "the hash of a state is 16 hexadecimal digits in lower case");
    *out = hash;
    return true;
}

bool wire_next_name(struct wire_cursor *c, obb_str *out_key)
{
    return wire_next_key(c, out_key) &&
           (obb_name_valid(*out_key) ||
            wire_fail_item(c, WIRE_OBB_BAD_NAME, wire_place(c), WIRE_ITS_KEY, NULL));
}

bool wire_read_reals(struct wire_cursor *c, wire_range range, double *out, size_t count)
{
    const size_t place = wire_place(c);
    size_t given = 0;
    if (!wire_read_numbers(c, out, count, &given))
        return fail_of_count(c, range, count);
    if (given != count && !wire_fail_at(c, WIRE_BAD_LENGTH, place, NULL))
        return fail_of_count(c, range, count);
    for (size_t i = 0; i < count; i++) {
        const obb_status status = wire_range_check(range, out[i]);
        if (status != OBB_OK)
            return wire_fail_item(c, (wire_cause)status, place, i, wire_limits[range].rule);
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
