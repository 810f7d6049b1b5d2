#include "proto/request/put_columns.h"

#include "proto/base/keys.h"
#include "proto/codec/walk.h"
#include "proto/request/columns.h"
#include "proto/request/value.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
#define BITS_RULE "a whole number from 0 to 4294967295 is needed here"
static const struct wire_column_rule rules[COLUMN_FIELDS] = {
    [NAMES] = {.kind = WIRE_COLUMN_NAMES, .width = 1},
    [CENTERS] = {.width = 0, .range = WIRE_COORDINATE},
    [HALF_EXTENTS] = {.width = 0, .may_be_one = true, .range = WIRE_HALF_EXTENT},
    [ROTATIONS] = {.width = 4},
    [ANGLES] = {.width = 1},
    [ENTITIES] = {.kind = WIRE_COLUMN_NAMES_OR_NULL, .width = 1, .may_be_one = true},
    [CATEGORY] = {.width = 1, .may_be_one = true, .rule = BITS_RULE},
    [MASK] = {.width = 1, .may_be_one = true, .rule = BITS_RULE},
    [GROUP] = {.width = 1,
               .may_be_one = true,
               .rule = "a whole number from -2147483648 to 2147483647 is needed here"},
    [FRAMES] = {.kind = WIRE_COLUMN_NAMES_OR_NULL, .width = 1, .may_be_one = true},
    [TTL] = {.kind = WIRE_COLUMN_NUMBERS_OR_NULL,
             .width = 1,
             .may_be_one = true,
             .range = WIRE_TTL},
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
struct poses {
    double centers[ROWS * 3], half_extents[ROWS * 3], rotations[ROWS * 4], angles[ROWS];
};
struct rows {
    size_t first;
    struct poses poses;
    double category[ROWS], mask[ROWS], group[ROWS], ttl[ROWS];
};

static void begin_poses(struct poses *poses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < 4; k++)
            poses->rotations[i * 4 + k] = k == 3 ? 1.0 : 0.0;
        poses->angles[i] = 0.0;
    }
}

static void begin_rows(struct rows *rows)
{
    begin_poses(&rows->poses, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        rows->category[i] = 1.0;
        rows->mask[i] = (double)UINT32_MAX;
        rows->group[i] = 0.0;
    }
}

static void get_numbers(const struct wire_columns *columns, int field, size_t first, size_t count,
                        double *out)
{
    if (wire_columns_has(columns, field))
        wire_columns_numbers(columns, field, first, count, out);
}

static void get_poses(const struct wire_columns *columns, size_t first, size_t count,
                      struct poses *poses)
{
    get_numbers(columns, CENTERS, first, count, poses->centers);
    get_numbers(columns, HALF_EXTENTS, first, count, poses->half_extents);
    get_numbers(columns, ROTATIONS, first, count, poses->rotations);
    get_numbers(columns, ANGLES, first, count, poses->angles);
}

static void get_rows(const struct wire_columns *columns, size_t first, size_t count,
                     struct rows *rows)
{
    rows->first = first;
    get_poses(columns, first, count, &rows->poses);
    get_numbers(columns, CATEGORY, first, count, rows->category);
    get_numbers(columns, MASK, first, count, rows->mask);
    get_numbers(columns, GROUP, first, count, rows->group);
    get_numbers(columns, TTL, first, count, rows->ttl);
}

/* Checks a vector of row i. */
static bool check_vector(const struct wire_columns *columns, int field, wire_range range, size_t i,
                         const double *v)
{
    for (size_t k = 0; k < (size_t)columns->dimensions; k++) {
        const obb_status status = wire_range_check(range, v[k]);
        if (status != OBB_OK)
            return wire_columns_fail(columns, field, i, k, (wire_cause)status,
                                     wire_limits[range].rule);
    }
    return true;
}

/* Checks a whole number of row i. */
static bool check_whole(const struct wire_columns *columns, int field, size_t i, double low,
                        double high, double value)
{
    return (value >= low && value <= high && value == floor(value)) ||
           wire_columns_fail(columns, field, i, 0, WIRE_OBB_BAD_VALUE,
                             wire_columns_rule(columns, field));
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
    uint32_t *categories, *masks; /* NULL: all rows have the same */
    int32_t *groups;
    double *ttls;
    bool varied; /* the attributes are not the same in all rows */
};

static obb_vec3 vector_of(const double *v, size_t dimensions)
{
    return (obb_vec3){v[0], v[1], dimensions == 3 ? v[2] : 0.0};
}

static obb_quat rotation_of(const double *q) { return (obb_quat){q[0], q[1], q[2], q[3]}; }

/* obb_put_make_boxes, of the columns. Boxes of sound rows are not kept: a list of them is as large
 * as the body. All checks were made when the rows were read. */
