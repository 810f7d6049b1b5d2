#include "proto/request/put_columns.h"

#include "proto/base/keys.h"
#include "proto/codec/walk.h"
#include "proto/problem/detail.h"
#include "proto/request/columns.h"
#include "proto/request/value.h"

#include <math.h>

enum column_field {
    NAMES,
    CENTERS,
    HALF_EXTENTS,
    ROTATIONS,
    ANGLES,
    ENTITIES,
    CATEGORY,
    MASK,
    GROUP,
    FRAMES,
    TTL,
    COLUMN_FIELDS
};
static const obb_str column_fields[COLUMN_FIELDS] = {
    [NAMES] = WIRE_FIELD("names"),
    [CENTERS] = WIRE_FIELD("centers"),
    [HALF_EXTENTS] = WIRE_FIELD("half_extents"),
    [ROTATIONS] = WIRE_FIELD("rotations"),
    [ANGLES] = WIRE_FIELD("angles"),
    [ENTITIES] = WIRE_FIELD("entities"),
    [CATEGORY] = WIRE_FIELD("category"),
    [MASK] = WIRE_FIELD("mask"),
    [GROUP] = WIRE_FIELD("group"),
    [FRAMES] = WIRE_FIELD("frames"),
    [TTL] = WIRE_FIELD("ttl"),
};
static const struct wire_column_rule rules[COLUMN_FIELDS] = {
    [NAMES] = {.kind = WIRE_COLUMN_NAMES, .width = 1},
    [CENTERS] = {.width = 0},
    [HALF_EXTENTS] = {.width = 0, .may_be_one = true},
    [ROTATIONS] = {.width = 4},
    [ANGLES] = {.width = 1},
    [ENTITIES] = {.kind = WIRE_COLUMN_NAMES_OR_NULL, .width = 1, .may_be_one = true},
    [CATEGORY] = {.width = 1, .may_be_one = true},
    [MASK] = {.width = 1, .may_be_one = true},
    [GROUP] = {.width = 1, .may_be_one = true},
    [FRAMES] = {.kind = WIRE_COLUMN_NAMES_OR_NULL, .width = 1, .may_be_one = true},
    [TTL] = {.kind = WIRE_COLUMN_NUMBERS_OR_NULL, .width = 1, .may_be_one = true},
};

bool wire_is_put_columns(struct wire_cursor *c)
{
    static const obb_str names = WIRE_FIELD("names");
    const struct wire_mark mark = wire_mark(c);
    bool columnar = false;
    obb_str key;
    if (!wire_enter_object(c))
        return false;
    while (!columnar && wire_next_key(c, &key)) {
        const wire_kind kind = wire_peek(c);
        if (kind == WIRE_KIND_OBJECT)
            break;
        columnar = kind == WIRE_KIND_ARRAY && obb_str_equal(key, names);
        if (!columnar && !wire_skip(c))
            return false;
    }
    if (!c->failed)
        wire_rewind(c, &mark);
    return columnar;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A block of rows as doubles: the type of a column is looked up once a block. Columns that were not
 * sent have their defaults here. */
#define ROWS 32
struct rows {
    size_t first;
    double centers[ROWS * 3], half_extents[ROWS * 3], rotations[ROWS * 4], angles[ROWS];
    double category[ROWS], mask[ROWS], group[ROWS], ttl[ROWS];
};

static void begin_rows(struct rows *rows)
{
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < 4; k++)
            rows->rotations[i * 4 + k] = k == 3 ? 1.0 : 0.0;
        rows->angles[i] = 0.0;
        rows->category[i] = 1.0;
        rows->mask[i] = (double)UINT32_MAX;
        rows->group[i] = 0.0;
    }
}

static void get_rows(const struct wire_columns *columns, size_t first, size_t count,
                     struct rows *rows)
{
    double *const places[COLUMN_FIELDS] = {
        [CENTERS] = rows->centers,     [HALF_EXTENTS] = rows->half_extents,
        [ROTATIONS] = rows->rotations, [ANGLES] = rows->angles,
        [CATEGORY] = rows->category,   [MASK] = rows->mask,
        [GROUP] = rows->group,         [TTL] = rows->ttl,
    };
    rows->first = first;
    for (int field = 0; field < COLUMN_FIELDS; field++)
        if (places[field] != NULL && wire_columns_has(columns, field))
            wire_columns_numbers(columns, field, first, count, places[field]);
}

