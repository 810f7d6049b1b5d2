#include "proto/request/pose_columns.h"

#include "proto/request/columns.h"
#include "proto/request/value.h"

enum column_field { NAMES, IDS, CENTERS, ROTATIONS, ANGLES, COLUMN_FIELDS };
static const obb_str column_fields[COLUMN_FIELDS] = {
    [NAMES] = WIRE_FIELD("names"),     [IDS] = WIRE_FIELD("ids"),
    [CENTERS] = WIRE_FIELD("centers"), [ROTATIONS] = WIRE_FIELD("rotations"),
    [ANGLES] = WIRE_FIELD("angles"),
};
static const struct wire_column_rule rules[COLUMN_FIELDS] = {
    [NAMES] = {.kind = WIRE_COLUMN_NAMES, .width = 1},
    [IDS] = {.width = 1, .rule = "an id is a whole number from 1 to 9007199254740992"},
    [CENTERS] = {.width = 0, .range = WIRE_COORDINATE},
    [ROTATIONS] = {.width = 4},
    [ANGLES] = {.width = 1},
};

/* A block of rows as doubles: the type of a column is looked up once a block. */
#define ROWS 32
struct rows {
    size_t first;
    bool looked;    /* for `inexact`, which is set then */
    size_t inexact; /* the first row with an id beyond 2^53 that was rounded to 2^53 */
    double ids[ROWS], centers[ROWS * 3], rotations[ROWS * 4], angles[ROWS];
};

static void get_rows(const struct wire_columns *columns, size_t first, size_t count,
                     struct rows *out)
{
    out->first = first;
    if (!wire_columns_has(columns, NAMES))
        wire_columns_numbers(columns, IDS, first, count, out->ids);
    if (wire_columns_has(columns, CENTERS))
        wire_columns_numbers(columns, CENTERS, first, count, out->centers);
    if (wire_columns_has(columns, ROTATIONS))
        wire_columns_numbers(columns, ROTATIONS, first, count, out->rotations);
    if (wire_columns_has(columns, ANGLES))
        wire_columns_numbers(columns, ANGLES, first, count, out->angles);
}

/* What all poses of these columns have before their rows are read. */
static obb_pose blank_pose(const struct wire_columns *columns)
{
    return (obb_pose){.rotation = {0.0, 0.0, 0.0, 1.0},
                      .has_center = wire_columns_has(columns, CENTERS),
                      .has_rotation = wire_columns_has(columns, ROTATIONS) ||
                                      wire_columns_has(columns, ANGLES)};
}

/* Returns the first row whose id is no id as it was written, SIZE_MAX if there is none. */
static size_t first_inexact(const struct wire_columns *columns)
{
    if (columns->data[IDS].numbers.type != WIRE_DOUBLES)
        return SIZE_MAX; /* of a typed array: as it was written */
    struct wire_cursor again = *columns->object.c;
    again.at = again.start + columns->object.where[IDS];
    double id;
    size_t row = 0;
    for (bool inside = wire_enter_array(&again); inside && wire_next_item(&again); row++)
        if (!wire_read_whole(&again, 1, OBB_MAX_WHOLE, &id))
            return row;
    return SIZE_MAX;
}

/* Returns whether the id of row i, which is 2^53 as a double, was written as 2^53. Looks through
 * all ids, but once a request. */
static bool is_exact(const struct wire_columns *columns, struct rows *rows, size_t i)
{
    if (!rows->looked)
        rows->inexact = first_inexact(columns);
    rows->looked = true;
    return rows->inexact != i;
}