static void make_boxes(const void *context, size_t first, size_t count, obb_box *out)
{
    const struct wire_columns *columns = context;
    const size_t dimensions = (size_t)columns->dimensions;
    struct poses poses;
    obb_quat rotations[ROWS];
    begin_poses(&poses, count < ROWS ? count : ROWS);
    for (size_t i = 0; i < count; i += ROWS) {
        const size_t rows = count - i < ROWS ? count - i : ROWS;
        get_poses(columns, first + i, rows, &poses);
        for (size_t row = 0; row < rows; row++)
            rotations[row] = rotation_of(&poses.rotations[row * 4]);
        obb_quats_normalise(rotations, rows);
        for (size_t row = 0; row < rows; row++)
            out[i + row] = (obb_box){
                .center = vector_of(&poses.centers[row * dimensions], dimensions),
                .half_extents = vector_of(&poses.half_extents[row * dimensions], dimensions),
                .rotation = rotations[row],
                .angle = poses.angles[row]};
    }
}

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
    struct wire_columns *maker = obb_arena_alloc(arena, 1, sizeof *maker);
    *m = (struct making){.columns = out};
    bool good = out != NULL && maker != NULL;
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
    *maker = *columns;
    m->varied = m->categories != NULL || m->masks != NULL || m->groups != NULL || m->ttls != NULL;
    *out = (obb_put_columns){
        .rest = {.parts = OBB_PUT_ALL},
        .names = columns->data[NAMES].names,
        .make_boxes = make_boxes,
        .maker = maker,
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

/* Checks the pose of row i, which is row `row` of `poses`. */
static bool check_pose(const struct wire_columns *columns, const struct poses *poses, size_t row,
                       size_t i)
{
    const size_t dimensions = (size_t)columns->dimensions;
    if (!check_vector(columns, CENTERS, WIRE_COORDINATE, i, &poses->centers[row * dimensions]) ||
        !check_vector(columns, HALF_EXTENTS, WIRE_HALF_EXTENT, i,
                      &poses->half_extents[row * dimensions]))
        return false;
    if (wire_range_check(WIRE_ANY, poses->angles[row]) != OBB_OK)
        return wire_columns_fail(columns, ANGLES, i, 0, WIRE_OBB_BAD_NUMBER,
                                 wire_limits[WIRE_ANY].rule);
    const double *q = &poses->rotations[row * 4];
    const obb_status status = obb_quat_check(rotation_of(q));
    return status == OBB_OK || wire_columns_fail_quaternion(columns, ROTATIONS, i, q, status);
}

/* Returns whether check_pose would find no fault in the first `count` rows of a block. Without a
 * branch for each number. */
static bool poses_are_sound(const struct wire_columns *columns, const struct poses *poses,
                            size_t count)
{
    const size_t numbers = count * (size_t)columns->dimensions;
    bool sound = true;
    for (size_t k = 0; k < numbers; k++) /* NaN is in no range */
        sound &= (fabs(poses->centers[k]) <= OBB_MAX_COORDINATE) & (poses->half_extents[k] >= 0.0) &
                 (poses->half_extents[k] <= OBB_MAX_COORDINATE);
    if (columns->dimensions == 2) {
        for (size_t i = 0; i < count; i++)
            sound &= fabs(poses->angles[i]) <= DBL_MAX;
        return sound;
    }
    for (size_t i = 0; i < count && sound; i++)
        sound = obb_quat_check(rotation_of(&poses->rotations[i * 4])) == OBB_OK;
    return sound;
}

/* Makes the puts of the rows of a block, or of those before the first fault. */
static bool make_puts(const struct wire_columns *columns, const struct rows *rows, size_t count,
                      struct making *m, size_t *out_count)
{
    const bool sound = poses_are_sound(columns, &rows->poses, count);
    for (size_t i = rows->first; i < rows->first + count; i++) {
        if ((!sound && !check_pose(columns, &rows->poses, i - rows->first, i)) ||
            !make_attributes(columns, rows, i, m))
            return false;
        *out_count = i + 1;
    }
    return true;
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

/* Checks the values for all rows where there is no row. */
static bool check_for_all(const struct wire_columns *columns)
{
    const struct wire_columns one = wire_columns_for_all(columns);
    struct rows rows = {.first = 0};
    obb_attributes attributes;
    begin_rows(&rows);
    get_rows(&one, 0, 1, &rows);
    return check_pose(&one, &rows.poses, 0, 0) && read_attributes(&one, &rows, 0, &attributes);
}

bool wire_read_put_columns(struct wire_cursor *c, int dimensions, const obb_put_columns **out,
                           size_t *out_count)
{
    struct wire_columns columns;
    if (!wire_columns_enter(&columns, c, column_fields, rules, COLUMN_FIELDS, dimensions) ||
        !read_columns(&columns) || (columns.rows == 0 && !check_for_all(&columns)))
        return false;
    const size_t sound = wire_columns_sound_rows(&columns);
    struct making making;
    if (!begin_making(&columns, sound, &making))
        return wire_fail_memory(c);
    *out = making.columns;
    *out_count = 0;
    struct rows rows;
    begin_rows(&rows);
    for (size_t i = 0; i < sound; i += ROWS) {
        const size_t count = sound - i < ROWS ? sound - i : ROWS;
        if (!wire_goes_on(c))
            return false;
        get_rows(&columns, i, count, &rows);
        if (!make_puts(&columns, &rows, count, &making, out_count))
            return false;
    }
    return wire_columns_sound(&columns);
}