/* Checks a vector of row i. */
static bool take_vector(const struct wire_columns *columns, int field, wire_range range, size_t i,
                        const double *v, obb_vec3 *out)
{
    const size_t dimensions = (size_t)columns->dimensions;
    for (size_t k = 0; k < dimensions; k++) {
        const obb_status status = wire_range_check(range, v[k]);
        if (status != OBB_OK)
            return wire_columns_fail(columns, field, i, k, (wire_cause)status,
                                     wire_limits[range].rule);
    }
    *out = (obb_vec3){v[0], v[1], dimensions == 3 ? v[2] : 0.0};
    return true;
}

/* Checks a whole number of row i. */
static bool check_whole(const struct wire_columns *columns, int field, size_t i, double low,
                        double high, double value)
{
    return (value >= low && value <= high && value == floor(value)) ||
           wire_columns_fail(columns, field, i, 0, WIRE_OBB_BAD_VALUE,
                             wire_detail(columns->object.c->arena,
                                         "a whole number from %.0f to %.0f is needed here", low,
                                         high));
}

static bool read_attributes(const struct wire_columns *columns, const struct rows *rows, size_t i,
                            obb_attributes *out)
{
    const size_t row = i - rows->first;
    if (!check_whole(columns, CATEGORY, i, 0, (double)UINT32_MAX, rows->category[row]) ||
        !check_whole(columns, MASK, i, 0, (double)UINT32_MAX, rows->mask[row]) ||
        !check_whole(columns, GROUP, i, (double)INT32_MIN, (double)INT32_MAX, rows->group[row]))
        return false;
    *out = (obb_attributes){.category = (uint32_t)rows->category[row],
                            .mask = (uint32_t)rows->mask[row],
                            .group = (int32_t)rows->group[row]};
    if (wire_columns_has(columns, ENTITIES))
        out->entity = wire_columns_name(columns, ENTITIES, i);
    out->has_ttl = wire_columns_has(columns, TTL) && !wire_columns_null(columns, TTL, i);
    if (!out->has_ttl)
        return true;
    out->ttl = rows->ttl[row];
    const obb_status status = wire_range_check(WIRE_TTL, out->ttl);
    return status == OBB_OK ||
           wire_columns_fail(columns, TTL, i, 0, (wire_cause)status, wire_limits[WIRE_TTL].rule);
}

/* The columns of core while they are made. */
struct making {
    obb_put_columns *columns;
    obb_box *boxes;
    uint32_t *categories, *masks; /* NULL: all rows have the same */
    int32_t *groups;
    double *ttls;
    bool varied; /* the attributes are not the same in all rows */
};

/* Returns whether the column has a value for each row. */
static bool varies(const struct wire_columns *columns, int field)
{
    return wire_columns_has(columns, field) && !columns->data[field].one;
}

/* Makes room for `count` puts. Returns false if there is no memory. */
static bool begin_making(const struct wire_columns *columns, size_t count, struct making *m)
{
    struct obb_arena *arena = columns->object.c->arena;
    obb_put_columns *out = obb_arena_alloc(arena, 1, sizeof *out);
    *m = (struct making){.columns = out};
    m->boxes = obb_arena_alloc(arena, count, sizeof *m->boxes);
    bool good = out != NULL && m->boxes != NULL;
    if (varies(columns, CATEGORY))
        good = good && (m->categories = obb_arena_alloc(arena, count, sizeof *m->categories));
    if (varies(columns, MASK))
        good = good && (m->masks = obb_arena_alloc(arena, count, sizeof *m->masks));
    if (varies(columns, GROUP))
        good = good && (m->groups = obb_arena_alloc(arena, count, sizeof *m->groups));
    if (varies(columns, TTL))
        good = good && (m->ttls = obb_arena_alloc(arena, count, sizeof *m->ttls));
    if (!good)
        return false;
    m->varied = m->categories != NULL || m->masks != NULL || m->groups != NULL || m->ttls != NULL;
    *out = (obb_put_columns){
        .rest = {.parts = OBB_PUT_ALL},
        .names = columns->data[NAMES].names,
        .boxes = m->boxes,
        .entities = varies(columns, ENTITIES) ? columns->data[ENTITIES].names : NULL,
        .frames = varies(columns, FRAMES) ? columns->data[FRAMES].names : NULL,
        .categories = m->categories,
        .masks = m->masks,
        .groups = m->groups,
        .ttls = m->ttls,
    };
    return true;
}