/* Makes the pose of row i, which is in the block `rows`. */
static bool make_pose(const struct wire_columns *columns, struct rows *rows, size_t i,
                      const obb_pose *blank, obb_pose *out)
{
    const size_t row = i - rows->first, dimensions = (size_t)columns->dimensions;
    *out = *blank; /* GCC clears 112 bytes by an instruction that begins slowly; a copy is faster */
    if (wire_columns_has(columns, NAMES)) {
        out->target.name = wire_columns_name(columns, NAMES, i);
    } else {
        const double id = rows->ids[row];
        if (!(id >= 1.0 && id <= OBB_MAX_WHOLE) || id != (double)(uint64_t)id ||
            (id == OBB_MAX_WHOLE && !is_exact(columns, rows, i)))
            return wire_columns_fail(columns, IDS, i, 0, WIRE_OBB_BAD_VALUE,
                                     wire_columns_rule(columns, IDS));
        out->target.id = (uint64_t)id;
        out->target.has_id = true;
    }

    if (out->has_center) {
        const double *center = &rows->centers[row * dimensions];
        for (size_t k = 0; k < dimensions; k++)
            if (wire_range_check(WIRE_COORDINATE, center[k]) != OBB_OK)
                return wire_columns_fail(columns, CENTERS, i, k, WIRE_OBB_BAD_NUMBER,
                                         wire_limits[WIRE_COORDINATE].rule);
        out->center = (obb_vec3){center[0], center[1], dimensions == 3 ? center[2] : 0.0};
    }
    if (wire_columns_has(columns, ROTATIONS)) {
        const double *q = &rows->rotations[row * 4];
        const obb_status status =
            obb_quat_normalise((obb_quat){q[0], q[1], q[2], q[3]}, &out->rotation);
        if (status != OBB_OK)
            return wire_columns_fail_quaternion(columns, ROTATIONS, i, q, status);
    }
    if (wire_columns_has(columns, ANGLES)) {
        out->angle = rows->angles[row];
        if (wire_range_check(WIRE_ANY, out->angle) != OBB_OK)
            return wire_columns_fail(columns, ANGLES, i, 0, WIRE_OBB_BAD_NUMBER,
                                     wire_limits[WIRE_ANY].rule);
    }
    return true;
}

static bool read_columns(struct wire_columns *columns, bool frames, bool *by_names)
{
    struct wire_object *o = &columns->object;
    for (int field; (field = wire_object_next(o)) >= 0;) {
        if (field == (columns->dimensions == 2 ? ROTATIONS : ANGLES))
            return wire_columns_not_here(columns, field);
        if (field == IDS && frames)
            return wire_fail_at(o->c, WIRE_UNKNOWN_FIELD, o->where[field],
                                "frames have names and no ids");
        if (wire_object_has(o, NAMES) && wire_object_has(o, IDS))
            return wire_fail_at(o->c, WIRE_FIELD_CONFLICT, o->where[field],
                                "exactly one of names and ids is needed here");
        if (!wire_columns_read(columns, field))
            return false;
    }
    if (o->c->failed)
        return false;
    *by_names = wire_object_has(o, NAMES);
    if (!*by_names && !wire_object_has(o, IDS))
        return wire_fail_at(o->c, WIRE_MISSING_FIELD, o->place, "\"names\" or \"ids\" is missing");
    return (frames || wire_object_need(o, CENTERS)) &&
           wire_columns_end(columns, *by_names ? NAMES : IDS);
}

bool wire_read_pose_columns(struct wire_cursor *c, int dimensions, bool frames,
                            const obb_pose **out, size_t *out_count, bool *by_names)
{
    struct wire_columns columns;
    if (!wire_columns_enter(&columns, c, column_fields, rules, COLUMN_FIELDS, dimensions) ||
        !read_columns(&columns, frames, by_names))
        return false;
    const size_t sound = wire_columns_sound_rows(&columns);
    obb_pose *poses = obb_arena_alloc(c->arena, sound, sizeof *poses);
    if (poses == NULL)
        return wire_fail_memory(c);
    *out = poses;
    *out_count = 0;
    const obb_pose blank = blank_pose(&columns);
    struct rows rows;
    rows.looked = false;
    for (size_t i = 0; i < sound; i++) {
        if (i % ROWS == 0) {
            if (!wire_goes_on(c))
                return false;
            get_rows(&columns, i, sound - i < ROWS ? sound - i : ROWS, &rows);
        }
        if (!make_pose(&columns, &rows, i, &blank, &poses[i]))
            return false;
        *out_count = i + 1;
    }
    return wire_columns_sound(&columns);
}
