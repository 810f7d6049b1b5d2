#include "proto/request/columns.h"

#include "proto/codec/walk.h"
#include "proto/problem/detail.h"
#include "proto/request/list.h"

#include <assert.h>
#include <string.h>

bool wire_columns_enter(struct wire_columns *columns, struct wire_cursor *c, const obb_str *fields,
                        const struct wire_column_rule *rules, int count, int dimensions)
{
    assert(count <= WIRE_COLUMNS);
    columns->rules = rules;
    columns->count = count;
    columns->dimensions = dimensions;
    columns->rows = 0;
    columns->sound = SIZE_MAX;
    memset(columns->data, 0, sizeof columns->data);
    for (int i = 0; i < count; i++)
        columns->data[i].width = rules[i].width != 0 ? rules[i].width : (size_t)dimensions;
    return wire_object_enter(&columns->object, c, fields, count);
}

/* ---- Elements -------------------------------------------------------------------------------- */

static bool read_name(struct wire_cursor *c, wire_column_kind kind, obb_str *out)
{
    if (kind == WIRE_COLUMN_NAMES || wire_peek(c) != WIRE_KIND_NULL)
        return wire_read_name(c, out);
    *out = (obb_str){0};
    return wire_read_null(c);
}

static bool is_number(wire_column_kind kind)
{
    return kind == WIRE_COLUMN_NUMBERS || kind == WIRE_COLUMN_NUMBERS_OR_NULL;
}

/* The elements of a column that are not a run of numbers. */
struct elements {
    wire_column_kind kind;
    struct wire_list values; /* doubles or names */
    struct wire_list nulls;  /* one for each number that may be null */
};

static struct elements begin_elements(struct wire_cursor *c, wire_column_kind kind)
{
    return (struct elements){
        .kind = kind,
        .values = wire_list_begin(c, is_number(kind) ? sizeof(double) : sizeof(obb_str)),
        .nulls = wire_list_begin(c, sizeof(bool))};
}

/* Reads one more element. */
static bool add_element(struct elements *elements, struct wire_cursor *c)
{
    void *value = wire_list_add(&elements->values);
    if (value == NULL)
        return false;
    if (elements->kind == WIRE_COLUMN_NUMBERS)
        return wire_read_number(c, value);
    if (elements->kind != WIRE_COLUMN_NUMBERS_OR_NULL)
        return read_name(c, elements->kind, value);
    bool *null = wire_list_add(&elements->nulls);
    if (null == NULL)
        return false;
    *null = wire_peek(c) == WIRE_KIND_NULL;
    *(double *)value = 0.0;
    return *null ? wire_read_null(c) : wire_read_number(c, value);
}

/* Adds names while they are sound and short strings in the body, many at a time. Leaves the others
 * to add_element. Returns false if the cursor failed. */
static bool add_names(struct elements *elements, struct wire_cursor *c)
{
    enum { AT_ONCE = 64 };
    for (;;) {
        size_t room;
        obb_str *names = wire_list_room(&elements->values, &room);
        if (names == NULL)
            return false;
        room = room < AT_ONCE ? room : AT_ONCE;
        const struct wire_mark begin = wire_mark(c);
        const size_t count = wire_goes_on(c) ? wire_read_raw_texts(c, names, room) : 0;
        bool sound = true;
        for (size_t i = 0; i < count && sound; i++)
            sound = obb_name_valid(names[i]); /* such a name is UTF-8 */
        if (!sound)
            wire_rewind(c, &begin);
        if (count == 0 || !sound)
            return !c->failed;
        wire_list_keep(&elements->values, count);
    }
}

static void keep_elements(struct wire_column_data *data, const struct elements *elements,
                          size_t count)
{
    const void *values = elements->values.items;
    if (!is_number(elements->kind))
        data->names = values;
    data->nulls = (const bool *)(const void *)elements->nulls.items;
    data->numbers = (struct wire_column){.type = WIRE_DOUBLES, .values = values, .count = count};
}