/* Makes the attributes of row i: those that are the same in all rows with row 0. */
static bool make_attributes(const struct wire_columns *columns, const struct rows *rows, size_t i,
                            struct making *m)
{
    obb_attributes attributes;
    if (i > 0 && !m->varied)
        return true;
    if (!read_attributes(columns, rows, i, &attributes))
        return false;
    if (i == 0) {
        m->columns->rest.attributes = attributes;
        if (wire_columns_has(columns, FRAMES))
            m->columns->rest.frame = wire_columns_name(columns, FRAMES, i);
    }
    if (m->categories != NULL)
        m->categories[i] = attributes.category;
    if (m->masks != NULL)
        m->masks[i] = attributes.mask;
    if (m->groups != NULL)
        m->groups[i] = attributes.group;
    if (m->ttls != NULL)
        m->ttls[i] = attributes.has_ttl ? attributes.ttl : -1.0;
    return true;
}

/* Makes the put of row i, which is in the block `rows`. */
static bool make_put(const struct wire_columns *columns, const struct rows *rows, size_t i,
                     struct making *m)
{
    const size_t row = i - rows->first, dimensions = (size_t)columns->dimensions;
    obb_vec3 center = {0}, half_extents = {0};
    if (!take_vector(columns, CENTERS, WIRE_COORDINATE, i, &rows->centers[row * dimensions],
                     &center) ||
        !take_vector(columns, HALF_EXTENTS, WIRE_HALF_EXTENT, i,
                     &rows->half_extents[row * dimensions], &half_extents))
        return false;
    if (wire_range_check(WIRE_ANY, rows->angles[row]) != OBB_OK)
        return wire_columns_fail(columns, ANGLES, i, 0, WIRE_OBB_BAD_NUMBER,
                                 wire_limits[WIRE_ANY].rule);
    const double *q = &rows->rotations[row * 4];
    const obb_status status =
        obb_box_from_pose(center, half_extents, (obb_quat){q[0], q[1], q[2], q[3]},
                          rows->angles[row], columns->dimensions, &m->boxes[i]);
    if (status != OBB_OK)
        return wire_columns_fail_quaternion(columns, ROTATIONS, i, q, status);
    return make_attributes(columns, rows, i, m);
}

/* ---- The object ------------------------------------------------------------------------------ */

/* A name that an earlier row has, too, is a fault of its row. */
static bool refuse_repeated_name(struct wire_columns *columns)
{
    size_t second = 0;
    const struct wire_column_data *names = &columns->data[NAMES];
    switch (wire_keys_check(names->names, names->numbers.count, sizeof *names->names,
                            columns->object.c->cancel, columns->object.c->arena, &second)) {
    case WIRE_KEYS_DIFFER:
        return true;
    case WIRE_KEYS_REPEAT:
        wire_columns_refuse(columns, NAMES, second, WIRE_OBB_BAD_NAME,
                            "a commit puts a box once, and an earlier row has this name");
        return true;
    case WIRE_KEYS_CANCELLED:
        return wire_fail_cancelled(columns->object.c);
    case WIRE_KEYS_NO_MEMORY:
        break;
    }
    return wire_fail_memory(columns->object.c);
}

static bool read_columns(struct wire_columns *columns)
{
    struct wire_object *o = &columns->object;
    for (int field; (field = wire_object_next(o)) >= 0;) {
        if (field == (columns->dimensions == 2 ? ROTATIONS : ANGLES))
            return wire_columns_not_here(columns, field);
        if (!wire_columns_read(columns, field))
            return false;
    }
    return !o->c->failed && wire_object_need(o, NAMES) && wire_object_need(o, CENTERS) &&
           wire_object_need(o, HALF_EXTENTS) && wire_columns_end(columns, NAMES) &&
           refuse_repeated_name(columns);
}

bool wire_read_put_columns(struct wire_cursor *c, int dimensions, const obb_put_columns **out,
                           size_t *out_count)
{
    struct wire_columns columns;
    if (!wire_columns_enter(&columns, c, column_fields, rules, COLUMN_FIELDS, dimensions) ||
        !read_columns(&columns))
        return false;
    const size_t sound = wire_columns_sound_rows(&columns);
    struct making making;
    if (!begin_making(&columns, sound, &making))
        return wire_fail_memory(c);
    *out = making.columns;
    *out_count = 0;
    struct rows rows;
    begin_rows(&rows);
    for (size_t i = 0; i < sound; i++) {
        if (i % ROWS == 0) {
            if (!wire_goes_on(c))
                return false;
            get_rows(&columns, i, sound - i < ROWS ? sound - i : ROWS, &rows);
        }
        if (!make_put(&columns, &rows, i, &making))
            return false;
        *out_count = i + 1;
    }
    return wire_columns_sound(&columns);
}