/* Reads a whole array of sound elements. */
static bool read_array(struct wire_cursor *c, wire_column_kind kind, struct wire_column_data *data)
{
    const struct wire_mark begin = wire_mark(c);
    if (is_number(kind) && wire_read_column(c, &data->numbers)) {
        data->length = data->numbers.count;
        return true;
    }
    if (kind == WIRE_COLUMN_NUMBERS)
        return false;
    if (c->failed && wire_problem_of_cause(c->fault.cause).status != 422)
        return false;
    c->failed = false; /* perhaps one of the numbers is null */
    wire_rewind(c, &begin);
    if (!wire_enter_array(c))
        return false;
    struct elements elements = begin_elements(c, kind);
    const bool names = !is_number(kind);
    while ((!names || add_names(&elements, c)) && wire_next_item(c))
        if (!add_element(&elements, c))
            return false;
    keep_elements(data, &elements, elements.values.count);
    data->length = elements.values.count;
    return !c->failed;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Reads a column again in which an element is at fault. Keeps the elements before it, and counts
 * them all. Notes the fault if no other column has one in an earlier row. */
static bool read_before_fault(struct wire_columns *columns, int field,
                              const struct wire_mark *begin)
{
    struct wire_cursor *c = columns->object.c;
    struct wire_column_data *data = &columns->data[field];
    const wire_column_kind kind = columns->rules[field].kind;
    size_t sound = 0, all = 0;
    c->failed = false;
    wire_rewind(c, begin);
    if (!wire_enter_array(c))
        return false; /* no element, but the column itself is at fault */
    struct elements elements = begin_elements(c, kind);
    while (wire_next_item(c) && add_element(&elements, c))
        sound++;
    if (wire_beyond_doubles(c))
        c->fault.detail = wire_columns_rule(columns, field);
    if (c->fault.cause == WIRE_OBB_NO_MEMORY)
        return false;
    const struct wire_fault fault = c->fault;
    c->failed = false;
    wire_rewind(c, begin);
    for (bool entered = wire_enter_array(c); entered && wire_next_item(c) && wire_skip(c);)
        all++;
    if (c->failed)
        return false;
    keep_elements(data, &elements, sound);
    data->length = all;
    if (sound / data->width < columns->sound) {
        columns->sound = sound / data->width;
        columns->fault = fault;
    }
    return true;
}

/* Reads the one value that stands for all rows. */
static bool read_one(struct wire_columns *columns, int field)
{
    struct wire_cursor *c = columns->object.c;
    struct wire_column_data *data = &columns->data[field];
    const wire_column_kind kind = columns->rules[field].kind;
    static const char *const wanted[] = {
        [WIRE_COLUMN_NUMBERS] = "a number for all rows, or an array of them, is needed here",
        [WIRE_COLUMN_NUMBERS_OR_NULL] =
            "a number or null for all rows, or an array of them, is needed here",
        [WIRE_COLUMN_NAMES_OR_NULL] =
            "a string or null for all rows, or an array of them, is needed here"};
    struct elements elements = begin_elements(c, kind);
    if (!add_element(&elements, c)) {
        if (c->fault.cause == WIRE_WRONG_TYPE)
            c->fault.detail = wanted[kind];
        else if (wire_beyond_doubles(c))
            c->fault.detail = wire_columns_rule(columns, field);
        return false;
    }
    keep_elements(data, &elements, 1);
    data->length = 1;
    data->one = true;
    return true;
}

bool wire_columns_read(struct wire_columns *columns, int field)
{
    struct wire_cursor *c = columns->object.c;
    const struct wire_column_rule *rule = &columns->rules[field];
    if (rule->may_be_one && rule->width == 1 && wire_peek(c) != WIRE_KIND_ARRAY)
        return read_one(columns, field);
    const struct wire_mark begin = wire_mark(c);
    return read_array(c, rule->kind, &columns->data[field]) ||
           (wire_problem_of_cause(c->fault.cause).status == 422 &&
            read_before_fault(columns, field, &begin));
}

bool wire_columns_not_here(const struct wire_columns *columns, int field)
{
    return wire_fail_at(columns->object.c, WIRE_UNKNOWN_FIELD, columns->object.where[field],
                        columns->dimensions == 2 ? "a 2-D scene has angles"
                                                 : "a 3-D scene has rotations");
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct wire_columns wire_columns_for_all(const struct wire_columns *columns)
{
    struct wire_columns out = *columns;
    out.rows = 1;
    for (int field = 0; field < columns->count; field++)
        if (!columns->data[field].one)
            out.object.seen &= ~(1u << field);
    return out;
}

static bool fail_length(const struct wire_columns *columns, int field, size_t rows)
{
    struct wire_cursor *c = columns->object.c;
    const struct wire_column_data *data = &columns->data[field];
    const char *detail =
        wire_detail(c->arena, "%zu rows of %zu each are needed here%s", rows, data->width,
                    columns->rules[field].may_be_one ? ", or one for all" : "");
    return wire_fail_at(c, WIRE_BAD_LENGTH, columns->object.where[field], detail);
}

bool wire_columns_end(struct wire_columns *columns, int counted)
{
    const struct wire_column_data *count = &columns->data[counted];
    if (count->length % count->width != 0)
        return wire_fail_at(columns->object.c, WIRE_BAD_LENGTH, columns->object.where[counted],
                            wire_detail(columns->object.c->arena,
                                        "rows of %zu numbers each are needed here", count->width));
    columns->rows = count->length / count->width;
    for (int field = 0; field < columns->count; field++) {
        struct wire_column_data *data = &columns->data[field];
        if (!wire_columns_has(columns, field) || data->one)
            continue;
        data->one = columns->rules[field].may_be_one && columns->rules[field].width != 1 &&
                    data->length == data->width && columns->rows != 1;
        if (!data->one &&
            (data->length % data->width != 0 || data->length / data->width != columns->rows))
            return fail_length(columns, field, columns->rows);
    }
    return true;
}

bool wire_columns_fail(const struct wire_columns *columns, int field, size_t row, size_t element,
                       wire_cause cause, const char *detail)
{
    const struct wire_column_data *data = &columns->data[field];
    const bool bare = data->one && columns->rules[field].width == 1;
    return wire_fail_item(columns->object.c, cause, columns->object.where[field],
                          bare ? WIRE_NO_ITEM : (data->one ? 0 : row * data->width) + element,
                          detail);
}

bool wire_columns_fail_quaternion(const struct wire_columns *columns, int field, size_t row,
                                  const double q[static 4], obb_status status)
{
    size_t element = 0;
    while (element < 4 && wire_range_check(WIRE_ANY, q[element]) == OBB_OK)
        element++;
    const char *detail = wire_limits[WIRE_ANY].rule;
    if (element == 4)
        detail = wire_detail(columns->object.c->arena,
                             "it begins the quaternion [%s,%s,%s,%s], and a quaternion has a "
                             "length of at least 1e-6",
                             wire_show_number(q[0]).text, wire_show_number(q[1]).text,
                             wire_show_number(q[2]).text, wire_show_number(q[3]).text);
    return wire_columns_fail(columns, field, row, element % 4, (wire_cause)status, detail);
}

void wire_columns_refuse(struct wire_columns *columns, int field, size_t row, wire_cause cause,
                         const char *detail)
{
    if (row >= columns->sound)
        return;
    columns->sound = row;
    columns->fault = (struct wire_fault){.cause = cause,
                                         .detail = detail,
                                         .place = columns->object.where[field],
                                         .item = row * columns->data[field].width};
}

bool wire_columns_sound(const struct wire_columns *columns)
{
    const struct wire_fault *fault = &columns->fault;
    return columns->sound == SIZE_MAX || wire_fail_item(columns->object.c, fault->cause,
                                                        fault->place, fault->item, fault->detail);
}

/* Fetches a part of a column, as far as it is there. */
static void fetch(const struct wire_column *column, size_t first, size_t count)
{
    enum { LINE = 64 }; /* bytes of a cache line */
    const size_t size = column->type == WIRE_F32LE || column->type == WIRE_U32LE ? 4 : 8;
    const size_t end = first + count < column->count ? first + count : column->count;
    for (size_t at = first * size; at < end * size; at += LINE)
        __builtin_prefetch((const char *)column->values + at);
}

void wire_columns_numbers(const struct wire_columns *columns, int field, size_t first, size_t count,
                          double *out)
{
    const struct wire_column_data *data = &columns->data[field];
    const size_t width = data->width;
    if (!data->one) {
        wire_column_get(&data->numbers, first * width, count * width, out);
        fetch(&data->numbers, (first + count) * width, count * width); /* mostly the next to come */
        return;
    }
    for (size_t i = 0; i < count; i++)
        wire_column_get(&data->numbers, 0, width, out + i * width);
}
